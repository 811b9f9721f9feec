package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// planMetrics are the figures of a plan that have a line of their own.
var planMetrics = []string{
	"plan.need_bytes", "plan.argument_bytes", "plan.unaliased_output_bytes", "plan.donated_bytes", "plan.constant_bytes",
	"plan.temp_bytes", "plan.heap_peak_bytes", "plan.fragmentation_bytes", "plan.padding_bytes",
}

// plan shows the module's figures, one column for each memory space that matters, and
// who holds the heap peak of the device.
func (e *explainer) plan() {
	var rows []measure.Row
	var peak, need *measure.Row
	for i, r := range e.m.Rows {
		if r.Labels.Key("memory_space") != e.s.Labels.Key() {
			continue
		}
		rows = append(rows, r)
		if r.Labels["memory_space"] == "device" {
			switch r.Name {
			case "plan.heap_peak_bytes":
				peak = &e.m.Rows[i]
			case "plan.need_bytes":
				need = &e.m.Rows[i]
			}
		}
	}
	e.planTable(rows)
	e.planFacts()
	switch {
	case peak != nil && peak.Value != nil:
		e.holders(*peak, e.top, "")
	case need != nil:
		e.holders(*need, e.top, "")
	}
}

// planTable writes the figures that are large in their memory space; the others follow
// in one paragraph, and what has no value with its reason.
func (e *explainer) planTable(all []measure.Row) {
	needs := map[string]float64{}
	most := 0.0
	for _, r := range all {
		if r.Name == "plan.need_bytes" && r.Value != nil {
			needs[r.Labels["memory_space"]] = r.Value.Float64()
			most = max(most, r.Value.Float64())
		}
	}
	spaces := []string{}
	cells := map[[2]string]string{}
	var also []string
	reasons := map[string][]string{}
	var order []string
	for _, r := range all {
		space := r.Labels["memory_space"]
		name := strings.TrimPrefix(r.Name, "plan.")
		switch {
		case r.Value == nil:
			if reasons[r.NoData] == nil {
				order = append(order, r.NoData)
			}
			if space != "" && space != "device" {
				name = space + " " + name
			}
			if !slices.Contains(reasons[r.NoData], name) {
				reasons[r.NoData] = append(reasons[r.NoData], name)
			}
		case r.Value.Float64() == 0:
		case space != "" && slices.Contains(planMetrics, r.Name) && 1000*needs[space] >= most && 1000*r.Value.Float64() >= needs[space]:
			if !slices.Contains(spaces, space) {
				spaces = append(spaces, space)
			}
			cells[[2]string{r.Name, space}] = r.Value.Format(r.Unit)
		case space == "device" || space == "":
			if !strings.Contains("plan.forward_kept_bytes plan.backward_bytes plan.workspace_bytes plan.other_bytes", r.Name) {
				also = append(also, name+" "+r.Value.Format(r.Unit))
			}
		case r.Name == "plan.need_bytes":
			also = append(also, space+" need_bytes "+r.Value.Format(r.Unit))
		}
	}
	rows, align := [][]string{append([]string{"plan"}, spaces...)}, "l"+strings.Repeat("r", len(spaces))
	for _, metric := range planMetrics {
		row, any := []string{metric}, false
		for _, space := range spaces {
			cell, ok := cells[[2]string{metric, space}]
			row, any = append(row, cell), any || ok
		}
		if any {
			rows = append(rows, row)
		}
	}
	fmt.Fprintln(e.out)
	table(e.out, "  ", rows, align)
	if len(also) > 0 {
		wrapped(e.out, "  also: ", "    ", plain(strings.Join(also, " · ")))
	}
	for _, reason := range order {
		wrapped(e.out, "  no data for ", "    ", plain(strings.Join(reasons[reason], ", ")+": "+reason))
	}
}

// planFacts tells of donation, and of the blocks that must be had in one piece.
func (e *explainer) planFacts() {
	var parts []string
	for _, f := range e.m.Facts.Plans {
		if f.Labels.Key("memory_space") != e.s.Labels.Key("file") {
			continue
		}
		if d := f.Donation; f.Labels["memory_space"] == "device" && d != nil {
			parts = append(parts, fmt.Sprintf("donation: %s, %d donated, %d offered and not taken", plural(int(d.Arguments), "argument", "arguments"), d.Donated, d.LeftCount))
		}
		if f.Labels["memory_space"] == "device" && f.BlockBytes > 0 {
			parts = append(parts, fmt.Sprintf("the temp block is one piece of %s", f.BlockBytes))
		}
		if f.ScopedBytes > 0 {
			parts = append(parts, fmt.Sprintf("scratch memory of one kernel (%s): up to %s", plain(f.Labels["memory_space"]), f.ScopedBytes))
		}
	}
	if len(parts) > 0 {
		wrapped(e.out, "  ", "    ", strings.Join(parts, " · "))
	}
}

// measured shows what there is without a plan and without a snapshot: the sets of
// labels, the largest first, those with equal figures once, and of allocators the
// fullest.
func (e *explainer) measured() {
	textSeries(e.out, "series", sampledSeries(e.m), measuredSlope(e.m.Rows))
	told, shown, allocators := map[string]bool{}, 0, 0
	for _, g := range groupRows(e.m.Rows) {
		if r := g.rows[0]; r.Labels["allocator"] != "" && r.Labels["series"] == "" {
			if allocators++; allocators > 1 && len(e.m.Facts.Timelines) > 1 {
				continue // the table of allocators has it
			}
		}
		rows, _ := groupTable(slices.DeleteFunc(slices.Clone(g.rows), func(r measure.Row) bool { return r.Value == nil }))
		key := fmt.Sprint(rows)
		if len(rows) == 0 || told[key] {
			continue
		}
		if shown++; shown > mostHeld {
			fmt.Fprintln(e.out, "\nmore is in --format json")
			break
		}
		told[key] = true
		fmt.Fprintln(e.out)
		if g.key != "" {
			fmt.Fprintln(e.out, plain(g.key))
		}
		table(e.out, "  ", rows, "lrl")
		for _, r := range g.rows {
			if r.Name == heldRow(e.m, r.Labels) {
				e.holders(r, depth(e.top, shown), "")
			}
		}
	}
}

// depth is how many holders are listed of the first set of labels, and of the next.
func depth(top, shown int) int {
	if shown == 1 {
		return top
	}
	return (top + 2) / 3
}
