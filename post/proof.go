package post

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// ErrOutdated says that a pull request has moved on since a run measured it.
var ErrOutdated = errors.New("the pull request has a newer head than the run")

// Prove finds the pull request that a finished run measured, for a workflow that
// holds a token which writes and trusts nothing that the run has left behind.
//
// claimed is the number that the run's own artifact names, 0 for none: anybody can
// write any number there, so the server is asked, of the run and of the pull
// request, and a number counts only where the head of that pull request is the
// commit, and its repository the one, that the run was of. Without a number those
// of the run and of the commit are tried.
func (h *Host) Prove(ctx context.Context, m Measured, claimed int) (pull int, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var w waiter
	for {
		pull, err := h.prove(ctx, m, claimed)
		if err == nil || !w.again(ctx, err) {
			return pull, err
		}
	}
}

func (h *Host) prove(ctx context.Context, m Measured, claimed int) (int, error) {
	run, _, err := h.client.Actions.GetWorkflowRunByID(ctx, h.owner, h.name, m.Run.ID)
	if err != nil {
		return 0, h.trouble(err)
	}
	switch {
	case run.GetHeadSHA() != m.Commit || m.Commit == "":
		return 0, fmt.Errorf("run %d: expected head %.12s, the server says %.12s", m.Run.ID, m.Commit, run.GetHeadSHA())
	case !strings.HasPrefix(run.GetEvent(), "pull_request"):
		return 0, fmt.Errorf("run %d: expected a run of a pull request, found one of %.40q", m.Run.ID, run.GetEvent())
	case !strings.EqualFold(run.GetHeadRepository().GetFullName(), m.Repository):
		return 0, fmt.Errorf("run %d: expected it to be of %.100q, the server says %.100q", m.Run.ID, m.Repository, run.GetHeadRepository().GetFullName())
	}
	candidates := append([]int{}, m.Pulls...)
	if claimed > 0 {
		candidates = []int{claimed}
	} else if len(candidates) == 0 {
		list, _, err := h.client.PullRequests.ListPullRequestsWithCommit(ctx, h.owner, h.name, m.Commit, nil)
		if err != nil {
			return 0, h.trouble(err)
		}
		for _, p := range list {
			if p.GetState() == "open" {
				candidates = append(candidates, p.GetNumber())
			}
		}
	}
	var last error = fmt.Errorf("run %d: no open pull request has the head %.12s", m.Run.ID, m.Commit)
	for _, number := range candidates[:min(len(candidates), 20)] {
		p, _, err := h.client.PullRequests.Get(ctx, h.owner, h.name, number)
		if err != nil {
			return 0, h.trouble(err)
		}
		if last = h.belongs(p, m); last == nil {
			return number, nil
		}
	}
	return 0, last
}

// belongs tells whether a pull request is the one that the run was of.
func (h *Host) belongs(p *github.PullRequest, m Measured) error {
	head := p.GetHead()
	switch {
	case !strings.EqualFold(p.GetBase().GetRepo().GetFullName(), h.owner+"/"+h.name):
		return fmt.Errorf("pull request %d is not of this repository", p.GetNumber())
	case !strings.EqualFold(head.GetRepo().GetFullName(), m.Repository):
		return fmt.Errorf("pull request %d comes from %.100q, the run from %.100q", p.GetNumber(), head.GetRepo().GetFullName(), m.Repository)
	case head.GetSHA() != m.Commit:
		return fmt.Errorf("pull request %d: %w: %.12s, and the run is of %.12s", p.GetNumber(), ErrOutdated, head.GetSHA(), m.Commit)
	}
	return nil
}
