package compare

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// Schema names the JSON of a Result.
const Schema = "peakgate.result/1"

// Verdict is the outcome of one check, one target or a whole run.
type Verdict string

// The verdicts, from the one that decides first to the harmless one.
const (
	Fail         Verdict = "fail"
	NoData       Verdict = "no_data" // nothing was measured: never a pass
	Inconclusive Verdict = "inconclusive"
	Decelerating Verdict = "decelerating"
	Warn         Verdict = "warn"
	Waived       Verdict = "waived"
	Pass         Verdict = "pass"
)

// Rank orders verdicts: the lowest decides and is shown first.
func (v Verdict) Rank() int {
	for i, w := range []Verdict{Fail, NoData, Inconclusive, Decelerating, Warn, Waived, Pass} {
		if v == w {
			return i
		}
	}
	return -1 // a verdict this version does not know must not hide behind a pass
}

// whole folds a check's verdict into those that a target or a run can have.
func (v Verdict) whole() Verdict {
	switch v {
	case Inconclusive, Decelerating:
		return Warn
	case Waived:
		return Pass
	}
	return v
}

// Result is all that a report or a post needs; no capture is read after it.
type Result struct {
	Schema   string         `json:"schema"`
	Verdict  Verdict        `json:"verdict"`
	Tool     Tool           `json:"tool"`
	Config   string         `json:"config"`
	Day      string         `json:"day,omitempty"` // by which waivers were judged: YYYY-MM-DD, in UTC
	Head     Revision       `json:"head"`
	Base     Base           `json:"base"`
	Targets  []TargetResult `json:"targets"`
	Changes  []Notice       `json:"budget_changes"`
	Warnings []string       `json:"warnings"`
}

// Tool is the peakgate that made a result.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// Revision is the commit that was judged; empty where it is not known.
type Revision struct {
	Commit string `json:"commit"`
	Ref    string `json:"ref"`
	// PullRequest is the number of the pull request that the run was of; 0 where
	// it was of none. Whoever posts a result from elsewhere must prove it.
	PullRequest int `json:"pull_request,omitempty"`
	// FilesURL is the address under which a server shows the files of this commit (of
	// a pull request its head, not the merge commit): a path from the repository's
	// top follows it, then #L and a line. Absent outside of workflows.
	FilesURL string `json:"files_url,omitempty"`
	// Folder leads from the repository's top to the folder that paths of the budget
	// are relative to.
	Folder string `json:"folder,omitempty"`
}

// Base says what the head was compared with, and how it was found.
type Base struct {
	Kind   string `json:"kind"` // "captures", "measurement", "run", "none" or "mixed"
	Ref    string `json:"ref"`
	Commit string `json:"commit,omitempty"`
	How    string `json:"how,omitempty"` // in words; without a base, why there is none
}

// Spread is what several runs of the base have shown of one row.
type Spread struct {
	Runs int           `json:"runs"`
	Min  measure.Value `json:"min"`
	Max  measure.Value `json:"max"`
}

// Notice is something about a run or a target beside its numbers that has a say
// in the verdict: a loosened budget, captures that were not made again.
type Notice struct {
	Verdict Verdict       `json:"verdict"`
	Effect  string        `json:"effect"` // "loosens", "reshapes", "tightens", "stale", "expired", "incomplete", "fit" or "dryrun"
	Text    string        `json:"text"`
	Bytes   measure.Bytes `json:"bytes,omitempty"` // how much more a limit allows
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`
	Column  int           `json:"column,omitempty"`
}

// TargetResult is the judgement of one workload.
type TargetResult struct {
	Name        string          `json:"name"`
	Verdict     Verdict         `json:"verdict"`
	Inputs      []measure.Input `json:"inputs"`
	BaseInputs  []measure.Input `json:"base_inputs"`
	Base        Base            `json:"base"`
	Environment Environments    `json:"environment"`
	Likeness    Likeness        `json:"likeness"`
	// Dryrun is how far the head can be trusted where it ran for devices that are not
	// there.
	Dryrun   []measure.DryrunFact `json:"dryrun,omitempty"`
	Notices  []Notice             `json:"notices"`
	Checks   []Check              `json:"checks"`
	Findings []measure.Finding    `json:"findings"`
	Warnings []string             `json:"warnings"`
}

// Environments holds what each side said of the machine and software it ran on.
type Environments struct {
	Base measure.Environment `json:"base"`
	Head measure.Environment `json:"head"`
}

// Likeness says how alike the two workloads are, before any byte is compared.
type Likeness struct {
	// Verdict is "identical" (same programs or the same sequence of
	// allocations), "similar", "different" or "unknown" (no base, or facts on
	// one side only).
	Verdict string   `json:"verdict"`
	Notes   []string `json:"notes"`
	// Same says what the two have in common: events, steps, sites.
	Same []string `json:"same,omitempty"`
}

// Check is one judged row.
type Check struct {
	Metric  string         `json:"metric"`
	Labels  measure.Labels `json:"labels"`
	Unit    measure.Unit   `json:"unit"`
	Kind    measure.Kind   `json:"kind"`
	Verdict Verdict        `json:"verdict"`
	Head    *measure.Value `json:"head"` // null where nothing was measured
	Base    *measure.Value `json:"base,omitempty"`
	// BaseSpread is there where the base was measured several times: Base is then
	// the value that is the furthest towards a regression.
	BaseSpread *Spread `json:"base_spread,omitempty"`
	Limit      Limit   `json:"limit"`
	Reason     string  `json:"reason"`
	// Failed lists the limits that do not hold: "max", "min", "growth", "up_to",
	// and "waiver" where one has expired.
	Failed []string `json:"failed,omitempty"`
	// Excess is by how much the worst limit is exceeded, as a share of it.
	Excess float64 `json:"excess,omitempty"`
	// CountsAs is what an inconclusive or decelerating growth is where it is not a
	// warning: policy.inconclusive says so.
	CountsAs Verdict `json:"counts_as,omitempty"`
	// Series and Trend are there for sampled growth: the verdict can be computed from
	// them again.
	Series       *measure.Series `json:"series,omitempty"`
	Trend        *Trend          `json:"trend,omitempty"`
	Waiver       *Waiver         `json:"waiver,omitempty"`
	Contributors []Contributor   `json:"contributors"`
	// Unmoved counts the contributors that are the same on both sides.
	Unmoved int `json:"contributors_unmoved"`
}

// Waiver is what lifts a check's limits for a time.
type Waiver struct {
	Until  string `json:"until"` // the last day, YYYY-MM-DD
	Reason string `json:"reason"`
	Owner  string `json:"owner"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// At is where a waiver stands: "peakgate.yml:20:5". No waiver stands nowhere.
func (w *Waiver) At() string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", w.File, w.Line, w.Column)
}

// Counts is the verdict of the check among those that a run can have: an
// inconclusive growth counts as a warning or, by policy, as a failure.
func (c *Check) Counts() Verdict {
	if c.CountsAs != "" {
		return c.CountsAs
	}
	return c.Verdict.whole()
}

// Limit is the budget entry that judged a row, and where it stands.
type Limit struct {
	Max     *measure.Value `json:"max,omitempty"`
	Min     *measure.Value `json:"min,omitempty"`
	Growth  string         `json:"growth,omitempty"` // as written: "2%"
	Floor   *measure.Value `json:"floor,omitempty"`
	UpTo    *measure.Value `json:"up_to,omitempty"`
	Horizon int64          `json:"horizon,omitempty"` // steps, or hours, as written
	// Text is the limits as the budget writes them: "max 12 GiB, growth 2%".
	Text string `json:"text"`
	// Allowed is what growth and floor allow for this row, from its base.
	Allowed  *measure.Value `json:"allowed,omitempty"`
	Severity string         `json:"severity"`
	Why      string         `json:"why,omitempty"`
	File     string         `json:"file"`
	Line     int            `json:"line"`
	Column   int            `json:"column"`
}

// Contributor is one buffer, site or array on both sides of a check.
type Contributor struct {
	Key       string          `json:"key"`
	Display   string          `json:"display"`
	BaseBytes measure.Bytes   `json:"base_bytes"`
	HeadBytes measure.Bytes   `json:"head_bytes"`
	BaseCount int64           `json:"base_count"`
	HeadCount int64           `json:"head_count"`
	Change    Change          `json:"change"`
	Class     string          `json:"class,omitempty"`
	Source    *measure.Source `json:"source,omitempty"`
	// Place tells where the source's file lies, as far as git could say.
	Place Place `json:"place,omitempty"`
}

// Place is where a line of source lies.
type Place string

// The places. Files that are not of the repository have none.
const (
	InRepository Place = "repository"
	InChange     Place = "change" // among the lines that the change shows: edited ones and three around them
)

// Change says how a contributor moved from base to head.
type Change string

// The changes.
const (
	New    Change = "new"
	Gone   Change = "gone"
	Grown  Change = "grown"
	Shrunk Change = "shrunk"
	Same   Change = "same"
)

// Delta is head minus base, in bytes.
func (c Contributor) Delta() measure.Bytes { return c.HeadBytes - c.BaseBytes }
