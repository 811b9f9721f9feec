package torch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slowed is a pickle that says the same with an empty batch of entries, MARK and SETITEMS, after
// each EMPTY_DICT: no entry of it is a usual one.
func slowed(t *testing.T, data []byte) []byte {
	t.Helper()
	var out []byte
	for p := 0; p < len(data); {
		op := data[p]
		n := 1 + argument(op)
		switch op {
		case 'I', 'L', 'F', 'V', 'p', 'g':
			n += bytes.IndexByte(data[p:], '\n')
		case 0x8c, 0x8a, 'U', 'C':
			if p+1 == len(data) {
				return append(out, op)
			}
			n += int(data[p+1])
		case 'X', 'T', 'B':
			if p+5 > len(data) {
				return append(out, data[p:]...)
			}
			n += int(binary.LittleEndian.Uint32(data[p+1:]))
		case 0x95: // its length would be another one
			p += n
			continue
		}
		if n <= 0 || p+n > len(data) {
			return append(out, data[p:]...)
		}
		out = append(out, data[p:p+n]...)
		if op == '}' {
			out = append(out, "(u"...)
		}
		if p += n; op == '.' {
			break
		}
	}
	return out
}

func measuredText(t *testing.T, data []byte) (string, error) {
	t.Helper()
	s, err := Read(bytes.NewReader(data), int64(len(data)), "x.pickle", Options{})
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(s.Measurement())
	if err != nil {
		t.Fatal(err)
	}
	return string(out), nil
}

func readBytes(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestQuickEntries: entries that are read at once say what their opcodes say one by
// one, in every pickle there is.
func TestQuickEntries(t *testing.T) {
	files := fixtures(t)
	for _, path := range []string{"torch/torch210_user_metadata", "torch/torch20_history", "torch/private_pools_pending", "lab/torch/metadata", "lab/torch/pools"} {
		path = filepath.Join(captures(t, filepath.Dir(path)), filepath.Base(path)+".pickle")
		files[path] = readBytes(t, path)
	}
	measured := func(path string, data []byte) string {
		out, err := measuredText(t, data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return out
	}
	for path, data := range files {
		if data[0] == '{' || strings.Contains(path, "html") {
			continue
		}
		if got, want := measured(path, data), measured(path, slowed(t, data)); got != want {
			t.Errorf("%s: at once %s\none by one %s", path, got, want)
		}
	}
}

// TestQuickDamage: damaged entries are refused or read as they are one by one.
func TestQuickDamage(t *testing.T) {
	data := readBytes(t, filepath.Join(captures(t, "lab/torch"), "pending.pickle"))
	at := bytes.Index(data, []byte("device_traces"))
	if s, err := readText(string(data), int64(len(data))); err != nil || at < 0 || s.Devices[0].History.Events < 50 {
		t.Fatal(err, at)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	usual := data[at:]
	refused := 0
	for range 1000 {
		cut := bytes.Clone(data)
		for range 1 + rnd.IntN(3) {
			cut[at+rnd.IntN(len(usual))] = usual[rnd.IntN(len(usual))] // most bytes there are opcodes and indices
		}
		got, err := measuredText(t, cut)
		want, err2 := measuredText(t, slowed(t, cut))
		if (err == nil) != (err2 == nil) || got != want {
			t.Fatalf("at once %v, one by one %v\n%s\n%s", err, err2, got, want)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 100 || refused > 900 {
		t.Errorf("%d of 1000 damaged files refused", refused)
	}
}
