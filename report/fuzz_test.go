package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/peakgate/peakgate/compare"
)

// FuzzReports: whatever a result file says, a report of it is written without a
// panic and within its bounds, or the file is refused.
func FuzzReports(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.json")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := compare.Decode(bytes.NewReader(data), "result.json")
		if err != nil {
			return
		}
		var page bytes.Buffer
		if err := Markdown(&page, r); err != nil {
			t.Error(err)
		}
		if page.Len() > maxMarkdown {
			t.Errorf("%d bytes of markdown", page.Len())
		}
		for _, write := range []func(io.Writer, *compare.Result) error{Text, Brief, SARIF, JUnit, HTML} {
			if err := write(io.Discard, r); err != nil {
				t.Error(err)
			}
		}
	})
}
