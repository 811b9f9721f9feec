package xla

import (
	"testing"

	"github.com/peakgate/peakgate/measure"
)

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

// TestSourceEnds: a chain of frames that is longer than any stack ends the search, which is
// made for each buffer of a module.
func TestSourceEnds(t *testing.T) {
	const far = 5000
	frames := make([]StackFrame, far)
	for i := range frames {
		frames[i] = StackFrame{1, int64(i + 2)} // in a library, called by the next
	}
	frames[far-1] = StackFrame{2, 0}
	m := &Module{Frames: StackFrames{
		Files: []string{"/usr/lib/python3.12/x.py", "/home/me/train.py"}, Functions: []string{"f"},
		Locations: []FrameLocation{{1, 1, 10, 0}, {2, 1, 22, 4}}, Frames: frames,
	}}
	for id, want := range map[int64]string{far - maxFrames + 1: "/home/me/train.py", far - maxFrames: "/usr/lib/python3.12/x.py", 1: "/usr/lib/python3.12/x.py"} {
		if got, ok := m.Source(&OpMetadata{FrameID: id}); !ok || got.File != want {
			t.Errorf("from frame %d: %v, want a frame of %s", id, got, want)
		}
	}
}

// TestOperandRing: instructions that are each other's operands end the search for what
// made a buffer.
func TestOperandRing(t *testing.T) {
	for _, opcode := range forwarding {
		ring := []message{instruction(1, "a", opcode).int(36, 2), instruction(2, "b", opcode).int(36, 1)}
		c := parse(t, hlo(ring, message{}.bytes(1, buffer(1, 32, 1, 0)).bytes(3, allocation(0, 32, 0, assigned(32, 1))).bytes(4, trace(event{Alloc, 1, 0}, event{Free, 1, 0}))))
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		is(t, c.Measurement(), "plan.other_bytes", measure.Labels{"memory_space": "device", "module": "test_module"}, 32)
	}
}
