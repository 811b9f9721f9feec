package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/peakgate/peakgate/compare"
)

// waived is red with its worst check waived, and another waiver that has expired.
func waived() *compare.Result {
	r := red()
	c := &r.Targets[0].Checks[0]
	c.Verdict, c.Failed, c.Waiver = compare.Waived, nil, &compare.Waiver{Until: "2026-12-30", Reason: "remat is off", Owner: "@org/perf", File: "peakgate.yml", Line: 20}
	r.Targets[0].Notices = append(r.Targets[0].Notices, compare.Notice{Verdict: compare.Fail, Effect: "expired", Text: "the waiver of plan.temp_bytes expired after 2026-11-29", File: "peakgate.yml", Line: 21, Column: 5})
	return r
}

// results are those that every file format is tried with.
func results() map[string]*compare.Result {
	return map[string]*compare.Result{"red": red(), "green": green(), "hostile": hostile(), "waived": waived(), "many": many(50), "empty": {Verdict: compare.Pass}}
}

// TestSARIF holds what is written against the schema of SARIF, which is not ours:
// PEAKGATE_SARIF names it, and .ci/run sets that. What viewers ask for beyond the
// schema is looked at in any case.
func TestSARIF(t *testing.T) {
	var schema *jsonschema.Schema
	if path := os.Getenv("PEAKGATE_SARIF"); path != "" {
		var err error
		if schema, err = jsonschema.NewCompiler().Compile(path); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("PEAKGATE_SARIF is not set: the schema itself is not asked")
	}
	for name, r := range results() {
		var out bytes.Buffer
		if err := SARIF(&out, r); err != nil {
			t.Fatal(err)
		}
		if name != "many" {
			golden(t, "testdata/"+name+".sarif", out.Bytes())
		}
		if schema != nil {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var log sarifLog
		if err := json.Unmarshal(out.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		for _, res := range run.Results {
			if len(res.Locations) != 1 || res.Locations[0].Physical.Artifact.URI == "" || res.Message.Text == "" || len(res.Fingerprints) == 0 {
				t.Errorf("%s: a result without place, text or fingerprint: %+v", name, res)
			}
			if run.Tool.Driver.Rules[res.Index].ID != res.Rule {
				t.Errorf("%s: rule %d is not %s", name, res.Index, res.Rule)
			}
			for _, l := range append(slices.Clone(res.Related), res.Locations...) {
				if base := l.Physical.Artifact.Base; run.Bases[base].Description.Text == "" {
					t.Errorf("%s: nobody says what %q is", name, base)
				}
				if uri := l.Physical.Artifact.URI; strings.HasPrefix(uri, "/") || strings.Contains(uri, "..") || strings.ContainsAny(uri, " :|<>") {
					t.Errorf("%s: %q is no path of the repository", name, uri)
				}
			}
			if strings.Contains(res.Message.Text, "](") {
				t.Errorf("%s: a link in %q", name, res.Message.Text)
			}
		}
	}
}

// junitShape is what an element may hold: its attributes, those with a star required,
// and its children in their order (junit-10.xsd of Jenkins' xUnit plugin).
var junitShape = map[string]struct{ attributes, children []string }{
	"testsuites": {[]string{"name*", "tests*", "failures*", "errors*"}, []string{"testsuite"}},
	"testsuite":  {[]string{"name*", "tests*", "failures*", "errors*", "skipped"}, []string{"testcase"}},
	"testcase":   {[]string{"name*", "classname*"}, []string{"skipped", "error", "failure", "system-out"}},
	"skipped":    {[]string{"message", "type"}, nil},
	"error":      {[]string{"message", "type"}, nil},
	"failure":    {[]string{"message", "type"}, nil},
	"system-out": {},
}

func TestJUnit(t *testing.T) {
	for name, r := range results() {
		var out bytes.Buffer
		if err := JUnit(&out, r); err != nil {
			t.Fatal(err)
		}
		if name != "many" {
			golden(t, "testdata/"+name+".junit.xml", out.Bytes())
		}
		found := map[string]int{}
		checkShape(t, name, xml.NewDecoder(bytes.NewReader(out.Bytes())), found)
		var all junitSuites
		if err := xml.Unmarshal(out.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		if all.Tests != found["testcase"] || all.Failures != found["failure"] || all.Errors != found["error"] {
			t.Errorf("%s: %d tests, %d failures, %d errors are counted, %v are there", name, all.Tests, all.Failures, all.Errors, found)
		}
		for _, s := range all.Suites {
			for _, c := range s.Cases {
				for _, n := range []*junitNote{c.Failure, c.Error} {
					if n != nil && (n.Message == "" || strings.TrimSpace(n.Text) == "") {
						t.Errorf("%s: %s says nothing: %+v", name, c.Name, n)
					}
				}
			}
		}
		if bad := all.Failures+all.Errors > 0; bad != (r.Verdict == compare.Fail) {
			t.Errorf("%s: verdict %s, and %d failures and %d errors", name, r.Verdict, all.Failures, all.Errors)
		}
	}
}

func checkShape(t *testing.T, name string, d *xml.Decoder, found map[string]int) {
	type open struct {
		name string
		last int // of the children seen
	}
	stack := []open{{"", 0}}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			tag := e.Name.Local
			shape, known := junitShape[tag]
			parent := &stack[len(stack)-1]
			if parent.name == "" && tag != "testsuites" || !known {
				t.Fatalf("%s: element %s at the place of %s", name, tag, parent.name)
			}
			if parent.name != "" {
				i := slices.Index(junitShape[parent.name].children, tag)
				if i < parent.last {
					t.Errorf("%s: %s may not stand there in %s", name, tag, parent.name)
				}
				parent.last = i
			}
			for _, a := range shape.attributes {
				attribute, required := strings.CutSuffix(a, "*")
				if required && !slices.ContainsFunc(e.Attr, func(x xml.Attr) bool { return x.Name.Local == attribute }) {
					t.Errorf("%s: %s has no %s", name, tag, attribute)
				}
			}
			for _, a := range e.Attr {
				if !slices.Contains(shape.attributes, a.Name.Local) && !slices.Contains(shape.attributes, a.Name.Local+"*") {
					t.Errorf("%s: %s has the attribute %s", name, tag, a.Name.Local)
				}
			}
			found[tag]++
			stack = append(stack, open{tag, 0})
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}
