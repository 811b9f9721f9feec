package capture

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"/home/ann/app/model.py":            "~/app/model.py",
		"/Users/Ann Lee/app/model.py":       "~/app/model.py",
		"/Users/ann/app/model.py:3 f":       "~/app/model.py:3 f",
		`C:\Users\ann\app\model.py`:         `~\app\model.py`,
		`at C:\Users\Ann Lee\x`:             `at ~ Lee\x`, // a blank ends a path in a text
		"c:/Users/ann/model.py":             "~/model.py",
		"src/home/page/view.py":             "src/home/page/view.py",
		"/srv/home/ann/x.py":                "/srv/home/ann/x.py",
		"model.py f → /home/ann/lib/x.py g": "model.py f → ~/lib/x.py g",
		`file "/home/ann/x" and /home/bob`:  `file "~/x" and ~`,
		"homes":                             "homes",
		"/home/":                            "/home/",
	} {
		if got := withoutUser(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// No string of a measurement keeps the name, and it stays a valid one.
func TestRedactAll(t *testing.T) {
	m := measure.New()
	labels := measure.Labels{"device": "0"}
	source := &measure.Source{File: "/home/ann/app/a.py", Line: 3}
	m.Inputs = []measure.Input{{Path: "/home/ann/run/snapshot.pickle"}}
	m.Environment["command"] = "/home/ann/venv/bin/python"
	m.Rows = []measure.Row{measure.NewRow("live.peak_bytes", labels, measure.Int(3))}
	for _, user := range []string{"ann", "bob"} {
		m.Contributors = append(m.Contributors, measure.Contributor{Metric: "live.peak_bytes", Labels: labels,
			Key: "/home/" + user + "/lib/x.py f", Display: "/home/" + user + "/lib/x.py:3 f", Source: source})
	}
	m.Warnings = []string{"/Users/ann/x: not read"}
	m.Findings = []measure.Finding{{Text: "see /home/bob/x.py", Source: source}}
	m.Facts.Snapshots = []measure.SnapshotFact{{Labels: labels, OOMs: []measure.OOMFact{{Stack: []string{"/home/ann/x.py:3 f"}, Source: source}}}}
	Redact(m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "ann") || strings.Contains(string(text), "bob") {
		t.Errorf("a name is left: %s", text)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	if got := m.Facts.Snapshots[0].OOMs[0].Source.File; got != "~/app/a.py" {
		t.Errorf("source %q", got)
	}
}

// What is made of a measurement later can be redacted too.
func TestRedactLater(t *testing.T) {
	type hidden struct{ names map[string]string }
	v := struct {
		Finding measure.Finding
		Log     *measure.LogFact
		hidden
	}{measure.Finding{Text: "available HBM, by /home/ann/run.log:3"}, &measure.LogFact{File: "/home/ann/run.log"}, hidden{map[string]string{"a": "b"}}}
	if RedactAll(&v); v.Finding.Text != "available HBM, by ~/run.log:3" || v.Log.File != "~/run.log" {
		t.Errorf("%+v, %+v", v, *v.Log)
	}
}
