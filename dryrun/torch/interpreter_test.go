package torch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/dryrun"
)

func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	venv, system := write("venv/bin/python3.11", "binary"), write("usr/bin/python3", "binary")
	write("usr/bin/sh", "binary")
	write("venv/bin/torchrun", "#!"+venv+"\nimport torch\n")
	write("usr/bin/tool", "#!/usr/bin/env -S python3 -u\n")
	write("venv/bin/long", "#!/bin/sh\n'''exec' \""+venv+"\" \"$0\" \"$@\"\n' '''\n")
	write("work/run.sh", "#!/bin/sh\npython train.py\n")
	write("work/python3", "no program of the PATH")
	if err := os.Chmod(filepath.Join(dir, "work/python3"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Join(dir, "nothing") + ":" + filepath.Join(dir, "usr/bin") + ":" + filepath.Join(dir, "venv/bin")
	for _, c := range []struct{ argv, python, want string }{
		{"python3 train.py", "", system},
		{"python3.11 -m train", "", venv},
		{"../venv/bin/python3.11 train.py", "", venv},
		{venv, "", venv},
		{"torchrun --nproc-per-node=1 train.py", "", venv},
		{"tool", "", system},
		{"long", "", venv},
		{"./run.sh", "", system},
		{"sh run.sh", "", system},
		{"sh run.sh", "python3.11", venv},
		{"sh run.sh", "../venv/bin/python3.11", venv},
		{"./python3", "", "error: ./python3"},
		{"missing", "", "error: missing: not found in PATH"},
		{"", "", "error: no program"},
	} {
		got, err := interpreter(dryrun.Spec{Argv: strings.Fields(c.argv), Python: c.python, Dir: filepath.Join(dir, "work"), Env: []string{"PATH=/old", path}})
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(strings.ReplaceAll(got, dir+"/work", "."), c.want)) {
			t.Errorf("%q %q: %s, want %s", c.argv, c.python, got, c.want)
		}
	}
}
