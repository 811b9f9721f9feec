package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead: whatever a file holds, it has a page of bounded size or an error, and what
// is drawn lies within the view.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"analysis/buffer_assignment.pb", "xla/kept_outputs.xplane.pb", "xla/h100_donate.hlo.pb", "torch/forms_proto2.pickle", "torch/forms_proto0.pickle", "torch/enabled_state.pickle"} {
		data, err := os.ReadFile(fixture(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "fuzz")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := open(file)
		if err != nil {
			if s != nil {
				t.Error("an error with a side")
			}
			return
		}
		p := New(s, s) // beside itself: all can be paired
		out, err := json.Marshal(New(s, nil))
		if err != nil || len(out) > 8<<20 {
			t.Errorf("a page of %d bytes from %d, %v", len(out), len(data), err)
		}
		for i, v := range p.Head.Views {
			if v.Base < 1 || v.Base > len(s.Views) {
				t.Errorf("view %d is laid beside %d of %d", i, v.Base, len(s.Views))
			}
			rises(t, v.Anchors)
			for _, x := range v.Curve.X {
				if x < 0 || x > v.Steps {
					t.Errorf("a point at %d of %d", x, v.Steps)
				}
			}
			for _, b := range v.Buffers {
				if b.Start < 0 || b.End > v.Steps+1 || b.Stack < 0 || b.Stack > len(s.Stacks) || b.Pair < 0 || b.Pair > len(s.Views[v.Base-1].Buffers) {
					t.Errorf("buffer %s lives from %d to %d of %d, with stack %d of %d", b.ID, b.Start, b.End, v.Steps, b.Stack, len(s.Stacks))
				}
			}
		}
	})
}
