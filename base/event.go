package base

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxEvent is the largest event that is read, in bytes. GitHub caps a webhook's
// payload at 25 MB (docs.github.com, "Webhook events and payloads").
const maxEvent = 32 << 20

// event is the part of a workflow's event that tells the base. Gitea and Forgejo
// write the same keys.
type event struct {
	PullRequest *struct {
		Head eventCommit `json:"head"`
		Base eventCommit `json:"base"`
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	Before     string `json:"before"`
	After      string `json:"after"`
	Forced     bool   `json:"forced"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

type eventCommit struct {
	SHA string `json:"sha"`
	Ref string `json:"ref"`
}

// readEvent reads the event of the running workflow; without one it is nil.
func readEvent(getenv func(string) string) (*event, error) {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil, nil
	}
	e := new(event)
	name := getenv("GITHUB_EVENT_PATH")
	if name == "" {
		return e, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("GITHUB_EVENT_PATH: %w; name the base with --base", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("GITHUB_EVENT_PATH: %w", err)
	}
	if len(data) > maxEvent {
		return nil, fmt.Errorf("%s: event of more than %d MiB", name, maxEvent>>20)
	}
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("%s: event: %w; name the base with --base", name, err)
	}
	for _, field := range []struct{ key, sha string }{
		{"before", e.Before}, {"after", e.After},
		{"pull_request.base.sha", e.pull(false).SHA}, {"pull_request.head.sha", e.pull(true).SHA},
		{"merge_group.base_sha", e.group()},
	} {
		if field.sha != "" && !isSHA(field.sha) {
			return nil, fmt.Errorf("%s: event: %s: want the full name of a commit, got %.60q", name, field.key, field.sha)
		}
	}
	return e, nil
}

// pull gives one side of the event's pull request, empty where there is none.
func (e *event) pull(head bool) eventCommit {
	switch {
	case e.PullRequest == nil:
		return eventCommit{}
	case head:
		return e.PullRequest.Head
	}
	return e.PullRequest.Base
}

func (e *event) group() string {
	if e.MergeGroup == nil {
		return ""
	}
	return e.MergeGroup.BaseSHA
}

// isZero tells whether a commit's name is the zeros that stand for none.
func isZero(sha string) bool { return strings.Trim(sha, "0") == "" }
