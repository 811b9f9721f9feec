package cli

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
	"github.com/rogpeppe/go-internal/testscript"
)

// pretend stands for all frameworks in scripts that set PRETEND: it runs the program,
// and takes the facts and captures that this leaves in the folder DRYRUN. Of JAX the
// program is MODULE.sh, and a capture lies in a folder with the name of its device.
func pretend(spec dryrun.Spec, dir string, start dryrun.Start) (*dryrun.Result, error) {
	argv := spec.Argv
	if module, _, ok := strings.Cut(spec.Argv[0], ":"); ok {
		argv = []string{"sh", module + ".sh"}
	}
	end, err := start(dryrun.Process{Argv: argv, Dir: spec.Dir, Timeout: spec.Timeout, Env: append(slices.Clone(spec.Env), "DRYRUN="+dir)})
	if err != nil {
		return nil, err
	}
	result := &dryrun.Result{}
	if end.TimedOut {
		result.Warnings = append(result.Warnings, "it did not end in time")
	}
	data, err := os.ReadFile(filepath.Join(dir, "facts.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &result.Facts); err != nil {
		return nil, err
	}
	for i := range result.Facts {
		f := &result.Facts[i]
		f.MemoryBytes, f.Capability = measure.Bytes(spec.Memory), spec.Capability
		found, err := filepath.Glob(filepath.Join(dir, f.Device, "*.p*"))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			result.Captures = append(result.Captures, dryrun.Capture{Path: path, Device: f.Device})
		}
	}
	return result, nil
}

// TestRealDryrun runs testdata/real/FRAMEWORK.txtar over a real framework, of the Python
// that a variable names.
func TestRealDryrun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a dry run of PyTorch needs Linux")
	}
	for name, variable := range map[string]string{"torch": "PEAKGATE_TORCH_PYTHON", "jax": "PEAKGATE_JAX_PYTHON"} {
		t.Run(name, func(t *testing.T) {
			python := os.Getenv(variable)
			if python == "" {
				t.Skip(variable + " is not set: .ci/run makes a Python that has " + name)
			}
			testscript.Run(t, testscript.Params{
				Files: []string{"testdata/real/" + name + ".txtar"}, RequireExplicitExec: true, RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error {
					path := filepath.Join(e.WorkDir, "peakgate.yml")
					text, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					cache, err := os.UserCacheDir()
					if err != nil {
						return err
					}
					e.Setenv("XDG_CACHE_HOME", cache) // the pretend libraries are built once for all tests
					return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "$"+strings.ToUpper(name), python)), 0o644)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
			})
		})
	}
}

// TestDryrunFlags: the page of dry runs names each flag, with the frameworks that have it.
func TestDryrunFlags(t *testing.T) {
	page, err := os.ReadFile("../../docs/dryrun.md")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]string{}
	for _, c := range dryrunCommand.subcommands {
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(flags, Streams{})
		flags.VisitAll(func(f *flag.Flag) { of[f.Name] = append(of[f.Name], c.name) })
	}
	for name, frameworks := range of {
		want := strings.Join(frameworks, ", ")
		if len(frameworks) == len(dryrunCommand.subcommands) {
			want = "all"
		}
		row := regexp.MustCompile("(?m)^\\| `--" + name + " [^|]* \\| " + want + " \\|")
		if slices.Contains([]string{"format", "o", "keep", "quiet"}, name) {
			row = regexp.MustCompile("--" + name + "\\b|-" + name + " FILE")
		}
		if !row.Match(page) {
			t.Errorf("docs/dryrun.md has no --%s of %s", name, want)
		}
	}
}

// TestInterpreterOfTheBase: a virtual environment is in no commit.
func TestInterpreterOfTheBase(t *testing.T) {
	for python, want := range map[string]string{
		"python3": "python3", "": "", filepath.FromSlash("/opt/bin/python"): filepath.FromSlash("/opt/bin/python"),
		".venv/bin/python": filepath.Join("HEAD", ".venv/bin/python"),
	} {
		head, err := filepath.Abs("head")
		if err != nil {
			t.Fatal(err)
		}
		target := &budget.Target{Dryrun: &budget.Dryrun{Framework: dryrun.JAX, Python: python}}
		got := dryrunSpec(target, side{folder: "base", head: "head"}).Python
		if want = strings.Replace(want, "HEAD", head, 1); got != want {
			t.Errorf("%q: %q, want %q", python, got, want)
		}
	}
}
