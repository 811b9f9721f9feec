package collect

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestXLAFlags(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no workload is watched on Windows")
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "flags"), []byte("--xla_a=1\n--xla_dump_to=mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	const proto, to = " --xla_dump_hlo_as_proto=true", "--xla_dump_to=DIR/xla"
	for _, c := range []struct{ user, module, want, foreign string }{
		{"", "", to + proto, ""},
		{"--xla_a=b --xla_c", "", "--xla_a=b --xla_c " + to + proto, ""},
		{"", "jit_train*", to + " --xla_dump_hlo_module_re=^jit_train.*$" + proto, ""},
		{"--xla_dump_hlo_module_re=x", "jit", "--xla_dump_hlo_module_re=x " + to + proto, ""},
		{"--xla_dump_hlo_as_proto=false", "", "--xla_dump_hlo_as_proto=false " + to, ""},
		// The user's own folder wins.
		{"--xla_dump_to=/abs/dump", "jit", "--xla_dump_to=/abs/dump" + proto, "/abs/dump"},
		{"--xla_dump_to='/a b'", "", "--xla_dump_to='/a b'" + proto, "/a b"},
		{"--xla_dump_to=rel", "", "--xla_dump_to=rel" + proto, "WORK/rel"},
		{"flags", "", "--xla_a=1\n--xla_dump_to=mine" + proto, "WORK/mine"},
		{"--xla_dump_to=-", "", "--xla_dump_to=-", ""},
		{"no-such-file", "", "no-such-file", ""},
	} {
		dir := t.TempDir()
		collector, err := New(dir, Options{Env: []string{"XLA_FLAGS=old", "XLA_FLAGS=" + c.user}, Work: work, Module: c.module})
		if err != nil {
			t.Fatal(err)
		}
		place := strings.NewReplacer("DIR", dir, "WORK", work)
		if got := collector.get("XLA_FLAGS"); got != place.Replace(c.want) {
			t.Errorf("%q: flags %q, want %q", c.user, got, place.Replace(c.want))
		}
		if got := collector.Foreign(); got != place.Replace(c.foreign) {
			t.Errorf("%q: the folder of the user is %q, want %q", c.user, got, place.Replace(c.foreign))
		}
		if told := len(collector.Notes()) > 0; told != (c.user == "--xla_dump_to=-" || c.user == "no-such-file") {
			t.Errorf("%q: notes %q", c.user, collector.Notes())
		}
		if paths := collector.Paths(false); len(paths) > 0 {
			t.Errorf("nothing was written, and there are %v", paths)
		}
		collector.Close()
	}
}

func TestEnvironmentIsKept(t *testing.T) {
	user := []string{"A=1", "PYTHONPATH=/mine", "PYTHONUNBUFFERED=0x", "B="}
	c, err := New(t.TempDir(), Options{Env: user})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.get("PYTHONPATH"); got != c.torch.Python+string(filepath.ListSeparator)+"/mine" {
		t.Errorf("PYTHONPATH %q", got)
	}
	if c.get("A") != "1" || c.get("PYTHONUNBUFFERED") != "0x" || user[1] != "PYTHONPATH=/mine" {
		t.Errorf("environment %q", c.Env())
	}
}

// TestAffonConsole: the console is found in the output, however it is cut, and what it
// answers is kept if it is a list of metrics.
func TestAffonConsole(t *testing.T) {
	for _, c := range []struct {
		answer string
		code   int
		kept   bool
	}{{`[{"id":1,"scope":"runtime.memory","name":"x","value":1}]`, 200, true}, {`{"no":"list"}`, 200, false}, {`[1,`, 200, false}, {`[]`, 500, false}} {
		asked := make(chan string, 16)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.code)
			w.Write([]byte(c.answer))
			asked <- r.URL.Path
		}))
		collector, err := New(t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		line := "noise\nTelemetry console listening on " + server.URL + "/\nmore"
		for _, part := range []string{line[:20], line[20:50], line[50:]} {
			if _, err := collector.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if path := <-asked; path != "/metrics" {
			t.Errorf("asked for %s", path)
		}
		server.Close() // waits until the answer is written
		collector.Close()
		text, _ := os.ReadFile(collector.affon.path)
		if want := map[bool]string{true: c.answer + "\n"}[c.kept]; string(text) != want {
			t.Errorf("%s: kept %q, want %q", c.answer, text, want)
		}
	}
}

// TestAffonElsewhere: only this machine is asked.
func TestAffonElsewhere(t *testing.T) {
	for _, line := range []string{"Telemetry console listening on http://10.0.0.1:80/", "Telemetry console listening on http://127.0.0.1.example.com:80/", "Telemetry console listening on http://127.0.0.1:80@example.com/", strings.Repeat("x", 1<<20)} {
		a := newAffon(filepath.Join(t.TempDir(), "f"))
		a.printed([]byte(line))
		if a.begun {
			t.Errorf("%.80s: asked", line)
		}
		if len(a.tail) > maxLine {
			t.Errorf("%d bytes of the output are kept", len(a.tail))
		}
	}
}
