package budget

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/peakgate/peakgate/measure"
)

// FuzzParse: no input panics; an error has a place in the file, a known rule and
// one line, and no File beside it; a File holds what its users count on.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*.yml"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds in testdata: %v", err)
	}
	for _, path := range seeds {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, c := range malformed {
		f.Add([]byte(strings.Replace(small, c.old, c.new, 1)))
	}
	for _, c := range whole {
		f.Add([]byte(c.text))
	}
	for _, r := range rules {
		f.Add([]byte(r.example))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "f")
		if err != nil {
			es, ok := err.(Errors)
			if !ok || len(es) == 0 || file != nil {
				t.Fatalf("file %v error %T %v", file, err, err)
			}
			checkPlaces(t, string(data), es)
			if n := strings.Count(es.Error(), "\n") + 1; n != len(es) {
				t.Fatalf("%d lines for %d errors:\n%v", n, len(es), es)
			}
			if es.Render(data) == "" {
				t.Fatal("nothing to show")
			}
			return
		}
		if file == nil || file.Version != 1 || len(file.Targets) == 0 {
			t.Fatalf("no error, and the file is %+v", file)
		}
		names := map[string]bool{}
		for _, target := range file.Targets {
			if names[target.Name] || !targetName(target.Name) || len(target.Captures) == 0 && target.Run == nil && target.Dryrun == nil || len(target.Budgets) == 0 {
				t.Fatalf("target %+v", target)
			}
			names[target.Name] = true
			for _, e := range target.Budgets {
				if e.Max == nil && e.Min == nil && e.Growth == nil {
					t.Fatalf("%s has no limit", e.Metric.Name)
				}
				if e.Growth != nil && e.Growth.Percent.Cmp(new(big.Rat)) < 0 {
					t.Fatalf("%s has growth %s", e.Metric.Name, e.Growth.Percent)
				}
				if e.Severity != SeverityFail && e.Severity != SeverityWarn {
					t.Fatalf("%s has severity %q", e.Metric.Name, e.Severity)
				}
			}
		}
	})
}

// FuzzLoad: of two files, one of which may include the other, each error has a place
// in its own file; a File can be linted, does not differ from itself, and says of
// each entry where it stands.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{small, broad, changeBase} {
		f.Add([]byte(strings.Replace(text, "version: 1", "version: 1\nincludes: b.yml", 1)), []byte("version: 1\ndefaults: { budgets: { oom.events: 0 } }\n"))
		f.Add([]byte("version: 1\nincludes: [./b.yml]\n"), []byte(text))
		f.Add([]byte("version: 1\nincludes: b.yml\n"+strings.TrimPrefix(text, "version: 1\n")), []byte("version: 1\nincludes: a.yml\n"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		sources := files{"a.yml": string(a), "b.yml": string(b)}
		file, err := Load("a.yml", sources.read)
		if err != nil {
			es, ok := err.(Errors)
			if !ok || len(es) == 0 || file != nil {
				t.Fatalf("file %v error %T %v", file, err, err)
			}
			for name, text := range sources {
				var own Errors
				for _, e := range es {
					if e.File == name {
						own = append(own, e)
					}
				}
				checkPlaces(t, text, own)
			}
			return
		}
		if n := len(Changes(file, file)); n != 0 {
			t.Fatalf("the file differs from itself: %v", Changes(file, file))
		}
		other := mustLoad(t, small)
		for _, c := range append(Changes(file, other), Changes(other, file)...) {
			if strings.ContainsFunc(c.Text, func(r rune) bool { return !unicode.IsPrint(r) }) || c.Pos.Line == 0 || c.Effect == "" {
				t.Fatalf("change %+v", c)
			}
		}
		for name, text := range sources {
			var own Errors
			for _, e := range Lint(file, nil, lintToday) {
				if e.File == name {
					own = append(own, e)
				}
			}
			checkPlaces(t, text, own)
			if strings.ContainsFunc(strings.ReplaceAll(own.Error(), "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) || len(own) > 0 && strings.Count(own.Error(), "\n") != len(own)-1 {
				t.Fatalf("%q", own.Error())
			}
		}
		for _, target := range file.Targets {
			for _, e := range target.Budgets {
				if _, ok := sources[e.Pos.File]; !ok || e.Pos.Line == 0 {
					t.Fatalf("%s of %s is at %v", e.Metric.Name, target.Name, e.Pos)
				}
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "good.yml"))
	if err != nil {
		b.Fatal(err)
	}
	edits := []Edit{{Target: "train_step", Metric: "plan.need_bytes", Limit: "max", Value: measure.Int(9 << 30)}}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, refused, err := Update(data, "f", edits); err != nil || len(refused) > 0 {
			b.Fatal(err, refused)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "good.yml"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, "f"); err != nil {
			b.Fatal(err)
		}
	}
}
