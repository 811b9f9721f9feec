package budget

import (
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Selector picks rows by their labels: each label must be there and match its
// glob. An empty selector picks every row.
type Selector map[string]string

// Matches tells whether the labels satisfy every pattern. A row without a label
// is not matched by a pattern for it, not even by "*".
func (s Selector) Matches(labels measure.Labels) bool {
	for name, pattern := range s {
		value, ok := labels[name]
		if !ok || !globMatch(pattern, value) {
			return false
		}
	}
	return true
}

// globMatch matches a whole text: * stands for any run of characters, ? for one
// rune, everything else for itself. It never goes back further than the last *,
// so its cost is at most len(pattern) × len(text).
func globMatch(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark, i = i, j, i+1
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// Condition is one key of only_when: the environment must have it, and its value
// must match the pattern.
type Condition struct {
	Name    string
	Pattern string
	Pos     Position // of the pattern
}

// Mismatch says what in an environment is not as only_when wants it; it is empty
// where target and environment may be compared. A key that the environment lacks
// is a mismatch: what is not known is not alike. Where files of a target disagree,
// measure.Merge joins their values by " | ", and readers join several devices by
// ", ": each of them must match, unless the pattern itself has a comma.
func (t *Target) Mismatch(environment map[string]string) []string {
	var out []string
	for _, c := range t.OnlyWhen {
		value, ok := environment[c.Name]
		if !ok {
			out = append(out, "only_when wants "+element(c.Name)+" "+quote(c.Pattern)+", and the captures do not say it")
			continue
		}
		parts := strings.Split(value, " | ")
		if !strings.Contains(c.Pattern, ",") {
			parts = strings.Split(strings.ReplaceAll(value, " | ", ", "), ", ")
		}
		for _, one := range parts {
			if !globMatch(c.Pattern, one) {
				out = append(out, "only_when wants "+element(c.Name)+" "+quote(c.Pattern)+", got "+quote(one))
			}
		}
	}
	return out
}

// Expect is how many members a target must have: distinct values of a label.
type Expect struct {
	Label string // rank, host or device
	Count int64
	Pos   Position // of the number
}

// Absent says which members are missing from a measurement: that is no_data,
// however good the others look. Ranks and devices are numbered from 0, so the
// missing ones are named.
func (t *Target) Absent(m *measure.Measurement) []string {
	var out []string
	for _, e := range t.Expect {
		have := map[string]bool{}
		for _, r := range m.Rows {
			if v, ok := r.Labels[e.Label]; ok && r.Value != nil {
				have[v] = true
			}
		}
		if int64(len(have)) >= e.Count {
			continue
		}
		out = append(out, shortfall(e, have))
	}
	return out
}

func shortfall(e Expect, have map[string]bool) string {
	const most = 8 // names
	text := "expected " + strconv.FormatInt(e.Count, 10) + " " + e.Label + "s, measured " + strconv.Itoa(len(have))
	var missing []string
	for i := int64(0); i < e.Count && len(missing) <= most; i++ {
		if name := strconv.FormatInt(i, 10); !have[name] {
			missing = append(missing, name)
		}
	}
	if e.Label == "host" || len(missing) == 0 {
		return text
	}
	if len(missing) > most {
		missing = append(missing[:most], "…")
	}
	return text + ": missing " + strings.Join(missing, ", ")
}
