package page

import (
	"fmt"

	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// figures are the lines of the overview, with XProf's formulas.
func figures(m *xla.Module, v *xla.View) []Figure {
	lasting := v.ArgumentBytes + v.UnaliasedOutputBytes + v.ConstantBytes
	var out []Figure
	add := func(key, label string, n int64, formula string) {
		out = append(out, Figure{Key: key, Label: label, Bytes: &n, Text: measure.Bytes(n).String(), Formula: formula})
	}
	if p := v.Peak; p != nil {
		add("peak", "Peak memory", p.HeapBytes, "the most that is live at once: simulated heap + what lives throughout")
		add("peak_unpadded", "Peak without padding", p.UnpaddedBytes, "the same buffers; what lives throughout stays padded, as in XProf")
		add("padding", "Padding overhead", p.HeapBytes-p.UnpaddedBytes, "peak − peak without padding")
		add("padding_all", "Padding, arguments and outputs too", p.PaddingBytes, "size − size of the values, of all that is live at the peak")
	} else {
		out = append(out, Figure{Key: "peak", Label: "Peak memory", Text: "not known: " + Clean(v.NoPeak)})
	}
	add("total", "Total allocation", v.NeedBytes, "sum of all allocations, without thread-local ones")
	add("arguments", "Arguments", v.ArgumentBytes, "allocations of entry parameters")
	add("outputs", "Outputs", v.OutputBytes, "allocations that may be live out; donated arguments are among both")
	add("donated", "Donated arguments", v.DonatedBytes, "arguments whose memory an output takes over")
	add("constants", "Constants", v.ConstantBytes, "allocations of constants")
	add("indefinite", "Lives throughout", lasting, "arguments + outputs that are no arguments + constants")
	if p := v.Peak; p != nil {
		add("temp_live", "HLO temp without fragmentation", p.HeapBytes-lasting, "peak − what lives throughout")
	}
	add("temp", "HLO temp with fragmentation", v.NeedBytes-lasting, "total − what lives throughout")
	if p := v.Peak; p != nil {
		out = append(out, fragmentation(p, v.NeedBytes, lasting))
	}
	if v.NonReusableBytes > 0 {
		add("non_reusable", "Not reusable", v.NonReusableBytes, "allocations that are thread-local or hold a tuple's table; XProf counts all of such a one")
	}
	if v.Space == 1 && m.ScopedBytes > 0 {
		add("scoped", "Scoped vmem beside the plan", m.ScopedBytes, "the most that one kernel takes")
	}
	return out
}

// fragmentation is the part of the temp block that is not live at the peak.
func fragmentation(p *xla.Peak, total, lasting int64) Figure {
	f := Figure{Key: "fragmentation", Label: "Fragmentation", Formula: "(total − peak) ÷ (total − what lives throughout)"}
	switch {
	case p.NoFragmentation != "":
		f.Text = "not known: " + Clean(p.NoFragmentation)
	case total <= lasting:
		f.Text = "none: there is no temp block"
	default:
		n := total - p.HeapBytes
		f.Bytes = &n
		f.Text = fmt.Sprintf("%.2f %% (%s)", 100*float64(n)/float64(total-lasting), measure.Bytes(n))
	}
	return f
}
