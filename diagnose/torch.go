package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// torchRules read the facts of PyTorch's snapshots, failures first.
var torchRules = slices.Concat(torchOOMRules, torchGrowthRules, torchPeakRules, torchPoolRules, torchPairRules, torchLimitRules)

// eachSnapshot makes a rule of a function that looks at one device's facts.
func eachSnapshot(find func(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding) func(Input) []measure.Finding {
	return func(in Input) (out []measure.Finding) {
		for i := range in.Head.Facts.Snapshots {
			s := &in.Head.Facts.Snapshots[i]
			for _, f := range find(in.Head, s) {
				f.Labels = s.Labels
				out = append(out, f)
			}
		}
		return foldRanks(out)
	}
}

// foldRanks makes one finding of those that several ranks have alike.
func foldRanks(fs []measure.Finding) (out []measure.Finding) {
	ranks := map[int][]string{} // by place in out
	for _, f := range fs {
		i := slices.IndexFunc(out, func(g measure.Finding) bool {
			return f.Labels["rank"] != "" && g.Text == f.Text && g.Fix == f.Fix && g.Severity == f.Severity && g.Labels.Key("rank") == f.Labels.Key("rank")
		})
		if i < 0 {
			i = len(out)
			out = append(out, f)
		}
		ranks[i] = append(ranks[i], f.Labels["rank"])
	}
	for i, names := range ranks {
		if len(names) > 1 {
			out[i].Text += fmt.Sprintf(" (on each of the ranks %s)", strings.Join(names, ", "))
			labels := maps.Clone(out[i].Labels)
			delete(labels, "rank")
			out[i].Labels = labels
		}
	}
	return out
}

// rowValue is the value of a row; ok is false where there is none.
func rowValue(m *measure.Measurement, name string, labels measure.Labels) (measure.Bytes, bool) {
	key := labels.Key()
	for _, r := range m.Rows {
		if r.Name == name && r.Labels.Key() == key && r.Value != nil {
			n, ok := r.Value.Int64()
			return measure.Bytes(n), ok
		}
	}
	return 0, false
}

// liveSet adds up the classes: the peak where it is known, else the end.
func liveSet(s *measure.SnapshotFact) (total measure.Bytes, by map[string]measure.Bytes) {
	by = map[string]measure.Bytes{}
	for _, c := range s.Classes {
		total += c.Bytes
		by[c.Class] += c.Bytes
	}
	return total, by
}

// moment says which live set Classes hold.
func moment(s *measure.SnapshotFact) string {
	if s.AtPeak {
		return "at the peak"
	}
	return "at the dump"
}

func percent(part, whole measure.Bytes) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// place names a source line for a sentence.
func place(s *measure.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// sitesOf gives the sites that a test takes, by what it counts, largest first.
func sitesOf(s *measure.SnapshotFact, size func(measure.SiteFact) measure.Bytes) []measure.SiteFact {
	var out []measure.SiteFact
	for _, e := range s.Sites {
		if size(e) > 0 && e.Key != measure.Other {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b measure.SiteFact) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.Key, b.Key))
	})
	return out
}

// topSites names the first few sites with their sizes.
func topSites(sites []measure.SiteFact, size func(measure.SiteFact) measure.Bytes) string {
	var out []string
	for i, e := range sites {
		if i == 3 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(sites)-3)
		}
		out = append(out, fmt.Sprintf("%s (%s)", e.Display, size(e)))
	}
	return strings.Join(out, ", ")
}

// firstSource is the first place of the sites that has one.
func firstSource(sites []measure.SiteFact) *measure.Source {
	for _, e := range sites {
		if e.Source != nil {
			return e.Source
		}
	}
	return nil
}

// native tells a program without Python: all that was recorded has stacks of C++
// frames alone.
func native(s *measure.SnapshotFact) bool {
	return slices.ContainsFunc(s.Limits, func(l measure.LimitFact) bool { return l.Code == measure.LimitCppStacks }) &&
		!slices.ContainsFunc(s.Sites, func(e measure.SiteFact) bool { return e.Source != nil })
}

// allocatorVariable is the environment variable of the allocator's settings:
// torch 2.9 took the device's name out of it and still reads the old one.
func allocatorVariable(m *measure.Measurement) string {
	switch release, _, _ := strings.Cut(m.Environment["torch"], " "); release {
	case "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8":
		return "PYTORCH_CUDA_ALLOC_CONF"
	}
	return "PYTORCH_ALLOC_CONF"
}

// expandable and splitLimit read the allocator's settings.
func expandable(s *measure.SnapshotFact) bool {
	return s.Settings["expandable_segments"] == "True" || strings.Contains(s.Settings["PYTORCH_CUDA_ALLOC_CONF"], "expandable_segments:True")
}

func splitLimit(s *measure.SnapshotFact) bool {
	return s.Settings["max_split_size"] != "" || strings.Contains(s.Settings["PYTORCH_CUDA_ALLOC_CONF"], "max_split_size_mb")
}

// privatePools tells whether a pool of a graph or of the user is in use.
func privatePools(s *measure.SnapshotFact) bool {
	return slices.ContainsFunc(s.Pools, func(p measure.PoolFact) bool { return p.Private })
}
