package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// required turns a skip into a failure: .ci/run sets it.
const required = "PEAKGATE_E2E"

// findAct gives the path of act, or skips.
func findAct(t *testing.T) string {
	t.Helper()
	var missing string
	act, err := exec.LookPath("act")
	switch {
	case runtime.GOOS == "windows":
		missing = "act has no host mode on Windows that runs bash steps"
	case err != nil:
		missing = "act is not installed; go install github.com/nektos/act@v0.2.89, or run .ci/run"
	default:
		if _, err := os.Stat("../.git"); err != nil {
			missing = "act wants a git repository"
		}
	}
	if missing != "" {
		if os.Getenv(required) != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return act
}

// run is one run of a workflow under act.
type run struct {
	act, event, payload string
	dir, workflow       string   // the repository and the file
	env                 []string // of the workflow
	path                string   // a folder of commands that go before all others
	token               string   // github.token
}

// start runs it and gives act's log, one JSON object a line. Folders of
// testdata/actions stand in for actions of others, and this repository for the
// released action, so nothing comes over a network.
func (r run) start(t *testing.T) ([]byte, error) {
	t.Helper()
	payload := filepath.Join(t.TempDir(), "event.json")
	write(t, payload, r.payload)
	args := []string{
		r.event, "--json", "--no-cache-server", "--concurrent-jobs", "8", "-C", abs(t, r.dir), "-W", abs(t, r.workflow), "-e", payload,
		"--local-repository", "peakgate/peakgate@v1=" + abs(t, ".."),
	}
	for _, label := range []string{"ubuntu-latest", "self-hosted", "linux", "gpu"} {
		args = append(args, "-P", label+"=-self-hosted")
	}
	for _, m := range usesOther.FindAllStringSubmatch(string(read(t, r.workflow)), -1) {
		args = append(args, "--local-repository", m[1]+"="+abs(t, "testdata/actions/"+m[2]))
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	shim := t.TempDir()
	write(t, filepath.Join(shim, "bash"), string(read(t, "testdata/bash.sh")))
	path := shim + string(filepath.ListSeparator) + os.Getenv("PATH")
	if r.path != "" {
		path = r.path + string(filepath.ListSeparator) + path
	}
	for _, e := range append(r.env, "REALBASH="+bash) {
		args = append(args, "--env", e)
	}
	cmd := exec.Command(r.act, args...)
	// act's own files go into a folder of the test; Go's stay where they are, so
	// that the action's build is a matter of moments.
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "GITHUB_TOKEN="+r.token, "PATH="+path)
	if r.token != "" {
		cmd.Args = append(cmd.Args, "-s", "GITHUB_TOKEN")
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return append(stdout.Bytes(), stderr.Bytes()...), err
	}
	return stdout.Bytes(), nil
}

// usesOther finds the actions of others, but for checkout, which act does itself.
var usesOther = regexp.MustCompile(`uses: (actions/(setup-go|upload-artifact|download-artifact)@[0-9a-f]{40})`)

// messages is the log for a person.
func messages(log []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(log) {
		var l struct{ Msg string }
		if json.Unmarshal(line, &l) != nil {
			l.Msg = string(line)
		}
		out.WriteString(strings.TrimRight(l.Msg, "\n") + "\n")
	}
	return out.String()
}

// touchSources looks at every file that the action is built from, so that the go
// command runs this test again when one has changed.
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // gone since
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
