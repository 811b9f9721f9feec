package page

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Schema names the layout of the data.
const Schema = "peakgate.page/1"

// Limits bound what a page holds, over all views of a side.
const (
	maxViews     = 150
	totalBuffers = 3000
	viewBuffers  = 2000
	totalPoints  = 12000
	viewPoints   = 3000
	maxFrames    = 64    // of one stack
	totalFrames  = 8000  // distinct ones
	totalStacks  = 20000 // frames of all stacks
	maxText      = 200   // runes of a name
)

// SmallBytes is the size below which XProf's charts show buffers as one bar.
const SmallBytes = 16 << 10

// Page is all that the viewer's page shows.
type Page struct {
	Schema string `json:"schema"`
	// Target is what a budget calls the workload; empty where there is no budget.
	Target string `json:"target,omitempty"`
	// Note says what is not shown of it, and why.
	Note string `json:"note,omitempty"`
	Head Side   `json:"head"`
	Base *Side  `json:"base,omitempty"`
	// First is the index of the head's view that is shown first.
	First int `json:"first,omitempty"`
}

// Side is one capture.
type Side struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	// Views are the memory spaces of its modules, the largest first.
	Views []View `json:"views"`
	// Stacks are the distinct stacks of its buffers, each the indexes of its Frames,
	// innermost first; a frame is a line of text.
	Stacks   [][]int  `json:"stacks,omitempty"`
	Frames   []string `json:"frames,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// View is one memory space of one module.
type View struct {
	Module string `json:"module"`
	// Name is the module's without the number of its program: equal in base and head.
	Name  string `json:"name"`
	Space string `json:"space"`
	Entry string `json:"entry,omitempty"`
	// Order says what the positions are; empty for the schedule of an XLA program.
	Order string `json:"order,omitempty"`
	// Marks are positions at which steps begin, Mark the name of what marks them.
	Mark  string `json:"mark,omitempty"`
	Marks []int  `json:"marks,omitempty"`
	// Unit is "count" where what is called bytes here is a number of things; else empty.
	Unit string `json:"unit,omitempty"`
	// Trend is the growth of a series.
	Trend *Trend `json:"trend,omitempty"`
	// Steps is how many events the order has.
	Steps   int      `json:"steps"`
	Figures []Figure `json:"figures"`
	Curve   Curve    `json:"curve"`
	// Peak is where and how high the curve is highest; nil where that is not known,
	// and NoPeak says why.
	Peak   *Peak  `json:"peak,omitempty"`
	NoPeak string `json:"no_peak,omitempty"`

	// DumpBytes is what is live when the capture ends, of a view that has no curve: then
	// Buffers, LeftOut and Groups are what is live there, and not at a peak. Else nil.
	DumpBytes *int64 `json:"dump_bytes,omitempty"`

	Allocations []Allocation `json:"allocations"`
	Buffers     []Buffer     `json:"buffers"`
	// Base is the index of the base's view of the same in Page.Base, plus one.
	Base int `json:"base,omitempty"`
	// Anchors are pairs of a position of the base and one of the head at which the same
	// happens; both rise.
	Anchors    [][2]int `json:"anchors,omitempty"`
	happenings []happening
	samples    []float64 // steps or seconds of a series

	// LeftOut are buffers that are too small to be among those kept; Groups are those of
	// them that are live at the peak, by what they are of.
	LeftOut *LeftOut `json:"left_out,omitempty"`
	Groups  []Group  `json:"groups,omitempty"`
}

// Figure is a line of the overview.
type Figure struct {
	Key     string `json:"key"`
	Label   string `json:"label"`
	Bytes   *int64 `json:"bytes,omitempty"`
	Text    string `json:"text"` // the value, written out; of one that is absent, the reason
	Formula string `json:"formula,omitempty"`
}

// Curve is what is live at positions of the program order, with padding and
// without. Instructions are what is scheduled at each.
type Curve struct {
	X            []int    `json:"x"`
	Bytes        []int64  `json:"bytes"`
	Unpadded     []int64  `json:"unpadded,omitempty"` // of plans only
	Instructions []string `json:"instructions"`
}

// Peak is the highest point of a curve.
type Peak struct {
	X        int   `json:"x"`
	Bytes    int64 `json:"bytes"`
	Unpadded int64 `json:"unpadded"`
}

// Allocation is a block of memory that buffers lie in. Y is the sum of those below it.
type Allocation struct {
	Index int64  `json:"index"`
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Y     int64  `json:"y"`
}

// Origin is what a buffer is of: what buffers are grouped by.
type Origin struct {
	Shape  string `json:"shape,omitempty"`
	Op     string `json:"op,omitempty"`
	Source string `json:"source,omitempty"`
	Kind   string `json:"kind"`  // XProf's allocation type
	Class  string `json:"class"` // what it is for
}

// Buffer is one buffer, or what lives throughout in one allocation.
type Buffer struct {
	// ID is unique in a view and the same whenever the capture is read.
	ID     string `json:"id"`
	Name   string `json:"name"`
	Opcode string `json:"opcode,omitempty"`
	Origin
	Bytes int64 `json:"bytes"`
	// Unpadded is the size of the values alone, ViewerUnpadded what XProf counts.
	Unpadded       int64 `json:"unpadded"`
	ViewerUnpadded int64 `json:"viewer_unpadded"`
	// BlockBytes is what the allocator takes for it, where the file tells; else 0.
	BlockBytes int64 `json:"block_bytes,omitempty"`
	// It is live from position Start of the curve on, up to and without End.
	Start int `json:"start"`
	End   int `json:"end"`
	// Y is its place over all allocations; nil where the file does not tell.
	Y      *int64 `json:"y,omitempty"`
	AtPeak bool   `json:"at_peak,omitempty"`
	// Stack is an index in Side.Stacks, plus one; 0 is none.
	Stack int `json:"stack,omitempty"`
	// Pair is the index of its counterpart among the buffers of the base's view, plus one.
	Pair int `json:"pair,omitempty"`
}

// Group adds up buffers that are alike.
type Group struct {
	Origin
	Count    int   `json:"count"`
	Bytes    int64 `json:"bytes"`
	Unpadded int64 `json:"unpadded"`
}

// LeftOut counts buffers that are in the curve and not in the list.
type LeftOut struct {
	Count       int   `json:"count"`
	PeakCount   int   `json:"peak_count"`
	PeakBytes   int64 `json:"peak_bytes"`
	LargestLeft int64 `json:"largest_bytes"`
	atPeak      []int // which those at the peak are
}

// Clean cuts a name, and replaces what a reader could be misled by: control
// characters and those that turn the direction of writing.
func Clean(s string) string {
	if len(s) > maxText*utf8.UTFMax {
		s = s[:maxText*utf8.UTFMax]
	}
	s = strings.Map(func(r rune) rune {
		if r != ' ' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
			return '\uFFFD'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > maxText {
		r := []rune(s)
		s = string(r[:maxText-1]) + "…"
	}
	return s
}
