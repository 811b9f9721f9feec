package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// groupsShown is how many groups of live memory are told of one allocator.
const groupsShown = 5

// run tells what the run recorded of the allocators and of the module.
func (e *explainer) run() {
	var rows [][]string
	alike := map[string]int{} // rows by their figures
	more := map[int]int{}
	var fullest *measure.TimelineFact
	for i, t := range e.m.Facts.Timelines {
		if t.Pool != "device" {
			continue
		}
		if fullest == nil || t.PeakBytes > fullest.PeakBytes {
			fullest = &e.m.Facts.Timelines[i]
		}
		limit, start := "unknown", "unknown"
		if t.LimitBytes > 0 {
			limit = t.LimitBytes.String()
		}
		if t.LastStart != nil {
			start = t.LastStart.InUse.String()
		}
		row := []string{plain(t.Labels.Key()), limit, t.PeakBytes.String(), max(t.PeakBytes, t.UsedPeakBytes).String(), start}
		key := fmt.Sprint(row[1:])
		if at, ok := alike[key]; ok {
			more[at]++
			continue
		}
		alike[key] = len(rows)
		rows = append(rows, row)
	}
	for at, n := range more {
		rows[at][0] += fmt.Sprintf(" and %d alike", n)
	}
	if len(rows) > 0 {
		fmt.Fprintln(e.out)
		table(e.out, "  ", append([][]string{{"allocator", "limit", "peak in use", "heap and stack", "in use at the last execution"}}, rows[:min(len(rows), mostGroups)]...), "lrrrr")
		e.live(fullest)
	}
	e.executions()
}

// live shows what was live when the last execution, or else step, began.
func (e *explainer) live(t *measure.TimelineFact) {
	s := t.LastStart
	if s == nil || len(s.Groups) == 0 {
		return
	}
	var groups []measure.Contributor
	for _, g := range s.Groups {
		groups = append(groups, measure.Contributor{Key: g.Name, Display: g.Name, Bytes: g.Bytes, Count: g.Count})
	}
	groups = numbered(groups)
	fmt.Fprintf(e.out, "\nwhat was live when the last execution began (%s)\n", plain(t.Labels.Key()))
	var rows [][]string
	for _, g := range groups[:min(len(groups), max(groupsShown, e.top/2))] {
		rows = append(rows, []string{g.Bytes.String(), fmt.Sprint(g.Count), textStyle.name(g.Display)})
	}
	narrow(e.out, rows, "rrl")
	if hidden := len(groups) - len(rows); hidden > 0 {
		fmt.Fprintf(e.out, "  %s\n", plural(hidden, "more group", "more groups"))
	}
}

// executions tells what was in use when the module ran.
func (e *explainer) executions() {
	if e.s == nil {
		return
	}
	var mine []measure.ExecutionFact
	for _, x := range e.m.Facts.Executions {
		if len(diagnose.About(e.s.Labels, []measure.Finding{{Labels: x.Labels}})) > 0 {
			mine = append(mine, x)
		}
	}
	slices.SortStableFunc(mine, func(a, b measure.ExecutionFact) int { return cmp.Compare(b.LastInUse, a.LastInUse) })
	if len(mine) == 0 {
		return
	}
	x, others := mine[0], ""
	if n := len(mine) - 1; n > 0 {
		others = fmt.Sprintf("; on %s no more", plural(n, "other allocator", "other allocators"))
	}
	fmt.Fprintln(e.out)
	wrapped(e.out, "", "  ", fmt.Sprintf("%s of it (%s): in use at the first %s, at the last %s%s", plural(int(x.Count), "execution", "executions"), plain(x.Labels.Key("module", "program")), x.FirstInUse, x.LastInUse, others))
}
