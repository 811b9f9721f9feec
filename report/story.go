package report

import (
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
	textStyle     = style{name: func(s string) string { return cut(plain(s), maxName) }, prose: plain}
	markdownStyle = style{name: code, prose: prose}
)

// headline is the one sentence that a person acts on: what grew, by how much,
// and where most of it is allocated.
func headline(r *compare.Result, s style) string {
	t, c := worstCheck(r)
	if n := worstNotice(r); n != nil && (c == nil || c.Verdict != r.Verdict) {
		return s.prose(noticeText(*n))
	}
	if c == nil {
		return "nothing was judged"
	}
	failed, total := 0, 0
	for _, t := range r.Targets {
		for _, c := range t.Checks {
			total++
			if c.Verdict == r.Verdict {
				failed++
			}
		}
	}
	var out string
	switch c.Verdict {
	case compare.Fail, compare.NoData, compare.Warn:
		out = checkStory(t, c, s)
		if failed > 1 {
			out += fmt.Sprintf(" (and %d more of %d checks)", failed-1, total)
		}
	default:
		out = fmt.Sprintf("%s on %s", plural(total, "budget holds", "budgets hold"), plural(len(r.Targets), "target", "targets"))
		if moved := largestMove(r); moved != nil {
			out += fmt.Sprintf("; the largest change is %s of %s", moved.Head.Sub(*moved.Base).FormatSigned(moved.Unit), s.name(moved.Metric))
		} else if hasBase(r) {
			out += "; nothing moved against the base"
		}
	}
	return out
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
		out := fmt.Sprintf("%s: %s %s by %s%s to %s", s.name(t.Name), s.name(c.Metric), verb, by.Format(c.Unit), compare.Percent(*c.Base, *c.Head), c.Head.Format(c.Unit))
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
	out := fmt.Sprintf("%s: %s: %s", s.name(t.Name), s.name(c.Metric), s.prose(c.Reason))
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
	return slices.ContainsFunc(r.Targets, func(t compare.TargetResult) bool { return t.Base.Kind != "none" })
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
		if len(e.Base) == 0 || e.Base[k] == e.Head[k] {
			continue
		}
		out = append(out, fmt.Sprintf("%s: base %s, head %s", k, orUnknown(e.Base[k]), orUnknown(e.Head[k])))
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func sortedKeys(maps ...map[string]string) []string {
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
	}
	return strings.Join(out, ", ")
}
