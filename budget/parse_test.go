package budget

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "rewrite goldens and docs/budget.md")

// small is the file that the malformed cases change in one place.
const small = `version: 1
targets:
  train:
    captures: [a/*.pb, b.pickle]
    select: { module: jit_step }
    budgets:
      plan.need_bytes: { max: 9.5 GiB, growth: 2%, floor: 16 MiB, why: "fits" }
      live.peak_bytes: 12 GiB
      pool.hit_ratio: { min: 0.95, severity: warn }
      pool.misses: { max: 40 }
      retry.longest_seconds: { max: 10 s }
      growth.bytes_per_step: { max: 0 B }
  eval:
    captures: eval.pb
    budgets: { plan.temp_bytes: 1 GiB }
`

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s differs; if the change is right: go test ./budget -update\n%s", path, diff)
	}
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text), "peakgate.yml")
	if err != nil {
		t.Fatalf("unexpected errors:\n%v\nin\n%s", err, text)
	}
	return f
}

// alone reads a text as peakgate.yml, beside which there is no other file.
func alone(text string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if path != "peakgate.yml" {
			return nil, fmt.Errorf("there is no file %s", path)
		}
		return []byte(text), nil
	}
}

// mustLoad is mustParse for files with keys whose behaviour is still to come.
func mustLoad(t *testing.T, text string) *File {
	t.Helper()
	f, err := Load("peakgate.yml", alone(text))
	if err != nil {
		t.Fatalf("unexpected errors:\n%v\nin\n%s", err, text)
	}
	return f
}

func loadErrors(t *testing.T, text string) Errors {
	t.Helper()
	f, err := Load("peakgate.yml", alone(text))
	es, ok := err.(Errors)
	if !ok || len(es) == 0 || f != nil {
		t.Fatalf("file %v, error %T %v for\n%s", f, err, err, text)
	}
	checkPlaces(t, text, es)
	return es
}

func parseErrors(t *testing.T, text string) Errors {
	t.Helper()
	f, err := Parse([]byte(text), "peakgate.yml")
	if err == nil {
		t.Fatalf("no error for\n%s", text)
	}
	if f != nil {
		t.Errorf("a File beside an error")
	}
	es, ok := err.(Errors)
	if !ok || len(es) == 0 {
		t.Fatalf("error is %T %v", err, err)
	}
	checkPlaces(t, text, es)
	return es
}

// checkPlaces holds each error to a place that an editor can go to.
func checkPlaces(t *testing.T, text string, es Errors) {
	t.Helper()
	lines := newSource([]byte(text)).lines
	last := Position{}
	for _, e := range es {
		if e.Line < 1 || e.Line > len(lines) {
			t.Fatalf("line %d of %d: %v", e.Line, len(lines), e)
		}
		if n := len([]rune(lines[e.Line-1])); e.Column < 1 || e.Column > n+1 {
			t.Fatalf("column %d of %d: %v", e.Column, n, e)
		}
		if e.Line < last.Line || e.Line == last.Line && e.Column < last.Column {
			t.Fatalf("not in order: %v", es)
		}
		last = Position{Line: e.Line, Column: e.Column}
		lint := slices.ContainsFunc(lintRules, func(r lintRule) bool { return r.name == e.Rule })
		if e.Message == "" || ruleOf(e.Rule) == nil && !lint {
			t.Fatalf("without message or known rule: %#v", e)
		}
	}
}

func TestGoodFile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "good.yml"))
	if err != nil {
		t.Fatal(err)
	}
	want := dump(mustParse(t, string(data)))
	golden(t, filepath.Join("testdata", "good.golden"), want)

	unix := strings.ReplaceAll(string(data), "\r\n", "\n")
	for name, same := range map[string]string{
		"CRLF":                  strings.ReplaceAll(unix, "\n", "\r\n"),
		"CR":                    strings.ReplaceAll(unix, "\n", "\r"),
		"byte order mark":       byteOrderMark + unix,
		"no newline at the end": strings.TrimSuffix(unix, "\n"),
		"comment at the end":    unix + "# the end",
		"document end":          unix + "...\n",
	} {
		if diff := cmp.Diff(want, dump(mustParse(t, same))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMalformed(t *testing.T) {
	mustParse(t, small)
	for _, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			if n := strings.Count(small, c.old); n != 1 {
				t.Fatalf("%q is %d times in the file", c.old, n)
			}
			es := parseErrors(t, strings.Replace(small, c.old, c.new, 1))
			got := strings.ReplaceAll(es.Error(), "peakgate.yml:", "")
			if got != c.want {
				t.Errorf("%q => %q\n got %s\nwant %s", c.old, c.new, got, c.want)
			}
		})
	}
}

// TestWholeFiles has the files that are wrong as a whole.
func TestWholeFiles(t *testing.T) {
	for _, c := range whole {
		t.Run(c.name, func(t *testing.T) {
			got := strings.ReplaceAll(parseErrors(t, c.text).Error(), "peakgate.yml:", "")
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestEveryKey holds the reader to the table: each key is read, and only where the
// table says.
func TestEveryKey(t *testing.T) {
	place := map[context]string{
		inFile:   "version: 1\ntargets: { t: { captures: a, budgets: { plan.need_bytes: 1 B } } }\n%s: x\n",
		inTarget: "version: 1\ntargets:\n  t:\n    captures: a\n    budgets: { plan.need_bytes: 1 B }\n    %s: x\n",
		inEntry:  "version: 1\ntargets:\n  t:\n    captures: a\n    budgets:\n      plan.need_bytes:\n        max: 1 B\n        %s: x\n",

		inDefaults: "version: 1\ndefaults: { %s: x }\n",
		inPolicy:   "version: 1\npolicy: { %s: x }\n",
		inDryrun:   "version: 1\ntargets: { t: { dryrun: { %s: x } } }\n",
		inExpect:   "version: 1\ntargets: { t: { expect: { %s: x } } }\n",
		inWarmup:   "version: 1\ntargets: { t: { warmup: { %s: x } } }\n",
		inDevice:   "version: 1\ndevices: { d: { %s: x } }\n",
		inWaiver:   "version: 1\nwaivers: [{ %s: x }]\n",
	}
	for _, k := range keys {
		format, ok := place[k.in]
		if !ok {
			t.Errorf("no file here to try the keys of %s", k.in)
			continue
		}
		_, err := Parse(fmt.Appendf(nil, format, k.name), "f")
		if unknown := err != nil && strings.Contains(err.Error(), "unknown key"); unknown {
			t.Errorf("%s in %s: %v", k.name, k.in, err)
		}
	}
	for in, format := range place {
		_, err := Parse(fmt.Appendf(nil, format, "nonsense"), "f")
		if err == nil {
			t.Fatalf("an unknown key in %s is no error", in)
		}
		if want := "legal here: " + strings.Join(legalNames[in], ", "); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", in, err, want)
		}
	}
}

func TestKeysAreDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys {
		id := string(k.in) + "." + k.name
		if seen[id] || k.doc == "" || k.value == "" || strings.HasSuffix(k.doc, ".") {
			t.Errorf("%s: twice, or without a type or a doc of one clause", id)
		}
		seen[id] = true
		if !slices.ContainsFunc(contexts, func(c struct {
			name  context
			where string
		}) bool {
			return c.name == k.in
		}) {
			t.Errorf("%s: the documentation has no place for %s", id, k.in)
		}
	}
}

// TestAllErrorsAtOnce: the faults of a file do not hide each other.
func TestAllErrorsAtOnce(t *testing.T) {
	text := strings.NewReplacer("9.5 GiB", "9.5 GB5", "12 GiB", "-1 B", "warn", "loud", "  eval:", "  eval+:", "10 s", "10", "temp_bytes", "tmp_bytes").Replace(small)
	es := parseErrors(t, text)
	var rules []string
	for _, e := range es {
		rules = append(rules, e.Rule)
	}
	if want := []string{"number", "range", "choice", "unit", "name", "metric"}; !slices.Equal(rules, want) {
		t.Errorf("rules %v, want %v:\n%v", rules, want, es)
	}
}

// TestManyErrors: the number of errors is bounded, and the bound is told.
func TestManyErrors(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\ntargets:\n")
	for i := range 3 * maxFound {
		fmt.Fprintf(&text, "  t%d: {}\n", i)
	}
	es := parseErrors(t, text.String())
	if len(es) != maxFound+1 || es[maxFound].Rule != "many" {
		t.Errorf("%d errors, the last is %v", len(es), es[len(es)-1])
	}
}

// allocated runs f and gives the bytes that it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBombs: what is small in the file and large when followed stays small.
func TestBombs(t *testing.T) {
	wide := "version: 1\ntargets:\n  t0:\n    captures: a\n    budgets: &b\n"
	for _, m := range measure.Catalogue() {
		if m.Unit == measure.ByteUnit {
			wide += "      " + m.Name + ": 1 B\n"
		}
	}
	wide = strings.Replace(wide, "      footprint.peak_upper_bytes: 1 B\n", "", 1)
	wide = strings.Replace(wide, "plan.donated_bytes: 1 B", "plan.donated_bytes: { min: 1 B }", 1)
	repeat := func(n int, format string) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(strings.ReplaceAll(strings.ReplaceAll(format, "NEXT", strconv.Itoa(i+1)), "N", strconv.Itoa(i)))
		}
		return out.String()
	}
	merge := "version: 1\ndefaults:\n- &x0 { plan.need_bytes: 1 B }\n" + repeat(30, "- &xNEXT { <<: [*xN, *xN] }\n") +
		"targets: { t: { captures: a, budgets: *x30 } }\n"
	wide += repeat(20_000, "  uN: { captures: a, budgets: *b }\n")
	list := "version: 1\ntargets:\n  t:\n    budgets: { plan.need_bytes: 1 B }\n    captures: &x\n" +
		repeat(5_000, "    - fN\n") + repeat(10_000, "  tN: { captures: *x, budgets: { plan.need_bytes: 1 B } }\n")
	chain := "version: 1\ndefaults:\n- &x0 { a: 1 }\n" + repeat(15_000, "- &xNEXT { <<: *xN }\n") + "targets: { t: *x15000 }\n"

	for _, c := range []struct {
		name, text, rule string
	}{
		{"merges doubled thirty times", merge, "alias"},
		{"one mapping in twenty thousand places", wide, "alias"},
		{"one list in ten thousand places", list, "alias"},
		{"a long chain of merges", chain, "nesting"},
		{"flow brackets", strings.Repeat("[", MaxSize), "nesting"},
		{"flow braces", "a: " + strings.Repeat("{a: ", 5000), "syntax"},
		{"nested lists", "version: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nesting"},
		{"many commas", "version: [" + strings.Repeat("1,", 500_000) + "]", "version"},
		{"many keys", strings.Repeat("a: 1\n", 200_000), "duplicate"},
		{"a late syntax error in a large file", strings.Repeat("a: 1\n", 200_000) + "b: c: d\n", "syntax"},
		{"too large", strings.Repeat("#", MaxSize+1), "size"},
		{"far too large", strings.Repeat("[1],\n", 2<<20), "size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var es Errors
			// The node tree of a file of MaxSize is the largest part of it.
			if n := allocated(func() { es = parseErrors(t, c.text) }); n > 600<<20 {
				t.Errorf("%d MiB allocated", n>>20)
			}
			if !slices.ContainsFunc(es, func(e *Error) bool { return e.Rule == c.rule }) {
				t.Errorf("no error of the rule %s: %.500s", c.rule, es.Error())
			}
			if len(es) > maxFound+1 {
				t.Errorf("%d errors", len(es))
			}
		})
	}
}
