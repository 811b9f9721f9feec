package post

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"
)

// CheckRun is a check beside the job's own, with annotations of its own. GitHub
// has them, Gitea and Forgejo have not.
type CheckRun struct {
	Name       string
	Commit     string
	Conclusion string // success, failure or neutral
	Title      string
	Summary    string // markdown
	URL        string
	Marks      []Mark
}

// Mark is an annotation of a check run. Level is failure, warning or notice.
type Mark struct {
	File          string // from the repository's root
	Line          int
	Level         string
	Title, Detail string
}

// Limits of check runs, from GitHub's OpenAPI description: annotations of a
// request, characters of the summary and of a title, bytes of a message.
const (
	marksAtOnce = 50
	maxText     = 65_535
	maxDetail   = 64 << 10
)

// Check makes a completed check run. Annotations beyond those of one request are
// added by further ones.
func (h *Host) Check(ctx context.Context, c CheckRun) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var w waiter
	persist := func(do func() error) error { return h.persist(ctx, &w, do) }
	completed, title, summary := "completed", oneLine(c.Title, maxTitle), cutText(c.Summary, maxText)
	name := oneLine(c.Name, maxName)
	output := func(marks []Mark) *github.CheckRunOutput {
		return &github.CheckRunOutput{Title: &title, Summary: &summary, Annotations: annotations(marks)}
	}
	first, rest := split(c.Marks)
	var made *github.CheckRun
	if err := persist(func() (err error) {
		options := github.CreateCheckRunOptions{Name: name, HeadSHA: c.Commit, Status: &completed, Conclusion: &c.Conclusion, Output: output(first)}
		if c.URL != "" {
			options.DetailsURL = &c.URL
		}
		made, _, err = h.client.Checks.CreateCheckRun(ctx, h.owner, h.name, options)
		return err
	}); err != nil {
		return err
	}
	for len(rest) > 0 {
		first, rest = split(rest)
		if err := persist(func() error {
			_, _, err := h.client.Checks.UpdateCheckRun(ctx, h.owner, h.name, made.GetID(), github.UpdateCheckRunOptions{Name: name, Output: output(first)})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func split(marks []Mark) (first, rest []Mark) {
	n := min(len(marks), marksAtOnce)
	return marks[:n], marks[n:]
}

func annotations(marks []Mark) []*github.CheckRunAnnotation {
	var out []*github.CheckRunAnnotation
	for _, m := range marks {
		line, title, detail := max(m.Line, 1), oneLine(m.Title, maxTitle), cutText(m.Detail, maxDetail)
		out = append(out, &github.CheckRunAnnotation{Path: &m.File, StartLine: &line, EndLine: &line, AnnotationLevel: &m.Level, Title: &title, Message: &detail})
	}
	return out
}

// cutText keeps the first bytes of a text, whole runes of them.
func cutText(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
