package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/measure"
)

// updateBases writes what was measured as the base that is committed with the
// budget, whatever the verdict was: a gate that is red must not lock the base.
// Of several runs the newest are kept, this one last.
func (o checkOptions) updateBases(measured map[string]*measure.Measurement, s Streams) error {
	folder := filepath.Dir(o.config)
	for _, target := range slices.Sorted(maps.Keys(measured)) {
		var before []*measure.Measurement
		if o.runs > 1 {
			path := filepath.Join(folder, filepath.FromSlash(base.FileName(target)))
			f, err := os.Open(path)
			if err == nil {
				runs, err := base.DecodeRuns(f, path)
				f.Close()
				if err != nil {
					return fmt.Errorf("%w; remove the file to begin anew", err)
				}
				before = runs.Runs
			} else if !os.IsNotExist(err) {
				return fmt.Errorf("%s: %w", path, cause(err))
			}
		}
		before = before[max(0, len(before)-(o.runs-1)):]
		path, err := base.NewRuns(target, append(before, measured[target])...).Save(folder)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stderr, "%s: base of %s, %d of %d runs; commit it\n", filepath.ToSlash(path), target, len(before)+1, o.runs)
	}
	return nil
}
