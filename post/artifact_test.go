package post

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/peakgate/peakgate/internal/codehost"
)

func TestArtifact(t *testing.T) {
	const address = codehost.Storage + "/peakgate?sig=signature"
	elsewhere := func(to string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !strings.HasSuffix(r.URL.Path, "/zip") {
				return false
			}
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return true
		}
	}
	refuse := func(code, most int) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n > most || most == 1 && !strings.HasSuffix(r.URL.Path, "/artifacts") {
				return false
			}
			codehost.Answer(w, code, map[string]any{"message": "no"})
			return true
		}
	}
	list := func(entries ...map[string]any) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !strings.HasSuffix(r.URL.Path, "/artifacts") {
				return false
			}
			codehost.Answer(w, 200, map[string]any{"artifacts": entries})
			return true
		}
	}
	for _, c := range []struct {
		name  string
		fault func(http.ResponseWriter, *http.Request, int) bool
		limit int64
		kind  Kind
		text  string // in the error; empty: none
	}{
		{name: "fetched", fault: elsewhere(address)},
		{name: "exactly as large as allowed", limit: 3},
		{name: "told to be too large", limit: 2, text: "at most 2 bytes, found 3"},
		{name: "too large, and told to be small", limit: 2, fault: list(map[string]any{"id": 2, "name": "peakgate", "size_in_bytes": 1}), text: "found more"},
		{name: "the newest of a re-run", fault: list(map[string]any{"id": 1, "name": "peakgate"}, map[string]any{"id": 2, "name": "peakgate"}, map[string]any{"id": 3, "name": "other"})},
		{name: "expired", fault: list(map[string]any{"id": 2, "name": "peakgate", "expired": true}), text: "no such artifact"},
		{name: "without https", fault: elsewhere("http://storage.test/peakgate"), text: `one with "http"`},
		{name: "a relative address", fault: elsewhere("/peakgate"), text: `one with ""`},
		{name: "an address that is none", fault: elsewhere("https://storage.test/%zz?sig=signature"), text: "the server answered 302"},
		{name: "the storage has it not", fault: elsewhere("https://storage.test/gone?sig=signature"), kind: Missing, text: `"storage.test" answered 404`},
		{name: "fails for a moment", fault: refuse(502, 1)},
		{name: "not permitted", fault: refuse(403, 99), kind: Denied, text: "403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.Artifacts = map[string][]byte{"other": []byte("other"), "peakgate": []byte("PK!")}
			f.Fault = c.fault
			var got []byte
			var err error
			synctest.Test(t, func(t *testing.T) {
				got, err = f.host(t).Artifact(context.Background(), Run{5, 1}, "peakgate", cmp.Or(c.limit, 10))
				drain()
			})
			if c.text == "" && (err != nil || string(got) != "PK!") || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) || KindOf(err) != c.kind {
				t.Errorf("%q, %v (kind %d), want %q, kind %d", got, err, KindOf(err), c.text, c.kind)
			}
			if err != nil && (strings.Contains(err.Error(), "signature") || strings.Contains(err.Error(), codehost.Token)) {
				t.Errorf("a secret is in the error: %v", err)
			}
			if f.Leaked {
				t.Error("the token went to the storage")
			}
		})
	}
	if _, err := newFake(t).host(t).Artifact(t.Context(), Run{5, 1}, "peakgate", 10); !errors.Is(err, ErrNoArtifact) {
		t.Errorf("%v, want %v", err, ErrNoArtifact)
	}
}
