//go:build linux || darwin

package watch

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/peakgate/peakgate/watch/mac"
)

// regions is what vmmap or footprint tells of one process.
type regions struct {
	io, graphics mac.Row
	reclaimable  *int64 // footprint only
}

// regionsPatience is how long one of the tools may take; vmmap takes 0.1 s of a
// busy process.
const regionsPatience = 20 * time.Second

// readRegions asks vmmap, and footprint where that is refused (it is for programs
// with a hardened runtime).
func readRegions(h *helpers, pid int) (*regions, error) {
	text, err := tool(h, "vmmap", "-summary", strconv.Itoa(pid))
	if err == nil {
		var s *mac.Summary
		if s, err = mac.ParseVmmap(text); err == nil {
			return &regions{io: s.Rows[mac.IOAccelerator], graphics: s.Rows[mac.Graphics]}, nil
		}
	}
	refused := fmt.Errorf("vmmap: %w", err)
	text, err = tool(h, "footprint", "-f", "bytes", "-p", strconv.Itoa(pid))
	if err != nil {
		return nil, refused
	}
	f, err := mac.ParseFootprint(text)
	if err != nil {
		return nil, refused
	}
	return &regions{
		io: mac.Row{Count: f.Regions[mac.IOAccelerator]}, graphics: mac.Row{Count: f.Regions[mac.Graphics]}, reclaimable: &f.Reclaimable,
	}, nil
}

// tool runs a tool of the system and gives what it prints, up to 16 MiB.
func tool(h *helpers, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), regionsPatience)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = limited{&out}, limited{&said}, time.Second
	if err := h.run(cmd); err != nil {
		first, _, _ := strings.Cut(said.String(), "\n")
		return "", fmt.Errorf("%w: %.100q", err, first)
	}
	return out.String(), nil
}

// limited drops what is over a bound.
type limited struct{ *bytes.Buffer }

func (l limited) Write(b []byte) (int, error) {
	if room := 16<<20 - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(len(b), room)])
	}
	return len(b), nil
}
