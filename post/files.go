package post

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The runner refuses a step's whole summary when its file is over 1 MiB
// (FileCommandManager.cs, AttachmentSizeLimit); the margin is for what others
// add after us.
const (
	maxSummary    = 1<<20 - summaryMargin
	summaryMargin = 4 << 10
)

// maxOutput is the longest value that Output takes: a job's outputs share 1 MiB.
const maxOutput = 64 << 10

// Summary adds markdown to the job's summary page. What would not fit is cut off
// at a rune's boundary and the page says so before the report, where no open
// fence can swallow it. Without a summary file it does nothing.
func (a *Actions) Summary(markdown []byte) error {
	path := a.getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	markdown = bytes.ToValidUTF8(markdown, []byte("\uFFFD"))
	return appendTo(path, func(size int) ([]byte, error) {
		room := maxSummary - size - 1
		if len(markdown)+1 <= room {
			return markdown, nil
		}
		note := fmt.Sprintf("The report is cut to fit: all of its %d bytes are in the report file and the log.\n\n", len(markdown))
		if room -= len(note) + 1; room <= 0 {
			return nil, fmt.Errorf("%s: expected room for a summary, found %d bytes of %d in use; write less before the gate", path, size, 1<<20)
		}
		for room > 0 && !utf8.RuneStart(markdown[room]) {
			room--
		}
		return append([]byte(note), markdown[:room]...), nil
	})
}

var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Output sets an output of the step. The value may hold anything: the lines of
// the file that it is written to are told apart by a random word. Without an
// output file it does nothing.
func (a *Actions) Output(name, value string) error {
	if !outputName.MatchString(name) {
		return fmt.Errorf("output %q: expected letters, digits, - and _", name)
	}
	path := a.getenv("GITHUB_OUTPUT")
	if path == "" {
		return nil
	}
	if len(value) > maxOutput {
		return fmt.Errorf("output %s: expected at most %d bytes, found %d; put it into a file", name, maxOutput, len(value))
	}
	delimiter := "peakgate_" + a.token()
	if strings.Contains(value, delimiter) {
		return fmt.Errorf("output %s: the value holds its own delimiter", name)
	}
	return appendTo(path, func(int) ([]byte, error) {
		return []byte(name + "<<" + delimiter + "\n" + value + "\n" + delimiter), nil
	})
}

// appendTo adds what text gives for the file's present size, on lines of its own.
func appendTo(path string, text func(size int) ([]byte, error)) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	var last [1]byte
	if size > 0 {
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return err
		}
	}
	p, err := text(int(min(size, 1<<30)))
	if err != nil {
		return err
	}
	if size > 0 && last[0] != '\n' {
		p = append([]byte{'\n'}, p...)
	}
	if !bytes.HasSuffix(p, []byte{'\n'}) {
		p = append(p, '\n')
	}
	_, err = f.Write(p)
	return err
}
