package post

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Server is what a post needs of a code host. [Host] is the real one.
type Server interface {
	// Comments lists all comments of a pull request, in the order of their ids.
	Comments(ctx context.Context, pull int) ([]Comment, error)
	Create(ctx context.Context, pull int, body string) (Comment, error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
	// SetStatus marks a commit.
	SetStatus(ctx context.Context, commit string, s Status) error
}

// Comment is one comment of a pull request. Mine tells that the token which
// lists it may be taken for its author.
type Comment struct {
	ID   int64
	Body string
	URL  string
	Mine bool
}

// Status is a commit status. State is success, failure, error or pending.
type Status struct {
	Context, State, Description, URL string
}

// Account says where to post and as whom.
type Account struct {
	API        string // GITHUB_API_URL
	Repository string // owner/name
	Token      string
	// Author is the login whose comments are ours; empty asks the server.
	Author string
}

// Bounds of one request. The whole of a post has its own, see [Sync].
const (
	requestTime  = 20 * time.Second
	maxResponse  = 16 << 20
	maxPages     = 300 // of 100 comments
	maxRedirects = 3
)

// Host speaks the REST API of GitHub, GitHub Enterprise Server, Gitea and
// Forgejo. The address of the API tells which: Gitea's and Forgejo's ends in
// /api/v1, and they lack check runs, GraphQL and pages of comments.
type Host struct {
	client      *github.Client
	transport   http.RoundTripper // without the token
	api         *url.URL
	owner, name string
	token       string
	author      string // empty: not asked yet, or not known
	asked       bool
}

// slug is what GitHub, Gitea and Forgejo allow in the names of owners and
// repositories. The library puts them into a path as they are.
var slug = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// Dial makes a Host; it sends nothing yet. transport is nil for the system's.
func Dial(a Account, transport http.RoundTripper) (*Host, error) {
	api, err := url.Parse(a.API)
	switch {
	case err != nil || strings.Contains(a.API, "@"): // what may hold a password is not repeated
		return nil, errors.New("the address of the API: expected https://HOST/… without a user; GITHUB_API_URL sets it")
	case api.Host == "" || api.Scheme != "https" && api.Scheme != "http":
		return nil, fmt.Errorf("the address of the API: expected https://HOST/…, found %.80q; GITHUB_API_URL sets it", a.API)
	}
	owner, name, ok := strings.Cut(a.Repository, "/")
	if !ok || !slug.MatchString(owner) || !slug.MatchString(name) || strings.Trim(owner, ".") == "" || strings.Trim(name, ".") == "" {
		return nil, fmt.Errorf("the repository: expected owner/name, found %.80q; GITHUB_REPOSITORY sets it", a.Repository)
	}
	if a.Token == "" {
		return nil, errors.New("no token: give the step one, such as ${{ github.token }}")
	}
	if strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token: expected printable characters without blanks")
	}
	api.Path = strings.TrimSuffix(api.Path, "/") + "/"
	api.RawQuery, api.Fragment = "", ""
	if transport == nil {
		transport = http.DefaultTransport
	}
	h := &Host{transport: transport, api: api, owner: owner, name: name, token: a.Token, author: a.Author}
	h.client = github.NewClient(&http.Client{Transport: &guard{h, transport}, CheckRedirect: h.redirect, Timeout: requestTime})
	h.client.BaseURL, h.client.UserAgent = api, "peakgate"
	return h, nil
}

// Plain tells that the server is Gitea or Forgejo.
func (h *Host) Plain() bool { return strings.HasSuffix(h.api.Path, "/api/v1/") }

// guard puts the token on requests to the API's own host and on no other, and
// bounds what is read of an answer.
type guard struct {
	host *Host
	next http.RoundTripper
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	if r.URL.Scheme == g.host.api.Scheme && r.URL.Host == g.host.api.Host {
		r.Header.Set("Authorization", "Bearer "+g.host.token)
	}
	response, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = bounded{io.LimitReader(response.Body, maxResponse), response.Body}
	return response, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// errElsewhere is a redirect that is not followed.
var errElsewhere = errors.New("the server sends the request elsewhere")

// redirect follows a moved repository on the same host, and nothing that would
// turn a write into a read.
func (h *Host) redirect(r *http.Request, via []*http.Request) error {
	switch {
	case r.URL.Host != h.api.Host || r.URL.Scheme != h.api.Scheme:
		return fmt.Errorf("%w, to %s: a token does not follow there", errElsewhere, r.URL.Host)
	case r.Method != via[0].Method:
		return fmt.Errorf("%w: the repository has moved; name it as it is called now", errElsewhere)
	case len(via) > maxRedirects:
		return fmt.Errorf("%w, %d times", errElsewhere, len(via))
	}
	return nil
}

// Comments implements Server. Pages are followed by the Link header alone:
// Gitea sends everything at once and none.
func (h *Host) Comments(ctx context.Context, pull int) ([]Comment, error) {
	author, err := h.viewer(ctx)
	if err != nil {
		return nil, err
	}
	var all []Comment
	page := 1
	for range maxPages {
		list, response, err := h.client.Issues.ListComments(ctx, h.owner, h.name, pull, &github.IssueListCommentsOptions{ListOptions: github.ListOptions{Page: page, PerPage: 100}})
		if err != nil {
			return nil, h.trouble(err)
		}
		for _, c := range list {
			all = append(all, Comment{ID: c.GetID(), Body: c.GetBody(), URL: c.GetHTMLURL(), Mine: h.mine(c.GetUser(), author)})
		}
		if response.NextPage <= page {
			return all, nil
		}
		page = response.NextPage
	}
	return nil, fmt.Errorf("the pull request has more than %d comments", maxPages*100)
}

// mine tells whether a comment of this user is ours to edit: the token could
// edit anybody's. Without a known author only the bots of a job's own token are.
func (h *Host) mine(u *github.User, author string) bool {
	switch {
	case author != "":
		return strings.EqualFold(u.GetLogin(), author)
	case h.Plain():
		return u.GetLogin() == "gitea-actions" || u.GetLogin() == "forgejo-actions"
	}
	return u.GetLogin() == "github-actions[bot]" && u.GetType() == "Bot"
}

// viewer asks who the token speaks for. GET /user answers 403 to a job's own
// token, GraphQL's viewer does not; Gitea has no GraphQL. Not knowing is no error.
func (h *Host) viewer(ctx context.Context) (string, error) {
	if h.author != "" || h.asked {
		return h.author, nil
	}
	var login string
	var err error
	if h.Plain() {
		var u *github.User
		if u, _, err = h.client.Users.Get(ctx, ""); err == nil {
			login = u.GetLogin()
		}
	} else {
		login, err = h.graphViewer(ctx)
	}
	var t *Trouble
	if err = h.trouble(err); errors.As(err, &t) && (t.Kind == Hiccup || t.Kind == Limited) {
		return "", err
	}
	h.asked = true
	if login != "" {
		h.author = login
	}
	return h.author, nil
}

// graphViewer sends the one GraphQL query. Its address is beside that of the
// REST API: api.HOST/graphql, or HOST/api/graphql for HOST/api/v3.
func (h *Host) graphViewer(ctx context.Context) (string, error) {
	address := *h.api
	address.Path = strings.TrimSuffix(address.Path, "v3/") + "graphql"
	request, err := h.client.NewRequest(http.MethodPost, address.String(), map[string]string{"query": "{ viewer { login } }"})
	if err != nil {
		return "", err
	}
	var answer struct {
		Data struct {
			Viewer struct {
				Login string `json:"login"`
			} `json:"viewer"`
		} `json:"data"`
	}
	_, err = h.client.Do(ctx, request, &answer)
	return answer.Data.Viewer.Login, err
}

// Create implements Server.
func (h *Host) Create(ctx context.Context, pull int, body string) (Comment, error) {
	c, _, err := h.client.Issues.CreateComment(ctx, h.owner, h.name, pull, &github.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, h.trouble(err)
	}
	return Comment{ID: c.GetID(), Body: c.GetBody(), URL: c.GetHTMLURL(), Mine: true}, nil
}

// Edit implements Server.
func (h *Host) Edit(ctx context.Context, id int64, body string) error {
	_, _, err := h.client.Issues.EditComment(ctx, h.owner, h.name, id, &github.IssueComment{Body: &body})
	return h.trouble(err)
}

// Delete implements Server.
func (h *Host) Delete(ctx context.Context, id int64) error {
	_, err := h.client.Issues.DeleteComment(ctx, h.owner, h.name, id)
	return h.trouble(err)
}

// maxName is the longest name of a status or check run that we give, in UTF-16 units.
const maxName = 100

// maxDescription is the longest description of a status that GitHub takes, in
// characters.
const maxDescription = 140

// SetStatus implements Server.
func (h *Host) SetStatus(ctx context.Context, commit string, s Status) error {
	name := oneLine(s.Context, maxName)
	status := &github.RepoStatus{State: &s.State, Context: &name}
	if d := oneLine(s.Description, maxDescription); d != "" {
		status.Description = &d
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return h.persist(ctx, new(waiter), func() error {
		_, _, err := h.client.Repositories.CreateStatus(ctx, h.owner, h.name, commit, status)
		return err
	})
}

// hide takes the token out of a text, should anything have put it there.
func (h *Host) hide(s string) string {
	return strings.ReplaceAll(s, cmp.Or(h.token, "\x00"), "***")
}
