package capture

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/measure"
)

// Names under which training frameworks write one snapshot a rank:
// rank0_memory_snapshot.pickle (torchtune), snapshot_oom_rank-0.pickle
// (Megatron-Bridge), oom_snapshot_dev0.pickle, rank3/snapshot.pickle, and
// 000003_step_10.pickle (torchtitan). See also numbered.
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

// numbered is a name whose last part is a number, as of Megatron-Bridge's
// snapshot_0.pickle; notRanks are words before a number that is none of a rank.
var (
	numbered = regexp.MustCompile(`^(.*?)[-_]?(0|[1-9]\d{0,4})(\.[^/]*)$`)
	notRanks = regexp.MustCompile(`(?i)(?:step|iter|iteration|epoch|batch|series|run|before|after)$`)
)

// numberedRanks reads ranks from names that are alike but for a number: only where
// the numbers are 0 to N-1, each once, and no two files are dumps of one process,
// whose histories begin at the same moment.
func numberedRanks(parts []*measure.Measurement) (ranks []string, ok bool) {
	name, starts, seen := "", map[int64]bool{}, map[string]bool{}
	for _, m := range parts {
		match := numbered.FindStringSubmatch(filepath.ToSlash(m.Inputs[0].Path))
		if match == nil || notRanks.MatchString(match[1]) || name != "" && name != match[1]+"\x00"+match[3] {
			return nil, false
		}
		name = match[1] + "\x00" + match[3]
		for _, f := range m.Facts.Traces {
			if f.StartUS > 0 && starts[f.StartUS] {
				return nil, false
			}
		}
		for _, f := range m.Facts.Traces {
			starts[f.StartUS] = true
		}
		ranks, seen[match[2]] = append(ranks, match[2]), true
	}
	for n := range parts {
		if !seen[strconv.Itoa(n)] {
			return nil, false
		}
	}
	return ranks, true
}

// labelRanks gives the rows of several snapshots the label rank, if the name of
// each tells a rank of its own. Ranks are then compared one by one. A footprint of the
// run that wrote them is of all ranks together.
func labelRanks(parts []*measure.Measurement) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(m *measure.Measurement) bool {
		return len(m.Inputs) == 1 && m.Inputs[0].Format == footprint.Format
	})
	if len(parts) < 2 {
		return
	}
	ranks, seen := make([]string, len(parts)), map[string]bool{}
	named := true
	for i, m := range parts {
		if len(m.Inputs) != 1 || m.Inputs[0].Format != "torch.snapshot" {
			return
		}
		rank, ok := rankOf(m.Inputs[0].Path)
		named = named && ok && !seen[rank]
		ranks[i], seen[rank] = rank, true
	}
	if !named {
		if ranks, named = numberedRanks(parts); !named {
			return
		}
		clear(seen)
		for _, rank := range ranks {
			seen[rank] = true
		}
	}
	defer missingRanks(parts, seen)
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

// mostRanks bounds the search for missing ranks: a number beyond it is no rank.
const mostRanks = 1 << 16

// missingRanks gives each rank between 0 and the highest that has no snapshot the
// rows of the first one, without values: what was not dumped is no data.
func missingRanks(parts []*measure.Measurement, seen map[string]bool) {
	highest := 0
	for rank := range seen {
		n, err := strconv.Atoi(rank)
		if err != nil || n >= mostRanks {
			return
		}
		highest = max(highest, n)
	}
	first := parts[0]
	rows := first.Rows
	for n := range highest {
		rank := strconv.Itoa(n)
		if seen[rank] {
			continue
		}
		reason := fmt.Sprintf("there are snapshots of ranks up to %d, and none of this one", highest)
		for _, r := range rows {
			first.Rows = append(first.Rows, measure.Row{Name: r.Name, Labels: r.Labels.With("rank", rank), Unit: r.Unit, Kind: r.Kind, NoData: reason})
		}
		if len(first.Warnings) < 16 {
			first.Warnings = append(first.Warnings, "rank "+rank+": "+reason)
		}
		if len(first.Rows) > 1<<20 {
			return
		}
	}
}
