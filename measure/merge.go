package measure

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Merge makes one measurement of a target from those of its files. Rows that
// several files give with one value collapse into one; where values differ,
// each row (with its contributors, series and facts) gets the label file. What
// an environment says differently on two files is joined by " | ".
func Merge(target string, parts []*Measurement) *Measurement {
	out := New()
	out.Target = target
	clash := clashing(parts)
	names := shortNames(parts)
	seen := map[string]bool{} // rows, contributors of rows, and facts already taken
	for i, part := range parts {
		out.Inputs = append(out.Inputs, part.Inputs...)
		mergeEnvironment(out.Environment, part.Environment)
		relabel := func(name string, l Labels) (Labels, bool) {
			key := name + "\x00" + l.Key()
			if clash[key] {
				return l.With("file", names[i]), true
			}
			return l, !seen[key]
		}
		taken := []string{}
		for _, r := range part.Rows {
			labels, fresh := relabel(r.Name, r.Labels)
			if fresh {
				taken = append(taken, r.Name+"\x00"+r.Labels.Key())
				r.Labels = labels
				out.Rows = append(out.Rows, r)
			}
		}
		for _, c := range part.Contributors {
			if labels, fresh := relabel(c.Metric, c.Labels); fresh {
				c.Labels = labels
				out.Contributors = append(out.Contributors, c)
			}
		}
		for _, s := range part.Series {
			// A series belongs to the row that it gives the growth of; one that has none
			// goes by its own labels.
			if labels, fresh := relabel(s.key(), s.Labels); fresh {
				taken = append(taken, s.key()+"\x00"+s.Labels.Key())
				s.Labels = labels
				out.Series = append(out.Series, s)
			}
		}
		for _, f := range part.Facts.Modules {
			if key := "module\x00" + f.Fingerprint + f.Labels.Key(); !seen[key] {
				taken = append(taken, key)
				out.Facts.Modules = append(out.Facts.Modules, f)
			}
		}
		for _, f := range part.Facts.Plans {
			// A fact belongs to the row of the plan's need, and is kept where that is.
			if labels, fresh := relabel("plan.need_bytes", f.Labels); fresh {
				f.Labels = labels
				out.Facts.Plans = append(out.Facts.Plans, f)
			}
		}
		out.Facts.Logs = append(out.Facts.Logs, part.Facts.Logs...)
		// The facts of a device's snapshot stay together: those of several files are
		// told apart where any of them differ.
		for _, f := range part.Facts.Traces {
			if labels, fresh := relabel("snapshot", f.Labels); fresh {
				taken = append(taken, "snapshot\x00"+f.Labels.Key())
				f.Labels = labels
				out.Facts.Traces = append(out.Facts.Traces, f)
			}
		}
		for _, f := range part.Facts.Snapshots {
			if labels, fresh := relabel("snapshot", f.Labels); fresh {
				taken = append(taken, "snapshot\x00"+f.Labels.Key())
				f.Labels = labels
				out.Facts.Snapshots = append(out.Facts.Snapshots, f)
			}
		}
		out.Facts.Timelines = append(out.Facts.Timelines, part.Facts.Timelines...)
		out.Facts.Executions = append(out.Facts.Executions, part.Facts.Executions...)
		out.Facts.Waits = append(out.Facts.Waits, part.Facts.Waits...)
		out.Facts.Watches = append(out.Facts.Watches, part.Facts.Watches...)
		for _, f := range part.Facts.Dryrun {
			if !slices.ContainsFunc(out.Facts.Dryrun, func(g DryrunFact) bool { return same(f, g) }) {
				out.Facts.Dryrun = append(out.Facts.Dryrun, f)
			}
		}
		for _, f := range part.Facts.Affon {
			if len(parts) > 1 {
				f.Labels = f.Labels.With("file", names[i])
			}
			out.Facts.Affon = append(out.Facts.Affon, f)
		}
		out.Findings = append(out.Findings, part.Findings...)
		for _, w := range part.Warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
		for _, k := range taken {
			seen[k] = true
		}
	}
	return out
}

// clashing finds the identities of rows, series and snapshots that two parts give
// with different values. A row clashes too where the series that it is judged from do.
func clashing(parts []*Measurement) map[string]bool {
	clash := map[string]bool{}
	rows := firsts[Row]{clash: clash, equal: Row.equal}
	series := firsts[Series]{clash: clash, equal: Series.equal}
	traces := firsts[TraceFact]{clash: clash, equal: same[TraceFact]}
	snapshots := firsts[SnapshotFact]{clash: clash, equal: same[SnapshotFact]}
	for i, part := range parts {
		for _, f := range part.Facts.Traces {
			traces.add("snapshot\x00"+f.Labels.Key(), i, f)
		}
		for _, f := range part.Facts.Snapshots {
			snapshots.add("snapshot\x00"+f.Labels.Key(), i, f)
		}
		for _, r := range part.Rows {
			rows.add(r.Name+"\x00"+r.Labels.Key(), i, r)
		}
		for _, s := range part.Series {
			series.add(s.key()+"\x00"+s.Labels.Key(), i, s)
		}
	}
	return clash
}

// firsts holds the first thing of each key with the part that it is from, and
// marks the keys of which another part has a different one.
type firsts[T any] struct {
	clash map[string]bool
	equal func(T, T) bool
	seen  map[string]first[T]
}

type first[T any] struct {
	part  int
	thing T
}

func (f *firsts[T]) add(key string, part int, thing T) {
	if f.seen == nil {
		f.seen = map[string]first[T]{}
	}
	if have, ok := f.seen[key]; !ok {
		f.seen[key] = first[T]{part, thing}
	} else if have.part != part && !f.equal(have.thing, thing) {
		f.clash[key] = true
	}
}

func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

func (r Row) equal(s Row) bool {
	if r.Value == nil || s.Value == nil {
		return r.Value == nil && s.Value == nil && r.NoData == s.NoData
	}
	return r.Kind == s.Kind && r.Unit == s.Unit && r.Value.Cmp(*s.Value) == 0
}

// shortNames names each part by the end of its first input's path that tells
// it apart from the others: "rank0.pickle", or "host1/step.xplane.pb".
func shortNames(parts []*Measurement) []string {
	paths := make([][]string, len(parts))
	for i, p := range parts {
		if len(p.Inputs) == 0 {
			paths[i] = []string{fmt.Sprintf("part %d", i+1)}
			continue
		}
		paths[i] = strings.Split(path.Clean(strings.ReplaceAll(p.Inputs[0].Path, `\`, "/")), "/")
	}
	tail := func(i, n int) string {
		return strings.Join(paths[i][max(0, len(paths[i])-n):], "/")
	}
	for n := 1; ; n++ {
		names, distinct, longest := make([]string, len(parts)), map[string]bool{}, 0
		for i := range parts {
			names[i] = tail(i, n)
			distinct[names[i]] = true
			longest = max(longest, len(paths[i]))
		}
		if len(distinct) == len(parts) || n >= longest {
			return names
		}
	}
}

func mergeEnvironment(into, from Environment) {
	for _, k := range slices.Sorted(maps.Keys(from)) {
		v := from[k]
		switch have, ok := into[k]; {
		case !ok:
			into[k] = v
		case !slices.Contains(strings.Split(have, " | "), v):
			into[k] = have + " | " + v
		}
	}
}
