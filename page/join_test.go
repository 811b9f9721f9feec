package page

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestJoin: several captures make one side in which each buffer has its own stack, samples
// come last, and what is named alike names its capture.
func TestJoin(t *testing.T) {
	parts := []*Side{load(t, fixture("footprint/leak.jsonl")), load(t, fixture("regression/torch/head.pickle")), load(t, fixture("xla/h100_donate.hlo.pb")), load(t, fixture("regression/torch/base.pickle"))}
	got := Join(parts)
	last := got.Views[len(got.Views)-1]
	if last.Space != sampled || got.Views[0].Space == sampled {
		t.Errorf("samples are first, or %s is last", last.Module)
	}
	for _, v := range got.Views {
		if alike := v.Name == "device 0"; alike != strings.Contains(v.Module, " · ") {
			t.Errorf("%s is called %s", v.Name, v.Module)
		}
	}
	v, want := got.Views[0], parts[1].Views[0]
	if !strings.HasSuffix(v.Module, "torch/head.pickle") || len(v.Buffers) != len(want.Buffers) {
		t.Fatalf("the first view is %s with %d buffers, want %d", v.Module, len(v.Buffers), len(want.Buffers))
	}
	stacks := 0
	for i, b := range v.Buffers {
		if was := want.Buffers[i]; b.ID != was.ID || !slices.Equal(got.lines(b.Stack), parts[1].lines(was.Stack)) {
			t.Errorf("buffer %s has another stack", b.ID)
		}
		if b.Stack > 0 {
			stacks++
		}
	}
	if stacks < 100 || parts[1].Views[0].Module != "device 0" {
		t.Errorf("%d buffers have stacks; the part is now %s", stacks, parts[1].Views[0].Module)
	}
}

// TestJoinBounds: many captures take no more room than one may.
func TestJoinBounds(t *testing.T) {
	part := load(t, fixture("regression/torch/head.pickle"))
	var parts []*Side
	for range 30 {
		parts = append(parts, part)
	}
	got := Join(parts)
	buffers := 0
	for _, v := range got.Views {
		buffers += len(v.Buffers)
	}
	if buffers > totalBuffers || len(got.Views) == 0 || len(got.Warnings) == 0 || !strings.Contains(got.Warnings[len(got.Warnings)-1], "of 30 modules or devices are not shown") {
		t.Errorf("%d views of %d buffers, warnings %q", len(got.Views), buffers, got.Warnings)
	}
}

// TestPairsOfOthers: shared captures beside each other stay under 2 MB.
func TestPairsOfOthers(t *testing.T) {
	dir := filepath.Join(captures(t), "torch")
	for base, head := range map[string]string{"medium_128_training": "medium_512_training", "xl_ctx128_forward_base": "xl_ctx128_forward_head", "batch100_forward_backward": "batch150_forward_backward"} {
		p := New(load(t, filepath.Join(dir, head+".pickle")), load(t, filepath.Join(dir, base+".pickle")))
		if n := size(t, &p.Head) + size(t, p.Base); n > 19<<20/10 {
			t.Errorf("%s against %s: the page takes %d bytes", head, base, n)
		}
	}
}
