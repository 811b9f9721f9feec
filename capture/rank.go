package capture

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Names under which training frameworks write one snapshot a rank:
// rank0_memory_snapshot.pickle (torchtune), snapshot_oom_rank-0.pickle
// (Megatron-Bridge), oom_snapshot_dev0.pickle, rank3/snapshot.pickle, and
// 000003_step_10.pickle (torchtitan).
var (
	rankNumber = regexp.MustCompile(`(?i)(?:rank|dev)[-_ ]?0*(\d+)`)
	rankStep   = regexp.MustCompile(`^0*(\d+)_step_\d+\.`)
)

// rankOf reads the rank from a file's path, the last number that is one.
func rankOf(path string) (rank string, ok bool) {
	path = filepath.ToSlash(path)
	if all := rankNumber.FindAllStringSubmatch(path, -1); all != nil {
		return all[len(all)-1][1], true
	}
	if m := rankStep.FindStringSubmatch(path[strings.LastIndexByte(path, '/')+1:]); m != nil {
		return m[1], true
	}
	return "", false
}

// labelRanks gives the rows of several snapshots the label rank, if the name of
// each tells a rank of its own. Ranks are then compared one by one.
func labelRanks(parts []*measure.Measurement) {
	ranks, seen := make([]string, len(parts)), map[string]bool{}
	for i, m := range parts {
		if len(m.Inputs) != 1 || m.Inputs[0].Format != "torch.snapshot" {
			return
		}
		rank, ok := rankOf(m.Inputs[0].Path)
		if !ok || seen[rank] {
			return
		}
		ranks[i], seen[rank] = rank, true
	}
	if len(parts) < 2 {
		return
	}
	for i, m := range parts {
		for j := range m.Rows {
			m.Rows[j].Labels = m.Rows[j].Labels.With("rank", ranks[i])
		}
		for j := range m.Contributors {
			m.Contributors[j].Labels = m.Contributors[j].Labels.With("rank", ranks[i])
		}
		for j := range m.Facts.Traces {
			m.Facts.Traces[j].Labels = m.Facts.Traces[j].Labels.With("rank", ranks[i])
		}
		for j := range m.Facts.Snapshots {
			m.Facts.Snapshots[j].Labels = m.Facts.Snapshots[j].Labels.With("rank", ranks[i])
		}
	}
}
