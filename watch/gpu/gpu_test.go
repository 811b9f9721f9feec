package gpu

import (
	"strings"
	"testing"
)

func TestApps(t *testing.T) {
	apps, err := Apps("GPU-1, 40170, 185\nGPU-2, 40170, [N/A]\n\nGPU-1, 7, 0\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(apps) != 3 || apps[0].PID != 40170 || *apps[0].Bytes != 185<<20 {
		t.Errorf("got %+v", apps)
	}
	if apps[1].Bytes != nil {
		t.Errorf("[N/A] is %d, want unknown", *apps[1].Bytes)
	}
	if apps[2].Bytes == nil || *apps[2].Bytes != 0 {
		t.Error("0 is unknown, want 0")
	}
	if none, err := Apps(""); err != nil || len(none) != 0 {
		t.Errorf("no process: %v, %v", none, err)
	}
}

func TestDevices(t *testing.T) {
	devices, err := Devices("GPU-1, 512\nGPU-2, [Not Supported]\n")
	if err != nil || len(devices) != 2 || *devices[0].Bytes != 512<<20 || devices[1].Bytes != nil {
		t.Errorf("got %+v, %v", devices, err)
	}
}

func TestMalformed(t *testing.T) {
	for _, tt := range []struct{ name, csv, want string }{
		{"fields", "GPU-1, 40170\n", "line 1: want 3 fields"},
		{"process id", "GPU-1, 1, 3\nGPU-1, x, 3\n", "line 2: want a process id"},
		{"size", "GPU-1, 1, 3.5\n", "line 1: want a number of MiB"},
		{"negative", "GPU-1, 1, -3\n", "line 1: want a number of MiB"},
		{"message", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "want 3 fields"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Apps(tt.csv); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Devices(""); err == nil {
		t.Error("no device: want an error")
	}
}
