package xla

import "testing"

func TestSource(t *testing.T) {
	m := &Module{Frames: StackFrames{
		Files:     []string{"/usr/lib/python3.12/site-packages/flax/linen.py", "/home/me/train.py"},
		Functions: []string{"dense", "step"},
		Locations: []FrameLocation{{1, 1, 10, 0}, {2, 2, 22, 4}, {9, 9, 1, 0}, {1, 7, 3, 0}},
		// 1 step ← 2 dense ← 3 a place that does not exist; 4 is its own parent.
		Frames: []StackFrame{{2, 0}, {1, 1}, {3, 2}, {4, 4}, {-1, 99}},
	}}
	for _, c := range []struct {
		name  string
		o     *OpMetadata
		want  Frame
		found bool
	}{
		{"innermost of the user", &OpMetadata{FrameID: 2}, Frame{"/home/me/train.py", 22, "step"}, true},
		{"past a broken location", &OpMetadata{FrameID: 3}, Frame{"/home/me/train.py", 22, "step"}, true},
		{"only libraries, in a ring", &OpMetadata{FrameID: 4}, Frame{"/usr/lib/python3.12/site-packages/flax/linen.py", 3, ""}, true},
		{"a file beside library frames", &OpMetadata{FrameID: 4, SourceFile: "model.py", SourceLine: 5}, Frame{"model.py", 5, ""}, true},
		{"old fields only", &OpMetadata{SourceFile: "model.py", SourceLine: 5}, Frame{"model.py", 5, ""}, true},
		{"parent out of range", &OpMetadata{FrameID: 5}, Frame{}, false},
		{"id out of range", &OpMetadata{FrameID: 6}, Frame{}, false},
		{"negative id", &OpMetadata{FrameID: -1}, Frame{}, false},
		{"nothing", nil, Frame{}, false},
	} {
		if got, found := m.Source(c.o); got != c.want || found != c.found {
			t.Errorf("%s: want %v %v, got %v %v", c.name, c.want, c.found, got, found)
		}
	}
}
