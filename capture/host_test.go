package capture

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestHosts: two hosts of one run have rows of their own; one plan stays one.
func TestHosts(t *testing.T) {
	data, err := os.ReadFile("../fixtures/xla/tf_oom.xplane.pb")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile("../fixtures/xla/cpu_donate.xplane.pb")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files []string
		hosts []string // of the rows of allocators, once each
	}{
		"two hosts":           {[]string{"plugins/profile/run1/a.xplane.pb", "plugins/profile/run1/b_6009.xplane.pb"}, []string{"a", "b_6009"}},
		"one host":            {[]string{"plugins/profile/run1/a.xplane.pb"}, []string{""}},
		"two runs of one":     {[]string{"plugins/profile/run1/a.xplane.pb", "plugins/profile/run2/a.xplane.pb"}, []string{""}},
		"files anywhere":      {[]string{"x/a.xplane.pb", "y/b.xplane.pb"}, []string{""}},
		"one with its host":   {[]string{"plugins/profile/run1/a.xplane.pb", "b.xplane.pb"}, []string{""}},
		"a host that is dots": {[]string{"plugins/profile/r/a.b.c.xplane.pb", "plugins/profile/r/a.b.d.xplane.pb"}, []string{"a.b.c", "a.b.d"}},
	} {
		dir := t.TempDir()
		var paths []string
		for _, f := range c.files {
			path := filepath.Join(dir, filepath.FromSlash(f))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			// Two planes lists in one file are one XSpace: fields add up.
			if err := os.WriteFile(path, append(slices.Clone(plan), data...), 0o644); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		m, err := Measure("train", paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var hosts []string
		needs := 0
		for _, r := range m.Rows {
			switch r.Name {
			case "live.peak_bytes":
				hosts = append(hosts, r.Labels["host"])
			case "plan.need_bytes":
				if needs++; r.Labels["host"] != "" {
					t.Errorf("%s: %v", name, r.Labels)
				}
			}
		}
		one, err := Open(paths[0], Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, r := range one.Rows {
			if r.Name == "plan.need_bytes" {
				want++
			}
		}
		slices.Sort(hosts)
		if !slices.Equal(hosts, c.hosts) || needs != want {
			t.Errorf("%s: hosts %q, want %q; %d plans, want %d", name, hosts, c.hosts, needs, want)
		}
		for _, h := range c.hosts {
			labels := measure.Labels{"allocator": "bfc_cpu_allocator_for_gpu"}
			if h != "" {
				labels["host"] = h
			}
			if len(m.ContributorsOf("live.peak_bytes", labels)) == 0 {
				t.Errorf("%s: no contributors on host %q", name, h)
			}
		}
	}
}
