package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/mac"
	"github.com/peakgate/peakgate/watch/proc"
)

// fake puts a program into PATH that runs a shell script.
func fake(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// askGPU gives the level that a mode makes of what nvidia-smi says before the run
// and in it.
func askGPU(t *testing.T, mode GPUMode, devices, apps, devicesLater string) (footprint.Level, string) {
	t.Helper()
	dir := t.TempDir()
	answer := func(devices, apps string) {
		for name, text := range map[string]string{"devices": devices, "apps": apps} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	fake(t, "nvidia-smi", `case "$1" in --query-gpu*) cat `+dir+`/devices;; --query-compute-apps*) cat `+dir+`/apps;; esac`)
	answer(devices, "")
	g := newGPU(&Config{GPU: mode}, &helpers{}, proc.New(t.TempDir()))
	defer g.close()
	answer(devicesLater, apps)
	a := g.ask(t.Context())
	return g.level(&a, []*proc.Member{{Key: proc.Key{PID: 7}}, {Key: proc.Key{PID: 8}}})
}

func TestGPUAttribution(t *testing.T) {
	const before, after = "GPU-1, 500\nGPU-2, 10\n", "GPU-1, 1500\nGPU-2, 10\n"
	for _, tt := range []struct {
		name         string
		mode         GPUMode
		apps, device string
		want         int64 // MiB; -1 is unknown
		reason       string
	}{
		{"pid", GPUPid, "GPU-1, 7, 600\nGPU-1, 8, 100\nGPU-1, 99, 300\n", after, 700, ""},
		{"device", GPUDevice, "", after, 1000, ""},
		{"all", GPUAll, "GPU-1, 7, 600\nGPU-1, 99, 300\n", after, 900, ""},
		{"pids of the host", GPUPid, "GPU-1, 40170, 600\n", after, -1, "lists no process of the tree"},
		{"not begun", GPUPid, "", before, 0, ""},
		{"not told", GPUPid, "GPU-1, 7, [N/A]\n", after, -1, "does not tell the memory of a process"},
		{"device not told", GPUDevice, "", "GPU-1, [N/A]\nGPU-2, 10\n", -1, "does not tell the memory in use"},
		{"no driver", GPUPid, "NVIDIA-SMI has failed\n", after, -1, "want 3 fields"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			level, reason := askGPU(t, tt.mode, before, tt.apps, tt.device)
			n, ok := level.Value()
			if ok != (tt.want >= 0) || ok && n != tt.want<<20 || !ok && !level.IsUnknown() {
				t.Errorf("got %d, %t, want %d MiB", n, ok, tt.want)
			}
			if !strings.Contains(reason, tt.reason) || (reason == "") != (tt.reason == "") {
				t.Errorf("reason %q, want %q", reason, tt.reason)
			}
		})
	}
}

// TestGPUInSamples: a sample never waits for nvidia-smi.
func TestGPUInSamples(t *testing.T) {
	fake(t, "nvidia-smi", `case "$1" in --query-gpu*) echo GPU-1, 100;; *) echo GPU-1, 7, 64;; esac`)
	g := newGPU(&Config{GPU: GPUPid}, &helpers{}, proc.New(t.TempDir()))
	var s footprint.Sample
	members := []*proc.Member{{Key: proc.Key{PID: 7}}}
	g.sample(&s, 0, false, members)
	if !s.GPU.IsZero() {
		t.Error("the first sample has a level before nvidia-smi has answered")
	}
	g.done.Wait()
	g.sample(&s, time.Second, false, members)
	if n, ok := s.GPU.Value(); !ok || n != 64<<20 {
		t.Errorf("got %d, %t", n, ok)
	}
	var h footprint.Header
	h.Sources = map[string]string{}
	g.header(&h)
	if h.Sources["gpu_bytes"] != "nvidia-smi/pid" {
		t.Errorf("sources %v", h.Sources)
	}
	g.close()
}

const regionsTable = `Physical footprint:         11.5G
REGION TYPE                        SIZE     SIZE     SIZE     SIZE     SIZE     SIZE     SIZE    COUNT
===========                     ======= ========    =====  ======= ========   ======    =====  =======
IOAccelerator                       64K      64K      64K       0K       0K       0K       0K        2
IOAccelerator (graphics)          5008K    4864K    4864K       0K       0K    4864K       0K      142
TOTAL                             6000K
`

func TestRegions(t *testing.T) {
	t.Run("vmmap", func(t *testing.T) {
		fake(t, "vmmap", "[ \"$1 $2\" = '-summary 42' ] || exit 1\ncat <<'E'\n"+regionsTable+"E\n")
		r, err := readRegions(&helpers{}, 42)
		if err != nil {
			t.Fatal(err)
		}
		if want := (mac.Row{Virtual: 5008 << 10, Resident: 4864 << 10, Dirty: 4864 << 10, Count: 142}); r.graphics != want || r.io.Count != 2 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("refused, footprint answers", func(t *testing.T) {
		fake(t, "footprint", "echo 'x [42]: 64-bit    Footprint: 42 MB (16384 bytes per page)'\necho '2624 KB  0 B  25 MB  305  IOAccelerator (graphics)'\n")
		r, err := readRegions(&helpers{}, 42)
		if err != nil || r.graphics.Count != 305 || *r.reclaimable != 25<<20 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("both refused", func(t *testing.T) {
		fake(t, "vmmap", "echo 'cannot examine process 42' >&2; exit 1")
		if _, err := readRegions(&helpers{}, 42); err == nil || !strings.Contains(err.Error(), "cannot examine process 42") {
			t.Errorf("got %v", err)
		}
	})
}
