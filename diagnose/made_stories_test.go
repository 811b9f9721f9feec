package diagnose

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMadeStories: what XLA made of one changed line, or of one flag, is told for what it is.
func TestMadeStories(t *testing.T) {
	for story, c := range map[string]struct{ rules, names string }{
		"sharding": {"sharding-lost", "argument p['down']"},
		"in_place": {"in-place-lost", "copy of cache — train.py:8 append"},
		"order":    {"order-only", "train.py:8 branch"},
		"vmem":     {"dtype-widened", "memory space1: f32[1024,1024] dot_general — train.py:8 mix was bf16[1024,1024]"},
		"padding":  {"padding-grew padding-heavy", "train.py:8 heads"},
	} {
		dir := filepath.Join("..", "fixtures", "stories", story)
		base, head := open(t, filepath.Join(dir, "base.hlo.pb.gz")), open(t, filepath.Join(dir, "head.hlo.pb.gz"))
		fs := Changed(Input{Base: base, Head: head})
		if got := rules(fs); got != c.rules || !strings.Contains(fs[0].Text, c.names) {
			t.Errorf("%s: findings %q, want %q; the first: %+v, want %q in it", story, got, c.rules, fs[0], c.names)
		}
		if got := rules(Changed(Input{Base: head, Head: base})); got != "" {
			t.Errorf("%s: the improvement has the findings %q", story, got)
		}
	}
}
