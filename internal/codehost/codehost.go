package codehost

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the server goes by. Its repository is o/r.
const (
	Token   = "ghs_secretsecretsecret"
	Bot     = "github-actions[bot]"
	API     = "https://api.github.test"
	Gitea   = "https://gitea.test/api/v1"
	Storage = "https://storage.test" // where artifacts lie
)

// Server is a code host in memory. Its fields are for the test to set before the
// first request and to read after the last.
type Server struct {
	Comments []*Comment
	Requests []string
	Statuses []string
	Marks    []int // annotations of each request
	Run      map[string]any
	Pulls    map[int]map[string]any
	// Artifacts are the zips that the run has left, by name.
	Artifacts map[string][]byte
	// Storage is where they are fetched, without a token.
	Storage string
	// ReadOnly is the token of a fork's pull request.
	ReadOnly bool
	// Fault may answer a request instead of the server; n counts from 1.
	Fault func(w http.ResponseWriter, r *http.Request, n int) bool
	// Latency is how long a request may take on its way there and back.
	Latency time.Duration
	Random  *rand.Rand
	Plain   bool // Gitea
	PerPage int
	MaxBody int
	Login   string // of the viewer; empty: the query is refused
	Leaked  bool   // a token went to another host

	t     testing.TB
	mu    sync.Mutex
	next  int64
	judge *openAPI
}

// Comment is one comment of a pull request.
type Comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	URL  string `json:"html_url"`
	User struct {
		Login string `json:"login"`
		Type  string `json:"type,omitempty"`
	} `json:"user"`
}

// New makes a server without comments.
func New(t testing.TB) *Server {
	return &Server{t: t, next: 100, PerPage: 100, MaxBody: 65_536, Login: Bot, Random: rand.New(rand.NewPCG(1, 2)), judge: readOpenAPI(t), Pulls: map[int]map[string]any{}, Storage: Storage}
}

// Add writes a comment as somebody.
func (s *Server) Add(login, body string) *Comment {
	s.next++
	c := &Comment{ID: s.next, Body: body, URL: fmt.Sprintf("https://github.test/o/r/pull/7#issuecomment-%d", s.next)}
	c.User.Login, c.User.Type = login, "User"
	if strings.HasSuffix(login, "[bot]") {
		c.User.Type = "Bot"
	}
	s.Comments = append(s.Comments, c)
	return c
}

// RoundTrip serves requests without a network, so that time may be synctest's.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	delay := func() time.Duration {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Latency == 0 {
			return 0
		}
		return time.Duration(s.Random.Int64N(int64(s.Latency)))
	}
	time.Sleep(delay())
	w := httptest.NewRecorder()
	switch r.URL.Host {
	case "api.github.test", "gitea.test":
		s.ServeHTTP(w, r)
	default:
		s.ServeStorage(w, r)
	}
	time.Sleep(delay())
	response := w.Result()
	response.Request = r
	return response, r.Context().Err()
}

// ServeStorage is any other host: it holds the artifacts and must see no token.
func (s *Server) ServeStorage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Leaked = s.Leaked || r.Header.Get("Authorization") != ""
	data, ok := s.Artifacts[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Write(data)
}

// ServeHTTP is the host of the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.Requests = append(s.Requests, r.Method+" "+r.URL.RequestURI())
	if r.Header.Get("Authorization") != "Bearer "+Token {
		s.t.Errorf("%s %s: without the token", r.Method, r.URL)
	}
	if s.Fault != nil && s.Fault(w, r, len(s.Requests)) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if !s.Plain {
		s.judge.request(s.t, r, body)
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case s.ReadOnly && r.Method != http.MethodGet && path != "/graphql":
		Answer(w, 403, map[string]any{"message": "Resource not accessible by integration"})
	case path == "/graphql" && !s.Plain:
		if s.Login == "" {
			Answer(w, 403, map[string]any{"message": "Resource not accessible by integration"})
			return
		}
		Answer(w, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": s.Login}}})
	case path == "/user" && s.Plain:
		Answer(w, 200, map[string]any{"login": s.Login})
	case len(parts) < 3 || parts[0] != "repos" || parts[1] != "o" || parts[2] != "r":
		Answer(w, 404, map[string]any{"message": "Not Found"})
	case len(parts) == 6 && parts[3] == "issues" && parts[5] == "comments" && r.Method == http.MethodGet:
		s.list(w, r)
	case len(parts) == 6 && parts[3] == "issues" && parts[5] == "comments" && r.Method == http.MethodPost:
		if text, ok := s.body(w, body); ok {
			c := s.Add(s.author(), text)
			Answer(w, 201, c)
		}
	case len(parts) == 6 && parts[3] == "issues" && parts[4] == "comments":
		s.one(w, r, parts[5], body)
	case len(parts) == 5 && parts[3] == "statuses":
		s.Statuses = append(s.Statuses, string(body))
		Answer(w, 201, map[string]any{"id": 1})
	case parts[3] == "check-runs" && !s.Plain:
		var c struct {
			Output struct {
				Annotations []any `json:"annotations"`
			} `json:"output"`
		}
		json.Unmarshal(body, &c)
		s.Marks = append(s.Marks, len(c.Output.Annotations))
		Answer(w, 201, map[string]any{"id": 55})
	case len(parts) == 7 && parts[3] == "actions" && parts[6] == "artifacts":
		s.artifacts(w, r.URL.Query().Get("name"))
	case len(parts) == 7 && parts[3] == "actions" && parts[6] == "zip":
		s.artifact(w, number(parts[5]))
	case len(parts) == 6 && parts[3] == "actions" && parts[4] == "runs" && s.Run != nil:
		Answer(w, 200, s.Run)
	case len(parts) == 5 && parts[3] == "pulls" && s.Pulls[number(parts[4])] != nil:
		Answer(w, 200, s.Pulls[number(parts[4])])
	case len(parts) == 6 && parts[3] == "commits" && parts[5] == "pulls":
		var list []any
		for _, p := range s.Pulls {
			list = append(list, p)
		}
		Answer(w, 200, list)
	default:
		Answer(w, 404, map[string]any{"message": "Not Found"})
	}
}

// artifacts lists those of a name, as GitHub does: the number of each is its
// place among the names.
func (s *Server) artifacts(w http.ResponseWriter, name string) {
	list := []any{}
	for i, n := range slices.Sorted(maps.Keys(s.Artifacts)) {
		if name == "" || n == name {
			list = append(list, map[string]any{"id": i + 1, "name": n, "size_in_bytes": len(s.Artifacts[n]), "expired": false})
		}
	}
	Answer(w, 200, map[string]any{"total_count": len(list), "artifacts": list})
}

func (s *Server) artifact(w http.ResponseWriter, id int) {
	names := slices.Sorted(maps.Keys(s.Artifacts))
	if id < 1 || id > len(names) {
		Answer(w, 404, map[string]any{"message": "Not Found"})
		return
	}
	w.Header().Set("Location", s.Storage+"/"+names[id-1])
	w.WriteHeader(http.StatusFound)
}

func (s *Server) author() string {
	if s.Login == "" {
		return Bot
	}
	return s.Login
}

func (s *Server) body(w http.ResponseWriter, data []byte) (string, bool) {
	var c struct {
		Body string `json:"body"`
	}
	if err := json.Unmarshal(data, &c); err != nil || c.Body == "" || len(c.Body) > s.MaxBody {
		Answer(w, 422, map[string]any{"message": "Validation Failed", "errors": []any{map[string]any{"resource": "IssueComment", "code": "custom", "field": "body", "message": "body is too long"}}})
		return "", false
	}
	return c.Body, true
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	from, to := 0, len(s.Comments)
	if !s.Plain {
		page := max(1, number(r.URL.Query().Get("page")))
		from = min((page-1)*s.PerPage, to)
		if from+s.PerPage < to {
			to = from + s.PerPage
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, API, r.URL.Path, page+1))
		}
	}
	Answer(w, 200, append([]*Comment{}, s.Comments[from:to]...))
}

func (s *Server) one(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	for i, c := range s.Comments {
		if c.ID != int64(number(id)) {
			continue
		}
		switch r.Method {
		case http.MethodPatch:
			if text, ok := s.body(w, body); ok {
				c.Body = text
				Answer(w, 200, c)
			}
		case http.MethodDelete:
			s.Comments = append(s.Comments[:i:i], s.Comments[i+1:]...)
			w.WriteHeader(204)
		}
		return
	}
	Answer(w, 404, map[string]any{"message": "Not Found"})
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Answer sends JSON.
func Answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v)
}
