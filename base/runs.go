package base

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// RunsSchema names the JSON of Runs.
const RunsSchema = "peakgate.base/1"

// maxRuns is how many runs a base may hold.
const maxRuns = 1000

// Runs is a base of one target: one measurement, or several of the same program.
type Runs struct {
	Schema string                 `json:"schema"`
	Target string                 `json:"target"`
	Runs   []*measure.Measurement `json:"runs"`
}

// NewRuns makes a base of measurements of one target.
func NewRuns(target string, runs ...*measure.Measurement) *Runs {
	return &Runs{RunsSchema, target, runs}
}

// DecodeRuns reads a base, or a plain measurement as a base of one run. name is
// for messages only.
func DecodeRuns(r io.Reader, name string) (*Runs, error) {
	data, err := io.ReadAll(io.LimitReader(r, measure.MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > measure.MaxDocument {
		return nil, fmt.Errorf("%s: base of more than %s; want what peakgate wrote", name, measure.Bytes(measure.MaxDocument))
	}
	var document struct {
		Schema string            `json:"schema"`
		Target string            `json:"target"`
		Runs   []json.RawMessage `json:"runs"`
	}
	err = json.Unmarshal(data, &document)
	if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) && document.Schema == RunsSchema {
		return nil, fmt.Errorf("%s: offset %d: base: %w", name, kind.Offset, err)
	}
	if err != nil || document.Schema == measure.Schema {
		m, err := measure.Decode(bytes.NewReader(data), name) // its errors have a line and a column
		if err != nil {
			return nil, err
		}
		return NewRuns(m.Target, m), nil
	}
	if document.Schema != RunsSchema {
		return nil, fmt.Errorf("%s: schema %.60q, want %q or %q", name, document.Schema, RunsSchema, measure.Schema)
	}
	out := NewRuns(document.Target)
	for i, raw := range document.Runs {
		var run struct {
			Schema string `json:"schema"`
		}
		if json.Unmarshal(raw, &run); run.Schema != measure.Schema {
			return nil, fmt.Errorf("%s: runs[%d]: schema %.60q, want %q", name, i, run.Schema, measure.Schema)
		}
		m, err := measure.Decode(bytes.NewReader(raw), fmt.Sprintf("%s: runs[%d]", name, i))
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, m)
		if i > maxRuns {
			break
		}
	}
	if err := out.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (b *Runs) validate() error {
	if len(b.Runs) == 0 {
		return errors.New("no runs: nothing was measured")
	}
	if len(b.Runs) > maxRuns {
		return fmt.Errorf("more than %d runs", maxRuns)
	}
	for i, m := range b.Runs {
		if m.Target != b.Target && m.Target != "" {
			return fmt.Errorf("runs[%d]: a measurement of %.60q, want one of %.60q", i, m.Target, b.Target)
		}
		if err := m.Validate(); err != nil {
			return fmt.Errorf("runs[%d]: %w", i, err)
		}
	}
	return nil
}

// Encode writes the base as JSON: the same bytes for the same runs.
func (b *Runs) Encode(w io.Writer) error {
	if err := b.validate(); err != nil {
		return fmt.Errorf("base of %.60q: %w", b.Target, err)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// Save writes the base where Load finds it once it is committed: at FileName
// below the budget's folder. It gives the path. What was there is replaced as a
// whole or not at all, and nothing outside of the folder is written.
func (b *Runs) Save(folder string) (string, error) {
	name := filepath.FromSlash(FileName(b.Target))
	where := filepath.Join(folder, name)
	var data bytes.Buffer
	if err := b.Encode(&data); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("%s: cannot be written: %w", where, err)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fail(err)
	}
	draft := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	if err := root.WriteFile(draft, data.Bytes(), 0o644); err != nil {
		root.Remove(draft)
		return fail(err)
	}
	if err := root.Rename(draft, name); err != nil {
		root.Remove(draft)
		return fail(err)
	}
	return where, nil
}

// FileName is where the committed base of a target lies, from the budget's
// folder: .peakgate/base/TARGET.json. Bytes other than letters, digits, "_", "-"
// and inner dots are written as %XX, so that no name leads elsewhere.
func FileName(target string) string {
	var out strings.Builder
	for i := range len(target) {
		c := target[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain := letter || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0
		if !plain || i == 0 && reserved(target) {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	name := out.String()
	switch {
	case name == "":
		name = "%"
	case len(name) > maxName:
		name = fmt.Sprintf("%s%%-%x", strings.TrimRight(name[:maxName/2], "%"), sha256.Sum256([]byte(target)))
	}
	return path.Join(".peakgate", "base", name+".json")
}

// maxName is the longest written name of a target, in bytes; file systems take
// names of 255.
const maxName = 200

// reserved tells whether Windows takes a file's name for a device
// (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
func reserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if n := len(stem); n == 4 && stem[3] >= '0' && stem[3] <= '9' {
		return stem[:3] == "COM" || stem[:3] == "LPT"
	}
	return slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, stem)
}

// Spread is what the runs of a base have shown of one row.
type Spread struct {
	Name   string
	Labels measure.Labels
	Unit   measure.Unit
	Kind   measure.Kind
	// Values are the distinct values, ascending; none where no run has one.
	Values []measure.Value
	// Runs counts the runs that have a value, Absent those that have the row
	// without one or do not have it.
	Runs, Absent int
}

// Min is the smallest value shown; ok is false if there is none.
func (s Spread) Min() (v measure.Value, ok bool) {
	if len(s.Values) == 0 {
		return v, false
	}
	return s.Values[0], true
}

// Max is the largest value shown; ok is false if there is none.
func (s Spread) Max() (v measure.Value, ok bool) {
	if len(s.Values) == 0 {
		return v, false
	}
	return s.Values[len(s.Values)-1], true
}

// Spread gives, for every row of any run, the set of its values, in the order in
// which rows first occur. Rows of two runs are the same if their labels are; the
// labels program and host, which may change from run to run, count only where a
// run has several rows that differ in nothing else.
func (b *Runs) Spread() []Spread {
	loose := func(r measure.Row) string { return r.Name + "\x00" + r.Labels.Key("program", "host") }
	strict := map[string]bool{}
	for _, m := range b.Runs {
		seen := map[string]bool{}
		for _, r := range m.Rows {
			if seen[loose(r)] {
				strict[loose(r)] = true
			}
			seen[loose(r)] = true
		}
	}
	var out []Spread
	index := map[string]int{}
	for _, m := range b.Runs {
		for _, r := range m.Rows {
			key := loose(r)
			if strict[key] {
				key = r.Name + "\x00" + r.Labels.Key()
			}
			i, ok := index[key]
			if !ok {
				i = len(out)
				index[key] = i
				out = append(out, Spread{Name: r.Name, Labels: r.Labels, Unit: r.Unit, Kind: r.Kind})
			}
			if r.Value == nil {
				continue
			}
			s := &out[i]
			s.Runs++
			if at, found := slices.BinarySearchFunc(s.Values, *r.Value, measure.Value.Cmp); !found {
				s.Values = slices.Insert(s.Values, at, *r.Value)
			}
		}
	}
	for i := range out {
		out[i].Absent = len(b.Runs) - out[i].Runs
	}
	return out
}
