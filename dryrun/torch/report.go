package torch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/dryrun/torch/pretend"
	"github.com/peakgate/peakgate/measure"
)

// The program is a stranger's and can write these files itself: what is read of them is
// bounded, and a text is one line.
const (
	maxReport  = 4 << 20 // bytes of a report
	maxReports = 1 << 10 // processes
	maxNotes   = 1 << 20 // bytes of a process's notes
	maxText    = 500     // bytes of a text
	maxReads   = 100     // lines that are told
	mostCount  = 1 << 40 // of anything that is counted: so sums are exact
)

// report is what the hook says of one process.
type report struct {
	Torch    string     `json:"torch"`
	Root     string     `json:"root"`    // folder of the package torch
	Watched  bool       `json:"watched"` // its reads were counted
	Reads    int64      `json:"reads"`
	Kernels  int64      `json:"kernels"`
	Lines    []readLine `json:"lines"`    // in the order of their first reads
	Streams  []readLine `json:"streams"`  // where blocks are given to another stream
	Compiled bool       `json:"compiled"` // by inductor
	Stopped  string     `json:"stopped"`  // waits or time; empty where the hook did not end it
	At       *spot      `json:"at"`       // where
	Error    string     `json:"error"`    // the exception that ended it
	ErrorAt  *spot      `json:"error_at"`
}

type readLine struct {
	At    *spot `json:"at"`
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// spot is a line of the user's.
type spot struct {
	File     string `json:"file"`
	Line     int64  `json:"line"`
	Function string `json:"function"`
}

// Why the hook ended a program.
const (
	stoppedWaits = "waits"
	stoppedTime  = "time"
)

func readReport(path string) (*report, error) {
	data, err := dryrun.ReadFile(path, maxReport)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	r := &report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: not a report of the hook: %w", name, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Torch, r.Root, r.Error = oneLine(r.Torch), oneLine(r.Root), oneLine(r.Error)
	for _, s := range slices.Concat([]*spot{r.At, r.ErrorAt}, spots(r.Lines), spots(r.Streams)) {
		if s != nil {
			s.File, s.Function = oneLine(s.File), oneLine(s.Function)
		}
	}
	return r, nil
}

func (r *report) check() error {
	for name, n := range map[string]int64{"reads": r.Reads, "kernels": r.Kernels} {
		if n < 0 || n > mostCount {
			return fmt.Errorf("%s: want a count, found %d", name, n)
		}
	}
	if r.Stopped != "" && r.Stopped != stoppedWaits && r.Stopped != stoppedTime {
		return fmt.Errorf("stopped: want waits or time, found %q", oneLine(r.Stopped))
	}
	sum := int64(0)
	for _, l := range r.Lines {
		if l.Count < 0 || l.Bytes < 0 || l.Count > r.Reads-sum {
			return fmt.Errorf("lines: want counts that add up to at most %d reads", r.Reads)
		}
		sum += l.Count
	}
	for _, l := range r.Streams {
		if l.Count < 0 || l.Count > mostCount {
			return fmt.Errorf("streams: want counts, found %d", l.Count)
		}
	}
	return nil
}

func spots(lines []readLine) (list []*spot) {
	for _, l := range lines {
		list = append(list, l.At)
	}
	return list
}

// source is a spot as reports show it: relative to the project's folder, if it is there.
func (s *spot) source(root string) *measure.Source {
	if s == nil || s.File == "" || s.Line <= 0 || s.Line > 1<<31 {
		return nil
	}
	file := s.File
	if rest, ok := strings.CutPrefix(file, strings.TrimSuffix(root, "/")+"/"); ok {
		file = rest
	}
	return &measure.Source{File: file, Line: int(s.Line)}
}

// oneLine bounds a text of the program's.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// notes are what the pretend libraries wrote down in the processes of a run.
type notes struct{ unsupported, assumptions, missing []string }

// readNotes reads the notes of some processes, each note once; of all where none is named.
func readNotes(dir string, pids []string) (n notes, fault error) {
	paths, _ := pretend.Notes(dir)
	for _, path := range paths[:min(len(paths), maxReports)] {
		if len(pids) > 0 && !slices.Contains(pids, path[strings.LastIndexByte(path, '-')+1:]) {
			continue
		}
		f, _, err := dryrun.Open(path)
		if err != nil {
			fault = err
			continue
		}
		lines := bufio.NewScanner(io.LimitReader(f, maxNotes))
		for lines.Scan() {
			kind, name, _ := strings.Cut(oneLine(lines.Text()), " ")
			list := map[string]*[]string{"unsupported": &n.unsupported, "assumption": &n.assumptions, "missing": &n.missing}[kind]
			if list != nil && name != "" && len(*list) < maxReads && !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
		f.Close()
	}
	return n, fault
}
