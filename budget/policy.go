package budget

import "strings"

// Policy says what the gate does where a budget alone does not decide.
type Policy struct {
	// Loosen is what a change that loosens a budget is: warn (the default), fail,
	// or label:NAME, which is fail unless the pull request carries that label.
	Loosen Setting
	// Stale is what captures are that were not measured again: warn (the default)
	// or fail. There is no way to ignore it: what was not measured is no pass.
	Stale Setting
	// Trust says whose budget decides: that of the head (the default), with its
	// changes shown, or that of the base, so that a change takes effect only once
	// it is merged.
	Trust Setting
	// Inconclusive is what a series is that decides nothing: warn (the default)
	// or fail.
	Inconclusive Setting
}

// Setting is one word of the policy. Its place has the line 0 where it is the default.
type Setting struct {
	Value string
	Pos   Position
}

// Label is NAME where loosen is label:NAME, else empty.
func (p Policy) Label() string {
	name, ok := strings.CutPrefix(p.Loosen.Value, labelPrefix)
	if !ok {
		return ""
	}
	return name
}

const labelPrefix = "label:"

// settings gives the words of the policy by key, each with its default first.
func (p *Policy) settings() []struct {
	name    string
	setting *Setting
	words   []string
} {
	return []struct {
		name    string
		setting *Setting
		words   []string
	}{
		{"loosen", &p.Loosen, []string{"warn", "fail"}},
		{"stale", &p.Stale, []string{"warn", "fail"}},
		{"trust", &p.Trust, []string{"head", "base"}},
		{"inconclusive", &p.Inconclusive, []string{"warn", "fail"}},
	}
}

// over gives p with what it leaves open taken from q.
func (p Policy) over(q Policy) Policy {
	from := q.settings()
	for i, s := range p.settings() {
		if s.setting.Value == "" {
			*s.setting = *from[i].setting
		}
	}
	return p
}

// withDefaults fills in what no file says.
func (p Policy) withDefaults() Policy {
	for _, s := range p.settings() {
		if s.setting.Value == "" {
			s.setting.Value = s.words[0]
		}
	}
	return p
}

func (p *parser) readPolicy(v pair) Policy {
	var out Policy
	p.object(v, inPolicy, func(member pair) {
		for _, s := range out.settings() {
			if s.name != member.name {
				continue
			}
			want := strings.Join(s.words, " or ")
			if s.name == "loosen" {
				want = "warn, fail or label:NAME"
			}
			text, ok := p.scalar(member, want)
			switch name, label := strings.CutPrefix(text, labelPrefix); {
			case !ok:
			case s.name == "loosen" && label && strings.TrimSpace(name) != "" && len(name) <= 50: // GitHub's limit for a label
				*s.setting = Setting{labelPrefix + strings.TrimSpace(name), member.place()}
			case text == s.words[0] || text == s.words[1]:
				*s.setting = Setting{text, member.place()}
			default:
				p.add(member.place(), member.path, "choice", "want "+want+", got "+quote(text), "")
			}
		}
	})
	return out
}

// PolicyOf reads the policy of one file, whatever else is wrong with the file or
// with what it includes: so that a damaged budget is still as strict as it says.
// ok is false where not even that can be read.
func PolicyOf(data []byte, file string) (policy Policy, ok bool) {
	d := (&loader{}).parse(data, file)
	if d == nil {
		return Policy{}, false
	}
	return d.policy.withDefaults(), true
}
