package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the outputs in testdata/script anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"peakgate": func() {
			s := Process()
			if day, err := time.Parse(time.DateOnly, os.Getenv("DAY")); err == nil {
				s.Now = func() time.Time { return day } // for outputs that name a day
			}
			if os.Getenv("PRETEND") != "" {
				for name := range frameworks {
					frameworks[name] = pretend
				}
			}
			os.Exit(Main(os.Args[1:], s))
		},
	})
}

// TestScript runs testdata/script/COMMAND_CASE.txtar. The variable FIXTURES is
// the folder of committed captures, CAPTURES the one of shared captures beside
// the repository; [captures] tells whether that is there.
func TestScript(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	captures := filepath.Join(repository, "..", "shared", "captures")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FIXTURES", filepath.Join(repository, "fixtures"))
			e.Setenv("CAPTURES", captures)
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "captures" {
				return false, nil
			}
			_, err := os.Stat(captures)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "measured": measured, "again": again, "paste": paste},
	})
}

// paste adds the YAML that a report offers to a budget: paste REPORT.md BUDGET.yml
func paste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: paste REPORT.md BUDGET.yml")
	}
	_, text, ok := strings.Cut(ts.ReadFile(args[0]), "\n```yaml\n")
	text, _, end := strings.Cut(text, "\n```\n")
	if !ok || !end {
		ts.Fatalf("%s offers no YAML", args[0])
	}
	budget := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(budget+text+"\n"), 0o644))
}

// exits runs a command that must end with a given code: exits 3 peakgate check.
// What it printed can be compared with stdout and stderr as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG …]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}
