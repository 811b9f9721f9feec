package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestDocumentation keeps docs/budget.md in step with the tables: it is written
// from them, its example is parsed, and each message is what Parse says.
func TestDocumentation(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "budget.md"), page(t))
}

func page(t *testing.T) string {
	t.Helper()
	example, err := os.ReadFile(filepath.Join("testdata", "good.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(example), "\r\n", "\n")
	mustParse(t, text)

	var out strings.Builder
	out.WriteString(docsIntro)
	full, err := os.ReadFile(filepath.Join("testdata", "full", "peakgate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("```yaml\n" + text + "```\n\nThe parts that most budgets do without:\n\n```yaml\n" + strings.ReplaceAll(string(full), "\r\n", "\n") + "```\n\n## Keys\n")
	for _, c := range contexts {
		fmt.Fprintf(&out, "\n### In %s\n\n| key | value | meaning | required |\n|---|---|---|---|\n", c.where)
		stars := strings.NewReplacer("**", "`**`", "* and ?", "`*` and `?`")
		for _, k := range legalKeys[c.name] {
			required := ""
			if k.required {
				required = "yes"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", k.name, stars.Replace(string(k.value)), k.doc, required)
		}
	}
	out.WriteString(docsNumbers)
	fmt.Fprintf(&out, "Byte units: %s.\n", measure.ByteUnits)
	out.WriteString(docsRest)
	fmt.Fprintf(&out, "A file has at most %d bytes, and aliases may make at most %d values of it.\n", MaxSize, MaxNodes)
	out.WriteString("\nLabels for `select`: `" + strings.Join(labelNames, "`, `") + "`. A row that lacks a label is not matched by a pattern for it, not even by `*`.\n")
	out.WriteString(docsRules)
	for _, r := range rules {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", r.name, r.doc)
		if r.example == "" {
			continue
		}
		es := loadErrors(t, r.example)
		if len(es) != 1 || es[0].Rule != r.name {
			t.Errorf("the example of the rule %s gives\n%v", r.name, es)
		}
		fmt.Fprintf(&out, "\n```text\n%s```\n", es.Render([]byte(r.example)))
	}
	return out.String()
}

const docsIntro = `# The budget file

<!-- Made from the tables in budget/ by: go test ./budget -update -->

` + "`peakgate.yml`" + ` says what the workloads of a repository may use. It is reviewed like code: who raises a limit does it in
a pull request, with the reason beside the number. Paths are relative to the file.

`

const docsNumbers = `
## Numbers

Bytes and times carry their unit, also where the number is 0; ratios and counts have none. IEC and SI units are different things and
are never mixed up: 1 GiB is 1,073,741,824 bytes and 1 GB is 1,000,000,000. Numbers are plain decimals, and ` + "`_`" + ` may stand between
digits. A limit that is no whole number of bytes is rounded to the stricter side. What grows per step or per hour may say so
(` + "`4 KiB/step`" + `) or leave it out (` + "`4 KiB`" + `). Times are in ms, s, min or h. The metrics and their units are in [metrics.md](metrics.md).

`

const docsRest = `
## Growth

` + "`growth`" + ` compares with the base. Where lower is better, an entry fails if **head > base × (1 + growth)** and **head − base > floor**.
Where higher is better (hit ratios, donated bytes) it fails if **head < base × (1 − growth)** and **base − head > floor**. A floor that is not
given is 0, so ` + "`growth: 0%`" + ` means not one byte more. All of it is computed exactly. An improvement never fails.

## Leaks

A metric that is itself a growth (per step, per hour) takes no ` + "`growth`" + `: limit it with ` + "`max`" + `. Where the growth is exact (net requested
bytes of PyTorch and XLA) one run decides, ` + "`max: 0 B`" + ` means no leak, and ` + "`floor`" + ` is the growth over the measured steps that is too little to matter. Where it comes from a sampled series (a footprint,
telemetry, a CSV file) it is an estimate with an error, and is judged with it. Give such a series a ` + "`max`" + ` above 0, such as 16 KiB/step: of a level that has any noise no run can
prove that it grows by nothing at all, so with ` + "`max: 0 B`" + ` nearly every run without a leak is inconclusive (98 of 100 in simulation; with a max above the noise nearly all pass).

- The warm-up is left out: ` + "`warmup`" + ` of the target, else 10 steps or a fifth of the points, whichever is more; a tenth more if the level still rises where it ends. The report says how much was left out.
- **fail**: growth is above ` + "`max`" + ` with 99 % confidence (of all sampled series of a target together), goes on to the end of the run, and comes to more than ` + "`floor`" + ` over ` + "`horizon`" + `
  (1,000 steps, or 24 hours; where none is given and the run is longer, the run). A floor that is not given is 16 MiB or 1 % of where the series settles, whichever is more; of counts 1.
- **decelerating**: the same, but less than half as fast in the second half of the run: most likely a cache that fills. The report says how much longer a run shows it.
- **pass**: growth is at most ` + "`max`" + ` with that confidence.
- **inconclusive**: neither can be said. The report says how much longer the run must be, and the smallest growth that this run could have shown: a leak below that is not seen.
  Fewer than 24 points after the warm-up, and marks that a kernel keeps and that cannot fall, are always inconclusive.

` + "`up_to`" + ` allows a cache that is bounded: growth that comes to no more than that over the horizon does not fail, and what has grown by more in the run fails whatever its trend is.
A steady rise is a leak, or a cache that has not reached its cap: only a longer run can tell. ` + "`inconclusive`" + ` and ` + "`decelerating`" + ` count as a warning, or as a failure where ` + "`policy.inconclusive`" + ` is fail.
A series that a capture holds as information, such as ` + "`rss`, `gpu` and `cgroup`" + ` of a watched run or ` + "`children`" + ` of mprof, is judged where ` + "`select: { series: rss }`" + ` names it, and only then.
[growth.md](growth.md) has the formulas, and the rates of false alarms and of leaks that are found.

## Selecting rows

An entry is judged on every row of its metric that ` + "`select`" + ` matches; the worst decides. In a pattern ` + "`*`" + ` stands for any characters and
` + "`?`" + ` for one; everything else stands for itself, brackets too. An entry's labels win over those of its target.

## Defaults and includes

Each target has the entries of ` + "`defaults.budgets`" + `, but for the metrics that it names itself: such an entry is its own, whole. A default entry is judged
like any other, so what a target's captures do not give is no data there.
` + "`includes`" + ` names further files, relative to the file that includes them; they have the same language, and their own paths are relative to themselves.
A file that is included twice counts once. Targets and devices have one name in all files together. Of ` + "`defaults`" + ` and ` + "`policy`" + ` what a file says wins
over what it includes, and an earlier include over a later one. At most 64 files, 8 levels and 4 MiB together.

## Dry runs

A target with ` + "`dryrun`" + ` is run for a device that the machine does not have, its base too with ` + "`base: run`" + `. What such a run cannot tell (values that nothing
computed steer the memory, the program did not run, a metric that needs a real device) is no data, and ` + "`peakgate budget lint`" + ` names the last kind.
A program that does not fit the device fails whatever its entries say. [dryrun.md](dryrun.md) has the classes, and what runs.

## Devices

Targets that are on one device at one time share its memory. A device adds up, over its targets, the largest row of the metric that ` + "`select`" + ` matches. A target
without such a row is no data, unless the others are over the limit already.

## Waivers

A waiver lifts the max and the growth of one metric (where higher is better, the min and the growth) up to its own limit, until and including its last day.
Every key but ` + "`select`" + ` is required. When the day is over, a waiver that is still there is a failure: remove it, and the limit holds again.

## YAML

One UTF-8 document. Anchors, aliases and merge keys (` + "`<<`" + `) may be used; an error in a shared value is shown once, where it is written.
A mapping's own keys win over merged ones, the first merged mapping over the next. Explicit tags are refused.
`

const docsRules = `
## Changing a budget

` + "`peakgate budget lint`" + ` says what in a legal file is most likely a mistake: [budget-lint.md](budget-lint.md).

A report says first how the budget of the head differs from that of the base: what **loosens** (a higher max, a limit, target or row that is no longer judged, a new or
longer waiver, a lower severity or policy), what **reshapes** (other files or rows are judged: a reviewer has to look), and what **tightens**. A target under another name
is one that was removed and one that was added.

` + "`peakgate budget update`" + ` makes limits tighter: the worst measured value and some headroom. It changes the bytes of the numbers themselves and no other byte of the file, in the
unit that is there, rounded by at most 0.01 % to the side that passes. It loosens only where it is told to, and then the reason becomes the entry's ` + "`why`" + `.
What other places share (anchors, aliases, merge keys), blocks of text and escapes it leaves alone, and says which line to edit by hand.

## Errors

All errors of a file are shown at once, in the order of the file, and end the run with exit code 2. Each has the form
` + "`FILE:LINE:COLUMN: KEY: WHAT; HINT [RULE]`" + `. These are the rules:
`

// TestBudgetsOfTheDocs: what the pages show as a whole budget is one.
func TestBudgetsOfTheDocs(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range append(pages, filepath.Join("..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "\n```\n")
			if !strings.HasPrefix(block, "version: 1\n") || strings.Contains(block, "\nincludes:") {
				continue
			}
			n++
			if _, err := Parse([]byte(block), page); err != nil {
				t.Errorf("%v\nin\n%s", err, block)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d budgets were found", n)
	}
}
