package torch

import (
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// The lines above what grows lead to what keeps it: val_losses.append is in
// train.py:49.
func TestGrewUnder(t *testing.T) {
	steps := labFile(t, "leak_graph_head").Facts.Snapshots[0].Steps
	want := []string{"train.py:54 <module>", "train.py:49 main", "train.py evaluate"}
	if !slices.Equal(steps.GrewUnder, want) || *steps.GrewUnderAt != (measure.Source{File: "train.py", Line: 49}) {
		t.Errorf("grew under %q at %v, want %q", steps.GrewUnder, steps.GrewUnderAt, want)
	}
	if got := labFile(t, "leak_graph_base").Facts.Snapshots[0].Steps.GrewUnderAt; got != nil && got.Line == 0 {
		t.Errorf("base: %v", got)
	}
}

// A site that keeps blocks rises in each inner part of a history without steps;
// one that allocates and frees does not.
func TestRoseParts(t *testing.T) {
	for name, kept := range map[string]string{"cpp_2_15": "serve leak_activations → serve make_weights", "series_step12": "series.py:17 remember"} {
		for _, s := range labFile(t, name).Facts.Snapshots[0].Sites {
			if want := s.Display == kept; want != (s.RoseParts == 8) {
				t.Errorf("%s: %s rose in %d parts, want it in all 8: %v", name, s.Display, s.RoseParts, want)
			}
		}
	}
}
