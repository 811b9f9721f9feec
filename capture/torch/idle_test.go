package torch

import (
	"strings"
	"testing"
)

// TestIdleDevices: a process of several ranks sees every device, and its dump
// leaves a mark in the history of each; only those that it used are measured.
func TestIdleDevices(t *testing.T) {
	const mark = `{"action": "snapshot", "addr": 0, "size": 0, "stream": 0}`
	const used = `{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0}, {"action": "alloc", "addr": 4096, "size": 512, "stream": 0}`
	const segment = `{"device": 1, "address": 4096, "total_size": 2097152, "blocks": [{"address": 4096, "size": 512, "requested_size": 512, "state": "active_allocated"}, {"address": 4608, "size": 2096640, "state": "inactive"}]}`
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"one of three", `{"segments": [` + segment + `], "device_traces": [[` + mark + `], [` + used + `, ` + mark + `], [` + mark + `]]}`, []int{1}},
		{"none: each says why", `{"segments": [], "device_traces": [[` + mark + `], [` + mark + `]]}`, []int{0, 1}},
		{"a history alone is a use", `{"segments": [], "device_traces": [[` + used + `, {"action": "free_completed", "addr": 4096, "size": 512, "stream": 0}], [` + mark + `]]}`, []int{0}},
	} {
		s, err := Read(strings.NewReader(c.text), int64(len(c.text)), "x.json", Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []int
		for _, d := range s.Devices {
			got = append(got, d.Ordinal)
		}
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(got)-1] {
			t.Errorf("%s: devices %v, want %v", c.name, got, c.want)
		}
	}
}
