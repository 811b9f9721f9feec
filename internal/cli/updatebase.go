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
				before = ofOneProgram(runs.Runs, measured[target])
				if dropped := len(runs.Runs) - len(before); dropped > 0 {
					fmt.Fprintf(s.Stderr, "%s: %s of another program dropped: an exact metric differs\n", filepath.ToSlash(path), plural(dropped, "run"))
				}
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

// ofOneProgram keeps the runs that can be of the same program as the newest one:
// those that agree with it on every exact metric, which is the same in every run
// of a program. Without this a base could hold a regression beside its repair,
// and never call it one again.
func ofOneProgram(runs []*measure.Measurement, newest *measure.Measurement) []*measure.Measurement {
	exact := map[string]measure.Value{}
	key := func(r measure.Row) string { return r.Name + "\x00" + r.Labels.Key("program", "host") }
	for _, r := range newest.Rows {
		if r.Kind == measure.Exact && r.Value != nil {
			exact[key(r)] = *r.Value
		}
	}
	return slices.DeleteFunc(slices.Clone(runs), func(m *measure.Measurement) bool {
		return slices.ContainsFunc(m.Rows, func(r measure.Row) bool {
			v, ok := exact[key(r)]
			entry, _ := measure.Lookup(r.Name)
			return r.Kind == measure.Exact && r.Value != nil && !entry.Information && ok && v.Cmp(*r.Value) != 0
		})
	})
}
