package watch

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
	nvidia "github.com/peakgate/peakgate/watch/gpu"
	"github.com/peakgate/peakgate/watch/proc"
)

const (
	// gpuEvery is how often accelerators are asked: nvidia-smi takes some 50 ms of a
	// processor.
	gpuEvery = 5 * time.Second
	// gpuPatience is how long an answer is waited for.
	gpuPatience = 10 * time.Second
	// gpuNoticed is how much more the devices may hold before it is said that no
	// process of the tree is listed on them.
	gpuNoticed = 64 << 20
)

// gpu reads the memory of accelerators: nvidia-smi where it is found, else the
// DRM clients of the processes.
type gpu struct {
	mode     GPUMode
	smi      string // its path; empty is none
	helpers  *helpers
	fs       proc.FS
	baseline *int64 // of the devices, before the run
	lastAsk  time.Duration

	mu     sync.Mutex
	asking bool
	answer *smiAnswer // the newest that is not in a sample yet
	stop   context.CancelFunc
	done   sync.WaitGroup
}

type smiAnswer struct {
	apps    []nvidia.App
	devices []nvidia.Device
	err     error
}

func newGPU(cfg *Config, h *helpers, fs proc.FS) *gpu {
	g := &gpu{mode: cfg.GPU, helpers: h, fs: fs, lastAsk: -time.Hour, stop: func() {}}
	if g.mode == GPUOff {
		return g
	}
	g.smi, _ = exec.LookPath("nvidia-smi")
	if g.smi != "" {
		a := g.ask(context.Background())
		if g.baseline = total(a.devices); a.err != nil && g.mode != GPUDevice {
			g.baseline = nil
		}
	}
	return g
}

func (g *gpu) header(h *footprint.Header) {
	switch {
	case g.mode == GPUOff:
	case g.smi != "":
		h.Sources["gpu_bytes"] = "nvidia-smi/" + string(g.mode)
	case g.mode == GPUPid:
		h.Sources["gpu_bytes"] = "drm fdinfo/pid"
	}
}

// ask asks nvidia-smi, which may hang with its driver: patience ends it.
func (g *gpu) ask(ctx context.Context) (a smiAnswer) {
	ctx, cancel := context.WithTimeout(ctx, gpuPatience)
	defer cancel()
	query := func(args []string) string {
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, g.smi, args...)
		cmd.Stdout, cmd.WaitDelay = &out, time.Second
		if err := g.helpers.run(cmd); err != nil && a.err == nil {
			a.err = err
		}
		return out.String()
	}
	apps, devices := query(nvidia.AppsQuery), ""
	if g.mode != GPUAll {
		devices = query(nvidia.DevicesQuery)
	}
	if a.err != nil {
		return a
	}
	if a.apps, a.err = nvidia.Apps(apps); a.err != nil || g.mode == GPUAll {
		return a
	}
	a.devices, a.err = nvidia.Devices(devices)
	return a
}

// total is nil where one device does not tell.
func total(devices []nvidia.Device) *int64 {
	var n int64
	for _, d := range devices {
		if d.Bytes == nil {
			return nil
		}
		n += *d.Bytes
	}
	if len(devices) == 0 {
		return nil
	}
	return &n
}

// sample puts a level into a sample where one is at hand, and asks for the next.
func (g *gpu) sample(s *footprint.Sample, now time.Duration, mark bool, members []*proc.Member) {
	due := now-g.lastAsk >= gpuEvery
	switch {
	case g.mode == GPUOff:
	case g.smi != "":
		g.mu.Lock()
		defer g.mu.Unlock()
		if a := g.answer; a != nil {
			g.answer = nil
			level, reason := g.level(a, members)
			s.GPU = level
			if reason != "" {
				because(s, "gpu_bytes", reason)
			}
		}
		if due && !g.asking {
			g.lastAsk, g.asking = now, true
			ctx, cancel := context.WithCancel(context.Background())
			g.stop = cancel
			g.done.Go(func() {
				a := g.ask(ctx)
				g.mu.Lock()
				defer g.mu.Unlock()
				g.asking = false
				if ctx.Err() == nil {
					g.answer = &a
				}
			})
		}
	case g.mode == GPUPid && due:
		g.lastAsk = now
		var pids []int
		for _, m := range members {
			pids = append(pids, m.PID)
		}
		if n, ok := g.fs.DRMBytes(pids); ok {
			s.GPU = footprint.Known(n)
		}
	}
}

// level attributes an answer; what is not told is unknown, with the reason.
func (g *gpu) level(a *smiAnswer, members []*proc.Member) (footprint.Level, string) {
	if a.err != nil {
		return footprint.Unknown(), a.err.Error()
	}
	if g.mode == GPUDevice {
		n := total(a.devices)
		if n == nil || g.baseline == nil {
			return footprint.Unknown(), "nvidia-smi does not tell the memory in use of every device"
		}
		return footprint.Known(max(0, *n-*g.baseline)), ""
	}
	ours := map[int]bool{}
	for _, m := range members {
		ours[m.PID] = true
	}
	var sum int64
	listed := false
	for _, app := range a.apps {
		if g.mode == GPUPid && !ours[app.PID] {
			continue
		}
		if app.Bytes == nil {
			return footprint.Unknown(), "nvidia-smi does not tell the memory of a process"
		}
		sum, listed = sum+*app.Bytes, true
	}
	if g.mode == GPUPid && !listed {
		if n := total(a.devices); n != nil && g.baseline != nil && *n-*g.baseline <= gpuNoticed {
			return footprint.Known(0), "" // it has not begun to use a device
		}
		return footprint.Unknown(), "nvidia-smi lists no process of the tree, though the devices hold more than before (in a container it lists ids of the host): attribute by device or all"
	}
	return footprint.Known(sum), ""
}

func (g *gpu) close() {
	g.mu.Lock()
	g.stop()
	g.mu.Unlock()
	g.done.Wait()
}

// because sets the reason of a level that is null.
func because(s *footprint.Sample, key, reason string) {
	if s.Reasons == nil {
		s.Reasons = map[string]string{}
	}
	s.Reasons[key] = reason
}
