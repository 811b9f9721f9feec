package budget

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/measure"
)

const lintToday = Date("2026-11-30")

// rowsMeasured makes a measurement of rows such as "plan.need_bytes module=a 5 GiB".
func rowsMeasured(t testing.TB, rows ...string) *measure.Measurement {
	t.Helper()
	m := measure.New()
	for _, text := range rows {
		fields := strings.Fields(text)
		labels := measure.Labels{}
		i := 1
		for ; strings.Contains(fields[i], "="); i++ {
			name, value, _ := strings.Cut(fields[i], "=")
			labels[name] = value
		}
		metric, ok := measure.Lookup(fields[0])
		if !ok {
			t.Fatalf("no metric %s", fields[0])
		}
		v, bad := parseValue(strings.Join(fields[i:], " "), metric.Unit, false)
		if bad != nil {
			t.Fatal(text, bad)
		}
		m.Rows = append(m.Rows, measure.NewRow(fields[0], labels, v))
	}
	return m
}

// lintCase is a file, what was found of its target train, and what Lint says.
type lintCase struct {
	text  string
	found Found
	want  string // without the file's name
}

func entryFile(entries ...string) string {
	return "version: 1\ntargets:\n  train:\n    captures: train.xplane.pb\n    budgets:\n      " + strings.Join(entries, "\n      ") + "\n"
}

// lintExamples has a case for each rule; the first is shown in the documentation.
func lintExamples(t testing.TB) map[string][]lintCase {
	head := func(rows ...string) Found { return Found{Head: rowsMeasured(t, rows...)} }
	sampled := func(points int) Found {
		f := head("growth.bytes_per_step series=rss 5 B")
		f.Head.Rows[0].Samples = points
		return f
	}
	waiver := func(s string) string {
		return entryFile("plan.need_bytes: { max: 9 GiB }") + "waivers:\n  - { target: train, metric: plan.need_bytes, " + s + ", reason: remat is off, owner: perf }\n"
	}
	withBase := func(f Found, runs ...string) Found {
		for _, r := range runs {
			f.Base = append(f.Base, rowsMeasured(t, r))
		}
		return f
	}
	return map[string][]lintCase{
		"dead": {
			{entryFile("plan.need_bytes: { max: 1 GiB, select: { module: jit_stpe } }"), head("plan.need_bytes module=jit_step 1 GiB"),
				"6:7: targets.train.budgets.plan.need_bytes: no row of plan.need_bytes matches the selectors of target train; there is {module=jit_step} [dead]"},
			{entryFile("live.peak_bytes: 1 GiB"), head("plan.need_bytes 1 GiB"),
				"6:7: targets.train.budgets.live.peak_bytes: the captures of target train do not give live.peak_bytes; remove the entry, or capture what gives it [dead]"},
			{entryFile("live.peak_bytes: 1 GiB"), Found{Files: map[string]int{"train.xplane.pb": 0}},
				"4:15: targets.train.captures: path \"train.xplane.pb\" matches no file [dead]"},
			{entryFile("live.peak_bytes: 1 GiB"), Found{Files: map[string]int{"train.xplane.pb": 1}}, ""},
			{strings.Replace(waiver("max: 10 GiB, until: 2027-01-31, select: { rank: 7 }"), "9 GiB", "1 GiB", 1), head("plan.need_bytes rank=0 1 GiB"),
				"8:5: warning: waivers[0]: no row of plan.need_bytes is covered [dead]"},
			{"defaults: { budgets: { live.peak_bytes: 2 GiB } }\n" + entryFile("live.peak_bytes: 1 GiB"), Found{},
				"1:24: advice: defaults.budgets.live.peak_bytes: every target has an entry of its own; remove the default [dead]"},
		},
		"expired": {
			{waiver("max: 10 GiB, until: 2026-11-29"), Found{}, "8:67: waivers[0].until: the waiver of train plan.need_bytes expired: its last day was 2026-11-29; remove it, or let \"perf\" extend it with a reason [expired]"},
			{waiver("max: 10 GiB, until: 2026-11-30"), Found{}, ""},
		},
		"until": {
			{waiver("max: 10 GiB, until: 2028-01-31"), Found{}, "8:67: advice: waivers[0].until: the waiver holds until 2028-01-31; raise the entry's limit with a why, or set an earlier day [until]"},
			{waiver("max: 10 GiB, until: 2027-12-01"), Found{}, ""},
		},
		"dryrun": {
			{"version: 1\ntargets:\n  train:\n    run: [python, train.py]\n    dryrun: { framework: torch }\n    budgets:\n      footprint.peak_bytes: 1 GiB\n", Found{},
				"7:7: targets.train.budgets.footprint.peak_bytes: a dry run of torch says nothing of footprint.peak_bytes; budget live.peak_bytes [dryrun]"},
			{"version: 1\ntargets:\n  train:\n    dryrun: { framework: jax, device: h100, function: \"a:b\" }\n    budgets:\n      live.peak_bytes: 1 GiB\n      plan.need_bytes: 1 GiB\n", Found{},
				"6:7: targets.train.budgets.live.peak_bytes: a dry run of jax says nothing of live.peak_bytes; budget plan.need_bytes [dryrun]"},
			{"version: 1\ntargets:\n  train:\n    run: [python, train.py]\n    dryrun: { framework: tf }\n    budgets:\n      live.peak_bytes: 1 GiB\n", Found{}, ""},
		},
		"information": {
			{entryFile("reserved.peak_bytes: 9 GiB"), Found{}, "6:7: warning: targets.train.budgets.reserved.peak_bytes: reserved.peak_bytes is for information: largest total taken from the device. It depends on the pool's history: budget live.peak_bytes instead [information]"},
		},
		"module": {
			{entryFile("plan.need_bytes: 9 GiB"), head("plan.need_bytes module=jit_step 8 GiB", "plan.need_bytes module=jit_init 1 GiB"),
				"3:3: advice: targets.train: 2 modules are judged together: jit_init, jit_step; pin one: select: { module: … } [module]"},
			{entryFile("plan.need_bytes: { max: 9 GiB, select: { module: \"*\" } }"), head("plan.need_bytes module=jit_step 8 GiB", "plan.need_bytes module=jit_init 1 GiB"), ""},
			{entryFile("plan.need_bytes: 9 GiB"), head("plan.need_bytes module=jit_step rank=0 8 GiB", "plan.need_bytes module=jit_step rank=1 8 GiB"), ""},
		},
		"needless": {
			{waiver("max: 10 GiB, until: 2027-01-31"), head("plan.need_bytes 8.5 GiB"), "8:5: warning: waivers[0]: plan.need_bytes of target train is within its limits without the waiver; remove it [needless]"},
			{waiver("max: 10 GiB, until: 2027-01-31"), head("plan.need_bytes 9.5 GiB"), ""},
			{waiver("max: 9 GiB, until: 2027-01-31"), Found{}, "8:52: warning: waivers[0]: the waiver's 9 GiB is not beyond the entry's own 9 GiB; it lifts nothing [needless]"},
			{strings.Replace(waiver("max: 9 GiB, until: 2027-01-31"), "9 GiB }", "9 GiB, growth: 1% }", 1), head("plan.need_bytes 8.5 GiB"), ""},
			{strings.Replace(waiver("max: 9 GiB, until: 2027-01-31"), "9 GiB }", "9 GiB, growth: 1% }", 1), withBase(head("plan.need_bytes 8.5 GiB"), "plan.need_bytes 8 GiB"), ""},
			{strings.Replace(waiver("max: 9 GiB, until: 2027-01-31"), "9 GiB }", "9 GiB, growth: 1% }", 1), withBase(head("plan.need_bytes 8.5 GiB"), "plan.need_bytes 8.5 GiB"),
				"8:5: warning: waivers[0]: plan.need_bytes of target train is within its limits without the waiver; remove it [needless]"},
		},
		"noise": {
			{entryFile("footprint.peak_bytes: { growth: 0% }"), Found{}, "6:39: warning: targets.train.budgets.footprint.peak_bytes: growth 0% without a floor, and footprint.peak_bytes is sampled: it differs from run to run; give a floor such as 16 MiB [noise]"},
			{entryFile("used.peak_bytes: { growth: 3% }"), Found{}, "6:34: advice: targets.train.budgets.used.peak_bytes: growth 3% without a floor, and used.peak_bytes is observed: it differs from run to run; give a floor such as 16 MiB [noise]"},
			{entryFile("footprint.peak_bytes: { growth: 0%, floor: 1 B }"), Found{}, ""},
			{entryFile("plan.need_bytes: { growth: 0% }"), Found{}, ""},
		},
		"overlap": {
			{entryFile("plan.need_bytes: 9 GiB") + "  eval:\n    captures: ./train.xplane.pb\n    budgets: { plan.need_bytes: 8 GiB }\n", Found{},
				"9:16: warning: targets.eval.budgets.plan.need_bytes: target train has an entry for the same rows at 6:7, from the same captures \"./train.xplane.pb\"; tell them apart with select, or remove one [overlap]"},
			{entryFile("plan.need_bytes: { max: 9 GiB, select: { module: a } }") + "  eval:\n    captures: train.xplane.pb\n    select: { module: b }\n    budgets: { plan.need_bytes: 8 GiB }\n", Found{}, ""},
			{waiver("max: 10 GiB, until: 2027-01-31") + "  - { target: train, metric: plan.need_bytes, select: { device: 0 }, max: 11 GiB, until: 2027-02-28, reason: r, owner: o }\n", Found{},
				"9:5: warning: waivers[1]: the waiver at 8:5 covers the same rows, and the stricter of the two counts; remove one [overlap]"},
		},
		"short": {
			{entryFile("growth.bytes_per_step: 0 B"), sampled(20), "6:30: warning: targets.train.budgets.growth.bytes_per_step: {series=rss} has 20 points, and a trend needs 30: no leak is found; run longer, or sample more often [short]"},
			{entryFile("growth.bytes_per_step: 0 B"), sampled(30), ""},
			{entryFile("growth.bytes_per_step: 0 B"), head("growth.bytes_per_step 5 B"), ""},
		},
		"slack": {
			{entryFile("plan.need_bytes: 80 GiB"), head("plan.need_bytes 12 GiB"), "6:24: warning: targets.train.budgets.plan.need_bytes: max 80 GiB: 6.7 times as much as is used (12.00 GiB is measured); peakgate budget update brings it closer [slack]"},
			{entryFile("plan.need_bytes: 24 GiB"), head("plan.need_bytes 12 GiB"), ""},
			{entryFile("plan.need_bytes: 24 GiB"), head("plan.need_bytes 0 B"), "6:24: warning: targets.train.budgets.plan.need_bytes: max 24 GiB: nothing is used (0 B is measured); peakgate budget update brings it closer [slack]"},
			{entryFile("plan.need_bytes: 24.1 GiB"), head("plan.need_bytes device=0 12 GiB", "plan.need_bytes device=1 1 GiB"), "6:24: warning: targets.train.budgets.plan.need_bytes: max 24.1 GiB: 2.0 times as much as is used (12.00 GiB is measured); peakgate budget update brings it closer [slack]"},
			{entryFile("plan.need_bytes: 16 MiB"), head("plan.need_bytes 1 MiB"), ""},
			{entryFile("growth.bytes_per_step: 16 MiB"), head("growth.bytes_per_step 1 B"), ""},
			{entryFile("pool.hit_ratio: { min: 0.4 }"), head("pool.hit_ratio 0.9"), "6:30: warning: targets.train.budgets.pool.hit_ratio: min 0.4: 2.2 times less than there is (0.900 is measured); peakgate budget update brings it closer [slack]"},
			{entryFile("plan.need_bytes: { growth: 1%, floor: 7 GiB }"), head("plan.need_bytes 12 GiB"), "6:45: advice: targets.train.budgets.plan.need_bytes: floor 7 GiB is more than half of the measured 12.00 GiB; growth under the floor never fails [slack]"},
		},
		"spread": {
			{entryFile("live.peak_bytes: { growth: 1% }"), withBase(Found{}, "live.peak_bytes 100 MiB", "live.peak_bytes 104 MiB"), "6:34: warning: targets.train.budgets.live.peak_bytes: growth 1% is less than the base's own spread: the base's 2 runs show 100.00 MiB to 104.00 MiB; give a floor above the spread [spread]"},
			{entryFile("live.peak_bytes: { growth: 1%, floor: 4 MiB }"), withBase(Found{}, "live.peak_bytes 100 MiB", "live.peak_bytes 104 MiB"), ""},
			{entryFile("live.peak_bytes: 103 MiB"), withBase(Found{}, "live.peak_bytes 100 MiB", "live.peak_bytes 104 MiB"), "6:24: warning: targets.train.budgets.live.peak_bytes: max 103 MiB is below what the base has shown: the base's 2 runs show 100.00 MiB to 104.00 MiB [spread]"},
			{entryFile("pool.hit_ratio: { min: 0.95 }"), withBase(Found{}, "pool.hit_ratio 0.96", "pool.hit_ratio 0.94"), "6:30: warning: targets.train.budgets.pool.hit_ratio: min 0.95 is above what the base has shown: the base's 2 runs show 0.940 to 0.960 [spread]"},
			{entryFile("pool.hit_ratio: { growth: 1% }"), withBase(Found{}, "pool.hit_ratio 0.96", "pool.hit_ratio 0.94"), "6:33: warning: targets.train.budgets.pool.hit_ratio: growth 1% is less than the base's own spread: the base's 2 runs show 0.940 to 0.960; give a floor above the spread [spread]"},
			{entryFile("live.peak_bytes: 103 MiB"), withBase(Found{}, "live.peak_bytes 104 MiB"), ""},
			{entryFile("growth.bytes_per_step: 0 B"), withBase(Found{}, "growth.bytes_per_step 8 B", "growth.bytes_per_step -8 B"), ""},
		},
		"temp": {
			{entryFile("plan.temp_bytes: 1 GiB"), Found{}, "6:7: warning: targets.train.budgets.plan.temp_bytes: plan.temp_bytes is budgeted alone; it can fall while the need rises; budget plan.need_bytes too [temp]"},
			{entryFile("plan.temp_bytes: 1 GiB", "plan.need_bytes: 1 GiB"), Found{}, ""},
		},
		"units": {
			{entryFile("plan.need_bytes: 9.5 GiB") + "  eval:\n    captures: eval.xplane.pb\n    budgets: { plan.need_bytes: 9.5 GB }\n", Found{}, "9:33: warning: targets.eval.budgets.plan.need_bytes: plan.need_bytes is in GB here and in GiB at 6:24; 1 GiB is 7.4 % more than 1 GB: use one of them [units]"},
			{entryFile("plan.need_bytes: 85.9 GB"), Found{}, "6:24: advice: targets.train.budgets.plan.need_bytes: 85.9 GB is 80 GiB, rounded; write 80 GiB if that is meant [units]"},
			{entryFile("plan.need_bytes: 74.5 GiB"), Found{}, "6:24: advice: targets.train.budgets.plan.need_bytes: 74.5 GiB is 80 GB, rounded; write 80 GB if that is meant [units]"},
			{entryFile("plan.need_bytes: 9.5 GiB", "live.peak_bytes: 80 GB", "plan.temp_bytes: 4.7 GiB", "plan.total_bytes: 86 GB"), Found{}, ""},
		},
		"why": {
			{entryFile("plan.need_bytes: { growth: 60% }"), Found{}, "6:34: advice: targets.train.budgets.plan.need_bytes: growth 60% without a why; say why so much is allowed [why]"},
			{entryFile("plan.need_bytes: { growth: 50% }"), Found{}, ""},
			{entryFile("plan.need_bytes: { growth: 60%, why: x }"), Found{}, ""},
		},
	}
}

func TestLint(t *testing.T) {
	examples := lintExamples(t)
	for _, rule := range lintRules {
		if len(examples[rule.name]) == 0 {
			t.Errorf("no case for the rule %s", rule.name)
		}
	}
	for name, cases := range examples {
		for i, c := range cases {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				got := Lint(mustLoad(t, c.text), map[string]Found{"train": c.found}, lintToday)
				if diff := cmp.Diff(c.want, strings.ReplaceAll(got.Error(), "peakgate.yml:", "")); diff != "" {
					t.Errorf("%s\nin\n%s", diff, c.text)
				}
				checkPlaces(t, c.text, got)
			})
		}
	}
}

// TestLintAll: all findings of a file come at once, in order; without data only
// those that need none.
func TestLintAll(t *testing.T) {
	text := entryFile("plan.temp_bytes: 80 GiB", "reserved.peak_bytes: { growth: 0% }", "footprint.peak_bytes: { growth: 70% }")
	f := mustLoad(t, text)
	got := Lint(f, map[string]Found{"train": {Head: rowsMeasured(t, "plan.temp_bytes 1 GiB", "reserved.peak_bytes 1 GiB")}}, lintToday)
	var rules []string
	for _, e := range got {
		rules = append(rules, e.Rule)
	}
	if diff := cmp.Diff([]string{"temp", "slack", "information", "dead", "noise", "why"}, rules); diff != "" {
		t.Error(diff)
	}
	if got := Lint(f, nil, lintToday); len(got) != 4 {
		t.Errorf("without data: %v", got)
	}
	if got := Lint(fullFile(t), nil, lintToday); len(got) != 0 {
		t.Errorf("the full file: %v", got)
	}
}

func TestLintDocumentation(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "budget-lint.md"), lintPage(t))
}

func lintPage(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# What lint says of a budget

<!-- Made from the rules in budget/ by: go test ./budget -update -->

A budget can be legal and yet not do what its writer wants: an entry that judges nothing, a limit that cannot fail, or one that fails without a change.
` + "`peakgate budget lint`" + ` finds these, all at once, in the order of the file. Errors are what makes the gate fail or stop anyway; warnings are most
likely mistakes; advice is worth a look. Rules that need measured numbers are silent where there are none.

` + "```sh" + `
peakgate budget lint                                  # reads peakgate.yml, and what its captures and bases say
peakgate budget lint --config ci/memory.yml --format json
peakgate budget lint --no-captures                    # the files alone, as in a hook before each commit
` + "```" + `

It ends with 0 where there is nothing but advice, 1 after a warning or an error, and 2 after errors that keep ` + "`peakgate check`" + ` from running: those of the
language too, which [budget.md](budget.md) explains. Three more names stand for what only reading the files can show: ` + "`path`" + ` (error: the path leads outside of
the repository and is not read), ` + "`unreadable`" + ` (error: a capture or a base is damaged or none; the rules that need its target's numbers are then silent) and
` + "`base`" + ` (advice: git does not give the base, as in a shallow clone).
`)
	examples := lintExamples(t)
	for _, r := range lintRules {
		level := string(r.level)
		if r.level == LevelError {
			level = "error"
		}
		c := examples[r.name][0]
		es := Lint(mustLoad(t, c.text), map[string]Found{"train": c.found}, lintToday)
		fmt.Fprintf(&out, "\n## %s (%s)\n\n%s\n\n```text\n%s```\n", r.name, level, r.doc, es.Render([]byte(c.text)))
	}
	return out.String()
}
