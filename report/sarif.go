package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// The parts of SARIF 2.1.0 that are written (docs.oasis-open.org/sarif/sarif/v2.1.0;
// the numbers are its sections). What GitHub's code scanning asks for beyond it: a
// location for each result, and fingerprints that stay while lines move.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool        sarifTool            `json:"tool"`
		Bases       map[string]sarifBase `json:"originalUriBaseIds"`
		Invocations []sarifInvocation    `json:"invocations"`
		ColumnKind  string               `json:"columnKind"`
		Results     []sarifResult        `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifInvocation struct { // 3.20
		Successful bool `json:"executionSuccessful"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct { // 3.27
		Rule         string             `json:"ruleId"`
		Index        int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Related      []sarifLocation    `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct { // 3.35
		Kind          string `json:"kind"`
		Justification string `json:"justification,omitempty"`
	}
	sarifLocation struct { // 3.28
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct { // 3.4
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifBase struct { // 3.14.14: without an address, which only the viewer knows
		Description sarifText `json:"description"`
	}
	sarifRegion struct { // 3.30
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// sourceRoot is what paths are relative to. The name is the one that code scanning and
// editors know for the repository.
const sourceRoot = "%SRCROOT%"

// SARIF writes what does not hold as results of SARIF 2.1.0: each check at its budget's
// line, with the lines that allocate what grew, and what the change does to its own
// budget. Waived checks are suppressed results. What holds is left out.
func SARIF(w io.Writer, r *compare.Result) error {
	s := sarif{r: r, index: map[string]int{}, rules: []sarifRule{}, results: []sarifResult{}}
	for _, n := range r.Changes {
		s.notice("", n)
	}
	for i := range r.Targets {
		t := &r.Targets[i]
		for _, n := range t.Notices {
			s.notice(t.Name, n)
		}
		for j := range t.Checks {
			if c := &t.Checks[j]; c.Verdict != compare.Pass {
				s.check(t, c)
			}
		}
	}
	return JSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:        sarifTool{sarifDriver{Name: "peakgate", Version: plain(r.Tool.Version), Rules: s.rules}},
			Bases:       map[string]sarifBase{sourceRoot: {sarifText{"the top of the repository"}}},
			Invocations: []sarifInvocation{{Successful: true}}, ColumnKind: "unicodeCodePoints", Results: s.results,
		}},
	})
}

// sarif collects rules and results.
type sarif struct {
	r       *compare.Result
	index   map[string]int // of a rule
	rules   []sarifRule
	results []sarifResult
}

func (s *sarif) rule(id, about string) int {
	if i, ok := s.index[id]; ok {
		return i
	}
	s.index[id] = len(s.rules)
	s.rules = append(s.rules, sarifRule{id, sarifText{about}})
	return s.index[id]
}

func (s *sarif) check(t *compare.TargetResult, c *compare.Check) {
	id := cmp.Or(plain(c.Metric), "check")
	about := id
	if m, ok := measure.Lookup(c.Metric); ok {
		about = m.Name + ": " + m.Doc
	}
	out := sarifResult{
		Rule: id, Index: s.rule(id, about), Level: sarifLevel(c.Counts()), Message: sarifMessage(checkStory(t, c, textStyle)),
		Locations: []sarifLocation{s.at(c.Limit.File, c.Limit.Line, c.Limit.Column)}, Fingerprints: fingerprint(t.Name, c.Metric, c.Labels.Key()),
	}
	if c.Verdict == compare.Waived {
		out.Suppressions = []sarifSuppression{{Kind: "external"}}
		if c.Waiver != nil {
			out.Suppressions[0].Justification = plain(fmt.Sprintf("waived until %s for %s: %s", c.Waiver.Until, c.Waiver.Owner, c.Waiver.Reason))
		}
	}
	shown, _ := selectContributors(c, textContributors)
	for _, k := range shown {
		if k.Source == nil || k.Place == "" || !local(k.Source.File) {
			continue
		}
		message := sarifMessage(fmt.Sprintf("%s is allocated at %s", k.Delta().Signed(), k.Display))
		l := sarifLocation{ID: len(out.Related) + 1, Physical: physical(k.Source.File, k.Source.Line, 0), Message: &message}
		out.Related = append(out.Related, l)
	}
	s.results = append(s.results, out)
}

func (s *sarif) notice(target string, n compare.Notice) {
	if n.Verdict == compare.Pass {
		return
	}
	id, about := cmp.Or(plain(n.Effect), "notice"), "what a change does to its own gate"
	if n.Effect == "fit" || n.Effect == "dryrun" {
		about = "whether the program runs, and fits, on the device that was asked for"
	}
	s.results = append(s.results, sarifResult{
		Rule: id, Index: s.rule(id, about), Level: sarifLevel(n.Verdict), Message: sarifMessage(n.Text),
		Locations: []sarifLocation{s.at(n.File, n.Line, n.Column)}, Fingerprints: fingerprint(target, n.Effect, n.Text),
	})
}

// at is a place in the budget; what has none in the head is told of the budget file.
func (s *sarif) at(file string, line, column int) sarifLocation {
	for _, f := range []string{file, s.r.Config} {
		name := path.Join(s.r.Head.Folder, f)
		if f != "" && !path.IsAbs(f) && local(name) && !strings.Contains(f, "@") {
			return sarifLocation{Physical: physical(name, line, column)}
		}
		line, column = 0, 0
	}
	return sarifLocation{Physical: physical("peakgate.yml", 0, 0)}
}

func physical(file string, line, column int) sarifPhysical {
	out := sarifPhysical{Artifact: sarifArtifact{escapePath(file), sourceRoot}}
	if line > 0 {
		out.Region = &sarifRegion{line, max(column, 0)}
	}
	return out
}

// sarifMessage keeps a viewer from taking a part of the text for a link (3.11.6).
func sarifMessage(text string) sarifText {
	return sarifText{strings.ReplaceAll(plain(text), "](", "] (")}
}

func sarifLevel(v compare.Verdict) string {
	switch v {
	case compare.Pass, compare.Warn:
		return "warning"
	}
	return "error"
}

// fingerprint names a result however lines move.
func fingerprint(parts ...string) map[string]string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return map[string]string{"peakgate/v1": hex.EncodeToString(sum[:16])}
}
