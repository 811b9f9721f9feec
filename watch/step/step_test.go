package step

import (
	"slices"
	"strings"
	"testing"
)

// steps gives what a finder finds in the lines.
func steps(t *testing.T, expressions []string, text string) (found []int64) {
	t.Helper()
	f, err := NewFinder(expressions)
	if err != nil {
		t.Fatal(err)
	}
	var l Lines
	l.Feed([]byte(text), func(line []byte) {
		if n, ok := f.Line(line); ok {
			found = append(found, n)
		}
	})
	return found
}

func TestBuiltinPatterns(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []int64
	}{
		{"torchtune", "Step 1 | loss:1.2\nStep 2 | loss:1.1\n", []int64{1, 2}},
		{"equal sign", "step=10 loss=2\nstep=20 loss=1\n", []int64{10, 20}},
		{"affon", "epoch 1 batch 3/9: step=3 loss=1.5 lr=0.1\nepoch 1 batch 4/9: step=4 loss=1.5 lr=0.1\n", []int64{3, 4}},
		{"affon repro", "lm head loss pressure iteration 5/30\nlm head loss pressure iteration 10/30\n", []int64{5, 10}},
		{"tqdm", " 10%|█  | 1/10 [00:00<00:09]\r 10%|█  | 1/10 [00:01<00:09]\r 20%|██ | 2/10 [00:01<00:08]\r", []int64{1, 2}},
		{"keras", "\r1/3 ━━━━ 1s\r2/3 ━━━━ 1s\r3/3 ━━━━ 0s\n", []int64{1, 2, 3}},
		{"mmdet", "Epoch [1][50/100] lr\nEpoch [1][100/100] lr\nEpoch [2][50/100] lr\n", []int64{50, 100, 150}},
		{"detectron2", "eta: 0:00 iter: 19 total_loss: 1\neta: 0:00 iter: 39 total_loss: 1\n", []int64{19, 39}},
		{"tf loop", "it 100/1000 loss\nit 200/1000 loss\n", []int64{100, 200}},
		{"another word", "footstep 5\nunit 3\nbatches 9\nlimit 4\n", nil},
		{"windows line ends", "step 1\r\nstep 2\r\n", []int64{1, 2}},
		{"nothing", "hello\nworld 3\n", nil},
		{"no number that fits", "step 99999999999999999999\nstep 3\n", []int64{3}},
		{"bar of a download, then steps", " 50%|██ | 3/6 [00:00<00:01]\nstep 1\nstep 2\n 60%|██ | 4/6 [00:00<00:01]\n", []int64{3, 4, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := steps(t, nil, tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNumbersThatRestart(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []int64
	}{
		{"from 1", "step 1\nstep 2\nstep 3\nstep 1\nstep 2\n", []int64{1, 2, 3, 4, 5}},
		{"from 0", "step 0\nstep 1\nstep 2\nstep 0\nstep 1\n", []int64{0, 1, 2, 3, 4}},
		{"each tenth", "step 10\nstep 20\nstep 30\nstep 10\nstep 20\n", []int64{10, 20, 30, 40, 50}},
		{"several ranks", "step 7\nstep 7\nstep 8\nstep 7\nstep 8\nstep 9\n", []int64{7, 8, 9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := steps(t, nil, tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestBar: a bar is seen when it is drawn, not when it is drawn over; a line that
// is cut is not.
func TestBar(t *testing.T) {
	f, _ := NewFinder(nil)
	if n, ok := f.Bar([]byte(" 10%|█  | 1/10 [00:00<00:09]")); !ok || n != 1 {
		t.Errorf("bar: %d, %t", n, ok)
	}
	if n, ok := f.Line([]byte(" 10%|█  | 1/10 [00:00<00:09]")); ok {
		t.Errorf("the same bar again: %d", n)
	}
	if n, ok := f.Bar([]byte("step 1")); ok {
		t.Errorf("a line that may go on: %d", n)
	}
}

func TestOwnPatterns(t *testing.T) {
	if got := steps(t, []string{`^tick (\d+)`}, "step 1\ntick 4\ntick 5\n"); !slices.Equal(got, []int64{4, 5}) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{`tick \d+`, `tick (\d+`} {
		if _, err := NewFinder([]string{bad}); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestChannel(t *testing.T) {
	f, _ := NewFinder(nil)
	var l Lines
	var got []int64
	for _, part := range []string{"1\n2", "\n\n\nx\n10\n"} { // torn, empty, no number
		l.Mark([]byte(part), func(line []byte) {
			n, ok := f.Channel(line)
			if !ok {
				t.Errorf("%q: no step", line)
			}
			got = append(got, n)
		})
	}
	if want := []int64{1, 2, 3, 4, 5, 10}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPass: of what is passed over, and of the line that goes on behind it, nothing
// is found: its number may be cut.
func TestPass(t *testing.T) {
	var l Lines
	var got []string
	add := func(line []byte) { got = append(got, string(line)) }
	l.Feed([]byte("a\nstep 1"), add)
	l.Pass([]byte("0\nstep 1"))
	l.Feed([]byte("2"), add)
	l.Feed([]byte("3\nb\n"), add)
	l.Pass([]byte("whole\n"))
	l.Feed([]byte("c\rd"), add)
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) || string(l.Rest()) != "d" {
		t.Errorf("got %q and %q, want %q and d", got, l.Rest(), want)
	}
}

// BenchmarkSearch is the search in what a workload prints, with and without steps.
func BenchmarkSearch(b *testing.B) {
	for name, line := range map[string]string{"none": "nothing of the kind here, but a long line of text\n", "number": "loss 5.123 of some line here that is long enough\n", "step": "step 5 of some line here that is long enough\n", "dots": "................................................"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 32<<10/len(line)))
			f, _ := NewFinder(nil)
			var l Lines
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				l.Feed(text, func(line []byte) { f.Line(line) })
				f.Bar(l.Rest())
			}
		})
	}
}

// TestLongLine holds the memory of a stream without line ends to a bound.
func TestLongLine(t *testing.T) {
	var l Lines
	for range 100 {
		l.Feed(make([]byte, 1<<16), func([]byte) { t.Error("a line") })
	}
	if cap(l.part) > 2*maxLine {
		t.Errorf("%d bytes kept", cap(l.part))
	}
}

func FuzzLine(f *testing.F) {
	f.Add("step 1\rstep 2\nEpoch [1][50/100]\n 5/10 [")
	f.Add("step 2\rstep 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		finder, _ := NewFinder(nil)
		var l Lines
		last := int64(-1)
		l.Feed([]byte(text), func(line []byte) {
			if n, ok := finder.Line(line); ok {
				if n <= last {
					t.Fatalf("step %d after %d", n, last)
				}
				last = n
			}
		})
	})
}
