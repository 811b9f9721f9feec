package watch

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestProgressBar: a bar is drawn anew by \r and never ends its line.
func TestProgressBar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		pty  bool
	}{{"pipe", false}, {"terminal", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := testConfig{}
			c.Pty = tt.pty
			w := begin(t, c, needStory(t), "bar")
			w.steps(1, 2, 3)
			w.end(0)
			if got := w.out.String(); strings.Count(got, tt.name) != 3 || !strings.HasSuffix(got, "]\n") {
				t.Errorf("output %q, want three bars of a %s", got, tt.name)
			}
		})
	}
}

func TestStepChannels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"descriptor", "file"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testConfig{}
			if c.StepFD = name == "descriptor"; !c.StepFD {
				c.StepFile = filepath.Join(t.TempDir(), "steps")
			}
			w := begin(t, c, needStory(t), "leak", "3")
			for i, got := range w.steps(0, 1, 2) {
				near(t, "step", got, int64(i+1)*2*miB, slack)
			}
			w.end(0)
			if w.all[0].Steps != "channel" || w.out.Len() > 0 {
				t.Errorf("steps by %q, output %q", w.all[0].Steps, w.out.String())
			}
		})
	}
}

// TestLump: of steps that came in one lump only the last is sampled.
func TestLump(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "lump")
	w.at(3)
	w.goOn()
	w.end(0)
	var clustered []bool
	for _, l := range w.events("step") {
		clustered = append(clustered, l.Clustered)
	}
	if len(clustered) != 3 || !clustered[0] || !clustered[1] || clustered[2] {
		t.Errorf("clustered %v, want the first two of three", clustered)
	}
	for _, l := range w.all {
		if l.Event == "" && l.Step != nil && *l.Step != 3 {
			t.Errorf("a sample of step %d", *l.Step)
		}
	}
	if w.out.String() != "step 1\nstep 2\nstep 3\n" {
		t.Errorf("output %q", w.out.String())
	}
}
