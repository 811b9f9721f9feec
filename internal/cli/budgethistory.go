package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

const (
	// historySchema names the JSON that history prints.
	historySchema = "peakgate.history/1"
	// maxVersions is how many commits history looks at.
	maxVersions = 1000
	// maxRounds is how often the files that old versions include may bring up
	// versions that include others.
	maxRounds = 16
)

var historyCommand = command{
	name: "history", args: "[TARGET [METRIC]]", summary: "who changed which limit, when and why",
	about: `Reads from git, newest first, each change of a limit, its selectors or its
severity, in the budget file and in what it included then, under all names that the
budget had. The reason is the entry's why as it was in that commit, else the
commit's subject. Only commits count: what is not committed is no history. The
newest 1,000 commits that changed these files are looked at; where the history is
cut, that is said.

--format json prints {"schema": "` + historySchema + `", "config", "changes":
[{"commit", "date", "author", "target", "metric", "effect":
"loosens|reshapes|tightens", "text", "bytes", "file", "line", "column", "reason",
"reason_from": "why|subject"}], "skipped": [{"commit", "reason"}], "cut"}.`,
	exits: `Exit codes: 0 done; 2 wrong use; 3 there is no history, or it cannot be read.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		config := f.String("config", "peakgate.yml", "the budget `file`")
		format := f.String("format", "text", "`text` or json, on standard output")
		return func(args []string) (int, error) {
			if len(args) > 2 {
				return ExitUsage, usagef("budget history: want at most a target and a metric, got %d arguments", len(args))
			}
			if err := checkFormat(*format); err != nil {
				return ExitUsage, err
			}
			h := historian{Schema: historySchema, Config: filepath.ToSlash(*config), Changes: []pastChange{}, Skipped: []skipped{}, files: map[string]*old{}, targets: map[string]bool{}, metrics: map[string]bool{}}
			if err := h.collect(s); err != nil {
				return ExitNoData, err
			}
			if err := h.pick(args); err != nil {
				return ExitUsage, err
			}
			return emit(s, *format, "", h, h.text)
		}
	},
}

// historian is the document that is printed, and what it is made of.
type historian struct {
	Schema  string       `json:"schema"`
	Config  string       `json:"config"`
	Changes []pastChange `json:"changes"`
	Skipped []skipped    `json:"skipped"`
	Cut     string       `json:"cut"`

	git     *base.History
	files   map[string]*old // by commit
	targets map[string]bool // that there ever were
	metrics map[string]bool
}

type pastChange struct {
	Commit     string        `json:"commit"`
	Date       string        `json:"date"`
	Author     string        `json:"author"`
	Target     string        `json:"target"`
	Metric     string        `json:"metric"`
	Effect     budget.Effect `json:"effect"`
	Text       string        `json:"text"`
	Bytes      measure.Bytes `json:"bytes"`
	File       string        `json:"file"`
	Line       int           `json:"line"`
	Column     int           `json:"column"`
	Reason     string        `json:"reason"`
	ReasonFrom string        `json:"reason_from"`
}

type skipped struct {
	Commit string `json:"commit"`
	Reason string `json:"reason"`
}

// old is the budget at one commit, with the files that it included.
type old struct {
	file     *budget.File // empty where there was none
	included []string
	err      error
}

// collect reads the history. The files that old budgets include are known only once
// these are read; then the commits that changed those files are looked for too.
func (h *historian) collect(s Streams) error {
	repository, err := base.Open(h.Config, s.Getenv)
	if err != nil {
		return err
	}
	others := map[string]bool{}
	for round := 1; ; round++ {
		clear(h.files)
		if h.git, err = repository.History(maxVersions, slices.Sorted(maps.Keys(others))); err != nil {
			return err
		}
		known := len(others)
		for _, v := range h.git.Versions {
			for _, path := range h.at(v.Commit).included {
				others[path] = true
			}
		}
		if h.Cut = h.git.Cut; len(others) == known {
			break
		}
		if round == maxRounds {
			h.Cut = strings.TrimPrefix(fmt.Sprintf("%s; old versions include ever more files, and not all of these were followed", h.Cut), "; ")
			break
		}
	}
	if len(h.git.Versions) == 0 {
		return fmt.Errorf("%s: %s", h.Config, cmp.Or(h.Cut, "no commit holds it, so it has no history; commit it first"))
	}
	for i, v := range h.git.Versions {
		h.version(i, v)
	}
	return nil
}

// at reads the budget as it was at a commit.
func (h *historian) at(commit string) *old {
	if o := h.files[commit]; o != nil {
		return o
	}
	o := &old{file: &budget.File{}}
	h.files[commit] = o
	path, err := h.git.Budget(commit)
	if err != nil || path == "" {
		o.err = err
		return o
	}
	o.file, o.err = budget.Load(path, func(p string) ([]byte, error) {
		data, err := h.git.Read(commit, p)
		if p != path && err == nil {
			o.included = append(o.included, p)
		}
		return data, err
	})
	var faults budget.Errors
	if errors.As(o.err, &faults) {
		o.err = faults[0]
	}
	return o
}

// version adds what the i-th version changed: against each of its parents, for a
// merge that only repeats one of them changed nothing.
func (h *historian) version(i int, v base.Version) {
	now := h.at(v.Commit)
	if now.err != nil {
		h.Skipped = append(h.Skipped, skipped{v.Commit, now.err.Error()})
		return
	}
	changes := h.against(now.file, i, append(v.Parents, "")[0])
	for _, parent := range v.Parents[min(1, len(v.Parents)):] {
		others := h.against(now.file, i, parent)
		changes = slices.DeleteFunc(changes, func(c budget.Change) bool {
			return !slices.ContainsFunc(others, func(o budget.Change) bool {
				return o.Target == c.Target && o.Metric == c.Metric && o.InBase == c.InBase && (o.InBase || o.Pos == c.Pos)
			})
		})
	}
	for _, c := range changes {
		if c.Metric == "" {
			continue
		}
		h.targets[c.Target], h.metrics[c.Metric] = true, true
		p := pastChange{
			Commit: v.Commit, Author: v.Author, Target: c.Target, Metric: c.Metric, Effect: c.Effect, Text: c.Text, Bytes: c.Bytes,
			File: c.Pos.File, Line: c.Pos.Line, Column: c.Pos.Column, Reason: v.Subject, ReasonFrom: "subject",
		}
		if !v.Date.IsZero() {
			p.Date = v.Date.Format(time.RFC3339)
		}
		if why := whyOf(now.file, c); why != "" {
			p.Reason, p.ReasonFrom = why, "why"
		}
		h.Changes = append(h.Changes, p)
	}
}

// against compares with a parent. Where that cannot be read, the next older version
// that can stands for it.
func (h *historian) against(now *budget.File, i int, parent string) []budget.Change {
	before := &old{file: &budget.File{}}
	if parent != "" {
		before = h.at(parent)
	}
	for i++; before.err != nil && i < len(h.git.Versions); i++ {
		before = h.at(h.git.Versions[i].Commit)
	}
	if before.err != nil {
		return nil
	}
	a, b := *before.file, *now
	a.Policy = b.Policy
	// Targets and devices that one side lacks are there without limits, so that
	// each limit of theirs is told.
	a.Targets, b.Targets = bare(a.Targets, b.Targets), bare(b.Targets, a.Targets)
	a.Devices, b.Devices = bareDevices(a.Devices, b.Devices), bareDevices(b.Devices, a.Devices)
	return budget.Changes(&a, &b)
}

func bare(have, want []*budget.Target) []*budget.Target {
	out := slices.Clone(have)
	for _, t := range want {
		if !slices.ContainsFunc(have, func(h *budget.Target) bool { return h.Name == t.Name }) {
			empty := *t
			empty.Budgets = nil
			out = append(out, &empty)
		}
	}
	return out
}

func bareDevices(have, want []*budget.Device) []*budget.Device {
	out := slices.Clone(have)
	for _, d := range want {
		if !slices.ContainsFunc(have, func(h *budget.Device) bool { return h.Name == d.Name }) {
			empty := *d
			empty.Max = nil
			out = append(out, &empty)
		}
	}
	return out
}

// whyOf is the reason that the budget itself gives.
func whyOf(f *budget.File, c budget.Change) string {
	for _, t := range f.Targets {
		for _, e := range t.Budgets {
			if t.Name == c.Target && e.Metric.Name == c.Metric {
				return e.Why
			}
		}
	}
	for _, d := range f.Devices {
		if c.Target == "" && d.Max != nil && d.Max.Pos == c.Pos {
			return d.Why
		}
	}
	return ""
}

// pick keeps the changes of a target, or of one of its metrics.
func (h *historian) pick(args []string) error {
	for i, known := range []map[string]bool{h.targets, h.metrics} {
		if i < len(args) && !known[args[i]] {
			delete(known, "")
			return usagef("budget history: there was never a limit of %.60q; there were %s", args[i], strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	h.Changes = slices.DeleteFunc(h.Changes, func(c pastChange) bool {
		return len(args) > 0 && c.Target != args[0] || len(args) > 1 && c.Metric != args[1]
	})
	return nil
}

func (h historian) text(w io.Writer) error {
	var out strings.Builder
	last := ""
	for _, c := range h.Changes {
		if c.Commit != last {
			date, _, _ := strings.Cut(c.Date, "T")
			fmt.Fprintf(&out, "%s  %.12s  %s\n", cmp.Or(date, "no date   "), c.Commit, clean(c.Author))
			last = c.Commit
		}
		fmt.Fprintf(&out, "    %-8s  %s\n", c.Effect, clean(c.Text))
		fmt.Fprintf(&out, "              %s: %s  (%s:%d:%d)\n", c.ReasonFrom, clean(c.Reason), clean(c.File), c.Line, c.Column)
	}
	for _, s := range h.Skipped {
		fmt.Fprintf(&out, "skipped %.12s, which cannot be read: %s\n", s.Commit, clean(s.Reason))
	}
	if h.Cut != "" {
		fmt.Fprintf(&out, "%s\n", clean(h.Cut))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
