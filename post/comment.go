package post

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Sticky is the one comment that a key has on a pull request.
type Sticky struct {
	Pull int
	Key  string
	Run  Run
	// Text is posted; Short stands for it where the server finds it too long.
	Text, Short string
	// Update leaves a pull request without such a comment alone: a verdict that
	// has turned green changes the comment that said otherwise, and nothing more.
	Update bool
}

// Done says what became of a comment.
type Done string

// What can become of a comment.
const (
	Created    Done = "created"
	Updated    Done = "updated"
	Unchanged  Done = "unchanged"
	Superseded Done = "superseded" // a newer run has written it
	NotNeeded  Done = "not needed" // Update, and there is none
)

// settle is how long after a write the comments are looked at again: other runs
// that saw the same state have written by then. A random part keeps them apart.
const settle = 1500 * time.Millisecond

// maxWrites ends a quarrel that no server should have.
const maxWrites = 12

// Sync makes the comment of a key say what this run says, and be one: it edits
// the comment that is there, writes one where there is none, and makes one of
// several. A comment of a newer run stays. It takes 90 seconds at most.
//
// No server compares and swaps, so runs at the same time may write twice. Each
// therefore looks again after it wrote: the comment with the lowest id is kept, it
// gets the text of the newest run, and the others are deleted once that is seen
// there.
func Sync(ctx context.Context, s Server, c Sticky) (Done, string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	y := syncer{server: s, sticky: c, body: seal(c.Key, c.Run, c.Text), done: Unchanged}
	var w waiter
	for {
		more, err := y.step(ctx)
		switch {
		case err == nil:
			w.well()
		case KindOf(err) == Invalid && c.Short != "" && !y.short:
			y.short, y.body = true, seal(c.Key, c.Run, c.Short)
			continue
		case w.again(ctx, err):
			continue
		default:
			return "", "", explain(err)
		}
		if !more {
			return y.done, y.url, nil
		}
		if !rest(ctx, settle+time.Duration(rand.Int64N(int64(settle)))) {
			return "", "", errors.New("other runs wrote the comment for too long")
		}
	}
}

// syncer is one run's part in bringing the comments of a key together.
type syncer struct {
	server Server
	sticky Sticky
	body   string
	short  bool
	writes int
	wrote  bool // this run's text has been in the kept comment
	done   Done
	url    string
}

// step looks at the comments and does the one thing that is missing most; more
// tells that it wrote and must look again.
func (y *syncer) step(ctx context.Context) (more bool, err error) {
	ours, err := y.ours(ctx)
	if err != nil {
		return false, err
	}
	if y.writes >= maxWrites {
		return false, fmt.Errorf("the comment did not come to rest after %d writes", y.writes)
	}
	if len(ours) == 0 {
		if y.sticky.Update && !y.wrote {
			y.done = NotNeeded
			return false, nil
		}
		y.writes++
		made, err := y.server.Create(ctx, y.sticky.Pull, y.body)
		if err != nil {
			return false, err
		}
		y.wrote, y.done, y.url = true, Created, made.URL
		return true, nil
	}
	keep, want := ours[0], y.wanted(ours)
	y.url = keep.URL
	if theirs, _ := unseal(y.sticky.Key, want); theirs.run.compare(y.sticky.Run) > 0 {
		y.done = Superseded
	}
	if !y.same(keep.Body, want) {
		y.writes++
		if err := y.server.Edit(ctx, keep.ID, want); KindOf(err) == Missing {
			return true, nil // deleted since the list was made
		} else if err != nil {
			return false, err
		}
		if want == y.body {
			y.wrote = true
			if y.done != Created {
				y.done = Updated
			}
		}
		return true, nil
	}
	y.wrote = y.wrote || want == y.body
	if len(ours) == 1 {
		return false, nil
	}
	for _, extra := range ours[1:] {
		y.writes++
		if err := y.server.Delete(ctx, extra.ID); err != nil && KindOf(err) != Missing {
			return false, err
		}
	}
	return true, nil
}

// ours are the comments of the key that we may edit, the lowest id first.
func (y *syncer) ours(ctx context.Context) ([]Comment, error) {
	all, err := y.server.Comments(ctx, y.sticky.Pull)
	if err != nil {
		return nil, err
	}
	var ours []Comment
	for _, c := range all {
		if _, ok := unseal(y.sticky.Key, c.Body); ok && c.Mine {
			ours = append(ours, c)
		}
	}
	sortByID(ours)
	return ours, nil
}

// wanted is the body that the kept comment should have: that of the newest run.
// Runs of equal age (jobs of one run with the same key) leave each other's text,
// once they have written their own.
func (y *syncer) wanted(ours []Comment) string {
	newest := ours[0]
	at, _ := unseal(y.sticky.Key, newest.Body)
	for _, c := range ours[1:] {
		if m, _ := unseal(y.sticky.Key, c.Body); m.run.compare(at.run) > 0 {
			newest, at = c, m
		}
	}
	switch by := y.sticky.Run.compare(at.run); {
	case by > 0, by == 0 && !y.wrote:
		return y.body
	}
	return newest.Body
}

// same compares by the markers, which hold a sum of the text: servers may change
// line ends and blanks.
func (y *syncer) same(a, b string) bool {
	x, _ := unseal(y.sticky.Key, a)
	z, _ := unseal(y.sticky.Key, b)
	return x == z
}

func sortByID(cs []Comment) {
	slices.SortFunc(cs, func(a, b Comment) int { return cmp.Compare(a.ID, b.ID) })
}
