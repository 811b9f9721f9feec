package torch

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	for path, data := range fixtures(t) {
		if format, ok := Sniff(data[:min(len(data), 64<<10)]); !ok || format != "torch.snapshot" {
			t.Errorf("%s: %q, %v", filepath.Base(path), format, ok)
		}
	}
	for _, c := range []struct {
		head string
		want bool
	}{
		{"", false},
		{"\x80", false},
		{"\x80\x02", true},
		{"\x80\x05\x95", true},
		{"\x80\x06\x95", false},
		{"\x80\x02ctorch._utils\n", true}, // a state dict: gets this reader's refusal
		{"(dp0\nV", true},
		{"(lp0\n(", true},
		{"(dVsegments\n", true},
		{"(define", false},
		{"(lambda", false},
		{"}q\x00", true},
		{"]q\x00", true},
		{"PK\x03\x04", false},
		{`{"segments": [`, true},
		{"\xef\xbb\xbf \n{ \"device_traces\" : [", true},
		{`{"a": {"segments": 1}, "b": "\"segments\": ", "allocator_settings": {`, true},
		{`{"a": {"segments": 1}, "b": ["segments"]}`, false},
		{`{"schema": "peakgate.measurement/1", "segments": []}`, false},
		{`{"schema":"peakgate.result/1"}`, false},
		{`{"traceEvents": []}`, false},
		{`{"name": "segments"}`, false},
		{`[{"device": 0, "address": 1, "total_size": 2`, true},
		{`[{"ph": "X"}, {"blocks": []}]`, false},
		{`[1, 2]`, false},
		{`["blocks"]`, false},
		{`{"unfinished`, false},
		{`{"segments"`, false},
	} {
		if _, ok := Sniff([]byte(c.head)); ok != c.want {
			t.Errorf("Sniff(%q) = %v, want %v", c.head, ok, c.want)
		}
	}
}

func TestRoot(t *testing.T) {
	frame := func(file string) string {
		return list(dict(text("filename"), text(file), text("name"), text("f"), text("line"), "K\x07"))
	}
	read := func(root string, files ...string) string {
		var events []string
		var blocks []string
		for i, f := range files {
			events = append(events, dict(text("action"), text("alloc"), text("addr"), num(int64(4096*i)), text("size"), num(1<<20), text("frames"), frame(f)))
			blocks = append(blocks, block(int64(4096*i), 1<<20, "active_allocated"))
		}
		events = append(events, event("snapshot", 0, 0))
		s, err := Read(strings.NewReader(snapshot([]string{segment(0, int64(len(files))<<20, blocks...)}, events)), -1, "x", Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range s.Measurement().Contributors {
			if c.Metric == "live.peak_bytes" {
				out = append(out, c.Key)
			}
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		root  string
		files []string
		want  string
	}{
		{"", []string{"/home/u/repo/a.py", "/home/u/repo/pkg/b.py"}, "a.py f, pkg/b.py f"},
		{"", []string{"/home/u/repo/a.py", "/home/u/repository/b.py"}, "repo/a.py f, repository/b.py f"},
		{"", []string{"/repo/scripts/../pkg/a.py", "/repo/pkg/b.py"}, "a.py f, b.py f"},
		{"", []string{`C:\work\repo\a.py`, `C:\work\repo\pkg\b.py`}, "a.py f, pkg/b.py f"},
		{"", []string{"train.py", "/repo/a.py"}, "a.py f, train.py f"},
		{"/home/u/repo", []string{"/home/u/repo/pkg/a.py", "/home/u/repo/pkg/b.py"}, "pkg/a.py f, pkg/b.py f"},
		{"/home/u/repo/", []string{"/home/u/repo/pkg/a.py"}, "pkg/a.py f"},
		{"/somewhere/else", []string{"/home/u/repo/pkg/a.py", "/home/u/repo/b.py"}, "b.py f, pkg/a.py f"},
		{"", []string{"/r/a.py", "/v/lib/python3.12/site-packages/einops/einops.py"}, "a.py f, einops/einops.py f"},
		{"", []string{"/r/a.py", "/usr/lib/python3.12/threading.py"}, "/usr/lib/python3.12/threading.py f, a.py f"},
		{"", []string{"/src/pytorch/torch/nn/modules/module.py", "/src/pytorch/torch/nn/modules/linear.py", "/src/me/a.py"}, "a.py f, torch/nn/modules/linear.py f, torch/nn/modules/module.py f"},
		{"", []string{"/tmp/ipykernel_123/456.py", "<stdin>", "<eval_with_key>.7", "/tmp/torchinductor_me/ab/cabcd.py", "/x/fx_generated_0a1b.py"},
			"<eval_with_key> f, <notebook> f, <stdin> f, <torchinductor> f, fx_generated.py f"},
		{"", []string{"/root/.local/share/repo/torch/model.py", "/root/.local/share/repo/train.py"}, "torch/model.py f, train.py f"},
	} {
		if got := read(c.root, c.files...); got != c.want {
			t.Errorf("root %q, files %v: keys %q, want %q", c.root, c.files, got, c.want)
		}
	}
}

func TestShortFunction(t *testing.T) {
	for name, want := range map[string]string{
		"make_weights(long)": "make_weights",
		"leak(std::vector<at::Tensor, std::allocator<at::Tensor> >&)": "leak",
		"void my::run<float>(int, bool)":                              "my::run",
		"(anonymous namespace)::helper(int)":                          "{anonymous}::helper",
		"main":                                                        "main",
		"std::function<void (int)>::operator()(int) const":            "std::function::operator",
	} {
		if got := shortFunction(name); got != want {
			t.Errorf("shortFunction(%q) = %q, want %q", name, got, want)
		}
	}
}
