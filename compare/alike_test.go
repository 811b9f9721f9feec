package compare

import (
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestModulesAlike: equal instructions are no identical workload where the outputs are
// written over other arguments.
func TestModulesAlike(t *testing.T) {
	side := func(instructions, aliased int64, fingerprint string) *measure.Measurement {
		m := measure.New()
		m.Facts.Modules = []measure.ModuleFact{{Labels: measure.Labels{"module": "jit_step"}, Instructions: instructions, Fingerprint: fingerprint, Aliased: aliased}}
		return m
	}
	for _, c := range []struct {
		head    *measure.Measurement
		verdict string
		notes   []string
	}{
		{side(9, 3, "a"), "identical", []string{}},
		{side(9, 0, "a"), "different", []string{"module jit_step: the same operations, but outputs are written over 0 arguments, over 3 in the base"}},
		{side(9, 3, "b"), "different", []string{"module jit_step: as many instructions, but other operations or shapes"}},
		{side(8, 3, "b"), "different", []string{"module jit_step: 8 instructions, 9 in the base"}},
	} {
		if l := compareFacts(side(9, 3, "a"), c.head); l.Verdict != c.verdict || !slices.Equal(l.Notes, c.notes) {
			t.Errorf("%q %q, want %q %q", l.Verdict, l.Notes, c.verdict, c.notes)
		}
	}
}
