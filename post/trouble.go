package post

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Kind says what can be done about a Trouble.
type Kind int

// The kinds.
const (
	Other   Kind = iota // nothing
	Denied              // the token may not do this: at once the end
	Missing             // it is not there, or the token cannot see it
	Gone                // comments are switched off
	Invalid             // the server does not take the text; a shorter one may do
	Limited             // too many requests: wait
	Hiccup              // the server or the network failed: try again
)

// Trouble is a refusal of the server, in words without any secret.
type Trouble struct {
	Kind Kind
	// Wait is how long the server wants no request, where it is Limited.
	Wait time.Duration
	text string
}

func (t *Trouble) Error() string { return t.text }

// KindOf is the kind of an error that a Server gave.
func KindOf(err error) Kind {
	var t *Trouble
	if errors.As(err, &t) {
		return t.Kind
	}
	return Other
}

// secondary is how long to wait where a limit was hit and the server does not say
// how long: GitHub's documentation asks for at least a minute.
const secondary = time.Minute

// trouble makes a Trouble of what the library reports; nil stays nil. The
// library does not know status 429 as a limit.
func (h *Host) trouble(err error) error {
	if err == nil {
		return nil
	}
	t := &Trouble{text: h.shorten(err)}
	var (
		rate     *github.RateLimitError
		abuse    *github.AbuseRateLimitError
		response *github.ErrorResponse
	)
	switch {
	case errors.Is(err, errElsewhere), errors.Is(err, context.Canceled):
	case errors.As(err, &rate):
		t.Kind, t.Wait = Limited, time.Until(rate.Rate.Reset.Time)+time.Second
	case errors.As(err, &abuse):
		t.Kind, t.Wait = Limited, secondary
		if abuse.RetryAfter != nil {
			t.Wait = *abuse.RetryAfter
		}
	case errors.As(err, &response) && response.Response != nil:
		t.Kind, t.Wait = classify(response.Response)
	default:
		t.Kind = Hiccup // no answer, or one that is no JSON
	}
	return t
}

func classify(r *http.Response) (Kind, time.Duration) {
	switch code := r.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && limited(r.Header):
		return Limited, pause(r.Header)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return Denied, 0
	case code == http.StatusNotFound:
		return Missing, 0
	case code == http.StatusGone:
		return Gone, 0
	case code == http.StatusUnprocessableEntity, code == http.StatusRequestEntityTooLarge, code == http.StatusBadRequest:
		return Invalid, 0
	case code >= 500:
		return Hiccup, 0
	}
	return Other, 0
}

func limited(h http.Header) bool {
	return h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0"
}

// pause is how long the server wants no request: by Retry-After, else by the
// time when the limit is lifted, else a minute.
func pause(h http.Header) time.Duration {
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s >= 0 {
		return time.Duration(min(s, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, time.Until(at))
	}
	if s, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && h.Get("X-RateLimit-Remaining") == "0" {
		return max(0, time.Until(time.Unix(s, 0))) + time.Second
	}
	return secondary
}

// shorten makes one line of an error. The library's own text repeats the whole
// request; the status and the server's message say enough. The token is taken out
// before the text is cut: half of it would be passed over.
func (h *Host) shorten(err error) string {
	var response *github.ErrorResponse
	if errors.As(err, &response) && response.Response != nil {
		text := "the server answered " + strconv.Itoa(response.Response.StatusCode)
		if response.Message != "" {
			text += ": " + response.Message
		}
		for _, e := range response.Errors {
			if e.Message != "" {
				text += "; " + e.Message
			}
		}
		return oneLine(h.hide(text), 300)
	}
	return oneLine(h.hide(strings.TrimSpace(err.Error())), 300)
}

// Patience is how long all posts of a result may take, with waiting. One that takes
// longer is given up: the verdict and the summary stand without it.
const (
	Patience   = 90 * time.Second // for all
	hiccupTime = 15 * time.Second // for a server that fails, from its first failure
)

// waiter decides whether an error is worth another try, and waits.
type waiter struct {
	failing time.Time // since when the server has failed without an answer
	tries   int
}

// again waits as long as the error asks for; it is false where that would take
// too long or cannot help.
func (w *waiter) again(ctx context.Context, err error) bool {
	var t *Trouble
	if !errors.As(err, &t) {
		return false
	}
	var wait time.Duration
	switch t.Kind {
	case Limited:
		wait = t.Wait
	case Hiccup:
		if w.failing.IsZero() {
			w.failing = time.Now()
		}
		wait = min(time.Second<<min(w.tries, 3), 8*time.Second)
		wait += time.Duration(rand.Int64N(int64(wait / 4)))
		w.tries++
		if time.Since(w.failing)+wait > hiccupTime {
			return false
		}
	default:
		return false
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return false
	}
	return rest(ctx, wait)
}

// persist does what the server does not refuse for good, as long as waiting helps.
func (h *Host) persist(ctx context.Context, w *waiter, do func() error) error {
	for {
		err := h.trouble(do())
		if err == nil || !w.again(ctx, err) {
			return err
		}
	}
}

// well forgets earlier failures: the server has answered.
func (w *waiter) well() { w.failing, w.tries = time.Time{}, 0 }

// rest waits; false means that the context ended first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explain adds to a refusal what usually helps.
func explain(err error) error {
	switch KindOf(err) {
	case Denied:
		return fmt.Errorf("%w; a comment needs permissions: pull-requests: write", err)
	case Missing:
		return fmt.Errorf("%w; there is no such pull request, or the token cannot see it", err)
	}
	return err
}
