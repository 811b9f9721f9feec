package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestViewTerminal: the page is no text for a terminal. Its other formats are, and pipes
// get the page.
func TestViewTerminal(t *testing.T) {
	capture := "../../fixtures/torch/forms_list.pickle"
	for _, c := range []struct {
		terminal bool
		args     []string
		want     int
	}{
		{true, nil, ExitUsage},
		{false, nil, ExitPass},
		{true, []string{"-o", t.TempDir() + "/page.html"}, ExitPass},
		{true, []string{"--format", "svg"}, ExitPass},
		{true, []string{"--format", "json"}, ExitPass},
	} {
		var out, problems bytes.Buffer
		s := Streams{Stdout: &out, Stderr: &problems, Getenv: os.Getenv, StdoutTerminal: c.terminal}
		got := Main(append(append([]string{"view", "--quiet"}, c.args...), capture), s)
		if got != c.want {
			t.Errorf("%v, terminal %v: exit code %d, want %d: %s", c.args, c.terminal, got, c.want, problems.String())
		}
		if c.want == ExitUsage && (out.Len() > 0 || strings.Count(problems.String(), "\n") != 1 || !strings.Contains(problems.String(), "-o page.html")) {
			t.Errorf("wrote %d bytes, said %q", out.Len(), problems.String())
		}
	}
}

// TestIsTerminal: files, pipes and the null device are none.
func TestIsTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	for name, f := range map[string]*os.File{"the null device": null, "a pipe": out} {
		if isTerminal(f) {
			t.Errorf("%s is called a terminal", name)
		}
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Logf("no terminal can be made here: %v", err)
		return
	}
	defer ours.Close()
	defer theirs.Close()
	if !isTerminal(theirs) {
		t.Error("a terminal is not told")
	}
}
