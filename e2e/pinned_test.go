package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestActionTakesInputsFromTheEnvironment holds action.yml to its own comment:
// each input is handed over as a variable, and no expression is in a script.
func TestActionTakesInputsFromTheEnvironment(t *testing.T) {
	var action struct {
		Branding struct{ Icon, Color string }
		Inputs   map[string]any
		Outputs  map[string]struct{ Value string }
		Runs     struct {
			Using string
			Steps []struct {
				ID, Shell, Run, Uses string
				Env                  map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "../action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) == 0 {
		t.Fatalf("not a composite action: %+v", action.Runs)
	}
	handed := map[string]bool{}
	for _, s := range action.Runs.Steps {
		if s.Uses != "" {
			t.Errorf("step %s uses %s: a run without a network must work", s.ID, s.Uses)
		}
		if s.Shell != "bash" {
			t.Errorf("step %s: shell %q, want bash, which every runner has", s.ID, s.Shell)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s has an expression in its script", s.ID)
		}
		for name, value := range s.Env {
			input, ok := strings.CutPrefix(value, "${{ inputs.")
			if !ok {
				continue
			}
			input = strings.TrimSuffix(input, " }}")
			handed[input] = true
			if want := "PEAKGATE_" + strings.ToUpper(strings.ReplaceAll(input, "-", "_")); name != want {
				t.Errorf("input %s is handed over as %s, want %s", input, name, want)
			}
		}
	}
	for input := range action.Inputs {
		if !handed[input] {
			t.Errorf("input %s reaches nothing", input)
		}
	}
	for input := range handed {
		if _, ok := action.Inputs[input]; !ok {
			t.Errorf("%s is handed over, but is no input", input)
		}
	}
	for _, name := range []string{"verdict", "failed", "report-path", "json-path"} {
		if got, want := action.Outputs[name].Value, "${{ steps.check.outputs."+name+" }}"; got != want {
			t.Errorf("output %s is %q, want %q", name, got, want)
		}
	}
	// The marketplace takes these colours only, and icons of Feather 4.28.
	if colors := []string{"white", "black", "yellow", "blue", "green", "orange", "red", "purple", "gray-dark"}; !slices.Contains(colors, action.Branding.Color) {
		t.Errorf("branding colour %q, want one of %v", action.Branding.Color, colors)
	}
}

// TestWorkflowsPinActions wants every action of ours and of others by commit,
// with the version that it is, and a token that can only read.
func TestWorkflowsPinActions(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	pinned := regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range append(files, "testdata/workflow.yml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "\npermissions:\n  contents: read\n\n") || strings.Contains(string(data), ": write") {
			t.Errorf("%s: want permissions of contents: read and no more", file)
		}
		if strings.Contains(string(data), "pull_request_target") {
			t.Errorf("%s runs a stranger's code with our token", file)
		}
		for line := range strings.Lines(string(data)) {
			if _, uses, ok := strings.Cut(line, "uses: "); ok {
				if uses = strings.TrimSpace(uses); uses != "./" && !pinned.MatchString(uses) {
					t.Errorf("%s: %s: want OWNER/NAME@COMMIT # vX.Y.Z", file, uses)
				}
			}
		}
	}
}
