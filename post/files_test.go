package post

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// outputsOf reads a step's output file as the runner does (FileCommandManager.cs,
// EnvFileKeyValuePairs).
func outputsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	rest := string(raw)
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" {
			continue
		}
		eq, here := strings.Index(line, "="), strings.Index(line, "<<")
		if eq >= 0 && (here < 0 || eq < here) {
			out[line[:eq]] = line[eq+1:]
			continue
		}
		if here < 0 {
			t.Fatalf("invalid line %q", line)
		}
		var value []string
		for {
			var next string
			var found bool
			if next, rest, found = strings.Cut(rest, "\n"); !found {
				t.Fatalf("no end of the value of %q", line)
			}
			if next == line[here+2:] {
				break
			}
			value = append(value, next)
		}
		out[line[:here]] = strings.Join(value, "\n")
	}
	return out
}

func TestOutputs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(file, []byte("earlier=1"), 0o644); err != nil { // no newline at its end
		t.Fatal(err)
	}
	a, _ := newActions(t, map[string]string{"GITHUB_OUTPUT": file})
	wanted := map[string]string{
		"earlier":     "1",
		"verdict":     "fail",
		"report-path": "a=b<<c",
		"failed":      "",
		"json":        "{\n\"verdict\":\"pass\"\n}\n_GitHubActionsFileCommandDelimeter_\nverdict=pass\npeakgate_TOKEN0\nverdict<<X\npass\nX",
	}
	for name, value := range wanted {
		if name == "earlier" {
			continue
		}
		if err := a.Output(name, value); err != nil {
			t.Errorf("output %s: %v", name, err)
		}
	}
	if diff := cmp.Diff(wanted, outputsOf(t, file)); diff != "" {
		t.Errorf("outputs differ (-want +got):\n%s", diff)
	}
}

func TestOutputRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	env := map[string]string{"GITHUB_OUTPUT": file}
	for _, tt := range []struct{ name, output, value, want string }{
		{"line in the name", "a\nverdict", "", `output "a\nverdict": expected letters, digits, - and _`},
		{"heredoc in the name", "a<<b", "", `output "a<<b": expected letters, digits, - and _`},
		{"empty name", "", "", `output "": expected letters, digits, - and _`},
		{"own delimiter", "a", "x\npeakgate_TOKEN1\nverdict=pass", "output a: the value holds its own delimiter"},
		{"too long", "a", strings.Repeat("x", maxOutput+1), "output a: expected at most 65536 bytes, found 65537; put it into a file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := newActions(t, env)
			err := a.Output(tt.output, tt.value)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Error("a refused output left something behind")
			}
		})
	}
	a, _ := newActions(t, map[string]string{"GITHUB_OUTPUT": filepath.Join(file, "no", "such", "folder")})
	if err := a.Output("a", "b"); err == nil {
		t.Error("no error for an output file that cannot be written")
	}
}

func FuzzOutputsStayApart(f *testing.F) {
	for _, s := range []string{"pass", "", "a\nb", "x=y", "<<", "\nverdict=pass\n", "verdict<<E\npass\nE"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		file := filepath.Join(t.TempDir(), "output")
		a := NewActions(&bytes.Buffer{}, func(string) string { return file })
		if len(one) > maxOutput || len(two) > maxOutput {
			return
		}
		for name, value := range map[string]string{"one": one, "two": two} {
			if err := a.Output(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(map[string]string{"one": one, "two": two}, outputsOf(t, file)); diff != "" {
			t.Errorf("outputs differ (-want +got):\n%s", diff)
		}
	})
}

func TestSummaryIsAppended(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary")
	a, _ := newActions(t, map[string]string{"GITHUB_STEP_SUMMARY": file})
	for _, s := range []string{"# one", "# two\n", "bad \xff byte"} {
		if err := a.Summary([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want(t, string(got), "# one\n# two\nbad \uFFFD byte\n")
}

func TestSummaryFitsAtEveryBoundary(t *testing.T) {
	for _, before := range []int{0, 1, 1000, maxSummary - 200} {
		for _, over := range []int{-3, -2, -1, 0, 1, 2, 3, 4, 100, 1 << 20} {
			file := filepath.Join(t.TempDir(), "summary")
			if err := os.WriteFile(file, bytes.Repeat([]byte("x"), before), 0o644); err != nil {
				t.Fatal(err)
			}
			a, _ := newActions(t, map[string]string{"GITHUB_STEP_SUMMARY": file})
			report := strings.Repeat("€", (maxSummary-before+over)/3)
			if err := a.Summary([]byte(report)); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > maxSummary {
				t.Errorf("%d before, %d over: %d bytes, want at most %d", before, over, len(got), maxSummary)
			}
			if !utf8.Valid(got) {
				t.Errorf("%d before, %d over: a rune was cut", before, over)
			}
			whole, said := strings.Contains(string(got), report), bytes.Contains(got, []byte("The report is cut to fit"))
			if whole == said {
				t.Errorf("%d before, %d over: whole is %t, but a cut is said: %t", before, over, whole, said)
			}
			if slack := maxSummary - len(got); !whole && slack > 8 {
				t.Errorf("%d before, %d over: cut %d bytes too early", before, over, slack)
			}
		}
	}
}

func TestSummaryWithoutRoomIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), maxSummary), 0o644); err != nil {
		t.Fatal(err)
	}
	a, _ := newActions(t, map[string]string{"GITHUB_STEP_SUMMARY": file})
	err := a.Summary([]byte("# report"))
	if err == nil || !strings.Contains(err.Error(), "expected room for a summary") {
		t.Errorf("got %v", err)
	}
}
