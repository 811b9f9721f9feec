package measure

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Schema names the JSON of a Measurement.
const Schema = "peakgate.measurement/1"

// Measurement is what one workload (or one file of it) says about memory.
type Measurement struct {
	Schema       string        `json:"schema"`
	Target       string        `json:"target"`
	Inputs       []Input       `json:"inputs"`
	Environment  Environment   `json:"environment"`
	Rows         []Row         `json:"metrics"`
	Contributors []Contributor `json:"contributors"`
	Series       []Series      `json:"series,omitempty"`
	Facts        Facts         `json:"facts"`
	Findings     []Finding     `json:"findings"`
	Warnings     []string      `json:"warnings"`
}

// Input is one file that a measurement was made from. Path is as the user
// named it, Bytes the size of what was read (after any decompression).
type Input struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Bytes  Bytes  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
}

// Row is one metric with its labels and its value, or the reason for having none.
type Row struct {
	Name    string `json:"name"`
	Labels  Labels `json:"labels"`
	Unit    Unit   `json:"unit"`
	Kind    Kind   `json:"kind"`
	Value   *Value `json:"value,omitempty"`
	NoData  string `json:"no_data,omitempty"`
	Samples int    `json:"samples,omitempty"`
}

// NewRow makes a row of the catalogue with its unit and usual kind. A name that
// the catalogue lacks is a fault of the caller.
func NewRow(name string, labels Labels, v Value) Row {
	r := Absent(name, labels, "")
	r.Value = &v
	return r
}

// Absent makes a row of the catalogue that has no value, and says why.
func Absent(name string, labels Labels, reason string) Row {
	m, ok := Lookup(name)
	if !ok {
		panic("internal error: metric " + name + " is not in the catalogue")
	}
	return Row{Name: name, Labels: labels, Unit: m.Unit, Kind: m.Kind, NoData: reason}
}

// Labels tell the rows of one metric apart. The names in use are module,
// program, memory_space, device, allocator, pool, series, rank, host, file and
// source (who says so, of numbers that are like a plan's and are none).
type Labels map[string]string

// Key is the labels in one canonical string: sorted, quoted where needed. The
// names listed in without are left out.
func (l Labels) Key(without ...string) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(l)) {
		if slices.Contains(without, k) {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(k)
		out.WriteByte('=')
		if v := l[k]; strings.ContainsAny(v, " =\"\\\n\r\t") || v == "" {
			out.WriteString(strconv.Quote(v))
		} else {
			out.WriteString(v)
		}
	}
	return out.String()
}

// With is a copy of the labels with one more.
func (l Labels) With(name, value string) Labels {
	c := make(Labels, len(l)+1)
	maps.Copy(c, l)
	c[name] = value
	return c
}

// Label gives all that a measurement of XLA plans says the label more, so that it can
// be told from that of another device.
func (m *Measurement) Label(name, value string) {
	for i := range m.Rows {
		m.Rows[i].Labels = m.Rows[i].Labels.With(name, value)
	}
	for i := range m.Contributors {
		m.Contributors[i].Labels = m.Contributors[i].Labels.With(name, value)
	}
	for i := range m.Series {
		m.Series[i].Labels = m.Series[i].Labels.With(name, value)
	}
	for i := range m.Facts.Modules {
		m.Facts.Modules[i].Labels = m.Facts.Modules[i].Labels.With(name, value)
	}
	for i := range m.Facts.Plans {
		m.Facts.Plans[i].Labels = m.Facts.Plans[i].Labels.With(name, value)
	}
}

// Contributor accounts for bytes of one metric: a buffer, a call site, an array
// or a region. The contributors of a row add up to it: those under
// KeepThreshold are one contributor with the key Other.
type Contributor struct {
	Metric string `json:"metric"`
	Labels Labels `json:"labels"`
	// Key is unique within its row and does not change when lines shift.
	Key     string  `json:"key"`
	Display string  `json:"display"`
	Bytes   Bytes   `json:"bytes"`
	Count   int64   `json:"count"`
	Class   string  `json:"class,omitempty"`
	Source  *Source `json:"source,omitempty"`
	// Group is set where several contributors differ by nothing but their
	// place in one function: a comparison then pairs the members of a group
	// by the order of their lines, their callee, bytes and count.
	Group string `json:"group,omitempty"`
}

// Source is a place in the user's program, relative to the repository where the
// file is in it.
type Source struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// Other is the key of the contributor that holds all that is too small to keep.
const Other = "(other)"

// KeepThreshold is the size from which a contributor is kept apart: the larger
// of 16 KiB and 0.01 % of the metric.
func KeepThreshold(metric Bytes) Bytes { return max(16<<10, metric/10_000) }

// Finding is one diagnosis.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // "error", "warning" or "note"
	Evidence string `json:"evidence"` // "measured" or "inferred"
	Text     string `json:"text"`
	Fix      string `json:"fix,omitempty"`
	// SavingBytes is what the fix saves at most, by the bytes of this capture.
	SavingBytes Bytes `json:"saving_bytes,omitempty"`
	// Cost is what the fix takes in exchange.
	Cost   string  `json:"cost,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Labels name what the finding is about: a module, a device.
	Labels Labels `json:"labels,omitempty"`
}

// Facts are what readers saw beside numbers; comparison (how alike are two
// workloads) and diagnosis read them.
type Facts struct {
	Modules []ModuleFact `json:"modules,omitempty"`
	Traces  []TraceFact  `json:"traces,omitempty"`
	Plans   []PlanFact   `json:"plans,omitempty"`
	Logs    []LogFact    `json:"logs,omitempty"`
	// Snapshots hold one entry for each device of each PyTorch snapshot.
	Snapshots []SnapshotFact `json:"snapshots,omitempty"`
	// Watches hold one entry for each file of a watcher.
	Watches []WatchFact `json:"watches,omitempty"`
	// Dryrun is there where the program ran for devices that are not there: one entry,
	// and of JAX one for each device that it was compiled for.
	Dryrun []DryrunFact `json:"dryrun,omitempty"`
	// Timelines, Executions and Waits come from the host events of profiles.
	Timelines  []TimelineFact  `json:"timelines,omitempty"`
	Executions []ExecutionFact `json:"executions,omitempty"`
	Waits      []WaitFact      `json:"waits,omitempty"`
	// Affon holds one entry for each file of Affon's telemetry.
	Affon []AffonFact `json:"affon,omitempty"`
}

// ModuleFact describes one compiled XLA module.
type ModuleFact struct {
	Labels       Labels `json:"labels"` // module, program
	Instructions int64  `json:"instructions"`
	Computations int64  `json:"computations"`
	// Parameters and Outputs give the entry computation's shapes.
	Parameters []string `json:"parameters,omitempty"`
	Outputs    []string `json:"outputs,omitempty"`
	// Fingerprint is a hash of opcodes and shapes: equal for equal programs,
	// whatever their names, ids and source lines.
	Fingerprint string `json:"fingerprint"`
	// Aliased and Donors count the parameters that an output reuses, and those
	// that were offered for reuse and found no output.
	Aliased int64 `json:"aliased"`
	Donors  int64 `json:"donors"`
	Remat   int64 `json:"remat"`
	// Checkpointed counts the instructions that compute again what jax.checkpoint
	// did not keep; Scopes those that are in a checkpointed function at all.
	Checkpointed int64 `json:"checkpointed,omitempty"`
	Scopes       int64 `json:"scopes,omitempty"`
	// Updates counts instructions that write a part of an array (dynamic_update_slice,
	// scatter).
	Updates int64 `json:"updates,omitempty"`
	// Partitions is the number of devices that the program was split over.
	Partitions int64 `json:"partitions,omitempty"`
	// Sharded counts the parameters that are split over devices.
	Sharded int64 `json:"sharded,omitempty"`
	// Contents is the fingerprint without the order of the instructions.
	Contents string `json:"contents,omitempty"`
	// Assigned is false where the capture holds no buffer assignment.
	Assigned bool `json:"assigned"`
}

// TraceFact describes one device's recorded allocation history.
type TraceFact struct {
	Labels  Labels           `json:"labels"` // device
	Events  int64            `json:"events"`
	Actions map[string]int64 `json:"actions"`
	// Sequence is a hash of the (action, size) sequence: equal for equal work.
	Sequence string `json:"sequence,omitempty"`
	Steps    int64  `json:"steps,omitempty"`
	// History is "complete", "starts_mid_run", "truncated", "state_only" or "none".
	History string `json:"history"`
	// StartUS and EndUS are when the first and the last event happened, in
	// microseconds since 1970; absent where the release writes no times.
	StartUS int64 `json:"start_us,omitempty"`
	EndUS   int64 `json:"end_us,omitempty"`
}

// New makes an empty measurement whose lists are present in JSON.
func New() *Measurement {
	return &Measurement{
		Schema: Schema, Inputs: []Input{}, Environment: Environment{}, Rows: []Row{},
		Contributors: []Contributor{}, Findings: []Finding{}, Warnings: []string{},
	}
}

// ContributorsOf gives the contributors of one row, largest first; where the
// row has none of its own, those of the metric that explains it.
func (m *Measurement) ContributorsOf(metric string, labels Labels) []Contributor {
	find := func(name string) []Contributor {
		key := labels.Key()
		var out []Contributor
		for _, c := range m.Contributors {
			if c.Metric == name && c.Labels.Key() == key {
				out = append(out, c)
			}
		}
		return out
	}
	out := find(metric)
	if len(out) == 0 {
		if entry, ok := Lookup(metric); ok && entry.ExplainedBy != "" {
			out = find(entry.ExplainedBy)
		}
	}
	SortContributors(out)
	return out
}

// SortContributors sorts by bytes, largest first, Other last, ties by key.
func SortContributors(cs []Contributor) {
	slices.SortStableFunc(cs, func(a, b Contributor) int {
		if ao, bo := a.Key == Other, b.Key == Other; ao != bo {
			if ao {
				return 1
			}
			return -1
		}
		if a.Bytes != b.Bytes {
			if a.Bytes > b.Bytes {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
}

// KeepLargest folds the contributors of one row that are under KeepThreshold of
// the total into one with the key Other, and adds what they lack to the total
// to it, so that all add up. It sorts the result.
func KeepLargest(metric string, labels Labels, total Bytes, cs []Contributor) []Contributor {
	least := KeepThreshold(total)
	var kept []Contributor
	rest := Contributor{Metric: metric, Labels: labels, Key: Other, Display: Other, Bytes: total}
	for _, c := range cs {
		if c.Bytes < least {
			rest.Count += c.Count
			continue
		}
		kept = append(kept, c)
		rest.Bytes -= c.Bytes
	}
	if rest.Bytes != 0 || rest.Count != 0 {
		kept = append(kept, rest)
	}
	SortContributors(kept)
	return kept
}
