package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// style is how a renderer marks up the pieces of a sentence: names that come
// from captures and budgets, and prose that may quote such names.
type style struct {
	name  func(string) string
	prose func(string) string
}

var (
	textStyle     = style{name: func(s string) string { return cut(plain(cut(s, maxName)), maxName) }, prose: plain}
	markdownStyle = style{name: code, prose: prose}
)

// headline is the one sentence that a person acts on: what grew, by how much,
// and where most of it is allocated.
func headline(r *compare.Result, s style) string {
	t, c := worstCheck(r)
	if n := worstNotice(r); n != nil && (c == nil || c.Counts() != r.Verdict || n.Effect == "fit") {
		return s.prose(strings.TrimPrefix(noticeLine(*n), string(n.Verdict)+": "))
	}
	if c == nil {
		return "nothing was judged"
	}
	total := 0
	for _, t := range r.Targets {
		total += len(t.Checks)
	}
	switch c.Counts() {
	case compare.Fail, compare.NoData, compare.Warn:
		return checkStory(t, c, s) + alsoOpen(r, c, s)
	}
	waived := 0
	for _, t := range r.Targets {
		for _, c := range t.Checks {
			if c.Verdict == compare.Waived {
				waived++
			}
		}
	}
	out := fmt.Sprintf("%s on %s", plural(total-waived, "budget holds", "budgets hold"), plural(len(r.Targets), "target", "targets"))
	if waived > 0 {
		out += fmt.Sprintf(", %d waived", waived)
	}
	if moved := largestMove(r); moved != nil {
		out += fmt.Sprintf("; the largest change is %s of %s", s.prose(moved.Head.Sub(*moved.Base).FormatSigned(moved.Unit)), s.name(moved.Metric))
	} else if hasBase(r) {
		out += "; nothing moved against the base"
	}
	return out
}

// alsoOpen says what has the result's verdict beside the check that is told.
func alsoOpen(r *compare.Result, told *compare.Check, s style) string {
	var names []string
	for i := range r.Targets {
		for j := range r.Targets[i].Checks {
			if c := &r.Targets[i].Checks[j]; c != told && c.Counts() == r.Verdict {
				names = append(names, s.name(r.Targets[i].Name+": "+c.Metric))
			}
		}
	}
	state := map[compare.Verdict]string{compare.Fail: "fails", compare.NoData: "has no data", compare.Warn: "warns"}[r.Verdict]
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (%s %s too)", names[0], state)
	}
	return fmt.Sprintf(" (%s and %d more, too)", names[0], len(names)-1)
}

// checkStory tells one check that is not a pass, as a sentence without a stop.
func checkStory(t *compare.TargetResult, c *compare.Check, s style) string {
	if c.Head == nil {
		return fmt.Sprintf("%s: %s was not measured: %s", s.name(t.Name), s.name(c.Metric), s.prose(strings.TrimPrefix(c.Reason, "nothing was measured: ")))
	}
	if c.Base != nil && slices.Contains(c.Failed, "growth") {
		verb, by := "grew", c.Head.Sub(*c.Base)
		if by.Float64() < 0 {
			verb, by = "fell", c.Base.Sub(*c.Head)
		}
		out := fmt.Sprintf("%s: %s %s by %s%s to %s", s.name(t.Name), s.name(c.Metric), verb, s.prose(by.Format(c.Unit)), compare.Percent(*c.Base, *c.Head), s.prose(c.Head.Format(c.Unit)))
		if len(c.Contributors) > 0 && c.Contributors[0].Delta() > 0 && c.Contributors[0].Key != measure.Other {
			top := c.Contributors[0]
			share := "the largest part"
			if grown, ok := c.Head.Sub(*c.Base).Int64(); ok && 2*int64(top.Delta()) > grown {
				share = "most of it"
			}
			out += fmt.Sprintf("; %s, %s, is allocated at %s", share, top.Delta().Signed(), s.name(top.Display))
		}
		return out
	}
	metric := c.Metric
	if series, ok := c.Labels["series"]; ok {
		metric += " of " + series
	}
	out := fmt.Sprintf("%s: %s: %s", s.name(t.Name), s.name(metric), s.prose(c.Reason))
	if slices.Contains(c.Failed, "max") && len(c.Contributors) > 0 {
		top := largestHolder(c.Contributors)
		out += fmt.Sprintf("; the largest part, %s, is allocated at %s", top.HeadBytes, s.name(top.Display))
	}
	return out
}

func largestHolder(cs []compare.Contributor) compare.Contributor {
	return slices.MaxFunc(cs, func(a, b compare.Contributor) int {
		if (a.Key == measure.Other) != (b.Key == measure.Other) {
			if a.Key == measure.Other {
				return -1
			}
			return 1
		}
		return int(min(1, max(-1, a.HeadBytes-b.HeadBytes)))
	})
}

// worstNotice is the first notice with the verdict of the result, if that is not
// a pass.
func worstNotice(r *compare.Result) *compare.Notice {
	if r.Verdict == compare.Pass {
		return nil
	}
	all := slices.Clone(r.Changes)
	for _, t := range r.Targets {
		all = append(all, t.Notices...)
	}
	for i := range all {
		if all[i].Verdict == r.Verdict {
			return &all[i]
		}
	}
	return nil
}

// worstCheck is the check that decides the result: targets are in the order of
// the budget, checks in the order of their verdicts.
func worstCheck(r *compare.Result) (*compare.TargetResult, *compare.Check) {
	var target *compare.TargetResult
	var check *compare.Check
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.Verdict == r.Verdict && len(t.Checks) > 0 && (check == nil || t.Checks[0].Excess > check.Excess) {
			target, check = t, &t.Checks[0]
		}
	}
	return target, check
}

func largestMove(r *compare.Result) *compare.Check {
	var best *compare.Check
	share := 0.0
	for i := range r.Targets {
		for j := range r.Targets[i].Checks {
			c := &r.Targets[i].Checks[j]
			if c.Head == nil || c.Base == nil || c.Head.Cmp(*c.Base) == 0 {
				continue
			}
			moved := abs(c.Head.Float64()-c.Base.Float64()) / max(1, abs(c.Base.Float64()))
			if moved > share {
				best, share = c, moved
			}
		}
	}
	return best
}

func hasBase(r *compare.Result) bool {
	return len(r.Targets) > 0 && !slices.ContainsFunc(r.Targets, func(t compare.TargetResult) bool {
		return len(t.BaseInputs) == 0 && !strings.HasPrefix(t.Name, "device ")
	})
}

func abs(f float64) float64 { return max(f, -f) }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// environmentDifferences lists what the two sides say differently of their
// machine and software.
func environmentDifferences(e compare.Environments) []string {
	var out []string
	for _, k := range sortedKeys(e.Base, e.Head) {
		base, head := e.Base[k], e.Head[k]
		if k == "dryrun.framework" && len(e.Base) > 0 && len(e.Head) > 0 {
			base, head = cmp.Or(base, "of a real run"), cmp.Or(head, "of a real run")
		}
		if base == "" || head == "" || base == head {
			continue // a base of several kinds of captures says more than this target
		}
		out = append(out, fmt.Sprintf("%s: base %s, head %s", k, base, head))
	}
	return out
}

func sortedKeys[M ~map[string]string](maps ...M) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// paths lists a side's files, a long list abridged.
func paths(inputs []measure.Input) string {
	var out []string
	for i, in := range inputs {
		if i == 3 && len(inputs) > 4 {
			out = append(out, fmt.Sprintf("and %d more", len(inputs)-3))
			break
		}
		out = append(out, in.Path)
		if in.Format == "peakgate.measurement" {
			break // what follows are the captures that it was made from
		}
	}
	return strings.Join(out, ", ")
}

// kinds sums what moved by the kind of memory, in words: for a plan this often
// tells the cause better than any single buffer.
func kinds(cs []compare.Contributor) string {
	words := map[string]string{
		"forward_kept": "kept by the forward pass for the backward pass", "backward": "backward pass", "workspace": "library workspace",
		"temp": "other temporaries", "argument": "arguments", "output": "outputs", "constant": "constants",
	}
	sums := map[string]measure.Bytes{}
	for _, c := range cs {
		if words[c.Class] != "" {
			sums[c.Class] += c.Delta()
		}
	}
	var classes []string
	for class, sum := range sums {
		if sum != 0 {
			classes = append(classes, class)
		}
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, class := range classes {
		parts = append(parts, words[class]+" "+sums[class].Signed())
	}
	return strings.Join(parts, " · ")
}

// commonLabels are the labels that all of a target's checks share: they are told
// once.
func commonLabels(checks []compare.Check) measure.Labels {
	if len(checks) < 2 {
		return nil
	}
	common := measure.Labels{}
	for k, v := range checks[0].Labels {
		if !slices.ContainsFunc(checks, func(c compare.Check) bool { w, ok := c.Labels[k]; return !ok || w != v }) {
			common[k] = v
		}
	}
	return common
}

func without(labels, common measure.Labels) measure.Labels {
	out := measure.Labels{}
	for k, v := range labels {
		if _, ok := common[k]; !ok {
			out[k] = v
		}
	}
	return out
}
