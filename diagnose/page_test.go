package diagnose

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/findings.md anew")

func TestPage(t *testing.T) {
	const path = "../docs/findings.md"
	if *update {
		if err := os.WriteFile(path, []byte(Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Page()); diff != "" {
		t.Errorf("%s (go test ./diagnose -update writes it anew):\n%s", path, diff)
	}
}

// TestRules checks the table itself.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || !regexp.MustCompile(`^[a-z][a-z0-9-]+$`).MatchString(r.Name) || r.Doc == "" || r.Find == nil || r.Family != "xla" && r.Family != "run" && r.Family != "torch" && r.Family != "affon" {
			t.Errorf("rule %+v", r)
		}
		seen[r.Name] = true
	}
}
