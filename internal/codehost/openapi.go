package codehost

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// openAPI holds requests against GitHub's own description of its API. The file
// is large and not ours, so it is not in the repository: PEAKGATE_OPENAPI names
// it, as .ci/run does.
type openAPI struct {
	compiler *jsonschema.Compiler
	routes   []route
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
	seen     map[string]int
}

// route is one path of the description. Those with fewer variables come first:
// they are meant where two fit.
type route struct {
	path    string
	pattern *regexp.Regexp
	methods map[string]any
}

const openAPIName = "https://openapi.test/github.json"

// the description is read once for all tests.
var openAPIOnce = sync.OnceValues(func() (*openAPI, error) {
	path := os.Getenv("PEAKGATE_OPENAPI")
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(openAPIName, doc); err != nil {
		return nil, err
	}
	o := &openAPI{compiler: c, schemas: map[string]*jsonschema.Schema{}, seen: map[string]int{}}
	for path, item := range doc.(map[string]any)["paths"].(map[string]any) {
		if strings.HasPrefix(path, "/repos/{owner}/{repo}/") {
			pattern := regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
			o.routes = append(o.routes, route{path, pattern, item.(map[string]any)})
		}
	}
	slices.SortFunc(o.routes, func(a, b route) int { return cmp.Compare(strings.Count(a.path, "{"), strings.Count(b.path, "{")) })
	return o, nil
})

func readOpenAPI(t testing.TB) *openAPI {
	t.Helper()
	o, err := openAPIOnce()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var variable = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

// request fails the test for a path, a method or a body that GitHub's
// description does not allow.
func (o *openAPI) request(t testing.TB, r *http.Request, body []byte) {
	if o == nil || r.URL.Path == "/graphql" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	method := strings.ToLower(r.Method)
	for _, route := range o.routes {
		operation, ok := route.methods[method].(map[string]any)
		if !ok || !route.pattern.MatchString(r.URL.Path) {
			continue
		}
		o.seen[method+" "+route.path]++
		if operation["requestBody"] != nil {
			o.body(t, method, route.path, body)
		} else if len(bytes.TrimSpace(body)) > 0 {
			t.Errorf("%s %s: a body where the description has none: %s", r.Method, route.path, body)
		}
		return
	}
	t.Errorf("%s %s: not in the description of the API", r.Method, r.URL.Path)
}

func (o *openAPI) body(t testing.TB, method, path string, body []byte) {
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
	at := openAPIName + "#/paths/" + escaped + "/" + method + "/requestBody/content/application~1json/schema"
	schema := o.schemas[at]
	if schema == nil {
		var err error
		if schema, err = o.compiler.Compile(at); err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		o.schemas[at] = schema
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	} else if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s: %v\n%s", method, path, err, body)
	}
}

// Judged tells how often each request of GitHub's description was sent; nil where
// there is no description to hold requests against.
func (s *Server) Judged() map[string]int {
	if s.judge == nil {
		return nil
	}
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	return maps.Clone(s.judge.seen)
}
