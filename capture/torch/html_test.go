package torch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// page is what _format_viz of torch/cuda/_memory_viz.py makes of a pickle.
func page(pickle []byte) string {
	padded := append(bytes.Clone(pickle), make([]byte, 3-len(pickle)%3)...)
	return "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n" +
		`import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"` + "\n" +
		`const local_files = [{"name": "snapshot.pickle", "base64": "` + base64.StdEncoding.EncodeToString(padded) + `"}]` + "\n" +
		"add_local_files(local_files, 'Active Memory Timeline')\n</script>\n</body>\n"
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repoRoot(t), "fixtures", "torch", name+".pickle"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// jsonOf is the measurement of a snapshot, as JSON.
func jsonOf(t testing.TB, s *Snapshot) string {
	t.Helper()
	b, err := json.MarshalIndent(s.Measurement(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A page says what the pickle in it says, however the bytes arrive.
func TestPage(t *testing.T) {
	for _, name := range []string{"forms_dict", "forms_proto0", "forms_proto5", "pools", "cpp_2_15"} {
		pickle := fixture(t, name)
		want, err := Read(bytes.NewReader(pickle), int64(len(pickle)), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		html := page(pickle)
		if _, ok := Sniff([]byte(html)); !ok {
			t.Fatalf("%s: the page is not recognized", name)
		}
		got, err := Read(iotest.OneByteReader(strings.NewReader(html)), -1, name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Form != want.Form+" in an HTML page" {
			t.Errorf("%s: form %q", name, got.Form)
		}
		if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, got)); diff != "" {
			t.Errorf("%s: the page differs from its pickle:\n%s", name, diff)
		}
	}
}

func TestPageMalformed(t *testing.T) {
	good := page(fixture(t, "forms_dict"))
	start := strings.Index(good, `"base64": "`) + len(`"base64": "`)
	end := start + strings.IndexByte(good[start:], '"')
	for name, c := range map[string]struct{ html, want string }{
		"no snapshot":     {strings.Replace(good, `"base64"`, `"text"`, 1), "an HTML page without a snapshot"},
		"no end quote":    {good[:end], "truncated"},
		"cut":             {good[:start+1000], "truncated"},
		"cut in a group":  {good[:start+1002], "truncated"},
		"junk":            {good[:start+400] + "!" + good[start+401:], "want a character of base64"},
		"line break":      {good[:start+401] + "\n" + good[start+401:], "want a character of base64"},
		"text after =":    {good[:start] + "gAR9lC4=" + good[start:], "base64"},
		"empty":           {good[:start] + good[end:], "the page holds an empty snapshot"},
		"code":            {page([]byte("\x80\x04cos\nsystem\n(S'id'\ntR.")), "GLOBAL"},
		"not a snapshot":  {page([]byte("\x80\x04}\x94.")), "neither segments nor device_traces"},
		"page in a page":  {page([]byte(good)), "pickle"},
		"two snapshots":   {strings.Replace(good, `"}]`, `"}, {"name": "b", "base64": "gAR9lC4="}]`, 1), "a second snapshot"},
		"only the marker": {`<html>"base64"`, "an HTML page without a snapshot"},
	} {
		s, err := Read(strings.NewReader(c.html), int64(len(c.html)), "x.html", Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.html: offset 0x") {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
