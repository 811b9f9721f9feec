package budget

import (
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/peakgate/peakgate/measure"
)

// lintRules are the rules in the order of the documentation.
var lintRules = []lintRule{
	{"dead", LevelError, "A path matches no file, or an entry no row: it judges nothing, and the target is no data. (A waiver that covers no row is a warning, a default that no target takes is advice.)", lintDead},
	{"dryrun", LevelError, "A dry run says nothing of the metric, so the target is no data: of PyTorch it tells live, oom and growth, of JAX the plan, and of no framework the memory of the machine that it runs on.", lintDryrun},
	{"expired", LevelError, "The last day of a waiver is over. It fails until it is removed.", lintExpired},
	{"information", LevelWarning, "The metric is for information: it depends on what the allocator did before, so it moves without the program.", lintInformation},
	{"module", LevelAdvice, "The captures hold several modules and no selector pins one. All of them are judged, and the largest decides: another module can hide the one that is meant.", lintModule},
	{"needless", LevelWarning, "A waiver lifts nothing: what was measured is within the entry's limits, or the waiver's limit is not beyond the entry's.", lintNeedless},
	{"noise", LevelWarning, "Growth without a floor on a metric that differs from run to run: with 0% every second run fails. (Above 0% it is advice.)", lintNoise},
	{"overlap", LevelWarning, "Two entries judge one row (two targets read the same captures), or two waivers cover one row: only one of them can be meant.", lintOverlap},
	{"short", LevelWarning, "A sampled series is too short for a trend (24 points after the warm-up): a limit on its growth is inconclusive and finds no leak.", lintShort},
	{"slack", LevelWarning, "A limit is more than twice what was measured (and, of bytes, 16 MiB away from it), so it does not catch what it is for. (A floor above half of what was measured is advice.)", lintSlackRule},
	{"spread", LevelWarning, "The limit lies inside what the base's own runs show: it fails without a change.", lintSpread},
	{"temp", LevelWarning, "plan.temp_bytes is budgeted without plan.need_bytes. Temp can fall while the need rises, as when a donation is lost.", lintTemp},
	{"units", LevelWarning, "One file gives one metric in GB and in GiB, or a limit is a round number of the other kind (advice). 80 GB and 80 GiB are 7 % apart.", lintUnits},
	{"until", LevelAdvice, "A waiver holds for more than a year (" + lintWaiver + "): then it is a limit, and should be one.", lintUntil},
	{"why", LevelAdvice, "A growth above 50% without a why: a reviewer cannot tell whether it is meant.", lintWhy},
}

func lintDryrun(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		if t.Dryrun == nil || measure.DryrunTells(t.Dryrun.Framework, e.Metric.Name) {
			return
		}
		hint := "budget live.peak_bytes"
		if t.Dryrun.Framework == "jax" {
			hint = "budget plan.need_bytes"
		}
		l.add(e.Pos, path, "a dry run of "+t.Dryrun.Framework+" says nothing of "+e.Metric.Name, hint)
	})
}

func lintExpired(l *linter) {
	for i, w := range l.file.Waivers {
		if w.Expired(l.today) {
			l.add(w.UntilPos, fmt.Sprintf("waivers[%d].until", i), "the waiver of "+element(w.Target)+" "+w.Metric+" expired: its last day was "+string(w.Until),
				"remove it, or let "+quote(w.Owner)+" extend it with a reason")
		}
	}
}

func lintUntil(l *linter) {
	today, err := time.Parse(time.DateOnly, string(l.today))
	if err != nil {
		return
	}
	for i, w := range l.file.Waivers {
		if w.Until > DateOf(today.AddDate(1, 0, 1)) {
			l.add(w.UntilPos, fmt.Sprintf("waivers[%d].until", i), "the waiver holds until "+string(w.Until), "raise the entry's limit with a why, or set an earlier day")
		}
	}
}

func lintInformation(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		if !e.Metric.Information {
			return
		}
		hint := ""
		if by := e.Metric.ExplainedBy; by != "" && !strings.Contains(e.Metric.Doc, "budget "+by) { // some docs say it themselves
			hint = "budget " + by
		}
		l.add(e.Pos, path, e.Metric.Name+" is for information: "+strings.TrimSuffix(e.Metric.Doc, "."), hint)
	})
}

func lintModule(l *linter) {
	for _, t := range l.file.Targets {
		var modules []string
		for _, e := range t.Budgets {
			if _, pinned := e.Select["module"]; pinned {
				continue
			}
			for _, r := range l.rows(t, e) {
				if m := r.Labels["module"]; m != "" && !slices.Contains(modules, m) {
					modules = append(modules, m)
				}
			}
		}
		if len(modules) > 1 {
			slices.Sort(modules)
			l.add(t.Pos, "targets."+element(t.Name), fmt.Sprintf("%d modules are judged together: %s", len(modules), clip(printable(strings.Join(modules, ", ")))),
				"pin one: select: { module: … }")
		}
	}
}

func lintNeedless(l *linter) {
	for i, w := range l.file.Waivers {
		path := fmt.Sprintf("waivers[%d]", i)
		t := l.file.Target(w.Target)
		e := entryOf(t, w.Metric)
		beyond := w.Max != nil && (e.Max == nil || w.Max.Value.Cmp(e.Max.Value) > 0) || w.Min != nil && (e.Min == nil || w.Min.Value.Cmp(e.Min.Value) < 0)
		if !beyond && e.Growth == nil {
			limit, own := w.Max, e.Max
			if limit == nil {
				limit, own = w.Min, e.Min
			}
			l.add(limit.Pos, path, "the waiver's "+limit.Text+" is not beyond the entry's own "+own.Text, "it lifts nothing")
			continue
		}
		found := l.found[w.Target]
		if e.Growth != nil && len(found.Base) == 0 {
			continue // growth may be what it lifts
		}
		covered, needed := 0, false
		for _, r := range l.rowsIn(found.Head, e) {
			if !w.Select.Matches(r.Labels) {
				continue
			}
			covered++
			needed = needed || e.Max != nil && r.Value.Cmp(e.Max.Value) > 0 || e.Min != nil && r.Value.Cmp(e.Min.Value) < 0
			for _, m := range found.Base {
				for _, b := range l.rowsIn(m, e) {
					needed = needed || e.Growth != nil && same(b, r) && e.Growth.Exceeded(*b.Value, *r.Value, e.Floor)
				}
			}
		}
		if covered > 0 && !needed {
			l.add(w.Pos, path, w.Metric+" of target "+element(w.Target)+" is within its limits without the waiver", "remove it")
		}
	}
}

// same tells whether two rows are one, on two sides: program and host may differ.
func same(a, b measure.Row) bool {
	return a.Labels.Key("program", "host", "file") == b.Labels.Key("program", "host", "file")
}

func lintNoise(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		kind := e.Metric.Kind
		for _, r := range l.rows(t, e) {
			kind = r.Kind
		}
		if e.Growth == nil || e.Floor != nil || kind == measure.Exact {
			return
		}
		level := LevelWarning
		if e.Growth.Percent.Sign() > 0 {
			level = LevelAdvice
		}
		l.addAs(level, e.Growth.Pos, path, fmt.Sprintf("growth %s without a floor, and %s is %s: it differs from run to run", e.Growth.Text, e.Metric.Name, kind),
			"give a floor such as 16 MiB")
	})
}

func lintOverlap(l *linter) {
	type use struct {
		t *Target
		e *Entry
	}
	first := map[string][]use{}
	l.entries(func(t *Target, e *Entry, where string) {
		for _, p := range t.Captures {
			id := e.Metric.Name + "\x00" + path.Join(path.Dir(p.Pos.File), p.Text)
			for _, u := range first[id] {
				if u.t != t && !apart(u.e.Select, e.Select) {
					l.add(e.Pos, where, fmt.Sprintf("target %s has an entry for the same rows at %s, from the same captures %s", element(u.t.Name), u.e.Pos, quote(p.Text)),
						"tell them apart with select, or remove one")
					return
				}
			}
			if len(first[id]) < 100 {
				first[id] = append(first[id], use{t, e})
			}
		}
	})
	for i, w := range l.file.Waivers {
		for _, v := range l.file.Waivers[:min(i, 100)] {
			if v.Target == w.Target && v.Metric == w.Metric && !apart(v.Select, w.Select) {
				l.add(w.Pos, fmt.Sprintf("waivers[%d]", i), "the waiver at "+v.Pos.String()+" covers the same rows, and the stricter of the two counts", "remove one")
				break
			}
		}
	}
}

// apart tells whether no row can match both: a label has two different plain texts,
// or a text that the other's pattern does not match.
func apart(a, b Selector) bool {
	for name, x := range a {
		if y, ok := b[name]; ok {
			xPlain, yPlain := !strings.ContainsAny(x, "*?"), !strings.ContainsAny(y, "*?")
			if xPlain && !globMatch(y, x) || yPlain && !globMatch(x, y) {
				return true
			}
		}
	}
	return false
}

// trendPoints is how many points a trend needs; at least a fifth more are warm-up
// (package growth).
const trendPoints = 30

func lintShort(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		if e.Max == nil || !isSlope(e.Metric.Unit) {
			return
		}
		for _, r := range l.rows(t, e) {
			if r.Kind == measure.Sampled && r.Samples > 0 && r.Samples < trendPoints {
				l.add(e.Max.Pos, path, fmt.Sprintf("{%s} has %d points, and a trend needs %d: no leak is found", clip(printable(r.Labels.Key())), r.Samples, trendPoints),
					"run longer, or sample more often")
			}
		}
	})
}

func lintSpread(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		runs := l.found[t.Name].Base
		if len(runs) < 2 {
			return
		}
		low, high := map[string]measure.Value{}, map[string]measure.Value{}
		for _, m := range runs {
			for _, r := range l.rowsIn(m, e) {
				if isSlope(r.Unit) && r.Kind != measure.Exact {
					continue // judged with its error
				}
				key := r.Labels.Key("program", "host", "file")
				if v, ok := low[key]; !ok || r.Value.Cmp(v) < 0 {
					low[key] = *r.Value
				}
				if v, ok := high[key]; !ok || r.Value.Cmp(v) > 0 {
					high[key] = *r.Value
				}
			}
		}
		for key, h := range high {
			shows := fmt.Sprintf("the base's %d runs show %s to %s", len(runs), low[key].Format(e.Metric.Unit), h.Format(e.Metric.Unit))
			switch {
			case e.Max != nil && h.Cmp(e.Max.Value) > 0:
				l.add(e.Max.Pos, path, "max "+e.Max.Text+" is below what the base has shown: "+shows, "")
			case e.Min != nil && low[key].Cmp(e.Min.Value) < 0:
				l.add(e.Min.Pos, path, "min "+e.Min.Text+" is above what the base has shown: "+shows, "")
			case e.Growth != nil && !e.Growth.Fall && e.Growth.Exceeded(low[key], h, e.Floor), e.Growth != nil && e.Growth.Fall && e.Growth.Exceeded(h, low[key], e.Floor):
				l.add(e.Growth.Pos, path, "growth "+e.Growth.Text+" is less than the base's own spread: "+shows, "give a floor above the spread")
			}
		}
	})
}

func lintTemp(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		if e.Metric.Name == "plan.temp_bytes" && entryOf(t, "plan.need_bytes") == nil && entryOf(t, "plan.total_bytes") == nil {
			l.add(e.Pos, path, "plan.temp_bytes is budgeted alone; it can fall while the need rises", "budget plan.need_bytes too")
		}
	})
}

func lintWhy(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		if e.Growth != nil && e.Why == "" && e.Growth.Percent.Cmp(big.NewRat(lintGrowth, 1)) > 0 {
			l.add(e.Growth.Pos, path, "growth "+e.Growth.Text+" without a why", "say why so much is allowed")
		}
	})
}
