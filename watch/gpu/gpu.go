package gpu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// AppsQuery and DevicesQuery are the arguments of nvidia-smi that [Apps] and
// [Devices] read the answers of. The name of a process, which may hold commas, is
// not asked for.
var (
	AppsQuery    = []string{"--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits"}
	DevicesQuery = []string{"--query-gpu=uuid,memory.used", "--format=csv,noheader,nounits"}
)

// App is one process on one device. Bytes is nil where the driver does not tell.
type App struct {
	Device string
	PID    int
	Bytes  *int64
}

// Device is the memory in use on one device, whoever uses it.
type Device struct {
	UUID  string
	Bytes *int64
}

// Apps reads the answer to AppsQuery; no line means that no process is listed.
func Apps(csv string) ([]App, error) {
	var list []App
	err := rows(csv, 3, func(f []string) error {
		pid, err := strconv.Atoi(f[1])
		if err != nil || pid <= 0 {
			return fmt.Errorf("want a process id, got %.40q", f[1])
		}
		n, err := mebibytes(f[2])
		list = append(list, App{f[0], pid, n})
		return err
	})
	return list, err
}

// Devices reads the answer to DevicesQuery.
func Devices(csv string) ([]Device, error) {
	var list []Device
	err := rows(csv, 2, func(f []string) error {
		n, err := mebibytes(f[1])
		list = append(list, Device{f[0], n})
		return err
	})
	if err == nil && len(list) == 0 {
		err = errors.New("nvidia-smi: no device is listed")
	}
	return list, err
}

// rows calls fn with the fields of each line.
func rows(csv string, fields int, fn func([]string) error) error {
	number := 0
	for line := range strings.Lines(csv) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f := strings.Split(line, ",")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		if len(f) != fields {
			return fmt.Errorf("nvidia-smi: line %d: want %d fields, got %.80q", number, fields, line)
		}
		if err := fn(f); err != nil {
			return fmt.Errorf("nvidia-smi: line %d: %w", number, err)
		}
	}
	return nil
}

// mebibytes is nil for what the driver does not know.
func mebibytes(s string) (*int64, error) {
	if strings.HasPrefix(s, "[") || s == "N/A" {
		return nil, nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " MiB"), 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return nil, fmt.Errorf("want a number of MiB, got %.40q", s)
	}
	n <<= 20
	return &n, nil
}
