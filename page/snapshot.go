package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/measure"
)

// snapshotOrder is what the positions of a PyTorch view are.
const snapshotOrder = "Left to right are the allocator's recorded events, not time. Sizes are as the program asked for them."

// dumpOrder says the same of a view without a history.
const dumpOrder = "The blocks below are those that are live at the dump. Sizes are as the program asked for them."

// Snapshots gives the devices of a PyTorch snapshot that was read with Options.Record.
func Snapshots(s *torch.Snapshot) Side {
	side := Side{Views: []View{}}
	for _, w := range s.Warnings {
		side.warn("%s", w)
	}
	devices := s.Devices[:min(len(s.Devices), maxViews)]
	if len(devices) < len(s.Devices) {
		side.warn("only %d devices of %d are shown", len(devices), len(s.Devices))
	}
	share := max(1, len(devices))
	b := snapshots{plans: plans{side: &side, table: newFrames(&side), points: min(viewPoints, max(40, totalPoints/share)), buffers: min(viewBuffers, max(15, totalBuffers/share))}, s: s}
	for i := range devices {
		side.Views = append(side.Views, b.view(&devices[i]))
	}
	return side
}

// snapshots builds the views of a snapshot.
type snapshots struct {
	plans
	s *torch.Snapshot
}

func (b *snapshots) view(d *torch.Device) View {
	name, h := fmt.Sprintf("device %d", d.Ordinal), &d.History
	out := View{
		Module: name, Name: name, Space: "device", Order: snapshotOrder, Steps: int(h.Events), NoPeak: Clean(h.NoPeak),
		Curve: Curve{X: []int{}, Bytes: []int64{}, Instructions: []string{}}, Allocations: []Allocation{}, Buffers: []Buffer{},
	}
	places := b.segments(&out, d)
	lived := b.s.Lived(d)
	if h.NoPeak == "" {
		out.Peak = &Peak{X: int(h.PeakEvent) + 1, Bytes: h.Peak, Unpadded: h.Peak}
		live := curveOf(lived, h.Events)
		out.Curve.X = thin(live, out.Peak.X, b.points)
		for _, x := range out.Curve.X {
			out.Curve.Bytes = append(out.Curve.Bytes, live[x])
		}
	} else if out.Steps = 0; len(d.Segments) > 0 {
		lived = b.s.AtDump(d)
		end := d.State.Requested()
		out.Order, out.DumpBytes = dumpOrder, &end
	}
	mark, marks := b.s.StepEvents(d)
	if h.NoPeak == "" && len(marks) > 0 {
		out.Mark = Clean(mark)
		for _, e := range marks[max(0, len(marks)-maxMarks):] {
			out.Marks = append(out.Marks, int(e))
		}
	}
	out.Figures = snapshotFigures(d)
	b.blocks(&out, lived, places)
	sites := map[torch.StackID]uint64{}
	out.happens(len(lived), func(i int) int64 { return lived[i].Bytes }, func(i int) (start, end int, key uint64) {
		l := &lived[i]
		if _, ok := sites[l.Stack]; !ok {
			sites[l.Stack] = keyOf(b.s.Site(l.Stack))
		}
		return int(l.Start), int(l.End), sites[l.Stack] + uint64(l.Bytes)
	})
	return out
}

// maxMarks is how many steps a view marks, the newest.
const maxMarks = 500

// curveOf adds up what is live after each event, the dump's state last.
func curveOf(lived []torch.Lived, events int64) []int64 {
	curve := make([]int64, events+2)
	for _, l := range lived {
		curve[l.Start] += l.Bytes
		curve[l.End] -= l.Bytes
	}
	for i := 1; i < len(curve); i++ {
		curve[i] += curve[i-1]
	}
	return curve[:events+1]
}

// segments lists by address what the allocator had taken from the device at the dump or
// had given back before, and gives where in it an address lies. What overlaps is one, and
// what was given back is one with what it touches: expandable segments shrink piece by piece.
func (b *snapshots) segments(out *View, d *torch.Device) func(l *torch.Lived) *int64 {
	type area struct {
		from, to uint64
		kind     string
	}
	var areas []area
	for _, g := range d.Segments {
		kind := "large blocks"
		if g.Small {
			kind = "small blocks"
		}
		if g.Expandable {
			kind += ", expandable"
		}
		areas = append(areas, area{g.Address, g.Address + uint64(g.TotalSize), fmt.Sprintf("segment of %s, stream %d", kind, g.Stream)})
	}
	for _, s := range b.s.GivenBack(d) {
		areas = append(areas, area{s.Address, s.Address + uint64(s.Bytes), ""})
	}
	slices.SortStableFunc(areas, func(a, b area) int { return cmp.Compare(a.from, b.from) })
	merged := areas[:0]
	var last string // kind of what reaches the end of the last
	for _, a := range areas {
		n := len(merged) - 1
		if n >= 0 && (a.from < merged[n].to || a.from == merged[n].to && (a.kind == "" || last == "")) {
			if a.to >= merged[n].to {
				merged[n].to, last = a.to, a.kind
			}
			merged[n].kind = cmp.Or(merged[n].kind, a.kind)
			continue
		}
		merged, last = append(merged, a), a.kind
	}
	var y int64
	for i, a := range merged[:min(len(merged), 4*b.buffers)] {
		size := int64(a.to - a.from)
		out.Allocations = append(out.Allocations, Allocation{Index: int64(i), Kind: cmp.Or(a.kind, "given back before the dump"), Bytes: size, Y: y})
		y += size
	}
	return func(l *torch.Lived) *int64 {
		i, found := slices.BinarySearchFunc(merged, l.Address, func(s area, a uint64) int { return cmp.Compare(s.from, a) })
		if !found {
			i--
		}
		if i < 0 || i >= len(out.Allocations) || l.Address+uint64(l.Bytes) > merged[i].to {
			return nil
		}
		at := out.Allocations[i].Y + int64(l.Address-merged[i].from)
		return &at
	}
}

// blocks adds the largest blocks.
func (b *snapshots) blocks(out *View, lived []torch.Lived, places func(*torch.Lived) *int64) {
	atPeak := func(i int) bool {
		return out.Peak != nil && int(lived[i].Start) <= out.Peak.X && out.Peak.X < int(lived[i].End)
	}
	var kept []int
	kept, out.LeftOut = largest(len(lived), b.buffers, func(i int) int64 { return lived[i].Bytes }, func(i int) bool { return out.Peak == nil || atPeak(i) })
	if out.LeftOut != nil {
		for _, i := range out.LeftOut.atPeak {
			out.Groups = append(out.Groups, Group{Origin: b.origin(out, &lived[i]), Count: 1, Bytes: lived[i].Bytes, Unpadded: lived[i].Bytes})
		}
		out.Groups = groups(out.Groups, b.buffers/10)
	}
	ids := map[string]int{}
	for _, i := range kept {
		l := &lived[i]
		f := Buffer{
			ID: fmt.Sprintf("e%d", l.Start), Origin: b.origin(out, l), Bytes: l.Bytes, Unpadded: l.Bytes, ViewerUnpadded: l.Bytes, BlockBytes: l.Block,
			Start: int(l.Start), End: int(l.End), AtPeak: atPeak(i), Y: places(l),
		}
		f.Name = f.Source
		if l.Start == 0 {
			f.ID = fmt.Sprintf("a%x", l.Address)
		}
		ids[f.ID]++
		if n := ids[f.ID]; n > 1 {
			f.ID += "." + strconv.Itoa(n)
		}
		var lines []string
		for _, frame := range b.s.Stack(l.Stack) {
			if len(lines) == maxFrames {
				break
			}
			lines = append(lines, fmt.Sprintf("%s:%d %s", Clean(frame.File), frame.Line, Clean(frame.Name)))
		}
		f.Stack = b.table.keep(lines)
		out.Buffers = append(out.Buffers, f)
	}
}

// origin tells what a block is of.
func (b *snapshots) origin(out *View, l *torch.Lived) Origin {
	class := l.Class
	if l.Start == 0 && out.DumpBytes == nil || l.Stack == torch.BeforeRecording {
		class = "before_the_recording"
	}
	return Origin{Source: Clean(b.s.Site(l.Stack)), Kind: "Block", Class: class}
}

// snapshotFigures are the lines of the overview of a device.
func snapshotFigures(d *torch.Device) []Figure {
	var out []Figure
	h, s := &d.History, &d.State
	add := func(key, label string, n int64, absent, formula string) {
		f := Figure{Key: key, Label: label, Text: measure.Bytes(n).String(), Formula: formula}
		if absent != "" {
			f.Text = "not known: " + Clean(absent)
		} else {
			f.Bytes = &n
		}
		out = append(out, f)
	}
	add("peak", "Peak of live blocks", h.Peak, h.NoPeak, "the most that was live at once in the recorded events, as asked for")
	add("baseline", "Live before the recording", h.Baseline, h.NoPeak, "live at the dump − what the events changed")
	add("rounded_peak", "Peak, rounded", h.RoundedPeak, h.NoPeak, "the same with each request rounded up to 512 B")
	add("reserved_peak", "Peak of reserved memory", h.ReservedPeak, h.NoReservedPeak, "taken from the device by the allocator")
	if n := len(d.Failures); n > 0 {
		f := &d.Failures[n-1]
		formula := fmt.Sprintf("event %d of %d", f.Event+1, h.Events)
		if n := h.Counts[torch.OOM]; n > 1 {
			formula += fmt.Sprintf(", the newest of %d that failed", n)
		}
		if f.Known {
			formula += fmt.Sprintf("; live then were %s, in segments of %s", measure.Bytes(f.Live), measure.Bytes(f.Reserved))
		}
		add("oom", "Out of memory: the request", f.Request, "", formula)
	}
	add("end", "Live at the dump", s.Requested(), "", "as asked for, blocks that await their free included")
	add("reserved", "Reserved at the dump", s.Reserved, "", "sum of the segments")
	add("inactive", "Inactive pieces at the dump", s.Inactive, "", "free pieces of segments that are in use in part")
	return out
}
