package xla

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func head(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, windowBytes)
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		t.Fatal(err)
	}
	return b[:n]
}

// TestSniff checks every file of the shared captures and the fixtures: those whose
// names say that they are ours, and no others.
func TestSniff(t *testing.T) {
	ours, others := 0, 0
	for _, root := range []string{fixture(t, ""), filepath.Join(repository(t), "..", "shared", "captures")} {
		filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			want := ""
			switch name := e.Name(); {
			case strings.HasSuffix(name, ".xplane.pb"):
				want = FormatXSpace
			case strings.HasSuffix(name, ".hlo.pb"), strings.HasSuffix(name, ".hlo_proto.pb"):
				want = FormatHloProto
			case strings.HasSuffix(name, "buffer_assignment.pb"):
				want = FormatAssignment
			case strings.HasSuffix(name, "memory-usage-report.pb"):
				want = FormatReport
			case strings.HasSuffix(name, "buffer-assignment.txt"), strings.HasSuffix(name, "memory-usage-report.txt"):
				want = FormatText
			case name == "mem.json":
				want = FormatStats
			}
			got, ok := Sniff(head(t, file))
			if got != want || ok != (want != "") {
				t.Errorf("%s: want %q, got %q, %v", file, want, got, ok)
			}
			if want == "" {
				others++
			} else {
				ours++
			}
			return nil
		})
	}
	if ours < 7 || others < 7 {
		t.Errorf("sniffed %d files of ours and %d others, want more", ours, others)
	}
}

// TestSniffBegun checks that a file that is cut off keeps its format, so that
// Read can say that it is cut off.
func TestSniffBegun(t *testing.T) {
	for name, want := range map[string]string{
		"xla/cpu_donate.xplane.pb": FormatXSpace, "regression/xla/head.hlo.pb": FormatHloProto, "xla/tpu_offload.hlo.pb": FormatHloProto,
	} {
		b := head(t, fixture(t, name))
		for n := 80; n < len(b); n += 997 {
			if got, _ := Sniff(b[:n]); got != want {
				t.Fatalf("%s: first %d bytes: want %s, got %q", name, n, want, got)
			}
		}
	}
}

// TestSniffRandom checks that bytes without structure are not taken for ours.
func TestSniffRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 200)
	for range 200_000 {
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		b[0] = 0x0a
		if f, ok := Sniff(b); ok {
			t.Fatalf("%x is taken for %s", b, f)
		}
	}
	for _, s := range []string{"", "\n", "\n\n\n", "\nname: x\n", "\n#\n# a title of some length that goes on\n\nfoo", "{}", "\x80\x04\x95", "\x1f\x8b\x08"} {
		if f, ok := Sniff([]byte(s)); ok {
			t.Errorf("%q is taken for %s", s, f)
		}
	}
}

// TestHloTextCopy: an HloProto that was copied as text is told to be one, with what
// happened to it.
func TestHloTextCopy(t *testing.T) {
	for _, file := range []string{"regression/xla/head.hlo.pb", "xla/h100_donate.hlo.pb", "xla/tpu_offload.hlo.pb"} {
		data, err := os.ReadFile(fixture(t, file))
		if err != nil {
			t.Fatal(err)
		}
		copied := []byte(string([]rune(string(data)))) // each byte that is no text becomes EF BF BD
		if format, ok := Sniff(copied[:min(len(copied), 64<<10)]); format != FormatHloProto || !ok {
			t.Errorf("%s: format %q, want %q", file, format, FormatHloProto)
		}
		if _, err := Read(bytes.NewReader(copied), int64(len(copied)), "x.hlo.pb"); err == nil || !strings.Contains(err.Error(), "the file was copied as text") {
			t.Errorf("%s: error %v", file, err)
		}
	}
}
