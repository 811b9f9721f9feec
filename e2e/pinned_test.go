package e2e

import (
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
	for _, name := range []string{"verdict", "failed", "report-path", "json-path", "html-path"} {
		if got, want := action.Outputs[name].Value, "${{ steps.check.outputs."+name+" }}"; got != want {
			t.Errorf("output %s is %q, want %q", name, got, want)
		}
	}
	// The marketplace takes these colours only, and icons of Feather 4.28.
	if colors := []string{"white", "black", "yellow", "blue", "green", "orange", "red", "purple", "gray-dark"}; !slices.Contains(colors, action.Branding.Color) {
		t.Errorf("branding colour %q, want one of %v", action.Branding.Color, colors)
	}
}

// writes are the permissions to write that a workflow may ask for; no other may.
var writes = map[string]string{
	"../.github/workflows/comment.yml": "pull-requests: write",
	"../docs/workflows/comment.yml":    "pull-requests: write",
	"../docs/workflows/memory.yml":     "pull-requests: write",
	"../docs/workflows/matrix.yml":     "pull-requests: write",
	"../docs/workflows/gpu.yml":        "pull-requests: write",
	"testdata/workflows/legs.yml":      "pull-requests: write",
}

// TestWorkflowsPinActions wants every action of ours and of others by commit, with
// the version that it is, and a token that can do little. A workflow that runs
// after another's has a token that writes, so it checks out nothing but the default
// branch.
func TestWorkflowsPinActions(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../.github/workflows/*.yml", "../docs/workflows/*.yml", "testdata/workflows/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no workflows as %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	pinned := regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	write := regexp.MustCompile(`(?m)[a-z-]+: write\b|write-all`)
	for _, file := range files {
		text := string(read(t, file))
		if !strings.Contains(text, "\npermissions:\n") {
			t.Errorf("%s: want permissions for the whole workflow", file)
		}
		for _, permission := range write.FindAllString(text, -1) {
			if permission != writes[filepath.ToSlash(file)] {
				t.Errorf("%s asks for %q", file, permission)
			}
		}
		if strings.Contains(text, "pull_request_target") || strings.Contains(text, "workflow_run:") && strings.Contains(text, "ref:") {
			t.Errorf("%s runs a stranger's code with our token", file)
		}
		for line := range strings.Lines(text) {
			_, uses, ok := strings.Cut(line, "uses: ")
			uses = strings.TrimSpace(uses)
			if ok && uses != "./" && uses != "peakgate/peakgate@v1" && !pinned.MatchString(uses) {
				t.Errorf("%s: %s: want OWNER/NAME@COMMIT # vX.Y.Z", file, uses)
			}
		}
	}
}
