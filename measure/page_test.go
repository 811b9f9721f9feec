package measure

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

func TestPage(t *testing.T) {
	const path = "../docs/metrics.md"
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
		t.Errorf("%s (go test ./measure -update writes it anew):\n%s", path, diff)
	}
}
