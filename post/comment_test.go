package post

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/peakgate/peakgate/internal/codehost"
)

// fake is the code host of these tests.
type fake struct{ *codehost.Server }

func newFake(t *testing.T) *fake { return &fake{codehost.New(t)} }

func (f *fake) host(t *testing.T) *Host {
	t.Helper()
	api := codehost.API
	if f.Plain {
		api = codehost.Gitea
	}
	h, err := Dial(Account{API: api, Repository: "o/r", Token: codehost.Token}, f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func marks(n int) []Mark {
	out := make([]Mark, n)
	for i := range out {
		out[i] = Mark{File: "peakgate.yml", Line: i, Level: "failure", Title: "fail", Detail: "grew"}
	}
	return out
}

func sticky(run int64, text string) Sticky {
	return Sticky{Pull: 7, Key: "train", Run: Run{run, 1}, Text: text, Short: "short"}
}

// sync runs Sync in virtual time, and gives how much of it passed.
func (f *fake) sync(t *testing.T, c Sticky) (done Done, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		done, _, err = Sync(context.Background(), f.host(t), c)
		took = time.Since(began)
		drain()
	})
	if err != nil && strings.Contains(err.Error(), codehost.Token[:12]) { // not half of it either
		t.Errorf("the token is in the error: %v", err)
	}
	if f.Leaked {
		t.Error("the token went to another host")
	}
	return done, took, err
}

// drain lets the timers of answered requests end: a bubble must not outlive them.
func drain() { time.Sleep(2 * requestTime) }

func (f *fake) texts() (out []string) {
	for _, c := range f.Comments {
		out = append(out, c.Body)
	}
	return out
}

func (f *fake) want(t *testing.T, bodies ...string) {
	t.Helper()
	if got := f.texts(); !slices.Equal(got, bodies) {
		t.Errorf("comments:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(bodies, "\n---\n"))
	}
}

func TestComment(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct {
		what   Sticky
		done   Done
		bodies string
	}{
		{Sticky{Pull: 7, Key: "train", Run: Run{1, 1}, Text: "green", Update: true}, NotNeeded, ""},
		{sticky(3, "three"), Created, "three"},
		{sticky(3, "three"), Unchanged, "three"},
		{sticky(3, "three, once more"), Updated, "three, once more"},
		{sticky(5, "five"), Updated, "five"},
		{sticky(4, "four"), Superseded, "five"},
		{Sticky{Pull: 7, Key: "train", Run: Run{6, 1}, Text: "green", Update: true}, Updated, "green"},
		{Sticky{Pull: 7, Key: "train", Run: Run{6, 2}, Text: "again"}, Updated, "again"},
		{sticky(6, "an older attempt"), Superseded, "again"},
	} {
		done, _, err := f.sync(t, c.what)
		if err != nil || done != c.done {
			t.Errorf("%q: %q, %v, want %q", c.what.Text, done, err, c.done)
		}
		var got string
		if len(f.Comments) > 0 {
			_, got, _ = strings.Cut(f.Comments[0].Body, "\n")
		}
		if got != c.bodies || len(f.Comments) > 1 {
			t.Errorf("%q: comments %q, want one, %q", c.what.Text, f.texts(), c.bodies)
		}
	}
}

// TestOthersComments: who quotes the report, or writes the marker by hand, keeps
// their comment; other keys have comments of their own.
func TestOthersComments(t *testing.T) {
	f := newFake(t)
	old := seal("train", Run{1, 1}, "old")
	kept := []string{"> " + old, old, seal("eval", Run{1, 1}, "eval"), "see\n" + old, seal("train2", Run{9, 1}, "x"), "<!-- peakgate:v1 key=train"}
	f.Add(codehost.Bot, kept[0])
	f.Add("mallory", kept[1])
	f.Add(codehost.Bot, kept[2])
	f.Add("another-app[bot]", kept[3])
	f.Add(codehost.Bot, kept[4])
	f.Add(codehost.Bot, kept[5])
	if done, _, err := f.sync(t, sticky(2, "new")); err != nil || done != Created {
		t.Fatalf("%q, %v", done, err)
	}
	f.want(t, append(kept, seal("train", Run{2, 1}, "new"))...)
}

// TestAuthor: without GraphQL only the job's own bot is us, and its type counts.
func TestAuthor(t *testing.T) {
	f := newFake(t)
	f.Login = ""
	mine := f.Add(codehost.Bot, seal("train", Run{1, 1}, "old"))
	person := f.Add(codehost.Bot, seal("train", Run{1, 1}, "a person with the bot's name"))
	person.User.Type = "User"
	if done, _, err := f.sync(t, sticky(2, "new")); err != nil || done != Updated || mine.Body != seal("train", Run{2, 1}, "new") || len(f.Comments) != 2 {
		t.Errorf("%q, %v: %q", done, err, f.texts())
	}
}

func TestPages(t *testing.T) {
	f := newFake(t)
	f.PerPage = 10
	for i := range 35 {
		f.Add("someone", fmt.Sprint(i))
	}
	mine := f.Add(codehost.Bot, seal("train", Run{1, 1}, "old"))
	for i := range 20 {
		f.Add("someone", fmt.Sprint(i))
	}
	if done, _, err := f.sync(t, sticky(2, "new")); err != nil || done != Updated || !strings.HasSuffix(mine.Body, "new") || len(f.Comments) != 56 {
		t.Errorf("%q, %v: %q", done, err, f.texts())
	}
}

// TestGitea: lists come whole and without a Link, there is no GraphQL.
func TestGitea(t *testing.T) {
	f := newFake(t)
	f.Plain, f.Login = true, "gate"
	for i := range 150 {
		f.Add("someone", fmt.Sprint(i))
	}
	if done, _, err := f.sync(t, sticky(1, "one")); err != nil || done != Created {
		t.Fatalf("%q, %v", done, err)
	}
	if done, _, err := f.sync(t, sticky(2, "two")); err != nil || done != Updated || len(f.Comments) != 151 {
		t.Errorf("%q, %v", done, err)
	}
	if slices.ContainsFunc(f.Requests, func(r string) bool { return strings.Contains(r, "graphql") || strings.Contains(r, "page=2") }) {
		t.Errorf("requests that Gitea does not know: %q", f.Requests)
	}
}

// TestDuplicates: what earlier races have left becomes one, with the newest text.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		run  int64
		want string
		done Done
	}{{9, "mine", Updated}, {2, "newest", Superseded}} {
		f := newFake(t)
		for i, text := range []string{"first", "newest", "third"} {
			f.Add(codehost.Bot, seal("train", Run{[]int64{1, 5, 3}[i], 1}, text))
		}
		lowest := f.Comments[0].ID
		done, _, err := f.sync(t, sticky(c.run, "mine"))
		if err != nil || done != c.done || len(f.Comments) != 1 || f.Comments[0].ID != lowest || !strings.HasSuffix(f.Comments[0].Body, c.want) {
			t.Errorf("run %d: %q, %v: %q", c.run, done, err, f.texts())
		}
	}
}

// TestConvergence: whatever the order in which eight runs read and write, one
// comment is left and it is the newest run's.
func TestConvergence(t *testing.T) {
	for seed := range uint64(300) {
		f := newFake(t)
		f.Random = rand.New(rand.NewPCG(seed, 7))
		f.Latency = 700 * time.Millisecond
		order := f.Random.Perm(8)
		equal := seed%3 == 0 // jobs of one run that share a key
		if seed%2 == 0 {
			f.Add(codehost.Bot, seal("train", Run{1, 1}, "old"))
		}
		starts := make([]time.Duration, len(order)) // drawn before any run draws its latencies
		for i := range starts {
			starts[i] = time.Duration(f.Random.Int64N(int64(3 * time.Second)))
		}
		synctest.Test(t, func(t *testing.T) {
			var wait sync.WaitGroup
			for _, i := range order {
				start := starts[i]
				wait.Go(func() {
					time.Sleep(start)
					run := int64(10 + i)
					if equal {
						run = 10
					}
					if _, _, err := Sync(context.Background(), f.host(t), sticky(run, "text of "+strconv.Itoa(i))); err != nil {
						t.Errorf("seed %d, run %d: %v", seed, i, err)
					}
				})
			}
			wait.Wait()
			drain()
		})
		if len(f.Comments) != 1 || !equal && !strings.HasSuffix(f.Comments[0].Body, "text of 7") {
			t.Fatalf("seed %d: %q", seed, f.texts())
		}
	}
}

func TestFaults(t *testing.T) {
	fail := func(code int, message string, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			codehost.Answer(w, code, map[string]any{"message": message})
		}
	}
	always := func(int) bool { return true }
	first := func(most int) func(int) bool { return func(n int) bool { return n <= most } }
	for _, c := range []struct {
		name   string
		method string // of the requests that fail; empty: any but GraphQL
		fault  func(http.ResponseWriter)
		when   func(n int) bool // n counts from 1
		done   Done
		kind   Kind
		text   string // in the error
		atMost time.Duration
		least  time.Duration
	}{
		{name: "no permission", method: "POST", fault: fail(403, "Resource not accessible by integration"), when: always, kind: Denied, text: "pull-requests: write"},
		{name: "bad token", fault: fail(401, "Bad credentials"), when: always, kind: Denied, text: "401: Bad credentials"},
		{name: "no pull request", fault: fail(404, "Not Found"), when: always, kind: Missing, text: "no such pull request"},
		{name: "comments are off", fault: fail(410, "Issues are disabled"), when: always, kind: Gone, text: "410"},
		{name: "server fails for a moment", fault: fail(502, "Bad gateway"), when: first(2), done: Created, least: 2 * time.Second, atMost: 30 * time.Second},
		{name: "server fails", fault: fail(503, "Unavailable"), when: always, kind: Hiccup, text: "503", atMost: hiccupTime},
		{name: "server fails at a write", method: "POST", fault: fail(500, "oops"), when: first(1), done: Created, least: time.Second, atMost: 30 * time.Second},
		{name: "no JSON", fault: func(w http.ResponseWriter) { w.Write([]byte("<html>")) }, when: always, kind: Hiccup, atMost: hiccupTime},
		{name: "too many requests, 429", fault: fail(429, "slow down", "Retry-After", "20"), when: first(1), done: Created, least: 20 * time.Second, atMost: 40 * time.Second},
		{name: "too many requests, 403", method: "POST", fault: fail(403, "slow down", "Retry-After", "5"), when: first(1), done: Created, least: 5 * time.Second, atMost: 30 * time.Second},
		{name: "secondary limit without a time", method: "POST", fault: func(w http.ResponseWriter) {
			codehost.Answer(w, 403, map[string]any{"message": "You have exceeded a secondary rate limit", "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"})
		}, when: first(1), done: Created, least: time.Minute, atMost: Patience},
		{name: "limit for an hour", fault: fail(429, "slow down", "Retry-After", "3600"), when: always, kind: Limited, text: "429"},
		{name: "limit lifted too late", fault: fail(403, "API rate limit exceeded", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "4102444800"), when: always, kind: Limited},
		{name: "limits without end", fault: fail(429, "slow down", "Retry-After", "25"), when: always, kind: Limited, least: 50 * time.Second, atMost: Patience},
		{name: "a time that is no number", fault: fail(429, "slow down", "Retry-After", "99999999999999999999"), when: always, kind: Limited, atMost: Patience},
		{name: "another host", fault: func(w http.ResponseWriter) { w.Header().Set("Location", "https://evil.test/x"); w.WriteHeader(302) }, when: always, text: "elsewhere, to evil.test"},
		{name: "another scheme", fault: func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://api.github.test/x")
			w.WriteHeader(302)
		}, when: always, text: "elsewhere"},
		{name: "renamed, a write would become a read", method: "POST", fault: func(w http.ResponseWriter) { w.Header().Set("Location", codehost.API+"/x"); w.WriteHeader(301) }, when: always, text: "has moved"},
		{name: "a circle", method: "GET", fault: func(w http.ResponseWriter) { w.Header().Set("Location", codehost.API+"/x"); w.WriteHeader(307) }, when: always, text: "elsewhere, "},
		{name: "the token in the answer", fault: fail(400, "bad header Bearer "+codehost.Token), when: always, kind: Invalid, text: "***"},
		{name: "the token at the end of what is shown", fault: fail(400, strings.Repeat("x", 255)+" "+codehost.Token), when: always, kind: Invalid, text: "xxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			n := 0
			f.Fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.URL.Path == "/graphql" || c.method != "" && r.Method != c.method {
					return false
				}
				n++
				if !c.when(n) {
					return false
				}
				c.fault(w)
				return true
			}
			done, took, err := f.sync(t, sticky(1, "text"))
			if done != c.done || KindOf(err) != c.kind || (err == nil) != (c.done != "") || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q, %v (kind %d), want %q, kind %d, %q", done, err, KindOf(err), c.done, c.kind, c.text)
			}
			if most := max(c.atMost, 10*time.Second); took < c.least || took > most {
				t.Errorf("took %v, want %v to %v", took, c.least, most)
			}
			if c.done == "" && c.atMost == 0 && n > 6 {
				t.Errorf("%d requests for what cannot help", n)
			}
			if c.done != "" && len(f.Comments) != 1 {
				t.Errorf("comments: %q", f.texts())
			}
		})
	}
}

// TestTooLong: where the server does not take the text, the short one is posted.
func TestTooLong(t *testing.T) {
	f := newFake(t)
	f.MaxBody = 1000
	c := sticky(1, strings.Repeat("long ", 1000))
	if done, _, err := f.sync(t, c); err != nil || done != Created {
		t.Fatalf("%q, %v", done, err)
	}
	f.want(t, seal("train", Run{1, 1}, "short"))
	if done, _, err := f.sync(t, c); err != nil || done != Updated && done != Unchanged {
		t.Errorf("once more: %q, %v", done, err)
	}
	f.MaxBody = 10
	if _, _, err := f.sync(t, sticky(2, "x")); KindOf(err) != Invalid || !strings.Contains(err.Error(), "body is too long") {
		t.Errorf("nothing is short enough: %v", err)
	}
}

// TestDeletedBetween: a comment that is deleted between the list and the edit is
// made anew; so is one that somebody deletes after our write.
func TestDeletedBetween(t *testing.T) {
	f := newFake(t)
	f.Add(codehost.Bot, seal("train", Run{1, 1}, "old"))
	f.Fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPatch {
			f.Comments = nil
		}
		return false
	}
	if done, _, err := f.sync(t, sticky(2, "new")); err != nil || done != Created {
		t.Errorf("%q, %v", done, err)
	}
	f.want(t, seal("train", Run{2, 1}, "new"))
}

// TestLost: a write that worked although the answer was lost leaves one comment.
func TestLost(t *testing.T) {
	f := newFake(t)
	lost := 0
	f.Fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method != http.MethodPost || r.URL.Path == "/graphql" || lost == 2 {
			return false
		}
		lost++
		f.Add(codehost.Bot, seal("train", Run{2, 1}, "new"))
		codehost.Answer(w, 504, map[string]any{"message": "timeout"})
		return true
	}
	if done, _, err := f.sync(t, sticky(2, "new")); err != nil {
		t.Errorf("%q, %v", done, err)
	}
	f.want(t, seal("train", Run{2, 1}, "new"))
}

func TestMarker(t *testing.T) {
	for _, key := range []string{"", "train", "a b", "--> <b>", "a--b", "key=x run=9.9", "ü", "\n", strings.Repeat("-", 5)} {
		text := seal(key, Run{12, 3}, "text")
		line, rest, _ := strings.Cut(text, "\n")
		if strings.Count(line, "--") != 2 || !strings.HasSuffix(line, " -->") || rest != "text" {
			t.Errorf("key %q: %q", key, text)
		}
		m, ok := unseal(key, strings.ReplaceAll(text, "\n", "\r\n"))
		if !ok || m.run != (Run{12, 3}) || m.sum == "" {
			t.Errorf("key %q: %+v, %v", key, m, ok)
		}
		if _, ok := unseal(key+"x", text); ok {
			t.Errorf("key %q is taken for another", key)
		}
	}
	for _, body := range []string{"", "<!-- peakgate:v1 key=train run=1.1 sum=ab", "text\n" + seal("train", Run{1, 1}, ""), " " + seal("train", Run{1, 1}, ""), "<!-- peakgate:v2 key=train run=1.1 -->"} {
		if _, ok := unseal("train", body); ok {
			t.Errorf("%q is no marker of ours", body)
		}
	}
	if m, ok := unseal("train", "<!-- peakgate:v1 key=train run=x.y -->"); !ok || m.run != (Run{}) {
		t.Errorf("a broken run is older than any: %+v, %v", m, ok)
	}
}

func TestDial(t *testing.T) {
	good := Account{API: "https://ghes.test/api/v3", Repository: "o/r.x", Token: codehost.Token}
	if h, err := Dial(good, nil); err != nil || h.client.BaseURL.String() != "https://ghes.test/api/v3/" || h.Plain() {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		change func(*Account)
		want   string
	}{
		{func(a *Account) { a.API = "" }, "GITHUB_API_URL"},
		{func(a *Account) { a.API = "file:///etc/passwd" }, "GITHUB_API_URL"},
		{func(a *Account) { a.API = "https://user:" + codehost.Token + "@h/" }, "GITHUB_API_URL"},
		{func(a *Account) { a.API = "https://user:" + codehost.Token + "@h:x/" }, "GITHUB_API_URL"},
		{func(a *Account) { a.API = "user:" + codehost.Token + "@h/" }, "GITHUB_API_URL"},
		{func(a *Account) { a.Repository = "r" }, "owner/name"},
		{func(a *Account) { a.Repository = "o/../../evil" }, "owner/name"},
		{func(a *Account) { a.Repository = "o/.." }, "owner/name"},
		{func(a *Account) { a.Repository = "o/r?x" }, "owner/name"},
		{func(a *Account) { a.Token = "" }, "no token"},
		{func(a *Account) { a.Token = codehost.Token + "\r\nX-Evil: 1" }, "the token"},
	} {
		a := good
		c.change(&a)
		if _, err := Dial(a, nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), codehost.Token) {
			t.Errorf("%+v: %v, want %q", a, err, c.want)
		}
	}
}

// TestGraphQL: its address beside each form of the REST API's.
func TestGraphQL(t *testing.T) {
	for api, want := range map[string]string{
		"https://api.github.test": "https://api.github.test/graphql", "https://ghes.test/api/v3": "https://ghes.test/api/graphql", "https://api.x.ghe.test/": "https://api.x.ghe.test/graphql",
	} {
		var asked string
		h, err := Dial(Account{API: api, Repository: "o/r", Token: codehost.Token}, roundTripper(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return nil, errors.New("no network here")
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.viewer(t.Context()); KindOf(err) != Hiccup || asked != want {
			t.Errorf("%s: asked %s, want %s; %v", api, asked, want, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCheckRun(t *testing.T) {
	f := newFake(t)
	failed := false
	f.Fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPatch && !failed {
			failed = true
			codehost.Answer(w, 502, map[string]any{"message": "Bad gateway"})
			return true
		}
		return false
	}
	synctest.Test(t, func(t *testing.T) {
		if err := f.host(t).Check(context.Background(), CheckRun{Name: "peakgate", Commit: strings.Repeat("a", 40), Conclusion: "failure", Title: "t", Summary: "s", Marks: marks(120)}); err != nil {
			t.Error(err)
		}
		drain()
	})
	if !slices.Equal(f.Marks, []int{50, 50, 20}) {
		t.Errorf("annotations a request: %v", f.Marks)
	}
}

func TestProve(t *testing.T) {
	sha, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	repo := func(name string) map[string]any { return map[string]any{"full_name": name} }
	pull := func(n int, head, from, to string) map[string]any {
		return map[string]any{"number": n, "state": "open", "head": map[string]any{"sha": head, "repo": repo(from)}, "base": map[string]any{"repo": repo(to)}}
	}
	measured := Measured{Run: Run{5, 1}, Commit: sha, Repository: "fork/r"}
	for _, c := range []struct {
		name    string
		run     map[string]any
		pulls   []map[string]any
		claimed int
		want    int
		text    string
		old     bool
	}{
		{name: "a fork's", claimed: 7, pulls: []map[string]any{pull(7, sha, "fork/r", "o/r")}, want: 7},
		{name: "no number: by the commit", pulls: []map[string]any{pull(7, sha, "fork/r", "o/r")}, want: 7},
		{name: "a number that is another's", claimed: 8, pulls: []map[string]any{pull(8, other, "o/r", "o/r")}, text: "comes from"},
		{name: "same repository, another head", claimed: 8, pulls: []map[string]any{pull(8, other, "fork/r", "o/r")}, text: "newer head", old: true},
		{name: "to another repository", claimed: 8, pulls: []map[string]any{pull(8, sha, "fork/r", "x/y")}, text: "not of this repository"},
		{name: "no such number", claimed: 9, text: "404"},
		{name: "none at all", text: "no open pull request"},
		{name: "a push's run", run: map[string]any{"id": 5, "head_sha": sha, "event": "push", "head_repository": repo("fork/r")}, text: "run of a pull request"},
		{name: "another head than the event says", run: map[string]any{"id": 5, "head_sha": other, "event": "pull_request", "head_repository": repo("fork/r")}, text: "expected head"},
		{name: "another repository than the event says", run: map[string]any{"id": 5, "head_sha": sha, "event": "pull_request", "head_repository": repo("o/r")}, text: "expected it to be of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.Run = c.run
			if f.Run == nil {
				f.Run = map[string]any{"id": 5, "head_sha": sha, "event": "pull_request", "head_repository": repo("fork/r")}
			}
			for _, p := range c.pulls {
				f.Pulls[p["number"].(int)] = p
			}
			var got int
			var err error
			synctest.Test(t, func(t *testing.T) {
				got, err = f.host(t).Prove(context.Background(), measured, c.claimed)
				drain()
			})
			if got != c.want || (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) || errors.Is(err, ErrOutdated) != c.old {
				t.Errorf("%d, %v, want %d, %q", got, err, c.want, c.text)
			}
		})
	}
}
