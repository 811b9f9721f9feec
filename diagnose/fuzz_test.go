package diagnose

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// FuzzRun gives the rules measurements that anybody may have written: they never
// panic, and say the same twice.
func FuzzRun(f *testing.F) {
	seeds := 0
	err := filepath.WalkDir("../fixtures", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, ".pb") && !strings.HasSuffix(path, ".pickle") {
			return err
		}
		m, err := capture.Open(path, capture.Options{})
		if err != nil {
			return nil // a fixture of another kind
		}
		data, err := json.Marshal(m)
		if err != nil || len(data) > 256<<10 {
			return err
		}
		f.Add(data, data)
		seeds++
		return nil
	})
	if err != nil || seeds == 0 {
		f.Fatalf("%d seeds in ../fixtures, %v", seeds, err)
	}
	for _, c := range cases {
		if bad, err := json.Marshal(c.bad.Head); err == nil {
			good, _ := json.Marshal(c.good.Head)
			f.Add(bad, good)
		}
	}
	for _, c := range affonCases {
		bad, err := json.Marshal(c.bad.Head)
		good, err2 := json.Marshal(c.good[0].Head)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		f.Add(bad, good)
	}
	f.Fuzz(func(t *testing.T, head, base []byte) {
		h, err := measure.Decode(bytes.NewReader(head), "head")
		if err != nil {
			return
		}
		b, err := measure.Decode(bytes.NewReader(base), "base")
		if err != nil {
			b = nil
		}
		for _, in := range []Input{{Head: h}, {Head: h, Base: b}, {Head: h, Base: b, Earlier: true}} {
			first, second := Run(in), Run(in)
			if gist(first) != gist(second) {
				t.Fatalf("two runs differ:\n%s\n%s", gist(first), gist(second))
			}
			for _, f := range first {
				if f.Rule == "" || f.Text == "" || rank(f.Severity) < 0 || f.SavingBytes < 0 {
					t.Fatalf("%+v", f)
				}
			}
			Changed(in)
		}
	})
}
