package xla

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds are the committed fixtures and small files with every message.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	var list [][]byte
	for _, pattern := range []string{"xla/*.pb", "regression/xla/*.pb", "steady/xla/*.pb"} {
		files, err := filepath.Glob(fixture(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, data)
		}
	}
	if len(list) < 5 {
		t.Fatalf("%d seeds in fixtures, want at least 5", len(list))
	}
	for _, m := range valid() {
		list = append(list, m)
	}
	for _, text := range []string{smallText, withoutTotal(), smallReport, oldReport, smallStats} {
		list = append(list, []byte(text))
	}
	return list
}

// FuzzRead checks that no input makes the reader panic, that an error comes without
// a capture, that it does not matter whether the stream can seek, and that the
// measurement of a valid capture adds up.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		use(t, data)
		a, errA := Read(bytes.NewReader(data), int64(len(data)), "x.pb")
		b, errB := Read(onlyReader{bytes.NewReader(data)}, -1, "x.pb")
		if (errA == nil) != (errB == nil) {
			t.Fatalf("seeking: %v; as a stream: %v", errA, errB)
		}
		if errA == nil && dump(a.Measurement()) != dump(b.Measurement()) {
			t.Fatal("seeking and as a stream read differently")
		}
	})
}

// FuzzSniff checks that the decision needs no more than the beginning of a file.
func FuzzSniff(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s[:min(len(s), 512)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format, ok := Sniff(data)
		if ok != strings.HasPrefix(format, "xla.") || !ok && format != "" {
			t.Fatalf("format %q with %v", format, ok)
		}
	})
}
