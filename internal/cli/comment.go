package cli

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/post"
	"github.com/peakgate/peakgate/report"
)

var commentCommand = command{
	name: "comment", args: "RESULT.json", summary: "show a result on its pull request, from a workflow that may write",
	about: `Renders a result that check wrote and keeps one comment of the pull request up to
date with it. The file may be a zip that holds result.json, as artifacts are. It
is taken for what anybody may have written: nothing in it is trusted or executed.

In a workflow_run workflow it first proves, by asking the server, that the
finished run was of the pull request's present head. Elsewhere it comments on the
event's own pull request, or that of --pull.

  PEAKGATE_TOKEN or GITHUB_TOKEN   a token with pull-requests: write
  GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH, …   the runner sets them`,
	exits: `Exit codes: 0 posted, not needed or not permitted; 2 wrong use or a file that is
no result; 3 the server failed, or the run is not the pull request's. The verdict
is not the exit code.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		p := posting{}
		f.StringVar(&p.comment, "comment", "always", "`when`: always, on-failure (and to turn a red comment green) or never")
		f.StringVar(&p.check, "check", "auto", "`what` to set on the commit: run (a check run), status, none, or auto: a status on Gitea and Forgejo")
		f.StringVar(&p.key, "key", "", "which comment: each `key` has one (the budget file's path)")
		f.StringVar(&p.author, "author", "", "the `login` whose comments are ours (ask the server)")
		f.IntVar(&p.pull, "pull", 0, "the `number` of the pull request, outside of a workflow")
		return func(args []string) (int, error) {
			if err := p.validate(); err != nil {
				return ExitUsage, err
			}
			if len(args) != 1 {
				return ExitUsage, usagef("comment: want one RESULT.json, got %d arguments", len(args))
			}
			return runComment(p, args[0], s)
		}
	},
}

func runComment(p posting, path string, s Streams) (int, error) {
	a := post.NewActions(s.Stdout, s.Getenv)
	a.Mask(s.Getenv("PEAKGATE_TOKEN"))
	a.Mask(s.Getenv("GITHUB_TOKEN"))
	r, err := readResult(path)
	if err != nil {
		report.Problem(a, err)
		a.Error(post.Annotation{Title: "peakgate", Message: err.Error()})
		return ExitUsage, a.Close()
	}
	done := p.post(r, resultMarks(r), s)
	return showPosted(a, done), a.Close()
}

// showPosted tells in one line what became of the posts.
func showPosted(a *post.Actions, done posted) int {
	if done.err == nil {
		fmt.Fprintf(a, "%s\n", done.line)
		return ExitPass
	}
	a.Warning(post.Annotation{Title: "peakgate", Message: done.line + ": " + done.err.Error()})
	return ExitNoData
}

// resultName is the one file that is read of an artifact.
const resultName = "result.json"

// readResult reads a result, or the one in a zip.
func readResult(path string) (*compare.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	if !bytes.Equal(head[:n], []byte("PK\x03\x04")) {
		return compare.Decode(io.MultiReader(bytes.NewReader(head[:n]), f), path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	if info.Size() > compare.MaxDocument {
		return nil, fmt.Errorf("%s: expected a zip of at most %s, found %s", path, measure.Bytes(compare.MaxDocument), measure.Bytes(info.Size()))
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: expected a zip: %w", path, err)
	}
	for _, e := range archive.File {
		if e.Name != resultName || !e.Mode().IsRegular() {
			continue // nothing is unpacked: other names, links and folders are only passed over
		}
		r, err := e.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, resultName, err)
		}
		defer r.Close()
		return compare.Decode(r, path+": "+resultName)
	}
	return nil, fmt.Errorf("%s: expected a zip that holds %s, found %s without it", path, resultName, strconv.Itoa(len(archive.File))+" files")
}

// resultMarks are the annotations of a check run: the checks that do not hold, at
// their budgets.
func resultMarks(r *compare.Result) []post.Mark {
	var marks []post.Mark
	for _, t := range r.Targets {
		for i := range t.Checks {
			c := &t.Checks[i]
			level := "failure"
			switch c.Verdict {
			case compare.Pass, compare.Waived:
				continue
			case compare.Warn, compare.Inconclusive, compare.Decelerating:
				level = "warning"
			}
			if c.Limit.File == "" || strings.Contains(c.Limit.File, "@") || len(marks) == maxMarks {
				continue
			}
			marks = append(marks, post.Mark{File: c.Limit.File, Line: c.Limit.Line, Level: level, Title: fmt.Sprintf("%s: %s: %s", c.Verdict, t.Name, c.Metric), Detail: sentence(c)})
		}
	}
	return marks
}

// maxMarks is how many annotations a check run gets: each 50 are a request.
const maxMarks = 200
