package base

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// Loaded is what git holds of one target at a base.
type Loaded struct {
	// Kind is "captures", "measurement" (a committed one) or "none".
	Kind string
	// Runs is nil for "none".
	Runs *Runs
	// Files, for "captures", are closed but for Same, which tells whether the
	// head's captures were made again.
	Files *Files
}

// Load reads a target's captures at the base or, if the base has none, its
// committed measurement. The patterns are those of the budget; a target may have
// none.
func (t *Tree) Load(target string, patterns []string, opt capture.Options) (*Loaded, error) {
	files, err := t.Files(patterns)
	if err == nil && files != nil {
		defer files.Close()
		m, err := files.Measure(target, opt)
		if err != nil {
			return nil, err
		}
		return &Loaded{"captures", NewRuns(target, m), files}, nil
	}
	if elsewhere := new(notFilesError); err != nil && !errors.As(err, &elsewhere) {
		return nil, err
	}
	runs, committedErr := t.committed(target)
	switch {
	case committedErr != nil:
		return nil, committedErr
	case runs != nil:
		return &Loaded{Kind: "measurement", Runs: runs}, nil
	case err != nil:
		return nil, err
	}
	return &Loaded{Kind: "none"}, nil
}

// committed reads .peakgate/base/TARGET.json; nil if the base has none.
func (t *Tree) committed(target string) (*Runs, error) {
	name := path.Join(t.folder, FileName(target))
	found, err := t.list([]string{name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	data, err := t.blob(name, measure.MaxDocument)
	if err != nil {
		return nil, err
	}
	runs, err := DecodeRuns(bytes.NewReader(data), t.at(name))
	if err != nil {
		return nil, err
	}
	if runs.Target != target && runs.Target != "" {
		return nil, fmt.Errorf("%s: a base of %.60q, want one of %.60q; write it again", t.at(name), runs.Target, target)
	}
	runs.Target = target
	for _, m := range runs.Runs {
		m.Target = target
		m.Inputs = append([]measure.Input{{Path: t.at(name), Format: capture.MeasurementFormat, Bytes: measure.Bytes(len(data))}}, m.Inputs...)
	}
	return runs, nil
}
