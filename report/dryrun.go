package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// dryrunLines is how many lines of reads, and how many rows, are told of a dry run.
const dryrunLines = 6

// dryrunPeak is the number that a dry run was made for, and whether it fits.
func dryrunPeak(m *measure.Measurement, f *measure.DryrunFact) string {
	metric, verb := "live.peak_bytes", "peak"
	if f.Framework == "jax" {
		metric, verb = "plan.need_bytes", "needs"
	}
	var parts []string
	var most *measure.Row
	for i, r := range m.Rows {
		if r.Name != metric || r.Value == nil || !f.About(r.Labels, m.Facts.Dryrun) || r.Labels["memory_space"] == "host" {
			continue
		}
		if most == nil || r.Value.Cmp(*most.Value) > 0 {
			most = &m.Rows[i]
		}
		parts = append(parts, r.Value.Format(r.Unit)+" {"+r.Labels.Key("memory_space")+"}")
	}
	device := ""
	if f.Device != "" {
		device = f.Device + ": "
	}
	switch {
	case f.Class == measure.DryrunDidNotRun:
		return device + "did not run"
	case most == nil:
		text := device + "nothing was allocated on the device"
		if f.Fits == measure.FitsNo {
			text += fits(f)
		}
		return text
	case f.Framework == "jax":
		parts = []string{most.Value.Format(most.Unit)} // the largest of several modules
	}
	if left := len(parts) - dryrunLines; left > 0 {
		parts = append(parts[:dryrunLines], fmt.Sprintf("%d more", left))
	}
	text := device + verb + " " + strings.Join(parts, ", ")
	if f.MemoryBytes > 0 {
		text += " of " + f.MemoryBytes.String()
	}
	if f.Class == measure.DryrunValueDependent && f.Fits != measure.FitsNo {
		if f.Unrepeatable {
			return text + ": of one run, no other is like it"
		}
		return text + ": of one run, other values lead elsewhere"
	}
	text += fits(f)
	if f.Fits != measure.FitsYes && f.FitsReason != "" {
		text += ": " + f.FitsReason
	}
	return text
}

// fits tells in words whether it does.
func fits(f *measure.DryrunFact) string {
	switch f.Fits {
	case measure.FitsYes:
		return ": it fits"
	case measure.FitsNo:
		return ": it does not fit"
	case measure.FitsUnsure:
		return ": it may not fit"
	}
	return ""
}

// dryrunDevice says what was pretended.
func dryrunDevice(f *measure.DryrunFact) string {
	text := "dry run of " + map[string]string{"torch": "PyTorch", "jax": "JAX", "tf": "TensorFlow"}[f.Framework]
	if text == "dry run of " {
		text += f.Framework
	}
	switch {
	case f.Device != "":
		text += " for " + f.Device
	case f.Devices > 0:
		text += " for " + plural(int(f.Devices), "device", "devices")
	}
	var of []string
	add := func(n measure.Bytes, what string) {
		if n > 0 {
			of = append(of, n.String()+what)
		}
	}
	add(f.MemoryBytes, "")
	if f.Capability != "" {
		of = append(of, "compute capability "+f.Capability)
	}
	add(f.ContextBytes, " held by the driver")
	add(f.ReservedBytes, " reserved at most, for information")
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return text
}

// dryrunReads lists the lines that read values from the device.
func dryrunReads(f *measure.DryrunFact, name func(r measure.DryrunRead) string) string {
	var out []string
	for i, r := range f.ReadLines {
		if i == dryrunLines {
			out = append(out, fmt.Sprintf("%d more lines", len(f.ReadLines)-i))
			break
		}
		out = append(out, name(r)+" "+plural(int(r.Count), "time", "times"))
	}
	return strings.Join(out, ", ")
}

// readAt names the line of a read.
func readAt(r measure.DryrunRead) string {
	if r.Source == nil {
		return cmp.Or(r.Function, "a line that is not known")
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%d %s", r.Source.File, r.Source.Line, r.Function))
}

// dryrunClass is the class in words, with the reasons unless a check or a notice of its
// target gives them.
func dryrunClass(f *measure.DryrunFact, t *compare.TargetResult) string {
	text := compare.DryrunText(*f)
	if t != nil && (slices.ContainsFunc(t.Checks, func(c compare.Check) bool { return strings.Contains(c.Reason, text) }) ||
		slices.ContainsFunc(t.Notices, func(n compare.Notice) bool { return strings.Contains(n.Text, text) })) {
		text, _, _ = strings.Cut(text, ":")
	}
	return text
}

// dryrunText tells of a dry run what has to be known with its numbers. It is of a target,
// or of a measurement alone.
func dryrunText(out io.Writer, indent string, f *measure.DryrunFact, t *compare.TargetResult) {
	wrapped(out, indent, indent+"  ", plain(dryrunDevice(f)+": "+dryrunClass(f, t)))
	if reads := dryrunReads(f, readAt); reads != "" {
		wrapped(out, indent, indent+"  ", plain("values read from the device, which nothing computed: "+reads))
	}
}

// dryrun is dryrunText for a page.
func (p *page) dryrun(t *compare.TargetResult, f *measure.DryrunFact) string {
	line := fmt.Sprintf("- %s: %s: %s", code(t.Name), prose(dryrunDevice(f)), prose(dryrunClass(f, t)))
	reads := dryrunReads(f, func(r measure.DryrunRead) string {
		return sourceLink(p.r, code(readAt(r)), r.Source, compare.InRepository)
	})
	if reads != "" {
		line += "; values read from the device, which nothing computed: " + reads
	}
	return line + "\n"
}
