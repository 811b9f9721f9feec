package compare

import (
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestPercent: from tenfold on, a factor reads better than percents.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		base, head int64
		want       string
	}{
		{0, 5, ""}, {5, 5, ""}, {100, 150, " (+50.0 %)"}, {100, 50, " (-50.0 %)"}, {1_000_000, 1_000_001, " (+0.0001 %)"},
		{100, 1099, " (+999.0 %)"}, {100, 1100, " (×11)"}, {56, 1_262_385_664, " (×22,542,601)"}, {1, 1 << 62, " (×4,611,686,018,427,387,904)"}, {-5, 500, " (+10100.0 %)"},
	} {
		if got := Percent(measure.Int(c.base), measure.Int(c.head)); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.base, c.head, got, c.want)
		}
	}
}
