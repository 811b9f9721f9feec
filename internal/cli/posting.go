package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/post"
	"github.com/peakgate/peakgate/report"
)

// posting is what is asked of posts to a code host.
type posting struct {
	comment string // always, on-failure or never
	check   string // auto, none, run or status
	key     string // empty: the budget file
	author  string
	pull    int // instead of the event's
}

var (
	commentModes = []string{"always", "on-failure", "never"}
	checkModes   = []string{"auto", "none", "run", "status"}
)

func (p posting) validate() error {
	if !slices.Contains(commentModes, p.comment) {
		return usagef("comment: want %s, got %.40q", strings.Join(commentModes, ", "), p.comment)
	}
	if !slices.Contains(checkModes, p.check) {
		return usagef("check: want %s, got %.40q", strings.Join(checkModes, ", "), p.check)
	}
	return nil
}

// posted is what became of the posts: a line for the log, and whether something
// failed that is no lack of permission.
type posted struct {
	line string
	err  error
}

// message is what a check has to say on the commit and on the pull request.
type message struct {
	config      string
	head        compare.Revision
	verdict     compare.Verdict // empty: the check came to none
	sentence    string
	text, short []byte // markdown; short stands for text where a server finds that too long
	marks       []post.Mark
}

func resultMessage(r *compare.Result) (message, error) {
	text, err := renderResult(r, "markdown", nil)
	short, err2 := render(func(w io.Writer) error { return report.Brief(w, r) })
	return message{r.Config, r.Head, r.Verdict, report.Sentence(r), text, short, resultMarks(r)}, errors.Join(err, err2)
}

// problemMessage says that a check came to no verdict, lest an earlier one be taken
// for this run's.
func problemMessage(config string, err error, s Streams) message {
	page := problemPage(err)
	return message{config: filepath.ToSlash(config), head: located(compare.Revision{}, repositoryRoot(config), s), sentence: "peakgate came to no verdict", text: page, short: page}
}

func (p posting) postResult(r *compare.Result, s Streams) []posted {
	m, err := resultMessage(r)
	if err != nil {
		return []posted{{"no comment", err}}
	}
	return p.post(m, s)
}

// post shows a message on the commit and on the pull request, which do not wait for
// each other's success. Nothing that goes wrong with it changes a verdict.
func (p posting) post(m message, s Streams) (all []posted) {
	never := posted{line: "no comment: comment is never"}
	event, err := post.ReadEvent(s.Getenv)
	if err != nil {
		return []posted{{"no comment: the event cannot be read", err}}
	}
	if p.comment == "never" && (p.check == "none" || p.check == "auto") {
		return []posted{never}
	}
	host, none := p.dial(s)
	if none != nil {
		return []posted{*none}
	}
	ctx, cancel := context.WithTimeout(context.Background(), post.Patience)
	defer cancel()
	if err := p.mark(ctx, host, event, m, s); post.KindOf(err) == post.Denied {
		all = append(all, posted{line: "no check: " + err.Error() + "; it needs permissions: checks: write, or statuses: write for a status"})
	} else if err != nil {
		all = append(all, posted{"no check", err})
	}
	if p.comment == "never" {
		return append(all, never)
	}
	pull, run, none := p.place(ctx, host, event, m.head.PullRequest)
	if none != nil {
		return append(all, *none)
	}
	return append(all, p.stick(ctx, host, event, m, pull, run))
}

// dial makes the host that the runner's variables name. none is set where it
// cannot.
func (p posting) dial(s Streams) (host *post.Host, none *posted) {
	token := cmp.Or(s.Getenv("PEAKGATE_TOKEN"), s.Getenv("GITHUB_TOKEN"))
	if token == "" {
		return nil, &posted{line: "no comment: there is no token"}
	}
	host, err := post.Dial(post.Account{API: s.Getenv("GITHUB_API_URL"), Repository: s.Getenv("GITHUB_REPOSITORY"), Token: token, Author: p.author}, s.Transport)
	if err != nil {
		return nil, &posted{"no comment", err}
	}
	return host, nil
}

// place finds the pull request to comment on, and the run that the result is of; said
// is the one that the result names.
// none is set where there is nothing to do.
func (p posting) place(ctx context.Context, host *post.Host, event post.Event, said int) (pull int, run post.Run, none *posted) {
	switch {
	case event.Measured != nil:
		n, err := host.Prove(ctx, *event.Measured, said)
		switch {
		case errors.Is(err, post.ErrOutdated):
			return 0, run, &posted{line: "no comment: " + err.Error()}
		case err != nil:
			return 0, run, &posted{"no comment: the run is not proved to be the pull request's", err}
		}
		return n, event.Measured.Run, nil
	case p.pull > 0:
		return p.pull, event.Run, nil
	case event.Pull > 0:
		return event.Pull, event.Run, nil
	}
	return 0, run, &posted{line: fmt.Sprintf("no comment: the event %q has no pull request", event.Name)}
}

// defaultConfig is the budget file where none is named.
const defaultConfig = "peakgate.yml"

// keyOf tells the gates of a pull request apart: each has one comment and one check.
// Two folders of a repository may each have a budget of the same name.
func (p posting) keyOf(m message) string {
	config := filepath.ToSlash(m.config)
	if !path.IsAbs(config) {
		config = path.Join(m.head.Folder, config)
	}
	return cmp.Or(p.key, config)
}

// red tells that somebody has to do something.
func (m message) red() bool { return exitCode(m.verdict) != ExitPass }

func (p posting) stick(ctx context.Context, host *post.Host, event post.Event, m message, pull int, run post.Run) posted {
	done, url, err := post.Sync(ctx, host, post.Sticky{
		Pull: pull, Key: p.keyOf(m), Run: run, Text: string(m.text), Short: string(m.short),
		Update: p.comment == "on-failure" && !m.red(),
	})
	switch {
	case post.KindOf(err) == post.Denied && event.Fork:
		return posted{line: "no comment: the token of a fork's pull request only reads; docs/posting.md tells how a second workflow comments"}
	case post.KindOf(err) == post.Denied, post.KindOf(err) == post.Gone:
		return posted{line: "no comment: " + err.Error()}
	case err != nil:
		return posted{"no comment", err}
	case done == post.NotNeeded:
		return posted{line: "no comment: comment is on-failure, and nothing failed"}
	case done == post.Superseded:
		return posted{line: "no comment: a newer run has written it: " + url}
	}
	return posted{line: fmt.Sprintf("comment: %s %s", done, url)}
}

// mark sets a status or makes a check run on the commit. A job's own result is
// the check that GitHub requires, so by default only the servers that show no
// annotations get a status.
func (p posting) mark(ctx context.Context, host *post.Host, event post.Event, m message, s Streams) error {
	mode := p.check
	if mode == "auto" {
		mode = "none"
		if host.Plain() {
			mode = "status"
		}
	}
	name := "peakgate"
	if key := p.keyOf(m); key != defaultConfig { // two gates must not write over each other's
		name += " (" + key + ")"
	}
	page := runPage(s)
	switch {
	case event.Commit == "" || mode == "none":
		return nil
	case mode == "run" && !host.Plain():
		conclusion := map[bool]string{true: "failure", false: "success"}[m.red()]
		return host.Check(ctx, post.CheckRun{Name: name, Commit: event.Commit, Conclusion: conclusion, Title: m.sentence, Summary: string(m.text), URL: page, Marks: m.marks})
	}
	state := map[compare.Verdict]string{compare.Fail: "failure", compare.NoData: "error", "": "error"}[m.verdict]
	return host.SetStatus(ctx, event.Commit, post.Status{Context: name, State: cmp.Or(state, "success"), Description: m.sentence, URL: page})
}

// runPage is the page of the workflow's run; empty where it is not known.
func runPage(s Streams) string {
	server, repository, id := s.Getenv("GITHUB_SERVER_URL"), s.Getenv("GITHUB_REPOSITORY"), s.Getenv("GITHUB_RUN_ID")
	if server == "" || repository == "" || id == "" {
		return ""
	}
	return server + "/" + repository + "/actions/runs/" + id
}
