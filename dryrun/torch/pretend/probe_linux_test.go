package pretend

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProbe calls the libraries from a program in C: what they answer is the same on
// every machine.
func TestProbe(t *testing.T) {
	w, err := readWheel(makeTorch(t, "2.9.1+cu128", "'12.8'"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(t.TempDir(), "probe")
	compileC(t, probe, append([]string{"testdata/probe.c", "-Wl,-rpath," + l.Dir}, l.Preload...)...)

	memory := `total 1073741824 free 536870912
one byte 0 takes 2097152
one byte more than the rest 2
the rest 0
then one byte 2: out of memory
free 0 again 1
2^64-1 bytes 2
addresses rise 1
the hole is used again 1
all is back 1
`
	mapping := `reserve 0 takes 0
create 0 takes 4194304
map 0 outside 1
released and mapped: 4194304
unmapped: 0
of device 9 2
free 0 again 1
`
	values := func(read, set string) string {
		return "known 11 14 255 set 5, reads 0\nwritten, reads 0\nread 1 of 24 bytes\n" + read + "\nfrom the device 1\n" + set + ", reads 3 of 32 bytes\n"
	}
	for _, c := range []struct {
		name, part string
		claim      Claim
		env        []string
		want       string
		notes      string
	}{
		{"memory", "memory", Claim{Memory: 1 << 30}, nil, memory, ""},
		{"memory from above", "memory", Claim{Memory: 1 << 30}, []string{"PRETEND_TOPDOWN=1"}, strings.Replace(memory, "rise 1", "rise 0", 1), ""},
		{"a capacity of no whole MiB", "memory", Claim{Memory: 1<<30 + 1, Context: 1<<29 + 1}, nil, strings.Replace(memory, "1073741824", "1073741825", 1), ""},
		{"mapping", "mapping", Claim{Reads: Zero}, nil, mapping, ""},
		{"values that are kept", "values", Claim{Reads: Keep}, nil, values("7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 ", "0 11 0"), ""},
		{"values of zero", "values", Claim{Reads: Zero}, nil, values(strings.Repeat("0 ", 24), "0 0 0"), ""},
		{"values of one", "values", Claim{Reads: One}, nil, values(strings.Repeat("1 0 0 0 0 0 0 0 ", 3), "1 0 1"), ""},
		{"graphs", "graphs", Claim{}, []string{"PRETEND_EVENT_LAG=2"}, "capture of the default stream 900\ncapturing 1, joined 1, after 0\nevent 600 600 0\n", ""},
		{"notes", "notes", Claim{}, nil, `kernels 2, refused 0
managed 801: the pretend device does not support cudaMallocManaged
solver 9, attribute 9999 1
cuMemGetInfo found 1, cuNothing found 0
first cudaMallocManaged of 4
`, `unsupported cudaMallocManaged
unsupported cusolverDnSgetrf_bufferSize
unsupported cudaDeviceGetAttribute(9999)
assumption the time between two events
missing cuNothing?
`},
		{"a kernel whose blocks size no memory", "scan", Claim{}, nil, "blocks 8\n", ""},
		{"a kernel whose blocks may", "reduce", Claim{}, nil, "blocks 8\n", "assumption how many blocks of a kernel run at once\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.claim.Dir = t.TempDir()
			got, notes := runProbe(t, probe, c.part, c.claim, c.env...)
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if notes != c.notes {
				t.Errorf("notes\n%swant\n%s", notes, c.notes)
			}
		})
	}
	for _, capability := range Capabilities {
		got, _ := runProbe(t, probe, "card", Claim{Devices: 64, Capability: capability, Dir: t.TempDir()})
		if want := "devices 64 capability " + capability + "\nset last 0 now 63, set beyond 101\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func runProbe(t *testing.T, probe, part string, claim Claim, env ...string) (out, notes string) {
	t.Helper()
	cmd := exec.Command(probe, part)
	cmd.Env = slices.Concat(claim.Environ(), env)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), readNotes(t, claim.Dir)
}

// readNotes gives the notes of the one process that wrote to a folder, if any did.
func readNotes(t *testing.T, dir string) string {
	t.Helper()
	files, err := Notes(dir)
	if err != nil || len(files) > 1 {
		t.Fatal(files, err)
	}
	if len(files) == 0 {
		return ""
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
