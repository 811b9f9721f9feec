package post

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

// maxEvent is the longest event file that is read; GitHub's own are at most 25 MB.
const maxEvent = 32 << 20

// Event is what a workflow's run says of itself.
type Event struct {
	Name string // GITHUB_EVENT_NAME
	// Pull is the number of the pull request, 0 where there is none.
	Pull int
	// Commit is what to mark and link: the head of the pull request, not the
	// merge commit that the run has checked out.
	Commit string
	// Fork tells that the pull request comes from another repository: its token
	// only reads.
	Fork bool
	Run  Run
	// Measured is the run that a workflow_run event is about; nil otherwise.
	Measured *Measured
}

// Measured is a run that another one is to report on.
type Measured struct {
	Run        Run
	Commit     string // head_sha
	Repository string // of the head: that of a fork, for a pull request from one
	Pulls      []int  // empty for forks
}

// ReadEvent reads the variables and the event file of a workflow's run.
func ReadEvent(getenv func(string) string) (Event, error) {
	e := Event{Name: getenv("GITHUB_EVENT_NAME"), Commit: getenv("GITHUB_SHA")}
	e.Run.ID, _ = strconv.ParseInt(getenv("GITHUB_RUN_ID"), 10, 64)
	e.Run.Attempt, _ = strconv.ParseInt(getenv("GITHUB_RUN_ATTEMPT"), 10, 64)
	path := getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return e, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return e, err
	}
	if len(data) > maxEvent {
		return e, fmt.Errorf("%s: expected an event of at most %d bytes, found more", path, maxEvent)
	}
	err = e.decode(data)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // its text shows our types
		err = fmt.Errorf("%s holds another kind of value: %s", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	}
	if err != nil {
		return e, fmt.Errorf("%s: expected the JSON of an event: %w", path, err)
	}
	return e, nil
}

type repository struct {
	FullName string `json:"full_name"`
}

// decode takes what is wanted of an event. Numbers stay whole, as they do not in
// a map of any.
func (e *Event) decode(data []byte) error {
	var raw struct {
		Repository repository `json:"repository"`
		Pull       *struct {
			Number int `json:"number"`
			Head   struct {
				SHA  string      `json:"sha"`
				Repo *repository `json:"repo"` // null where the fork is deleted
			} `json:"head"`
		} `json:"pull_request"`
		Group *struct {
			HeadSHA string `json:"head_sha"`
		} `json:"merge_group"`
		Run *struct {
			ID         int64      `json:"id"`
			Attempt    int64      `json:"run_attempt"`
			HeadSHA    string     `json:"head_sha"`
			Repository repository `json:"head_repository"`
			Pulls      []struct {
				Number int `json:"number"`
			} `json:"pull_requests"`
		} `json:"workflow_run"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	switch {
	case raw.Pull != nil:
		if raw.Pull.Number <= 0 || raw.Pull.Head.SHA == "" {
			return errors.New("a pull request without a number or a head")
		}
		e.Pull, e.Commit = raw.Pull.Number, raw.Pull.Head.SHA
		e.Fork = raw.Pull.Head.Repo == nil || raw.Pull.Head.Repo.FullName != raw.Repository.FullName
	case raw.Group != nil:
		e.Commit = raw.Group.HeadSHA
	case raw.Run != nil:
		e.Commit = raw.Run.HeadSHA
		e.Measured = &Measured{Run: Run{raw.Run.ID, raw.Run.Attempt}, Commit: raw.Run.HeadSHA, Repository: raw.Run.Repository.FullName}
		for _, p := range raw.Run.Pulls {
			e.Measured.Pulls = append(e.Measured.Pulls, p.Number)
		}
	}
	if !hash.MatchString(e.Commit) { // it becomes a part of addresses
		return fmt.Errorf("a head that is no commit's hash: %.40q", e.Commit)
	}
	return nil
}

// hash is a commit's, where there is one.
var hash = regexp.MustCompile(`^[0-9a-fA-F]*$`)
