package pprof

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/peakgate/peakgate/measure"
)

// repository is the folder that holds go.mod.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the package")
		}
		dir = parent
	}
}

func captures(t testing.TB, sub string) string {
	t.Helper()
	dir := filepath.Join(repository(t), "..", "shared", "captures")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the folder ../shared/captures is not beside this repository")
	}
	return filepath.Join(dir, filepath.FromSlash(sub))
}

// content gives a file without its gzip layer.
func content(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) *measure.Measurement {
	t.Helper()
	p, err := Read(bytes.NewReader(data), "x")
	if err != nil {
		t.Fatal(err)
	}
	m := p.Measurement("")
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	return content(t, filepath.Join(repository(t), "fixtures", filepath.FromSlash(name)))
}

// row gives the value of a metric, and who holds its bytes.
func row(t testing.TB, m *measure.Measurement, metric string, labels measure.Labels) (value int64, noData string, by []measure.Contributor) {
	t.Helper()
	for _, r := range m.Rows {
		if r.Name != metric || r.Labels.Key() != labels.Key() {
			continue
		}
		if r.Kind != measure.Observed {
			t.Errorf("%s is %s, want observed", metric, r.Kind)
		}
		if r.Value == nil {
			return 0, r.NoData, nil
		}
		n, _ := r.Value.Int64()
		var sum int64
		for _, c := range m.ContributorsOf(metric, labels) {
			sum += int64(c.Bytes)
		}
		if sum != n {
			t.Errorf("%s: contributors have %d bytes of %d", metric, sum, n)
		}
		return n, "", m.ContributorsOf(metric, labels)
	}
	t.Fatalf("no row %s %s in %v", metric, labels.Key(), m.Rows)
	return 0, "", nil
}

// TestSums compares with what `go tool pprof -sample_index=space -tags` says.
func TestSums(t *testing.T) {
	for name, want := range map[string]struct {
		device     string
		live, code int64
		first      string
	}{
		"pprof/jaxdips_memory_advecting_sphere.prof":                   {"gpu:0", 1_920_993_712, 68_762_708, "test_advecting_sphere.py:116"},
		"pprof/microjax_memory.prof":                                   {"cuda:0", 32_064, 1_023_096, ""},
		"pprof/poscidyn_device_memory_profile.pb":                      {"TFRT_CPU_0", 22_584, 0, ""},
		"pprof/poscidyn_memory_20251009.prof":                          {"cuda:0", 23_306, 302_242, ""},
		"lab/xla/cpu-0.10.2/a2_remat_scan/base/device_memory.pprof.gz": {"cpu:0", 14_688_260, 0, "drive.py"},
		"lab/xla/cpu-0.10.2/b_donate/base/device_memory.pprof.gz":      {"cpu:0", 75_759_620, 0, "drive.py"},
		"lab/xla/cpu-0.10.2/b_donate/head/device_memory.pprof.gz":      {"cpu:0", 151_257_092, 0, "drive.py"},
		"lab/xla/cpu-0.10.2/c_scan/head/device_memory.pprof.gz":        {"cpu:0", 18_874_372, 0, "drive.py"},
		"lab/xla/cpu-0.10.2/d_upcast/head/device_memory.pprof.gz":      {"cpu:0", 9_179_140, 0, "drive.py"},
		"lab/xla/cpu-0.10.2/g_leak/base/device_memory.pprof.gz":        {"cpu:0", 2_621_440, 0, ""},
		"lab/xla/cpu-0.10.2/g_leak/head/device_memory.pprof.gz":        {"cpu:0", 7_864_320, 0, "train.py"},
	} {
		t.Run(name, func(t *testing.T) {
			m := read(t, content(t, captures(t, name)))
			live, _, by := row(t, m, liveEnd, measure.Labels{"device": want.device})
			code, noCode, _ := row(t, m, codeEnd, measure.Labels{})
			if live != want.live || code != want.code || (noCode != "") != (want.code == 0) || len(m.Rows) != 2 {
				t.Errorf("live %d, want %d; code %d (%s), want %d; %d rows", live, want.live, code, noCode, want.code, len(m.Rows))
			}
			if !strings.Contains(by[0].Display, want.first) {
				t.Errorf("most is held by %s, want %s", by[0].Display, want.first)
			}
			for _, c := range by {
				if strings.HasPrefix(c.Key, "jax/") {
					t.Errorf("%s is charged to JAX itself", c.Display)
				}
			}
		})
	}
}

// TestLeak is the story that only a run shows: outputs kept in a list.
func TestLeak(t *testing.T) {
	held := map[string]measure.Contributor{}
	for _, side := range []string{"base", "head"} {
		_, _, by := row(t, read(t, fixture(t, "leak/"+side+".pprof.gz")), liveEnd, measure.Labels{"device": "cpu:0"})
		for _, c := range by {
			held[side+" "+c.Key] = c
		}
	}
	base, head := held["base train.py run"], held["head train.py run"]
	if base.Bytes != 1_310_720 || head.Bytes != 6_553_600 || head.Count != 7 || head.Display != "train.py:25 run" ||
		head.Source == nil || *head.Source != (measure.Source{File: "train.py", Line: 25}) {
		t.Errorf("base %+v\nhead %+v %+v", base, head, head.Source)
	}
	if a, b := held["base drive.py mk"], held["head drive.py mk"]; a.Bytes != b.Bytes || a.Bytes == 0 {
		t.Errorf("the inputs: %+v, %+v", a, b)
	}
}

// builder makes profiles.
type builder struct {
	out     []byte
	strings map[string]uint64
	list    []string
}

func (b *builder) text(s string) uint64 {
	if b.strings == nil {
		b.strings, b.list = map[string]uint64{"": 0}, []string{""}
	}
	i, ok := b.strings[s]
	if !ok {
		i = uint64(len(b.list))
		b.strings[s], b.list = i, append(b.list, s)
	}
	return i
}

func number(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), v)
}

func body(b []byte, field int, v []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|delim), uint64(len(v))), v...)
}

func (b *builder) types(names ...string) {
	for i := 0; i < len(names); i += 2 {
		b.out = body(b.out, 1, number(number(nil, 1, b.text(names[i])), 2, b.text(names[i+1])))
	}
}

// sample adds a sample; labels are key, value, key, value …
func (b *builder) sample(count, bytes uint64, stack []uint64, labels ...string) {
	var s, packed []byte
	for _, l := range stack {
		packed = binary.AppendUvarint(packed, l)
	}
	s = body(s, 1, packed)
	s = body(s, 2, binary.AppendUvarint(binary.AppendUvarint(nil, count), bytes))
	for i := 0; i < len(labels); i += 2 {
		s = body(s, 3, number(number(nil, 1, b.text(labels[i])), 2, b.text(labels[i+1])))
	}
	b.out = body(b.out, 2, s)
}

// frame adds a location with the same id, and its function.
func (b *builder) frame(id uint64, file, function string, line uint64) {
	b.out = body(b.out, 4, body(number(nil, 1, id), 4, number(number(nil, 1, id), 2, line)))
	b.out = body(b.out, 5, number(number(number(number(nil, 1, id), 2, b.text(function)), 3, b.text(function)), 4, b.text(file)))
}

func (b *builder) done() []byte {
	out := bytes.Clone(b.out)
	for _, s := range b.list {
		out = body(out, 6, []byte(s))
	}
	return out
}

// small is a profile with every part that is read.
func small() *builder {
	b := &builder{}
	b.types("allocations", "count", "space", "bytes")
	b.sample(2, 1<<20, []uint64{1, 2, 3}, "kind", "buffer", "device", "cuda:0")
	b.sample(1, 1<<19, []uint64{1, 4}, "kind", "buffer", "device", "cuda:0")
	b.sample(1, 1<<20, []uint64{1, 5, 3}, "kind", "buffer", "device", "cuda:1")
	b.sample(3, 1<<18, []uint64{1}, "kind", "executable")
	b.sample(1, 1<<17, nil, "kind", "executable")
	b.frame(1, "/usr/lib/python3.12/site-packages/jax/_src/pjit.py", "call", 10)
	b.frame(2, "/home/me/repo/train/step.py", "step", 20)
	b.frame(3, "/home/me/repo/main.py", "<module>", 30)
	b.frame(4, "/home/me/repo/train/step.py", "step", 21)
	b.frame(5, "/usr/lib/python3.12/site-packages/flax/linen.py", "init", 40)
	return b
}

func TestSmall(t *testing.T) {
	data := small().done()
	m := read(t, data)
	live, _, by := row(t, m, liveEnd, measure.Labels{"device": "cuda:0"})
	if live != 3<<19 || len(by) != 1 || by[0].Key != "train/step.py step" || by[0].Display != "train/step.py:20 step" || by[0].Count != 3 {
		t.Errorf("cuda:0: %d, %+v", live, by)
	}
	live, _, by = row(t, m, liveEnd, measure.Labels{"device": "cuda:1"})
	if live != 1<<20 || by[0].Display != "main.py:30 <module> → flax/linen.py:40 init" || by[0].Key != "main.py <module> → flax/linen.py init" {
		t.Errorf("cuda:1: %d, %+v", live, by)
	}
	code, _, by := row(t, m, codeEnd, measure.Labels{})
	if code != 3<<17 || by[0].Key != "jax/_src/pjit.py call" || by[1].Key != "(no Python stack)" || by[0].Source != nil {
		t.Errorf("code: %d, %+v", code, by)
	}
	// Below a given root, and from a stream of any kind.
	p, err := Read(iotest.OneByteReader(bytes.NewReader(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Measurement("/home/me").Contributors[0]; c.Key != "repo/train/step.py step" || c.Source.File != "repo/train/step.py" {
		t.Errorf("with a root: %+v", c)
	}
	none := &builder{}
	none.types("allocations", "count", "space", "bytes")
	if m := read(t, none.done()); len(m.Rows) != 0 || !strings.Contains(m.Warnings[0], "no live array") {
		t.Errorf("an empty profile: %v %v", m.Rows, m.Warnings)
	}
}

func TestMalformed(t *testing.T) {
	with := func(change func(b *builder)) []byte {
		b := small()
		change(b)
		return b.done()
	}
	types := func(names ...string) []byte {
		b := &builder{}
		b.types(names...)
		return b.done()
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"Go heap", types("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"), "that JAX did not write: want the sample types allocations/count, space/bytes, found \"alloc_objects/count"},
		{"Go heap, old", types("inuse_objects", "count", "inuse_space", "bytes"), "make it with jax.profiler.save_device_memory_profile"},
		{"unit", types("allocations", "count", "space", "kilobytes"), "space/kilobytes"},
		{"types missing", small().done()[12:], "want the sample types"},
		{"no labels", with(func(b *builder) { b.sample(1, 1, nil) }), "samples[5]: want the labels of JAX"},
		{"unknown kind", with(func(b *builder) { b.sample(1, 1, nil, "kind", "heap") }), `found kind="heap"`},
		{"no device", with(func(b *builder) { b.sample(1, 1, nil, "kind", "buffer") }), `device=""`},
		{"label twice", with(func(b *builder) { b.sample(1, 1, nil, "kind", "buffer", "kind", "buffer") }), `label "kind" occurs twice`},
		{"huge value", with(func(b *builder) { b.sample(1, 1<<60, nil, "kind", "executable") }), "want a value from 0 to 72057594037927936"},
		{"negative value", with(func(b *builder) { b.sample(1, 1<<64-1, nil, "kind", "executable") }), "got -1"},
		{"sum", with(func(b *builder) {
			for range 128 {
				b.sample(1, 1<<56, nil, "kind", "executable")
			}
		}), "samples of more than"},
		{"one value", append(small().done(), body(nil, 2, body(nil, 2, []byte{1}))...), "sample: want two values, got 1"},
		{"three values", append(small().done(), body(nil, 2, body(nil, 2, []byte{1, 1, 1}))...), "sample: want two values, got more"},
		{"unknown location", with(func(b *builder) { b.sample(1, 1, []uint64{9}, "kind", "executable") }), "location 9 is not among the 5"},
		{"unknown function", with(func(b *builder) {
			b.sample(1, 1, []uint64{9}, "kind", "executable")
			b.out = body(b.out, 4, body(number(nil, 1, 9), 4, number(nil, 1, 9)))
		}), "function 9 is not among the 5"},
		{"location twice", with(func(b *builder) { b.frame(5, "x.py", "f", 1) }), "location: want an id of its own above 0, got 5"},
		{"location 0", with(func(b *builder) { b.frame(0, "x.py", "f", 1) }), "location: want an id of its own above 0, got 0"},
		{"function twice", append(small().done(), body(nil, 5, number(nil, 1, 5))...), "function: want an id of its own above 0, got 5"},
		{"strings missing", small().out, "string 1 is not among the 0 of the file: it is cut off"},
		{"number for a text", append(small().done(), number(nil, 6, 1)...), "field 6: want wire type 2, got 0"},
		{"wire type", append(small().done(), 0x0b), "field 1: wire type 3"},
		{"field 0", append(small().done(), 0x02, 0x00), "want a field number from 1"},
		{"long varint", append(small().done(), 0x48, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "varint longer than 64 bits"},
		{"huge length", append(small().done(), 0x12, 0xff, 0xff, 0xff, 0xff, 0x7f), "want at most 16777216 bytes"},
		{"length beyond the end", append(small().done(), 0x12, 0x80, 0x80, 0x40), "unexpected end of file: field 2 wants 1048576 more bytes"},
		{"inner length", append(small().done(), body(nil, 2, []byte{0x12, 0x7f})...), "sample: field 2: length 127 exceeds the 0 bytes left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Read(bytes.NewReader(c.data), "x")
			if err == nil || p != nil || !strings.HasPrefix(err.Error(), "x: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("want an error of one line with %q, got %v", c.want, err)
			}
		})
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(small().done()), iotest.ErrReader(io.ErrClosedPipe)), "x"); err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Errorf("a fault of reading: %v", err)
	}
}

// TestPrefixes checks that a profile that is cut off is an error: strings come last.
func TestPrefixes(t *testing.T) {
	for name, data := range map[string][]byte{"small": small().done(), "leak": fixture(t, "leak/head.pprof.gz")} {
		for n := range len(data) {
			if p, err := Read(bytes.NewReader(data[:n]), "x"); err == nil {
				t.Fatalf("%s: the first %d of %d bytes are a profile with %d samples", name, n, len(data), len(p.Samples))
			}
		}
	}
}

// TestBounds checks that nothing is held on the word of a length.
func TestBounds(t *testing.T) {
	data := append(small().done(), 0x12, 0x80, 0x80, 0x80, 0x08) // a sample of 16 MiB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(bytes.NewReader(data), "x"); err == nil {
		t.Error("a cut sample was read")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}

// TestSniff checks every file of the shared captures and the fixtures.
func TestSniff(t *testing.T) {
	ours, others := 0, 0
	for _, root := range []string{filepath.Join(repository(t), "fixtures"), filepath.Join(repository(t), "..", "shared", "captures")} {
		filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var r io.Reader = f
			if zipped, err := gzip.NewReader(f); err == nil {
				r = zipped
			} else if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 64<<10)
			n, _ := io.ReadFull(r, head)
			want := strings.HasSuffix(file, ".prof") || strings.HasSuffix(file, ".pprof.gz") || strings.HasSuffix(file, "poscidyn_device_memory_profile.pb")
			if format, ok := Sniff(head[:n]); ok != want || ok != (format == Format) {
				t.Errorf("%s: want %v, got %v, %q", file, want, ok, format)
			}
			if want {
				ours++
			} else {
				others++
			}
			return nil
		})
	}
	if ours < 2 || others < 20 {
		t.Errorf("%d profiles, %d other files", ours, others)
	}
	data := small().done()
	for n := range len(data) {
		if _, ok := Sniff(data[:n]); ok != (n >= 13) {
			t.Errorf("the first %d bytes: %v", n, ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(repository(f), "fixtures", "leak", "*.pprof.gz"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		f.Add(content(f, file))
	}
	f.Add(small().done())
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		p, err := Read(bytes.NewReader(data), "x")
		if (p == nil) != (err != nil) {
			t.Fatalf("profile %v with error %v", p, err)
		}
		if err != nil {
			return
		}
		m := p.Measurement("")
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Rows {
			row(t, m, r.Name, r.Labels)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	p := &builder{}
	p.types("allocations", "count", "space", "bytes")
	stack := make([]uint64, 40)
	for i := range 20_000 {
		for j := range stack {
			stack[j] = uint64(1 + (i+j*j)%2000)
		}
		p.sample(1, uint64(i), stack, "kind", "buffer", "device", "cuda:0")
	}
	for i := range 2000 {
		p.frame(uint64(i+1), fmt.Sprintf("/home/me/repo/f%d.py", i%50), fmt.Sprintf("f%d", i), uint64(i))
	}
	data := p.done()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := Read(bytes.NewReader(data), "x")
		if err != nil {
			b.Fatal(err)
		}
		if m := p.Measurement(""); len(m.Rows) != 1 {
			b.Fatal(m.Rows)
		}
	}
}
