package report

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// waiverDays is for how long a waiver that is offered holds: time for a repair, and
// short enough to be missed.
const waiverDays = 30

// headroom is the share of what is measured that budget update leaves above it.
const headroom = 0.05

// mostWaivers is how many waivers are offered at once.
const mostWaivers = 5

// todo is what a person can do about a result, as commands and lines to paste.
type todo struct {
	raise   string   // the command that raises broken limits; empty where none is one of update's
	byHand  []place  // checks with broken limits that update leaves alone: growth
	waivers []string // lines of YAML, without the key
	widen   []wider  // waivers that are there and too low
	more    int      // waivers that are not offered
	leaks   []leak   // growths of a series that fail
	closer  []string // the commands that tell more of what failed
	tighten string   // the command that keeps what was saved; empty where nothing was
}

// whatToDo finds what can be done about a result. config is the budget file as the
// reader reaches it. day is when a waiver begins; without one its end is left to be
// filled in.
func whatToDo(r *compare.Result, config, day string) todo {
	var out todo
	var raise, tighten []string
	seen := map[string]bool{}
	told := 0 // growths of series
	for i := range r.Targets {
		t := &r.Targets[i]
		for j := range t.Checks {
			c := &t.Checks[j]
			if strings.HasPrefix(t.Name, "device ") || max(len(t.Name), len(c.Metric)) > maxName {
				continue // a sum of targets, whose parts have the limits; or what nobody would paste
			}
			if c.Verdict == compare.Pass && saved(c) && !slices.Contains(tighten, t.Name) {
				tighten = append(tighten, t.Name)
			}
			if c.Head == nil || c.Counts() != compare.Fail || len(c.Failed) == 0 || slices.Contains(c.Failed, "waiver") {
				continue
			}
			slope := strings.HasPrefix(c.Metric, "growth.")
			if (slices.Contains(c.Failed, "max") || slices.Contains(c.Failed, "min")) && !slope && !slices.Contains(raise, t.Name) {
				raise = append(raise, t.Name)
			}
			if l := leakOf(place{t, c}); l != nil && told < mostLeaks {
				out.leaks = with(out.leaks, *l)
				told++
			}
			key := t.Name + "\x00" + c.Metric + "\x00" + c.Waiver.At()
			if seen[key] {
				continue
			}
			seen[key] = true
			if l := lookCloser(t); l != "" && !slope && len(out.closer) < mostWaivers && !slices.Contains(out.closer, l) {
				out.closer = append(out.closer, l)
			}
			if slope || slices.Contains(c.Failed, "growth") {
				out.byHand = append(out.byHand, place{t, c})
			}
			switch {
			case c.Waiver != nil: // another beside it would not be asked
				out.widen = append(out.widen, wider{c.Waiver, waiverLimit(t, c)})
			case len(out.waivers) == mostWaivers:
				out.more++
			default:
				out.waivers = append(out.waivers, waiver(t, c, day))
			}
		}
	}
	if len(config) > 4*maxName {
		return out
	}
	update := "peakgate budget update --config " + shell(config)
	if len(raise) > 0 {
		out.raise = update + " --loosen --why 'REASON' " + words(raise)
	}
	if r.Verdict == compare.Pass && len(tighten) > 0 {
		out.tighten = update + " " + words(tighten)
	}
	return out
}

// wanted tells that something failed that may be wanted.
func (t *todo) wanted() bool { return len(t.waivers)+len(t.widen) > 0 }

// lookCloser is the command that tells more of a target: what moved where the base lies
// beside the head, what the head holds where it lies in git. It is empty where the
// files are gone (those of a run), or are more than one.
func lookCloser(t *compare.TargetResult) string {
	file := func(inputs []measure.Input) string {
		if len(inputs) != 1 || len(inputs[0].Path) > maxName || strings.HasPrefix(inputs[0].Path, "run/") || strings.HasPrefix(inputs[0].Path, "-") {
			return ""
		}
		return shell(inputs[0].Path)
	}
	head, base := file(t.Inputs), file(t.BaseInputs)
	switch {
	case head == "":
		return ""
	case base != "" && t.Base.Commit == "" && t.Base.Kind == "captures":
		return "peakgate diff " + base + " " + head
	}
	return "peakgate explain " + head
}

// saved tells whether a check has a limit that can follow a head that is better than
// its base.
func saved(c *compare.Check) bool {
	if c.Head == nil || c.Base == nil {
		return false
	}
	head := c.Head.Float64()
	if c.Limit.Max != nil {
		return c.Head.Cmp(*c.Base) < 0 && c.Limit.Max.Float64() > head*(1+headroom)
	}
	return c.Limit.Min != nil && c.Head.Cmp(*c.Base) > 0 && c.Limit.Min.Float64() < head*(1-headroom)
}

// wider is a waiver that is beyond what it lifts, and the limit that would hold.
type wider struct {
	*compare.Waiver
	limit string
}

// waiverLimit is the limit of a waiver that lets the worst row of a metric pass, of
// those that this one is asked about: "max: 3 GiB".
func waiverLimit(t *compare.TargetResult, c *compare.Check) string {
	limit, low := "max", c.Limit.Min != nil && c.Limit.Max == nil
	if m, ok := measure.Lookup(c.Metric); ok {
		low = m.HigherIsBetter
	}
	if low {
		limit = "min"
	}
	worst := *c.Head
	for _, other := range t.Checks {
		if other.Metric == c.Metric && other.Waiver.At() == c.Waiver.At() && other.Counts() == compare.Fail && other.Head != nil && (other.Head.Cmp(worst) < 0) == low {
			worst = *other.Head
		}
	}
	return limit + ": " + ceiling(worst, c.Unit, low)
}

// waiver is the element of waivers: for it.
func waiver(t *compare.TargetResult, c *compare.Check, day string) string {
	until := "YYYY-MM-DD"
	if d, err := time.Parse(time.DateOnly, day); err == nil {
		until = d.AddDate(0, 0, waiverDays).Format(time.DateOnly)
	}
	return fmt.Sprintf(`- { target: %s, metric: %s, %s, until: %s, reason: "REASON", owner: "OWNER" }`, yaml(t.Name), yaml(c.Metric), waiverLimit(t, c), until)
}

// ceiling writes a limit that a value passes, in three or more digits: rounded up or,
// for a floor, down.
func ceiling(v measure.Value, unit measure.Unit, down bool) string {
	n := new(big.Rat)
	if i, ok := v.Int64(); ok {
		n.SetInt64(i)
	} else if n.SetFloat64(v.Float64()) == nil {
		return "0"
	}
	size, scale := "", big.NewRat(1, 1)
	digits := 0
	switch base, _, _ := strings.Cut(string(unit), "/"); {
	case base == string(measure.ByteUnit):
		size = " B"
		for _, u := range []string{" KiB", " MiB", " GiB", " TiB"} {
			if new(big.Rat).Abs(n).Cmp(new(big.Rat).Mul(scale, big.NewRat(1024, 1))) < 0 {
				break
			}
			size, digits = u, 2
			scale.Mul(scale, big.NewRat(1024, 1))
		}
	case unit == measure.Ratio || string(unit) == "s":
		digits = 3
	}
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
	n.Mul(n.Quo(n, scale), power)
	whole, rest := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int)) // towards below
	if rest.Sign() > 0 && !down {
		whole.Add(whole, big.NewInt(1))
	}
	text := new(big.Rat).Quo(new(big.Rat).SetInt(whole), power).FloatString(digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if string(unit) == "s" {
		size = " s"
	}
	return text + size
}

var bare = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// yaml writes a name as a scalar: plain where nothing can be taken for anything else.
func yaml(s string) string {
	if bare.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

var safeWord = regexp.MustCompile(`^[A-Za-z0-9_./@%+:,-]+$`)

// shell quotes one word of a POSIX shell's command line.
func shell(s string) string {
	if safeWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(plain(s), "'", `'\''`) + "'"
}

// words lists targets as a command takes them; none are all, where so many would not
// be read.
func words(names []string) string {
	if len(names) > mostWaivers {
		return ""
	}
	var out []string
	for _, n := range names {
		out = append(out, shell(n))
	}
	return strings.Join(out, " ")
}

const missing = "Nothing is red, but what was not measured is no pass: the reasons say what is missing."

// textTodo tells what can be done, for a terminal.
func textTodo(r *compare.Result) (lines []string) {
	do := whatToDo(r, r.Config, "")
	if r.Verdict == compare.NoData {
		lines = append(lines, missing)
	}
	for _, l := range do.leaks {
		lines = append(lines, plain(l.of)+":")
		for _, s := range l.steps {
			lines = append(lines, "  - "+plain(strings.ReplaceAll(s, "`", "")))
		}
	}
	if do.wanted() {
		lines = append(lines, "If the memory is wanted:")
	}
	if do.raise != "" {
		lines = append(lines, "  raise the limit:      "+do.raise)
	}
	for _, p := range do.byHand[:min(len(do.byHand), mostWaivers)] {
		lines = append(lines, fmt.Sprintf("  raise it by hand:     at %s:%d:%d, with a why", plain(p.check.Limit.File), p.check.Limit.Line, p.check.Limit.Column))
	}
	for _, w := range do.widen[:min(len(do.widen), mostWaivers)] {
		lines = append(lines, fmt.Sprintf("  or widen the waiver:  at %s:%d:%d, to %s", plain(w.File), w.Line, w.Column, w.limit))
	}
	for i, w := range do.waivers {
		if i == 0 {
			lines = append(lines, "  or for some days, in "+plain(r.Config)+" (the first line only where it has no waivers yet):", "", "waivers:")
		}
		lines = append(lines, "  "+w)
	}
	if do.more > 0 {
		lines = append(lines, fmt.Sprintf("  # and %s", plural(do.more, "waiver more", "waivers more")))
	}
	for i, c := range do.closer {
		if i == 0 {
			lines = append(lines, "", "To look closer:")
		}
		lines = append(lines, "  "+c)
	}
	if do.tighten != "" {
		lines = append(lines, "Memory was saved; to keep it so: "+do.tighten)
	}
	return lines
}
