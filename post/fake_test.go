package post

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	secret  = "ghs_secretsecretsecret"
	ownBot  = "github-actions[bot]"
	apiBase = "https://api.github.test"
)

// fake is a code host in memory. Requests reach it through RoundTrip, without a
// network, so that time in a test may be synctest's.
type fake struct {
	t        *testing.T
	mu       sync.Mutex
	comments []*fakeComment
	next     int64
	requests []string
	statuses []string
	marks    []int // annotations of each request
	// fault may answer a request instead of the server.
	fault func(w http.ResponseWriter, r *http.Request, n int) bool
	// latency is how long a request may take on its way there and back.
	latency time.Duration
	random  *rand.Rand
	plain   bool // Gitea
	perPage int
	maxBody int
	judge   *openAPI
	run     map[string]any
	pulls   map[int]map[string]any
	login   string // of the viewer; empty: the query is refused
	leaked  bool   // a token went to another host
}

type fakeComment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	URL  string `json:"html_url"`
	User struct {
		Login string `json:"login"`
		Type  string `json:"type,omitempty"`
	} `json:"user"`
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, next: 100, perPage: 100, maxBody: 65_536, login: ownBot, random: rand.New(rand.NewPCG(1, 2)), judge: readOpenAPI(t), pulls: map[int]map[string]any{}}
}

func (f *fake) add(login, body string) *fakeComment {
	f.next++
	c := &fakeComment{ID: f.next, Body: body, URL: fmt.Sprintf("https://github.test/o/r/pull/7#issuecomment-%d", f.next)}
	c.User.Login, c.User.Type = login, "User"
	if strings.HasSuffix(login, "[bot]") {
		c.User.Type = "Bot"
	}
	f.comments = append(f.comments, c)
	return c
}

func (f *fake) host(t *testing.T) *Host {
	t.Helper()
	api := apiBase
	if f.plain {
		api = "https://gitea.test/api/v1"
	}
	h, err := Dial(Account{API: api, Repository: "o/r", Token: secret}, f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	delay := func() time.Duration {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.latency == 0 {
			return 0
		}
		return time.Duration(f.random.Int64N(int64(f.latency)))
	}
	time.Sleep(delay())
	w := httptest.NewRecorder()
	f.mu.Lock()
	f.serve(w, r)
	f.mu.Unlock()
	time.Sleep(delay())
	response := w.Result()
	response.Request = r
	return response, r.Context().Err()
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Host, "api.github.test") && r.URL.Host != "gitea.test" {
		f.leaked = f.leaked || r.Header.Get("Authorization") != ""
		http.Error(w, "elsewhere", http.StatusOK)
		return
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI())
	if r.Header.Get("Authorization") != "Bearer "+secret {
		f.t.Errorf("%s %s: without the token", r.Method, r.URL)
	}
	if f.fault != nil && f.fault(w, r, len(f.requests)) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if !f.plain {
		f.judge.request(f.t, r, body)
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/graphql" && !f.plain:
		if f.login == "" {
			answer(w, 403, map[string]any{"message": "Resource not accessible by integration"})
			return
		}
		answer(w, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": f.login}}})
	case path == "/user" && f.plain:
		answer(w, 200, map[string]any{"login": f.login})
	case len(parts) < 3 || parts[0] != "repos" || parts[1] != "o" || parts[2] != "r":
		answer(w, 404, map[string]any{"message": "Not Found"})
	case len(parts) == 6 && parts[3] == "issues" && parts[5] == "comments" && r.Method == http.MethodGet:
		f.list(w, r)
	case len(parts) == 6 && parts[3] == "issues" && parts[5] == "comments" && r.Method == http.MethodPost:
		if text, ok := f.body(w, body); ok {
			c := f.add(f.author(), text)
			answer(w, 201, c)
		}
	case len(parts) == 6 && parts[3] == "issues" && parts[4] == "comments":
		f.one(w, r, parts[5], body)
	case len(parts) == 5 && parts[3] == "statuses":
		f.statuses = append(f.statuses, string(body))
		answer(w, 201, map[string]any{"id": 1})
	case parts[3] == "check-runs" && !f.plain:
		var c struct {
			Output struct {
				Annotations []any `json:"annotations"`
			} `json:"output"`
		}
		json.Unmarshal(body, &c)
		f.marks = append(f.marks, len(c.Output.Annotations))
		answer(w, 201, map[string]any{"id": 55})
	case len(parts) == 6 && parts[3] == "actions" && parts[4] == "runs" && f.run != nil:
		answer(w, 200, f.run)
	case len(parts) == 5 && parts[3] == "pulls" && f.pulls[number(parts[4])] != nil:
		answer(w, 200, f.pulls[number(parts[4])])
	case len(parts) == 6 && parts[3] == "commits" && parts[5] == "pulls":
		var list []any
		for _, p := range f.pulls {
			list = append(list, p)
		}
		answer(w, 200, list)
	default:
		answer(w, 404, map[string]any{"message": "Not Found"})
	}
}

func (f *fake) author() string {
	if f.login == "" {
		return ownBot
	}
	return f.login
}

func (f *fake) body(w http.ResponseWriter, data []byte) (string, bool) {
	var c struct {
		Body string `json:"body"`
	}
	if err := json.Unmarshal(data, &c); err != nil || c.Body == "" || len(c.Body) > f.maxBody {
		answer(w, 422, map[string]any{"message": "Validation Failed", "errors": []any{map[string]any{"resource": "IssueComment", "code": "custom", "field": "body", "message": "body is too long"}}})
		return "", false
	}
	return c.Body, true
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	from, to := 0, len(f.comments)
	if !f.plain {
		page := max(1, number(r.URL.Query().Get("page")))
		from = min((page-1)*f.perPage, to)
		if from+f.perPage < to {
			to = from + f.perPage
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, apiBase, r.URL.Path, page+1))
		}
	}
	answer(w, 200, append([]*fakeComment{}, f.comments[from:to]...))
}

func (f *fake) one(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	for i, c := range f.comments {
		if c.ID != int64(number(id)) {
			continue
		}
		switch r.Method {
		case http.MethodPatch:
			if text, ok := f.body(w, body); ok {
				c.Body = text
				answer(w, 200, c)
			}
		case http.MethodDelete:
			f.comments = append(f.comments[:i:i], f.comments[i+1:]...)
			w.WriteHeader(204)
		}
		return
	}
	answer(w, 404, map[string]any{"message": "Not Found"})
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v)
}
