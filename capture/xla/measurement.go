package xla

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Measurement gives the plan metrics of every module, who holds the bytes, and
// the facts of the modules. The caller fills in Inputs. A module whose plan is
// missing or makes no sense has rows without values that say why.
func (c *Capture) Measurement() *measure.Measurement {
	out := measure.New()
	if len(c.Devices) > 0 {
		out.Environment["device"] = strings.Join(c.Devices, ", ")
	}
	for k, v := range c.Software {
		out.Environment[k] = v
	}
	for _, text := range c.Problems {
		out.Warnings = append(out.Warnings, "the profiler reported: "+text)
	}
	switch {
	case c.Stats != nil:
		c.Stats.measure(out)
	case len(c.Totals) > 0:
		c.reportRows(out)
	case len(c.Modules) == 0:
		out.Warnings = append(out.Warnings, "the file holds no compiled XLA module, so it tells nothing of any plan")
	}
	for _, m := range c.Modules {
		m.measure(out)
	}
	switch {
	case c.trace != nil:
		c.trace.measure(c, out)
	case c.Format == FormatXSpace && (len(c.Devices) > 0 || len(c.Modules) == 0):
		out.Warnings = append(out.Warnings, "the profile holds no allocator events, so it tells nothing of what was in use: they are recorded from host tracer level 2 on, and never on JAX's CPU backend")
	}
	return out
}

// measure adds the rows, contributors and facts of one module.
func (m *Module) measure(out *measure.Measurement) {
	if m.bare != "" {
		m.measureBare(out)
		return
	}
	labels := m.moduleLabels()
	out.Facts.Modules = append(out.Facts.Modules, m.fact(labels))

	spaces, missing := m.Spaces(), false
	if len(spaces) == 0 {
		spaces = []MemorySpace{Device}
	}
	for _, space := range spaces {
		spaceLabels := labels.With("memory_space", space.String())
		p, err := m.Plan(space)
		if err != nil {
			out.Rows = append(out.Rows, absent(spaceLabels, err.Error())...)
			continue
		}
		if p.Peak == nil {
			missing = true
		}
		out.Rows = append(out.Rows, p.rows(spaceLabels)...)
		hs := m.holders(p)
		out.Contributors = append(out.Contributors, hs.contributors(p, spaceLabels)...)
		out.Facts.Plans = append(out.Facts.Plans, m.planFact(p, hs, spaceLabels))
	}
	out.Rows = append(out.Rows, m.wholeRows(labels, missing)...)
}

// planMetrics are the metrics of a memory space. Those of the heap peak need a trace.
var planMetrics = []struct {
	name  string
	value func(*Plan) int64
}{
	{"plan.need_bytes", func(p *Plan) int64 { return p.NeedBytes }},
	{"plan.total_bytes", func(p *Plan) int64 { return p.NeedBytes }},
	{"plan.argument_bytes", func(p *Plan) int64 { return p.ArgumentBytes }},
	{"plan.output_bytes", func(p *Plan) int64 { return p.OutputBytes }},
	{"plan.unaliased_output_bytes", func(p *Plan) int64 { return p.UnaliasedOutputBytes }},
	{"plan.donated_bytes", func(p *Plan) int64 { return p.DonatedBytes }},
	{"plan.constant_bytes", func(p *Plan) int64 { return p.ConstantBytes }},
	{"plan.temp_bytes", func(p *Plan) int64 { return p.TempBytes }},
	{"plan.thread_local_bytes", func(p *Plan) int64 { return p.ThreadLocalBytes }},
}

var peakMetrics = []struct {
	name  string
	value func(*Peak) int64
}{
	{"plan.heap_peak_bytes", func(p *Peak) int64 { return p.HeapBytes }},
	{"plan.padding_bytes", func(p *Peak) int64 { return p.PaddingBytes }},
	{"plan.viewer_padding_bytes", func(p *Peak) int64 { return p.HeapBytes - p.UnpaddedBytes }},
	{fragmentation, func(p *Peak) int64 { return p.FragmentationBytes }},
	{"plan.forward_kept_bytes", func(p *Peak) int64 { return p.ForwardKeptBytes }},
	{"plan.backward_bytes", func(p *Peak) int64 { return p.BackwardBytes }},
	{"plan.workspace_bytes", func(p *Peak) int64 { return p.WorkspaceBytes }},
	{"plan.other_bytes", func(p *Peak) int64 { return p.OtherBytes }},
}

const (
	fragmentation = "plan.fragmentation_bytes"
	compilerPeak  = "plan.compiler_peak_bytes"
	remat         = "plan.remat_instructions"
)

// rows gives the rows of one memory space.
func (p *Plan) rows(labels measure.Labels) []measure.Row {
	var rows []measure.Row
	for _, m := range planMetrics {
		rows = append(rows, measure.NewRow(m.name, labels, measure.Int(m.value(p))))
	}
	for _, m := range peakMetrics {
		switch {
		case p.Peak == nil:
			rows = append(rows, measure.Absent(m.name, labels, p.NoPeak))
		case m.name == fragmentation && p.Peak.NoFragmentation != "":
			rows = append(rows, measure.Absent(m.name, labels, p.Peak.NoFragmentation))
		case m.value(p.Peak) < 0: // only padding can be: sizes and shapes contradict each other
			rows = append(rows, measure.Absent(m.name, labels, "shapes are larger than the buffers that hold them"))
		default:
			rows = append(rows, measure.NewRow(m.name, labels, measure.Int(m.value(p.Peak))))
		}
	}
	return rows
}

// absent gives the rows of one memory space of which nothing is known.
func absent(labels measure.Labels, reason string) []measure.Row {
	var rows []measure.Row
	for _, m := range planMetrics {
		rows = append(rows, measure.Absent(m.name, labels, reason))
	}
	for _, m := range peakMetrics {
		rows = append(rows, measure.Absent(m.name, labels, reason))
	}
	return rows
}

// wholeRows gives the rows of a module that belong to no memory space: XLA's own
// peak mixes them, and an instruction may use several. missing tells that a space
// lacks its heap trace: XLA's formula would then leave the temp block out.
func (m *Module) wholeRows(labels measure.Labels, missing bool) []measure.Row {
	if m.Assignment == nil {
		// Without an assignment the module may be one from before optimization,
		// where no instruction is rematerialized yet.
		return []measure.Row{measure.Absent(compilerPeak, labels, m.missing), measure.Absent(remat, labels, m.missing)}
	}
	peak, err := m.CompilerPeak()
	row := measure.NewRow(compilerPeak, labels, measure.Int(peak))
	switch {
	case err != nil:
		row = measure.Absent(compilerPeak, labels, err.Error())
	case missing:
		row = measure.Absent(compilerPeak, labels, "the file holds no heap trace of the temp block, which XLA's formula would leave out")
	}
	return []measure.Row{row, measure.NewRow(remat, labels, measure.Int(m.Remat))}
}

// where puts the file's and the module's name before an error.
func (c *Capture) where(m *Module, err error) error {
	if m.Title() == "" {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return fmt.Errorf("%s: module %s: %w", c.Name, m.Title(), err)
}
