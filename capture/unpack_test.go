package capture

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/peakgate/peakgate/measure"
)

func zstdOf(t testing.TB, data []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
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

// Each format is read through each compression, whatever the name says, and
// says the same.
func TestOpenPacked(t *testing.T) {
	skippable := []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")
	for _, name := range []string{"torch/forms_dict.pickle", "torch/forms_json.pickle", "xla/h100_donate.hlo.pb"} {
		data, err := os.ReadFile(filepath.Join("..", "fixtures", name))
		if err != nil {
			t.Fatal(err)
		}
		half := len(data) / 2
		plain, err := openBytes(t, data)
		if err != nil {
			t.Fatal(err)
		}
		for form, packed := range map[string][]byte{
			"gzip":           gzipOf(t, data),
			"gzip members":   append(gzipOf(t, data[:half]), gzipOf(t, data[half:])...),
			"zstd":           zstdOf(t, data),
			"zstd best":      zstdOf(t, data, zstd.WithEncoderLevel(zstd.SpeedBestCompression)),
			"zstd long":      zstdOf(t, data, zstd.WithWindowSize(zstdWindow)),
			"zstd no sum":    zstdOf(t, data, zstd.WithEncoderCRC(false)),
			"zstd single":    zstdOf(t, data, zstd.WithSingleSegment(true)),
			"zstd frames":    append(zstdOf(t, data[:half]), zstdOf(t, data[half:])...),
			"zstd skippable": append(bytes.Clone(skippable), append(zstdOf(t, data), skippable...)...),
		} {
			m, err := openBytes(t, packed)
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
				continue
			}
			if len(m.Rows) == 0 || len(m.Rows) != len(plain.Rows) || int(m.Inputs[0].Bytes) != len(data) {
				t.Errorf("%s, %s: %d rows of %d bytes, want %d of %d", name, form, len(m.Rows), m.Inputs[0].Bytes, len(plain.Rows), len(data))
			}
			for i, r := range m.Rows {
				if w := plain.Rows[i]; r.Name != w.Name || (r.Value == nil) != (w.Value == nil) || r.Value != nil && r.Value.Cmp(*w.Value) != 0 {
					t.Errorf("%s, %s: %s differs", name, form, r.Name)
				}
			}
		}
	}
}

func openBytes(t testing.TB, data []byte) (*measure.Measurement, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capture.bin")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(path, Options{})
}

func TestOpenPackedMalformed(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "fixtures", "torch", "forms_dict.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	good := zstdOf(t, data)
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1 // the checksum
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut":           {good[:len(good)-8], "zstd data ends early"},
		"cut header":    {good[:5], "zstd data ends early"},
		"checksum":      {flipped, "damaged zstd data"},
		"wide window":   {[]byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), "zstd data with a window of more than 128 MiB"},
		"dictionary":    {[]byte("\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00"), "damaged zstd data"},
		"empty":         {zstdOf(t, nil), "nothing to read"},
		"junk behind":   {append(bytes.Clone(good), "junk junk junk"...), "zstd"},
		"skippable cut": {[]byte("\x50\x2a\x4d\x18\xff\xff\xff\x7fabc"), "zstd"},
		"zeros":         {zstdOf(t, make([]byte, 1<<20)), "nothing but zero bytes"},
		"xz":            {[]byte("\xfd7zXZ\x00\x00\x04"), "xz-compressed"},
		"bzip2":         {[]byte("BZh91AY&SY"), "bzip2-compressed"},
		"lz4":           {[]byte("\x04\x22\x4d\x18\x64\x40"), "lz4-compressed"},
	} {
		m, err := openBytes(t, c.data)
		if err == nil || m != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

// A bomb stops early, and takes no more memory than the largest window does.
func TestOpenBomb(t *testing.T) {
	defer func(floor int64) { bombFloor = floor }(bombFloor)
	bombFloor = 64 << 20
	// JSON that ends in white space without end: valid so far.
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.MultiReader(strings.NewReader(`{"segments": [`), io.LimitReader(spaces{}, 3*bombFloor/2))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if ratio := 3 * bombFloor / 2 / int64(bomb.Len()); ratio < bombRatio {
		t.Fatalf("the encoder makes it only %d times smaller", ratio)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := openBytes(t, bomb.Bytes())
	runtime.ReadMemStats(&after)
	if m != nil || err == nil || !strings.Contains(err.Error(), "compression bomb") {
		t.Errorf("%v, want a compression bomb", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*zstdWindow {
		t.Errorf("%d MiB allocated", took>>20)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
