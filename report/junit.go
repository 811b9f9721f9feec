package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/peakgate/peakgate/compare"
)

// The elements of JUnit's XML that Jenkins, GitLab and others read: the common part of
// the schemas in use. That of Jenkins' xUnit plugin (junit-10.xsd) is the one that
// their order is from.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		junitCounts
		Skipped int         `xml:"skipped,attr"`
		Cases   []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		Skipped *junitNote `xml:"skipped"`
		Error   *junitNote `xml:"error"`
		Failure *junitNote `xml:"failure"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a result as JUnit's XML: a suite for each target, a case for each check.
// What is over its budget is a failure, what was not measured an error, what is waived
// is skipped; a warning is a case that passes and says so.
func JUnit(w io.Writer, r *compare.Result) error {
	all := junitSuites{junitCounts: junitCounts{Name: "peakgate"}}
	add := func(s junitSuite) {
		if s.Tests > 0 {
			all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
			all.Suites = append(all.Suites, s)
		}
	}
	changes := junitSuite{junitCounts: junitCounts{Name: "the change's own budget"}}
	for _, n := range r.Changes {
		changes.notice(n)
	}
	add(changes)
	for i := range r.Targets {
		t := &r.Targets[i]
		suite := junitSuite{junitCounts: junitCounts{Name: plain(t.Name)}}
		for _, n := range t.Notices {
			suite.notice(n)
		}
		told := tables{}
		for j := range t.Checks {
			suite.check(t, &t.Checks[j], told)
		}
		add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) check(t *compare.TargetResult, c *compare.Check, told tables) {
	var text bytes.Buffer
	one := junitCase{Name: plain(rowName(c.Metric, c.Labels)), Class: plain(t.Name)}
	if c.Verdict == compare.Pass {
		s.add(one, compare.Pass, "", "")
		return
	}
	textCheck(&text, c, nil, told)
	message := checkStory(t, c, textStyle)
	if c.Verdict == compare.Waived {
		one.Skipped = &junitNote{Message: plain(message)}
		s.Skipped++
	}
	s.add(one, c.Counts(), message, text.String())
}

func (s *junitSuite) notice(n compare.Notice) {
	one := junitCase{Name: plain(fmt.Sprintf("%s: %s", n.Effect, n.Text)), Class: s.Name}
	s.add(one, n.Verdict, noticeLine(n), "")
}

// add adds a case with what its verdict makes of it.
func (s *junitSuite) add(one junitCase, v compare.Verdict, message, text string) {
	// GitLab shows the text and not the message.
	note := &junitNote{Message: plain(message), Type: plain(string(v)), Text: cmp.Or(text, plain(message))}
	switch v {
	case compare.Pass:
	case compare.Warn:
		one.Out = plain(message)
	case compare.NoData:
		one.Error = note
		s.Errors++
	default:
		one.Failure = note
		s.Failures++
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}
