package post

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/go-github/v60/github"
)

// ErrNoArtifact says that a run has left no artifact of a name.
var ErrNoArtifact = errors.New("the run has left no such artifact")

// Artifact fetches the newest artifact of a name that a run has left: a zip, as it
// lies at the server, of at most limit bytes. What is in it is whatever the run
// put there.
//
// The server answers with a signed address on a host of its storage. The token
// does not go there: the second request carries none.
func (h *Host) Artifact(ctx context.Context, run Run, name string, limit int64) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var w waiter
	for {
		data, err := h.artifact(ctx, run, name, limit)
		if err == nil || !w.again(ctx, err) {
			return data, err
		}
	}
}

func (h *Host) artifact(ctx context.Context, run Run, name string, limit int64) ([]byte, error) {
	id, size, err := h.findArtifact(ctx, run, name)
	switch {
	case err != nil:
		return nil, err
	case size > limit:
		return nil, fmt.Errorf("artifact %.100q of run %d: expected at most %d bytes, found %d", name, run.ID, limit, size)
	}
	address, response, err := h.client.Actions.DownloadArtifact(ctx, h.owner, h.name, id, 0)
	if err != nil && response != nil { // the library's error tells no kind, and may hold the address
		kind, wait := classify(response.Response)
		return nil, &Trouble{Kind: kind, Wait: wait, text: fmt.Sprintf("the artifact: the server answered %d", response.StatusCode)}
	} else if err != nil {
		return nil, h.trouble(err)
	}
	return h.fetch(ctx, address, limit)
}

// findArtifact asks for the artifacts of one name: the library's own list takes
// none, and a run may have any number of others. Of several, as re-runs leave
// them, the one with the highest number is the newest.
func (h *Host) findArtifact(ctx context.Context, run Run, name string) (id, size int64, err error) {
	path := "repos/" + h.owner + "/" + h.name + "/actions/runs/" + strconv.FormatInt(run.ID, 10) + "/artifacts?per_page=100&name=" + url.QueryEscape(name)
	request, err := h.client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return 0, 0, err
	}
	var list github.ArtifactList
	if _, err := h.client.Do(ctx, request, &list); err != nil {
		return 0, 0, h.trouble(err)
	}
	for _, a := range list.Artifacts {
		if a.GetName() == name && !a.GetExpired() && a.GetID() > id {
			id, size = a.GetID(), a.GetSizeInBytes()
		}
	}
	if id == 0 {
		return 0, 0, fmt.Errorf("run %d: %w as %.100q, or it has expired", run.ID, ErrNoArtifact, name)
	}
	return id, size, nil
}

// fetch gets a signed address without the token. It follows no further redirect
// and leaves https only where the API itself is not on it. No error holds the
// address: its signature is as good as a token.
func (h *Host) fetch(ctx context.Context, address *url.URL, limit int64) ([]byte, error) {
	if address.Scheme != "https" && address.Scheme != h.api.Scheme || address.Host == "" {
		return nil, fmt.Errorf("the artifact: expected an address with https, the server gave one with %.20q", address.Scheme)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the artifact: the server gave an address that is none, on %.100q", address.Host)
	}
	client := http.Client{Transport: h.transport, Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, &Trouble{Kind: Hiccup, text: fmt.Sprintf("the artifact: no answer from %.100q", address.Host)}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		kind, wait := classify(response)
		return nil, &Trouble{Kind: kind, Wait: wait, text: fmt.Sprintf("the artifact: %.100q answered %d", address.Host, response.StatusCode)}
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, &Trouble{Kind: Hiccup, text: fmt.Sprintf("the artifact: the answer of %.100q ended early", address.Host)}
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("the artifact: expected at most %d bytes, found more", limit)
	}
	return data, nil
}
