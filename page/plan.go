package page

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/capture/xla"
)

// kinds are XProf's words for the types of allocations.
var kinds = map[xla.AllocationKind]string{
	xla.Argument: "Parameter", xla.Output: "Output", xla.Constant: "Constant", xla.Temp: "Temporary", xla.ThreadLocal: "Thread-local",
}

// Plans gives the plans of a capture, of each module in each memory space that holds
// anything, the largest first. Source files below root, if it is given, are named relative
// to it.
func Plans(c *xla.Capture, root string) Side {
	s := Side{Views: []View{}}
	type found struct {
		m *xla.Module
		v *xla.View
	}
	var all []found
	for _, m := range c.Modules {
		for _, space := range m.Spaces() {
			v, err := m.View(space)
			switch {
			case err != nil:
				s.warn("%s in %s memory is not shown: %v", m.Title(), space, err)
			case v.NeedBytes > 0 || v.Steps > 0:
				all = append(all, found{m, v})
			}
		}
		if len(m.Spaces()) == 0 {
			s.warn("%s: the capture holds no plan of this module", m.Title())
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.v.NeedBytes, a.v.NeedBytes) })
	if n := len(all) - maxViews; n > 0 {
		s.warn("the %d smallest plans of %d are not shown", n, len(all))
		all = all[:maxViews]
	}
	b := plans{side: &s, table: newFrames(&s)}
	if root != "" {
		b.root = strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
	}
	share := max(1, len(all))
	b.points = min(viewPoints, max(40, totalPoints/share))
	b.buffers = min(viewBuffers, max(15, totalBuffers/share))
	for _, f := range all {
		s.Views = append(s.Views, b.view(f.m, f.v))
	}
	return s
}

// maxWarnings is how many warnings a page shows; a capture may have any number of modules.
const maxWarnings = 50

func (s *Side) warn(format string, args ...any) {
	if len(s.Warnings) < maxWarnings {
		s.Warnings = append(s.Warnings, Clean(fmt.Sprintf(format, args...)))
	}
}

// plans builds the views of a side.
type plans struct {
	side            *Side
	root            string // with a slash at its end
	table           *frameTable
	points, buffers int // what each view may keep
}

func (b *plans) view(m *xla.Module, v *xla.View) View {
	out := View{
		Module: Clean(m.Title()), Name: Clean(m.Name), Space: v.Space.String(), Entry: Clean(v.Entry),
		Steps: v.Steps, Figures: figures(m, v), NoPeak: v.NoPeak,
		Curve: Curve{X: []int{}, Bytes: []int64{}, Unpadded: []int64{}, Instructions: []string{}}, Allocations: []Allocation{}, Buffers: []Buffer{},
	}
	if v.Peak != nil {
		out.Peak = &Peak{Bytes: v.Peak.HeapBytes, Unpadded: v.Peak.UnpaddedBytes}
		if sim := v.Peak.Simulation; sim != nil {
			out.Peak.X = sim.Position + 1
		}
		b.curve(&out, v)
	}
	var y int64
	for _, a := range v.Allocations {
		out.Allocations = append(out.Allocations, Allocation{Index: a.Index, Kind: kinds[a.Kind], Bytes: a.SizeBytes, Y: y})
		y += a.SizeBytes
	}
	var kept []int
	kept, out.LeftOut = largest(len(v.Buffers), b.buffers, func(i int) int64 { return v.Buffers[i].SizeBytes }, func(i int) bool { return v.Buffers[i].AtPeak })
	ids := map[string]int{}
	for _, i := range kept {
		out.Buffers = append(out.Buffers, b.buffer(m, &v.Buffers[i], out.Allocations, ids))
	}
	if out.LeftOut != nil {
		for _, i := range out.LeftOut.atPeak {
			f := &v.Buffers[i]
			out.Groups = append(out.Groups, Group{Origin: b.origin(f), Count: 1, Bytes: f.SizeBytes, Unpadded: f.UnpaddedBytes})
		}
		out.Groups = groups(out.Groups, b.buffers/10)
	}
	out.happens(len(v.Buffers), func(i int) int64 { return v.Buffers[i].SizeBytes }, func(i int) (start, end int, key uint64) {
		f := &v.Buffers[i]
		if f.Kind != xla.Temp {
			return 0, 0, 0
		}
		op, shape := f.OpName, ""
		if op == "" {
			op = strings.TrimRight(f.Name, ".0123456789") // fusion.132: XLA counts them
		}
		if f.Shape != nil {
			shape = f.Shape.String()
		}
		return f.Start + 1, f.End + 1, keyOf(op, shape)
	})
	// A module has tens of allocations; the bound is for those that are made up.
	out.Allocations = out.Allocations[:min(len(out.Allocations), 4*b.buffers)]
	return out
}

func (b *plans) curve(out *View, v *xla.View) {
	if len(v.Curve) == 0 {
		return
	}
	out.Curve.X = thin(v.Curve, out.Peak.X, b.points)
	for _, x := range out.Curve.X {
		out.Curve.Bytes = append(out.Curve.Bytes, v.Curve[x])
		out.Curve.Unpadded = append(out.Curve.Unpadded, v.Unpadded[x])
		name := ""
		if x > 0 {
			name = v.Instructions[x-1] // that which brought the heap here
		}
		out.Curve.Instructions = append(out.Curve.Instructions, Clean(name))
	}
}

// origin tells what a buffer is of.
func (b *plans) origin(f *xla.ViewBuffer) Origin {
	out := Origin{Op: Clean(f.OpName), Kind: kinds[f.Kind], Class: string(f.Class)}
	if f.Shape != nil {
		out.Shape = Clean(f.Shape.String())
	}
	if f.Source.File != "" {
		out.Source = b.place(f.Source)
	}
	return out
}

func (b *plans) buffer(m *xla.Module, f *xla.ViewBuffer, in []Allocation, ids map[string]int) Buffer {
	out := Buffer{
		Name: Clean(f.Name), Opcode: Clean(f.Opcode), Origin: b.origin(f),
		Bytes: f.SizeBytes, Unpadded: f.UnpaddedBytes, ViewerUnpadded: f.ViewerUnpaddedBytes,
		Start: f.Start + 1, End: f.End + 1, AtPeak: f.AtPeak, // event e moves the curve at e+1
	}
	if f.Kind != xla.Temp {
		out.Start = 0
	}
	if out.Name == "" {
		out.Name = "unnamed"
	}
	out.ID = strconv.FormatInt(f.ID, 10)
	if f.Allocation >= 0 {
		y := in[f.Allocation].Y + f.OffsetBytes
		out.Y = &y
		if f.ID < 0 {
			out.ID = "a" + strconv.FormatInt(in[f.Allocation].Index, 10)
		}
	}
	// Memory that is used again by a buffer that shares it has one id more than once.
	ids[out.ID]++
	if n := ids[out.ID]; n > 1 {
		out.ID += "." + strconv.Itoa(n)
	}
	out.Stack = b.stack(m.Stack(f, maxFrames))
	return out
}

func (b *plans) place(f xla.Frame) string {
	text := Clean(strings.TrimPrefix(f.File, b.root)) + ":" + strconv.Itoa(f.Line)
	if f.Function != "" {
		text += " " + Clean(f.Function)
	}
	return text
}

func (b *plans) stack(frames []xla.Frame) int {
	lines := make([]string, len(frames))
	for i, f := range frames {
		lines[i] = b.place(f)
	}
	return b.table.keep(lines)
}
