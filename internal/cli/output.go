package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// writeFile writes a file whole or not at all: under a temporary name in the
// same folder, then renamed. Devices and pipes are written directly.
func writeFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return fmt.Errorf("%s: is a directory; want a file to write", path)
		}
		return os.WriteFile(path, data, 0o644)
	}
	return writeAs(path, data, 0o644)
}

// replaceFile writes a file that is there, whole or not at all, with the mode that
// it has. A link stays one.
func replaceFile(path string, data []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("%s: cannot write: %w", path, cause(err))
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("%s: cannot write: %w", path, cause(err))
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: cannot write: it is read-only", path)
	}
	return writeAs(target, data, info.Mode().Perm())
}

func writeAs(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s: cannot write: %w", path, cause(err))
	}
	defer os.Remove(f.Name()) // fails after the rename, as it should
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot write: %w", path, cause(err))
	}
	return nil
}

// cause is the error without the temporary name that the user never saw.
func cause(err error) error {
	switch e := err.(type) {
	case *os.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// render runs a renderer into memory, so that nothing half written is seen.
func render(write func(w io.Writer) error) ([]byte, error) {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return nil, fmt.Errorf("internal error: rendering: %w", err)
	}
	return out.Bytes(), nil
}

// overwrites tells whether writing to path would replace one of the inputs, whose
// paths may lack the name of the user.
func overwrites(path string, inputs ...string) bool {
	out, err := os.Stat(path)
	if err != nil {
		return false
	}
	full, err := filepath.Abs(path)
	for _, in := range inputs {
		if info, err := os.Stat(in); err == nil && os.SameFile(out, info) {
			return true
		}
		if err == nil && redacted(full, in) {
			return true
		}
	}
	return false
}

// redacted tells whether short is a full path without the name of the user.
func redacted(full, short string) bool {
	return short == capture.RedactText(filepath.ToSlash(full))
}

// spare refuses to write over a file that was read.
func spare(path string, inputs []measure.Input) error {
	for _, in := range inputs {
		if path != "" && overwrites(path, in.Path) {
			return usagef("%s: this is a file that was read; name another to write to", path)
		}
	}
	return nil
}
