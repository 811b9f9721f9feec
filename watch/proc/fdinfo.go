package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Client is one user of a graphics device, as the descriptor of its device file
// tells: https://docs.kernel.org/gpu/drm-usage-stats.html.
type Client struct {
	Driver, Device, ID string
	// Regions gives the resident bytes by region (vram, gtt, system …).
	Regions map[string]int64
}

// key tells clients apart; several descriptors may be of one.
func (c Client) key() string { return c.Device + " " + c.ID }

// DRMBytes sums what processes hold on DRM devices, each client once however many
// descriptors and processes share it. No client at all gives ok false: that is
// unknown, not 0.
func (fs FS) DRMBytes(pids []int) (sum int64, ok bool) {
	seen := map[string]bool{}
	for _, pid := range pids {
		for _, c := range fs.clients(pid) {
			if seen[c.key()] {
				continue
			}
			seen[c.key()], ok = true, true
			for _, n := range c.Regions {
				sum += n
			}
		}
	}
	return sum, ok
}

// clients reads the descriptors of a process that are open on a DRM device.
func (fs FS) clients(pid int) (list []Client) {
	open, err := numbers(fs.path(pid, "fd"))
	if err != nil {
		return nil
	}
	for _, fd := range open {
		name := strconv.Itoa(fd)
		target, err := os.Readlink(fs.path(pid, "fd", name))
		if err != nil || !strings.HasPrefix(target, "/dev/dri/") {
			continue
		}
		b, err := readFile(filepath.Join(fs.path(pid, "fdinfo"), name))
		if err != nil {
			continue
		}
		if c, err := ParseClient(string(b)); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// kinds of the keys drm-KIND-REGION, best first: total counts what is not
// resident, memory is the older name of resident.
var kinds = []string{"resident", "total", "memory"}

// ParseClient reads the text of one /proc/PID/fdinfo/FD of a DRM device.
func ParseClient(text string) (Client, error) {
	c := Client{Regions: map[string]int64{}}
	rank := map[string]int{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch key {
		case "drm-driver":
			c.Driver = value
		case "drm-pdev":
			c.Device = value
		case "drm-client-id":
			c.ID = value
		default:
			f := strings.SplitN(key, "-", 3)
			if len(f) < 3 || f[0] != "drm" {
				continue
			}
			for i, kind := range kinds {
				if best, ok := rank[f[2]]; f[1] != kind || ok && best <= i {
					continue
				}
				n, err := drmSize(value)
				if err != nil {
					return Client{}, fmt.Errorf("%s: %w", key, err)
				}
				c.Regions[f[2]], rank[f[2]] = n, i
			}
		}
	}
	if c.ID == "" {
		return Client{}, fmt.Errorf("want a line drm-client-id, got %.60q", text)
	}
	return c, nil
}

// drmSize reads "N", "N KiB" or "N MiB".
func drmSize(s string) (int64, error) {
	number, unit, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	shift, known := map[string]uint{"": 0, "KiB": 10, "MiB": 20}[strings.TrimSpace(unit)]
	if err != nil || n < 0 || !known || n > 1<<40 {
		return 0, fmt.Errorf("want a number of bytes, KiB or MiB, got %.40q", s)
	}
	return n << shift, nil
}
