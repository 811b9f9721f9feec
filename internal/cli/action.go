package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/post"
	"github.com/peakgate/peakgate/report"
)

var actionCommand = command{
	name: "action", summary: "check, as a step of GitHub Actions",
	about: `Does what check does for action.yml: it takes the step's inputs from the
environment, shows the report in the log and on the job's summary page, marks each
broken budget on its line of the budget file, and sets the step's outputs.

  PEAKGATE_CONFIG      the budget file (peakgate.yml)
  PEAKGATE_TARGETS     names of targets, between blanks or line ends (all)
  PEAKGATE_BASE        one [TARGET=]X a line
  PEAKGATE_ALLOW_PATH  folders outside of the repository that the budget may
                       name, one a line
  PEAKGATE_COMMENT     a comment on the pull request: always, on-failure (the
                       default; it also turns a red one green) or never
  PEAKGATE_KEY         which comment, where several gates have one each (the
                       budget file)
  PEAKGATE_COMMENT_AUTHOR
                       the login whose comments are ours (ask the server)
  PEAKGATE_CHECK       on the commit: run, status, none, or auto, a status on
                       Gitea and Forgejo
  PEAKGATE_TOKEN       a token with pull-requests: write, for the comment
  PEAKGATE_REPORT_DIR  where report.md, result.json and report.html are written (a
                       new folder in RUNNER_TEMP)

Outputs: verdict is pass, warn, fail or no_data; failed is the number of checks
that are over their budget or without data; report-path, json-path and html-path are
the three files. Where there is no verdict, as with an error in the budget file, no
output is set. Outside of a workflow the same is printed as plain text.`,
	setup: func(_ *flag.FlagSet, s Streams) func([]string) (int, error) {
		return func(args []string) (int, error) {
			if len(args) > 0 {
				return ExitUsage, usagef("action: takes no arguments, got %.40q; its inputs are in the environment", args[0])
			}
			return runAction(s)
		}
	},
}

// runAction prints through one post.Actions only, errors too: the runner looks
// for commands on both streams, and an error quotes what it was given.
func runAction(s Streams) (int, error) {
	a := post.NewActions(s.Stdout, s.Getenv)
	o := checkOptions{
		config:  cmp.Or(s.Getenv("PEAKGATE_CONFIG"), "peakgate.yml"),
		targets: strings.Fields(s.Getenv("PEAKGATE_TARGETS")),
		bases:   lines(s.Getenv("PEAKGATE_BASE")),
		allowed: lines(s.Getenv("PEAKGATE_ALLOW_PATH")),
		pages:   newPages(),
	}
	a.Mask(s.Getenv("PEAKGATE_TOKEN"))
	a.Mask(s.Getenv("GITHUB_TOKEN"))
	p := posting{comment: cmp.Or(s.Getenv("PEAKGATE_COMMENT"), "on-failure"), check: cmp.Or(s.Getenv("PEAKGATE_CHECK"), "auto"), key: s.Getenv("PEAKGATE_KEY"), author: s.Getenv("PEAKGATE_COMMENT_AUTHOR")}
	if err := p.validate(); err != nil {
		a.Error(post.Annotation{Title: "peakgate", Message: err.Error()})
		return ExitUsage, errors.Join(err, a.Close())
	}
	a.Group("peakgate check")
	r, _, err := o.check(Streams{Stdout: a, Stderr: a, Getenv: s.Getenv})
	if err != nil {
		report.Problem(a, err)
		a.EndGroup()
		annotateError(a, o.config, err)
		if a.Active() && !errors.Is(err, errInterrupted) {
			showPosted(a, p.post(problemMessage(o.config, err, s), s)...)
		}
		return unchecked(err), errors.Join(a.Summary(problemPage(err)), a.Close())
	}
	code, err := showResult(a, r, o.pages, s)
	if err != nil {
		report.Problem(a, err)
		a.Error(post.Annotation{Title: "peakgate", Message: err.Error()})
		code = max(code, ExitNoData)
	}
	if a.Active() {
		showPosted(a, p.postResult(r, s)...) // the verdict stands without it
	}
	return code, a.Close()
}

// showResult shows a result in the log, marks lines, writes the files, the
// summary and the outputs. An error leaves nothing out that can still be shown.
func showResult(a *post.Actions, r *compare.Result, pages *pages, s Streams) (int, error) {
	text, textErr := renderResult(r, "text", nil)
	a.Write(text)
	a.EndGroup()
	failed := annotate(a, r)
	code := exitCode(r.Verdict)
	if code != ExitPass && failed == 0 {
		a.Error(post.Annotation{File: r.Config, Title: "peakgate", Message: "the verdict is " + string(r.Verdict) + "; the report says why"})
	}
	problems := []error{textErr}
	markdown, err := renderResult(r, "markdown", nil)
	problems = append(problems, err)
	if err := a.Summary(markdown); err != nil { // the verdict stands without it
		a.Warning(post.Annotation{Title: "peakgate", Message: "no job summary: " + err.Error()})
	}
	json, err := renderResult(r, "json", nil)
	problems = append(problems, err)
	html, err := renderResult(r, "html", pages)
	problems = append(problems, err)
	dir, err := reportDir(s)
	problems = append(problems, err)
	if err == nil {
		for _, f := range []struct {
			output, name string
			data         []byte
		}{{"report-path", "report.md", markdown}, {"json-path", "result.json", json}, {"html-path", "report.html", html}} {
			path := filepath.Join(dir, f.name)
			problems = append(problems, writeFile(path, f.data), a.Output(f.output, path))
		}
	}
	problems = append(problems, a.Output("failed", strconv.Itoa(failed)), a.Output("verdict", string(r.Verdict)))
	fmt.Fprintf(a, "peakgate: %s\n", r.Verdict)
	if dir != "" {
		fmt.Fprintf(a, "report: %s\n", dir)
	}
	return code, errors.Join(problems...)
}

// reportDir gives the folder of the reports as an absolute path: later steps may
// run elsewhere.
func reportDir(s Streams) (string, error) {
	dir := s.Getenv("PEAKGATE_REPORT_DIR")
	if dir == "" {
		return os.MkdirTemp(s.Getenv("RUNNER_TEMP"), "peakgate-report-")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("%s: cannot make the folder for reports: %w", dir, cause(err))
	}
	return filepath.Abs(dir)
}

// annotateError marks the faults of a budget file on their own lines, any other
// error on the file.
func annotateError(a *post.Actions, config string, err error) {
	var faulty budgetError
	if !errors.As(err, &faulty) {
		if !exists(config) {
			config = ""
		}
		a.Error(post.Annotation{File: config, Title: "peakgate", Message: err.Error()})
		return
	}
	for _, e := range faulty.faults {
		message := e.Message
		if e.Path != "" {
			message = e.Path + ": " + message
		}
		if e.Hint != "" {
			message += "; " + e.Hint
		}
		a.Error(post.Annotation{File: filepath.FromSlash(e.File), Line: e.Line, Column: e.Column, Title: "budget: " + e.Rule, Message: message})
	}
}

// problemPage is the summary where there is no verdict. Indented text cannot
// leave its block, whatever is in it.
func problemPage(err error) []byte {
	var text strings.Builder
	report.Problem(&text, err)
	var page strings.Builder
	page.WriteString("**peakgate came to no verdict.**\n\n")
	for line := range strings.Lines(text.String()) {
		page.WriteString("    " + line)
	}
	return []byte(page.String())
}

// lines gives the lines that are not blank.
func lines(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
