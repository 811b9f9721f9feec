package capture

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// hostFile is where profilers write the profile of one host of a run:
// LOGDIR/plugins/profile/RUN/HOST.xplane.pb.
// https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/rpc/client/save_profile.cc
var hostFile = regexp.MustCompile(`(?:^|/)plugins/profile/[^/]+/([^/]+)\.xplane\.pb(?:\.gz|\.zst)?$`)

// labelHosts gives what the hosts of one run say of their allocators the label host,
// if each profile's path tells a host of its own. Plans are the same on all hosts and
// stay as they are.
func labelHosts(parts []*measure.Measurement) {
	hosts, seen := map[*measure.Measurement]string{}, map[string]bool{}
	for _, m := range parts {
		if len(m.Inputs) != 1 || m.Inputs[0].Format != "xla.xspace" {
			continue
		}
		match := hostFile.FindStringSubmatch(filepath.ToSlash(m.Inputs[0].Path))
		if match == nil || seen[match[1]] {
			return
		}
		hosts[m], seen[match[1]] = match[1], true
	}
	if len(hosts) < 2 {
		return
	}
	for m, host := range hosts {
		add := func(l *measure.Labels) { *l = l.With("host", host) }
		for i := range m.Rows {
			if !strings.HasPrefix(m.Rows[i].Name, "plan.") {
				add(&m.Rows[i].Labels)
			}
		}
		for i := range m.Contributors {
			if !strings.HasPrefix(m.Contributors[i].Metric, "plan.") {
				add(&m.Contributors[i].Labels)
			}
		}
		for i := range m.Series {
			add(&m.Series[i].Labels)
		}
		for i := range m.Facts.Timelines {
			add(&m.Facts.Timelines[i].Labels)
		}
		for i := range m.Facts.Executions {
			add(&m.Facts.Executions[i].Labels)
		}
		for i := range m.Facts.Waits {
			add(&m.Facts.Waits[i].Labels)
		}
	}
}
