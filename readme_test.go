package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the README's outputs anew")

// console matches a block with one command and what it prints.
var console = regexp.MustCompile("(?s)```console\n\\$ (go run \\. [^\n]*)\n(.*?)```\n")

// TestREADME runs the README's commands and compares what they print. They run
// as a built binary: `go run` would add its own line for the exit code.
func TestREADME(t *testing.T) {
	binary := build(t)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := console.FindAllSubmatch(readme, -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d blocks with `$ go run .`, want the failing and the passing run", len(blocks))
	}
	// A copy without git: what a commit changed in the budget is no part of it.
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "fixtures"), os.DirFS("fixtures")); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("peakgate.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "peakgate.yml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, b := range blocks {
		args := strings.Fields(string(b[1]))[3:]
		var out, errors bytes.Buffer
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errors
		_ = cmd.Run()
		if want := 1 - i; cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: exit code %d, want %d; %s", b[1], cmd.ProcessState.ExitCode(), want, errors.String())
		}
		if *update {
			readme = bytes.Replace(readme, b[0], []byte("```console\n$ "+string(b[1])+"\n"+out.String()+"```\n"), 1)
			continue
		}
		if diff := cmp.Diff(string(b[2]), out.String()); diff != "" {
			t.Errorf("README.md, %s (go test . -update writes it anew):\n%s", b[1], diff)
		}
	}
	if *update {
		if err := os.WriteFile("README.md", readme, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Contains(readme, []byte("$ go test ./...\n")) {
		t.Error("README.md does not name the test command")
	}
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "peakgate")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}
