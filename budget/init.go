package budget

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// Start is a workload that Init writes a first budget for.
type Start struct {
	Name     string   // of the target
	Captures []string // paths or globs, relative to the budget file
	Base     []string // likewise; may be empty
	// Runs has what was measured of it, one measurement for each run. The more runs
	// there are, the better the headroom is known.
	Runs []*measure.Measurement
}

// The headroom of a first budget, in percent of the largest value that was measured,
// where the runs do not differ more.
const (
	initExact  = 5  // of metrics that are the same in every run
	initOther  = 10 // of all others
	initSpread = 2  // times the difference of the runs, if that is more
	initMost   = 90 // percent, however much the runs differ
)

// initMetrics are what is worth a first budget, in this order: what decides whether
// the program fits, then what shows a leak.
var initMetrics = []string{
	"plan.need_bytes", "plan.donated_bytes", "live.peak_bytes", "used.peak_bytes", "growth.bytes_per_step", "growth.bytes_per_hour",
	"footprint.peak_bytes", "series.peak_bytes", "oom.events",
}

// Init writes a budget file for workloads: for each what to budget first, with
// headroom over what its runs show, and a comment that says so. A workload of which
// nothing was measured that a first budget can limit is an error, and so is a name
// that no target can have.
func Init(starts []Start) ([]byte, error) {
	var out strings.Builder
	out.WriteString(SchemaComment + `
# What the workloads of this repository may use: a first budget, made from the captures
# that were there. Change it as you know better; tighten it with: peakgate budget update
version: 1
targets:
`)
	for _, s := range starts {
		if !targetName(s.Name) {
			return nil, fmt.Errorf("target name %s has a character that file names and flags may not have; use letters, digits, and . _ - inside the name", quote(s.Name))
		}
		out.WriteString("  " + yamlText(s.Name) + ":\n    captures: " + yamlList(s.Captures) + "\n")
		if len(s.Base) > 0 {
			out.WriteString("    base: " + yamlList(s.Base) + "\n")
		}
		entries := ""
		for _, name := range initMetrics {
			entries += s.entry(name)
		}
		if s.trends() {
			out.WriteString("    warmup: { fraction: 0.2 } # of each sampled series; the report says where it settles\n")
		}
		out.WriteString("    budgets:\n" + entries)
		if entries == "" {
			return nil, fmt.Errorf("target %s: nothing was measured that a first budget limits; want one of %s", element(s.Name), strings.Join(initMetrics, ", "))
		}
	}
	data := []byte(out.String())
	if _, err := Parse(data, "peakgate.yml"); err != nil {
		return nil, fmt.Errorf("the first budget would not be legal: %w", err)
	}
	return data, nil
}

// entry writes the entry of one metric; nothing where no run has it.
func (s Start) entry(name string) string {
	metric, _ := measure.Lookup(name)
	selector, note := s.pin(name)
	if isSlope(metric.Unit) {
		var ok bool
		if ok, note = s.pinSeries(name, selector); !ok {
			return ""
		}
	}
	low, high, runs, kind := s.spread(name, selector)
	if runs == 0 || name == "used.peak_bytes" && s.has("live.peak_bytes") {
		return ""
	}
	comment := fmt.Sprintf("%d runs: %s to %s", runs, low.Format(metric.Unit), high.Format(metric.Unit))
	switch {
	case runs == 1:
		comment = "1 run: " + high.Format(metric.Unit)
	case low.Cmp(high) == 0:
		comment = fmt.Sprintf("%d runs: %s in each", runs, high.Format(metric.Unit))
	}
	comment += " (" + strings.ReplaceAll(string(kind), "_", " ") + ")"
	var limits []string
	switch {
	case metric.Unit == measure.Count:
		limits = append(limits, "max: "+writeValue("0", high, metric.Unit, false))
	case isSlope(metric.Unit) && kind == measure.Exact:
		// No noise to allow for, only a list of numbers that a program keeps.
		comment += "; a leak is what grows without end"
		limits = append(limits, "max: 0 B", "floor: 1 MiB")
	case isSlope(metric.Unit):
		comment += "; " + initSlopes[metric.Unit].means
		limits = append(limits, "max: "+initSlopes[metric.Unit].max)
	case high.Cmp(measure.Int(0)) <= 0:
		return ""
	case metric.HigherIsBetter:
		comment += "; what is no longer donated is needed twice"
		limits = append(limits, "growth: 0%")
	default:
		room := headroom(low, high, kind)
		top := rational(high)
		top = new(big.Rat).Add(top, new(big.Rat).Quo(new(big.Rat).Mul(top, room), big.NewRat(100, 1)))
		limits = append(limits, "max: "+writeValue(iecStyle(high), atLeast(new(big.Rat).SetInt(roundUp(top, false)), false), metric.Unit, false), "growth: 2%")
		comment += "; max leaves " + strings.TrimRight(strings.TrimRight(room.FloatString(1), "0"), ".") + " % of headroom"
		if spread := high.Sub(low); kind != measure.Exact || spread.Cmp(measure.Int(0)) > 0 {
			hundredth := new(big.Rat).Quo(rational(high), big.NewRat(100, 1))
			floor := new(big.Rat).Mul(rational(spread), big.NewRat(initSpread, 1))
			if floor.Cmp(hundredth) < 0 {
				floor = hundredth
			}
			value := atLeast(new(big.Rat).SetInt(roundUp(floor, false)), false)
			limits = append(limits, "floor: "+writeValue(iecStyle(value), value, metric.Unit, false))
		}
	}
	var out strings.Builder
	out.WriteString("      # " + comment + "\n")
	if note != "" {
		out.WriteString("      # " + note + "\n")
	}
	out.WriteString("      " + name + ":\n")
	for _, l := range limits {
		out.WriteString("        " + l + "\n")
	}
	if len(selector) > 0 {
		out.WriteString("        select:\n")
		for _, label := range slices.Sorted(maps.Keys(selector)) {
			out.WriteString("          " + label + ": " + yamlText(selector[label]) + "\n")
		}
	}
	return out.String()
}

// initSlopes are first limits of sampled growth: what comes to some 16 MiB over the
// horizon, below which nothing fails.
var initSlopes = map[measure.Unit]struct{ max, means string }{
	measure.BytesPerStep: {"16 KiB/step", "the max is 16 MiB in 1,000 steps"},
	measure.BytesPerHour: {"1 MiB/h", "the max is 24 MiB a day"},
}

// trendable tells whether a row is sampled growth of a series that is long enough
// to be judged.
func trendable(r measure.Row) bool {
	return isSlope(r.Unit) && r.Kind == measure.Sampled && r.Samples >= trendPoints && r.Value != nil
}

// trends tells whether the budget has an entry for sampled growth.
func (s Start) trends() bool {
	return slices.ContainsFunc(s.Runs, func(m *measure.Measurement) bool {
		return slices.ContainsFunc(m.Rows, func(r measure.Row) bool {
			return trendable(r) && slices.Contains(initMetrics, r.Name)
		})
	})
}

// headroom is in percent of high.
func headroom(low, high measure.Value, kind measure.Kind) *big.Rat {
	room := big.NewRat(initOther, 1)
	if kind == measure.Exact {
		room.SetInt64(initExact)
	}
	spread := new(big.Rat).Quo(rational(high.Sub(low)), rational(high))
	if spread.Mul(spread, big.NewRat(100*initSpread, 1)); spread.Cmp(room) > 0 {
		room = spread
	}
	if most := big.NewRat(initMost, 1); room.Cmp(most) > 0 {
		room = most
	}
	return room
}

// pin gives selectors that leave what is meant: the largest module, in the device's
// own memory; of series the footprint.
func (s Start) pin(name string) (Selector, string) {
	out := Selector{}
	modules := map[string]measure.Value{}
	for _, m := range s.Runs {
		for _, r := range m.Rows {
			if r.Name != name || r.Value == nil {
				continue
			}
			if r.Labels["memory_space"] == "device" {
				out["memory_space"] = "device"
			}
			if r.Labels["series"] == "footprint" {
				out["series"] = "footprint"
			}
			if module := r.Labels["module"]; module != "" {
				if v, ok := modules[module]; !ok || r.Value.Cmp(v) > 0 {
					modules[module] = *r.Value
				}
			}
		}
	}
	if len(modules) < 2 {
		return out, ""
	}
	names := slices.Sorted(maps.Keys(modules))
	largest := s.largestModule(names, modules)
	out["module"] = largest
	return out, clip(printable(fmt.Sprintf("one of %d modules; the others are not judged: %s", len(names), strings.Join(slices.DeleteFunc(names, func(n string) bool { return n == largest }), ", "))))
}

// pinSeries leaves the series whose growth can be judged: exact ones, and sampled
// ones that are long enough and no high-water marks. ok is false where there is none.
func (s Start) pinSeries(name string, selector Selector) (ok bool, note string) {
	metric, _ := measure.Lookup(name)
	var series []string
	others := 0
	for _, m := range s.Runs {
		for _, r := range matching(m.Rows, &Entry{Metric: metric, Select: selector}) {
			switch label := r.Labels["series"]; {
			case r.Kind != measure.Exact && !trendable(r):
				others++
			case !slices.Contains(series, label):
				series = append(series, label)
			}
		}
	}
	if others == 0 || len(series) == 0 {
		return len(series) > 0, ""
	}
	slices.Sort(series)
	selector["series"] = series[0]
	return series[0] != "", "others are not judged: too short for a trend, marks that cannot fall, or more of the like"
}

// largestModule is the one that needs most, for every metric the same.
func (s Start) largestModule(names []string, values map[string]measure.Value) string {
	need := map[string]measure.Value{}
	for _, m := range s.Runs {
		for _, r := range m.Rows {
			if v, ok := need[r.Labels["module"]]; r.Name == "plan.need_bytes" && r.Value != nil && (!ok || r.Value.Cmp(v) > 0) {
				need[r.Labels["module"]] = *r.Value
			}
		}
	}
	if len(need) > 0 {
		values = need
	}
	best := names[0]
	for _, n := range names {
		if v, ok := values[n]; ok {
			if b, have := values[best]; !have || v.Cmp(b) > 0 {
				best = n
			}
		}
	}
	return best
}

func (s Start) has(name string) bool {
	_, _, runs, _ := s.spread(name, nil)
	return runs > 0
}

// spread gives the smallest and the largest of the runs' values; of a run the worst
// row counts.
func (s Start) spread(name string, selector Selector) (low, high measure.Value, runs int, kind measure.Kind) {
	metric, _ := measure.Lookup(name)
	for _, m := range s.Runs {
		rows := matching(m.Rows, &Entry{Metric: metric, Select: selector})
		largest, smallest := extremes(rows)
		if largest == nil {
			continue
		}
		worst := *largest
		if metric.HigherIsBetter {
			worst = *smallest
		}
		if runs == 0 || worst.Cmp(low) < 0 {
			low = worst
		}
		if runs == 0 || worst.Cmp(high) > 0 {
			high = worst
		}
		if runs++; kind == "" || rows[0].Kind != measure.Exact {
			kind = rows[0].Kind
		}
	}
	return low, high, runs, kind
}

// iecStyle is the style of a limit: two decimals of the largest unit below the value.
func iecStyle(v measure.Value) string {
	n, _ := v.Int64()
	for _, unit := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return "1.00 " + unit.name
		}
	}
	return "1 B"
}

// yamlText writes a text so that YAML reads it back, plain where it can be.
func yamlText(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-*") == "" && !strings.ContainsAny(s[:1], "*-")
	if n := (yaml.Node{Kind: yaml.ScalarNode, Value: s}); plain && n.ShortTag() == "!!str" {
		return s
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(s, "?"))
}

func yamlList(list []string) string {
	if len(list) == 1 {
		return yamlText(list[0])
	}
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = yamlText(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
