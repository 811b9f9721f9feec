package capture

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/measure"
)

func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../fixtures", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A capture gives the same measurement from a file, through gzip, and from a
// source that cannot seek; only the size of a stream is learnt at its end.
func TestOpenAllWays(t *testing.T) {
	for name, format := range map[string]string{plan: "xla.hlo_proto", profile: "xla.xspace", snapshot: "torch.snapshot", "torch/forms_json.pickle": "torch.snapshot"} {
		data := fixture(t, name)
		want, err := Open(filepath.Join("../fixtures", name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if in := want.Inputs[0]; in.Format != format || int(in.Bytes) != len(data) {
			t.Errorf("%s: input %+v, want %s of %d bytes", name, in, format, len(data))
		}
		if len(want.Rows) == 0 {
			t.Errorf("%s: no rows", name)
		}
		for way, r := range map[string]io.Reader{
			"gzip":      bytes.NewReader(compress(t, data)),
			"stream":    struct{ io.Reader }{bytes.NewReader(data)},
			"two parts": struct{ io.Reader }{bytes.NewReader(append(compress(t, data[:100]), compress(t, data[100:])...))},
		} {
			got, _, err := read(r, -1, want.Inputs[0].Path, Options{})
			if err != nil {
				t.Errorf("%s, %s: %v", name, way, err)
				continue
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(measure.Value{})); diff != "" {
				t.Errorf("%s, %s:\n%s", name, way, diff)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	whole := fixture(t, snapshot)
	squeezed := compress(t, whole)
	damaged := bytes.Clone(squeezed)
	damaged[len(damaged)/2] ^= 0xff
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":              {nil, "empty file: the writer was interrupted"},
		"zeros":              {make([]byte, 100), "nothing but zero bytes"},
		"text":               {[]byte("hello, world"), "text that starts with"},
		"zip":                {[]byte("PK\x03\x04xxxx"), "a zip archive"},
		"lfs":                {[]byte("version https://git-lfs.github.com/spec/v1\n"), "Git LFS pointer"},
		"html":               {[]byte("  <!doctype html>"), "HTML or XML"},
		"json":               {[]byte(`{"traceEvents": []}`), "JSON without the keys"},
		"zstd":               {[]byte("\x28\xb5\x2f\xfdxxxx"), "zstd"},
		"binary":             {[]byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09"), "unknown binary data that starts with 01 02 03"},
		"gzip of text":       {compress(t, []byte("hello, world")), "text that starts with"},
		"gzip of gzip":       {compress(t, compress(t, whole)), "compressed twice (gzip within)"},
		"gzip as text":       {[]byte("\x1f\ufffd\b\x00/"), "copied as text, which replaced its bytes"},
		"assignment as text": {[]byte("\n\x0e\b\v\x10\ufffd\ufffd\x10\x1a\x04"), "copied as text, which replaced its bytes"},
		"text with marks":    {[]byte("caf\ufffd \ufffd \ufffd"), "text that starts with"},
		"gzip of none":       {compress(t, nil), "empty: nothing to read"},
		"gzip header":        {[]byte("\x1f\x8b\x08"), "damaged gzip header"},
		"gzip cut":           {squeezed[:len(squeezed)/2], "gzip data ends early"},
		"gzip damaged":       {damaged, "gzip"},
		"measurement":        {[]byte(`{"schema": "peakgate.measurement/9"}`), `want "peakgate.measurement/1"`},
		"torch.save":         {[]byte("\x80\x02}q\x00X\x01\x00\x00\x00ac__builtin__\neval\n."), "would execute code"},
		"snapshot, cut":      {whole[:len(whole)/2], "offset 0x"},
		"plan, cut":          {fixture(t, plan)[:2000], "offset 0x"},
		"profile, cut":       {fixture(t, profile)[:2000], "offset 0x"},
		"profile, cut 2":     {fixture(t, profile)[:150_000], "offset 0x"},
	} {
		path := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, Options{})
		if err == nil || m != nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v, want an error with the file and %q", name, err, c.want)
		}
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestProgress(t *testing.T) {
	var told []int64
	big := struct{ io.Reader }{bytes.NewReader(bytes.Repeat([]byte{'x'}, 3<<20))}
	c := &counter{r: big, path: "p", total: 3 << 20, tell: func(_ string, done, total int64) { told = append(told, done, total) }}
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{c}); err != nil {
		t.Fatal(err)
	}
	if len(told) < 4 || told[1] != 3<<20 || told[0] < tellEvery {
		t.Errorf("progress was told as %v", told)
	}
}

// Several files are read at once, and merged in their order.
func TestMeasureMany(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"rank0", "rank1", "rank2", "rank3", "rank4", "rank5"} {
		files[name] = snapshot
	}
	files["rank3"] = "torch/pending.pickle"
	dir := tree(t, files)
	found, _, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Measure("train", found, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Target != "train" || len(m.Inputs) != 6 || m.Validate() != nil {
		t.Errorf("%d inputs, %v", len(m.Inputs), m.Validate())
	}
	for i, in := range m.Inputs {
		if in.Path != found[i] {
			t.Errorf("input %d is %s", i, in.Path)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rank4"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := Measure("train", found, Options{}); err == nil || m != nil || !strings.Contains(err.Error(), "rank4: empty file") {
		t.Errorf("an empty rank: %v", err)
	}
}

// The catalogue says of each metric whose captures give it: just what the
// committed captures do give.
func TestCatalogueSaysWhoGives(t *testing.T) {
	files, _, err := Find("../fixtures")
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]map[string]bool{}
	for _, f := range files {
		m, err := Open(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Rows {
			family, _, _ := strings.Cut(m.Inputs[0].Format, ".")
			if from[r.Name] == nil {
				from[r.Name] = map[string]bool{}
			}
			from[r.Name][map[string]string{"xla": "XLA", "torch": "PyTorch", "pprof": "JAX", "affon": "Affon", "series": "series", "footprint": "watch"}[family]] = true
		}
	}
	for _, m := range measure.Catalogue() {
		if got := strings.Join(slices.Sorted(maps.Keys(from[m.Name])), ", "); m.From != got {
			t.Errorf("%s: the catalogue says it is given by %q, the captures say %q", m.Name, m.From, got)
		}
	}
}

// TestHash: an input has the sum of its file as it lies there, compressed or not.
func TestHash(t *testing.T) {
	for _, path := range []string{"../fixtures/regression/torch/head.pickle", "../fixtures/steady/torch/head.pickle.gz"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, Options{Hash: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); m.Inputs[0].SHA256 != want {
			t.Errorf("%s: %q, want %q", path, m.Inputs[0].SHA256, want)
		}
	}
}
