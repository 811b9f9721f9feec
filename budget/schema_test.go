package budget

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// TestSchema keeps peakgate.schema.json in step with the tables.
func TestSchema(t *testing.T) {
	golden(t, filepath.Join("..", "peakgate.schema.json"), string(Schema()))
	if !bytes.Equal(Schema(), Schema()) {
		t.Error("two schemas differ")
	}
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaURL) // checks the schema against its meta-schema
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON gives a YAML file as editors see it: JSON's types, with aliases and merge
// keys followed, and dates as text.
func asJSON(t testing.TB, text string) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return jsonOf(t, doc.Content[0])
}

func jsonOf(t testing.TB, n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return jsonOf(t, n.Alias)
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, jsonOf(t, c))
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Tag == "!!merge" {
				for k, v := range jsonOf(t, n.Content[i+1]).(map[string]any) {
					if _, ok := out[k]; !ok {
						out[k] = v
					}
				}
				continue
			}
			out[n.Content[i].Value] = jsonOf(t, n.Content[i+1])
		}
		return out
	}
	var v any
	switch n.Tag {
	case "!!timestamp", "!!str", "!!binary":
		return n.Value
	}
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return n.Value
	}
	return v
}

func TestSchemaTakesGoodFiles(t *testing.T) {
	s := compileSchema(t)
	good := map[string]string{"small": small, "broad": broad, "changes": changeBase}
	for _, path := range []string{"testdata/good.yml", "testdata/full/peakgate.yml", "testdata/full/eval.yml", "testdata/full/shared/defaults.yml",
		"../peakgate.yml", "../fixtures/regression/peakgate.yml"} {
		data, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		good[path] = string(data)
	}
	for name, cases := range lintExamples(t) {
		for _, c := range cases {
			good[name+c.want] = c.text
		}
	}
	for name, text := range good {
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// beyondSchema has the cases that Parse refuses and a schema cannot: JSON has lost
// what is wrong, or it takes two values to see it.
var beyondSchema = map[string]string{
	"version with a point":     "1.0 is 1 to JSON",
	"key not text":             "keys are text to JSON",
	"no budgets":               "defaults may have budgets",
	"min over max":             "two values",
	"base run":                 "two keys",
	"bytes beyond int64":       "a product",
	"bytes very long":          "a product",
	"bytes block":              "the form is lost",
	"growth that cannot fail":  "a text",
	"count underscores":        "the form is lost",
	"bytes with a line break":  "a character in a text",
	"growth with a line break": "a character in a text",
	"count octal":              "the form is lost",
	"count hex":                "the form is lost",
	"run an empty program":     "one element of several",
	"run with NUL":             "a character in a text",
	"dryrun memory none":       "the form of a number",
	"dryrun devices":           "a key of several mappings",
	"waiver with min":          "two values",
}

func TestSchemaRefusesBadFiles(t *testing.T) {
	s := compileSchema(t)
	refused := 0
	check := func(name, text, want string) {
		rule := want[strings.LastIndex(want, "[")+1 : len(want)-1]
		switch rule {
		case "key", "missing", "type", "choice", "unit", "percent", "number", "label", "limit", "metric", "version", "range", "date", "name":
		default:
			return // a fault of YAML, or of several values
		}
		err := s.Validate(asJSON(t, text))
		reason, beyond := beyondSchema[name]
		switch {
		case err == nil && !beyond:
			t.Errorf("%s: the schema takes what Parse refuses: %s", name, want)
		case err != nil && beyond:
			t.Errorf("%s is said to be beyond the schema (%s), and is refused: %v", name, reason, err)
		case err != nil:
			refused++
		}
	}
	for _, c := range malformed {
		check(c.name, strings.Replace(small, c.old, c.new, 1), c.want)
	}
	for _, c := range malformedBroad {
		check(c.name, strings.Replace(broad, c.old, c.new, 1), c.want)
	}
	if refused < 60 {
		t.Errorf("only %d bad files were refused", refused)
	}
}

// FuzzSchema: the schema takes every file that Load takes.
func FuzzSchema(f *testing.F) {
	s := compileSchema(f)
	for _, text := range []string{small, broad, changeBase} {
		f.Add([]byte(text))
	}
	for _, text := range variants(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Load("peakgate.yml", alone(string(data))); err != nil {
			return
		}
		if err := s.Validate(asJSON(t, string(data))); err != nil {
			t.Errorf("%v in\n%s", err, data)
		}
	})
}
