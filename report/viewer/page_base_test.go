package viewer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
)

// ramp is a series that grows by a number of bytes a step, beside one of counts.
func ramp(by int64) *page.Side {
	s := measure.Series{Labels: measure.Labels{"series": evil[1]}, Unit: measure.ByteUnit, XUnit: measure.XStep}
	counts := measure.Series{Labels: measure.Labels{"series": "regions"}, Unit: measure.Count, XUnit: measure.XStep}
	for i := range int64(60) {
		s.X, s.Points = append(s.X, float64(i)), append(s.Points, measure.Int(100<<20+i*by+i*i%7<<10))
		counts.X, counts.Points = append(counts.X, float64(i)), append(counts.Points, measure.Int(40+i))
	}
	side := page.Series(&measure.Measurement{Series: []measure.Series{s, counts}})
	return &side
}

func testBase(t *testing.T, b *browser, file string, p *page.Page) {
	b.open(file, "")
	head, base := &p.Head.Views[0], &p.Base.Views[0]
	want := measure.Bytes(head.Peak.Bytes - base.Peak.Bytes).Signed()
	if got := b.text(`#overview tr[data-key="peak"]`); !strings.Contains(got, want) || !strings.Contains(got, measure.Bytes(base.Peak.Bytes).String()) {
		t.Errorf("the peak's row is %q, want %s in it", got, want)
	}
	for _, line := range []string{".live", ".base", ".unpadded", ".grew"} {
		if len(b.attribute("#curve "+line, "d")) < 100 {
			t.Errorf("the curve %s is not drawn", line)
		}
	}
	if got := b.text("#curve-note"); !strings.Contains(got, fmt.Sprintf("laid so that %d positions", len(head.Anchors)-2)) {
		t.Errorf("the base's curve: %q", got)
	}
	var drawn float64
	b.eval(`Math.max(...[...document.querySelector("#curve .base").getAttribute("d").matchAll(/H([\d.]+)/g)].map((m) => +m[1])) / document.querySelector("#curve svg svg").viewBox.baseVal.width`, &drawn)
	if drawn < 0.999 || drawn > 1.001 {
		t.Errorf("the base's curve ends at %.3f of the width", drawn)
	}
	// The head is higher almost everywhere: what is shaded is a few areas, not a line a column.
	if got := b.attribute("#curve .grew", "d"); strings.Count(got, "M") > 20 || strings.Count(got, "M") != strings.Count(got, "Z") {
		t.Errorf("%d areas are shaded", strings.Count(got, "M"))
	}
	// Single buffers: what grew most first, each against its counterpart.
	var rows [][]string
	b.eval(`[...document.querySelectorAll("#table tbody tr")].map((r) => [...r.cells].map((c) => c.textContent))`, &rows)
	changes := map[string]int64{}
	for _, x := range head.Buffers {
		if x.AtPeak {
			changes[x.Name] = x.Bytes
			if x.Pair > 0 && base.Buffers[x.Pair-1].AtPeak {
				changes[x.Name] -= base.Buffers[x.Pair-1].Bytes
			}
		}
	}
	var largest int64
	for _, n := range changes {
		largest = max(largest, n)
	}
	if rows[0][3] != measure.Bytes(largest).Signed() || measure.Bytes(changes[rows[0][0]]).Signed() != rows[0][3] {
		t.Errorf("the buffer that grew most is %q, want %s", rows[0], measure.Bytes(largest).Signed())
	}
	for _, r := range rows {
		if n, ok := changes[r[0]]; ok && r[3] != measure.Bytes(n).Signed() && r[1] != "0 B" {
			t.Errorf("%s changed by %s, want %s", r[0], r[3], measure.Bytes(n).Signed())
		}
	}
	b.click("#table tbody button")
	if got := b.text("#card dl"); !strings.Contains(got, "In the base") {
		t.Errorf("the card does not tell of the base: %s", got)
	}
	b.choose("#group", "source")
	testTiles(t, b)
	sum := map[string]int64{}
	for _, x := range head.Buffers {
		if x.AtPeak {
			sum[x.Source] += x.Bytes
		}
	}
	for _, x := range base.Buffers {
		if x.AtPeak {
			sum[x.Source] -= x.Bytes
		}
	}
	var first []string
	b.eval(`[...document.querySelectorAll("#table tbody tr:first-child td")].map((e) => e.textContent)`, &first)
	var most int64
	for _, n := range sum {
		most = max(most, n)
	}
	if len(first) < 4 || first[3] != measure.Bytes(most).Signed() || sum[first[0]] != most {
		t.Errorf("what grew most is %q, want %s", first, measure.Bytes(most).Signed())
	}
}

// testTiles holds the treemap to the table: as large as the sizes, without a gap, each
// tile within reach of keys and mouse.
func testTiles(t *testing.T, b *browser) {
	t.Helper()
	var tiles []struct{ X, Y, W, H, Bytes float64 }
	b.eval(`(() => { const whole = document.querySelector("#tiles svg").viewBox.baseVal;
		return [...document.querySelectorAll("#tiles svg > svg")].map((e) => ({ x: e.x.baseVal.value / whole.width, y: e.y.baseVal.value / whole.height, w: e.width.baseVal.value / whole.width, h: e.height.baseVal.value / whole.height })); })()`, &tiles)
	if len(tiles) < 5 {
		t.Fatalf("%d tiles", len(tiles))
	}
	area := 0.0
	for i, a := range tiles {
		area += a.W * a.H
		if a.X < -1e-6 || a.Y < -1e-6 || a.X+a.W > 1.001 || a.Y+a.H > 1.001 {
			t.Errorf("tile %d lies outside: %+v", i, a)
		}
		for _, o := range tiles[i+1:] {
			if min(a.X+a.W, o.X+o.W)-max(a.X, o.X) > 1e-4 && min(a.Y+a.H, o.Y+o.H)-max(a.Y, o.Y) > 1e-4 {
				t.Errorf("tiles overlap: %+v, %+v", a, o)
			}
		}
	}
	if area < 0.999 || area > 1.001 {
		t.Errorf("the tiles cover %.4f of the treemap", area)
	}
	var grew int
	if b.eval(`document.querySelectorAll("#tiles .tile-grew").length`, &grew); grew == 0 {
		t.Error("no tile is marked as grown")
	}
	b.eval(`document.querySelector("#tiles svg").focus()`, nil)
	b.key("ArrowRight")
	first := b.text("#tiles-read")
	b.key("ArrowRight")
	if second := b.text("#tiles-read"); first == "" || second == first || b.attribute("#tiles > svg", "aria-valuetext") != second {
		t.Errorf("arrow keys read %q, then %q", first, second)
	}
	b.key("Home")
	name, _, _ := strings.Cut(b.text("#tiles-read"), ":")
	b.key("Enter")
	if got := b.text("#card h2"); got == "Buffer" || b.text("#tiles-read") == "" {
		t.Errorf("Enter on the tile %s shows %q", name, got)
	}
	x, y := b.at("#tiles svg", 0.02, 0.5)
	b.mouse("mouseMoved", x, y, nil)
	if got := b.text("#tiles-read"); got != first {
		t.Errorf("under the mouse is %q, want %q", got, first)
	}
	var before, after string
	b.eval("location.hash", &before)
	b.click("#tiles svg")
	if b.eval("location.hash", &after); before == after {
		t.Errorf("a click on a tile leads nowhere: %s", after)
	}
	b.key("Escape")
	if got := b.text("#tiles-read"); got != "" {
		t.Errorf("Escape leaves %q", got)
	}
}

// testUnpaired: a base that holds nothing of a name is said to, and only the head is shown.
func testUnpaired(t *testing.T, b *browser, both *page.Page) {
	p := page.New(&both.Head, side(t, "regression/torch/base.pickle"))
	b.open(written(t, p), "")
	if got := b.text("#curve-note"); !strings.Contains(got, "The base holds nothing that is named as this is.") {
		t.Errorf("the note says %q", got)
	}
	var base int
	if b.eval(`document.querySelectorAll("#curve .base, #curve .grew, .tile-grew").length`, &base); base != 0 {
		t.Errorf("%d parts of a base are drawn", base)
	}
}

// testGroups: buffers that are too many for the page are in the sums of their groups.
func testGroups(t *testing.T, b *browser) {
	huge := int64(1<<62 + 1)
	origin := page.Origin{Source: "train.py:7 step", Class: "activation"}
	p := page.New(&page.Side{Views: []page.View{{
		Module: "m", Space: "device", Order: "events", Steps: 2, Figures: []page.Figure{{Key: "huge", Bytes: &huge}}, Allocations: []page.Allocation{}, Peak: &page.Peak{X: 1, Bytes: 100 << 20}, Curve: page.Curve{X: []int{0, 1, 2}, Bytes: []int64{0, 100 << 20, 0}, Instructions: []string{}},
		Buffers: []page.Buffer{{ID: "1", Name: "large", Origin: origin, Bytes: 60 << 20, Unpadded: 60 << 20, Start: 1, End: 2, AtPeak: true}},
		LeftOut: &page.LeftOut{Count: 5, PeakCount: 4, PeakBytes: 40 << 20, LargestLeft: 10 << 20},
		Groups:  []page.Group{{Origin: origin, Count: 3, Bytes: 30 << 20, Unpadded: 30 << 20}, {Origin: page.Origin{Source: "x.py:1 f"}, Count: 1, Bytes: 10 << 20, Unpadded: 10 << 20}},
	}}}, nil)
	p.Head.Views[0].LeftOut.PeakBytes = 80 << 20 // more than the largest, which sets the scale
	b.open(written(t, p), "")
	if got := b.text("#bars-size"); !strings.Contains(got, "2 bars; that of 4 small buffers, 80.00 MiB, is cut") || strings.Contains(got, "64.00 MiB") {
		t.Errorf("the chart says %q", got)
	}
	var rows [][]string
	read := `[...document.querySelectorAll("#table tbody tr")].map((r) => [...r.cells].map((c) => c.textContent))`
	if b.eval(read, &rows); len(rows) != 1 || rows[0][1] != "60.00 MiB" {
		t.Errorf("single buffers: %q", rows)
	}
	b.choose("#group", "source")
	if b.eval(read, &rows); fmt.Sprint(rows) != "[[train.py:7 step 90.00 MiB 4] [x.py:1 f 10.00 MiB 1]]" {
		t.Errorf("by source: %q", rows)
	}
	if note := b.text("#table-note"); !strings.Contains(note, "2 groups, 100.00 MiB") || !strings.Contains(note, "4 at the peak are counted in their groups") {
		t.Errorf("the note says %q", note)
	}
	// Above 2^53 the page has no exact number.
	if got := b.text(`#overview tr[data-key="huge"]`); !strings.Contains(got, "about 4,611,686,018,427,388,000 B") {
		t.Errorf("a huge figure: %q", got)
	}
	b.choose("#group", "function")
	b.choose("#filter", "x.py")
	if b.eval(read, &rows); fmt.Sprint(rows) != "[[x.py f 10.00 MiB 1]]" {
		t.Errorf("by function: %q", rows)
	}
}

// testSnapshot shows what is of PyTorch: blocks over allocator events, steps, segments.
func testSnapshot(t *testing.T, b *browser, file string, p *page.Page) {
	b.open(file, "")
	v, base := &p.Head.Views[0], &p.Base.Views[0]
	if got, want := b.text("#curve .peak-text"), "peak "+measure.Bytes(v.Peak.Bytes).String(); got != want {
		t.Errorf("the peak is marked %q, want %q", got, want)
	}
	if got := strings.Count(b.attribute("#curve .mark", "d"), "M"); got != len(v.Marks) || got == 0 {
		t.Errorf("%d steps are marked, want %d", got, len(v.Marks))
	}
	var padding bool
	if b.eval(`document.querySelector("#padding").hidden && !document.querySelector("#curve .unpadded")`, &padding); !padding {
		t.Error("padding is shown, which a snapshot does not tell")
	}
	if got, want := b.text(`#overview tr[data-key="peak"]`), measure.Bytes(v.Peak.Bytes-base.Peak.Bytes).Signed(); !strings.Contains(got, want) {
		t.Errorf("the peak's row is %q, want %s in it", got, want)
	}
	if got := b.text("#table thead"); got != "buffersizebasechangesource" {
		t.Errorf("the table has the columns %q", got)
	}
	b.click("#timeline-toggle")
	var segments int
	b.eval(`document.querySelectorAll("#blocks .allocation").length`, &segments)
	if segments != len(v.Allocations) {
		t.Errorf("%d segments are drawn, want %d", segments, len(v.Allocations))
	}
	b.eval(`document.querySelector("#bars-size svg").focus()`, nil)
	for range 10 { // the first may be of the autograd thread, which has no Python lines
		if b.key("ArrowRight"); strings.Contains(b.text("#card dl"), "model.py:") {
			break
		}
	}
	if card := b.text("#card dl"); !strings.Contains(card, "model.py:") || strings.Contains(card, "padding") {
		t.Errorf("the card of a block: %s", card)
	}
	if stack := b.text("#card ol"); !strings.Contains(stack, "model.py:") {
		t.Errorf("the stack of a block: %.200q", stack)
	}
}

// testDump shows a snapshot without a history: the blocks of its dump, and no peak.
func testDump(t *testing.T, b *browser) {
	head := side(t, "torch/enabled_state.pickle")
	v := &head.Views[0]
	total := measure.Bytes(*v.DumpBytes).String()
	b.open(written(t, page.New(head, nil)), "")
	if got := b.text("#order-title") + "; " + b.text("#size-title") + "; " + b.attribute("#bars-size svg", "aria-label"); got != "At the dump, by address; At the dump, by size; Buffers at the dump by size" {
		t.Errorf("the charts are called %q", got)
	}
	if got := b.text("#curve"); !strings.Contains(got, "The peak is not known") || strings.Contains(b.text("#curve-note"), "Solid") {
		t.Errorf("the curve says %q, its note %q", got, b.text("#curve-note"))
	}
	var marks int
	if b.eval(`document.querySelectorAll(".peak-text, #curve .live[d*=M]").length`, &marks); marks != 0 {
		t.Errorf("%d marks of a peak or a curve are drawn", marks)
	}
	if got, want := b.text("#table-note"), fmt.Sprintf("%d buffers, %s", len(v.Buffers), total); got != want {
		t.Errorf("the table's note is %q, want %q", got, want)
	}
	bars := 1 // of the small ones
	for _, f := range v.Buffers {
		if f.Bytes >= page.SmallBytes {
			bars++
		}
	}
	if got, want := b.text("#bars-size"), fmt.Sprintf("%d bars", bars); bars < 2 || !strings.Contains(got, want) {
		t.Errorf("the chart says %q, want %s", got, want)
	}
	var choice bool
	if b.eval(`document.querySelector("#peak-only").offsetHeight > 0`, &choice); choice {
		t.Error("the peak can be chosen, which is not known")
	}
	b.click("#timeline-toggle")
	b.eval(`document.querySelector("#blocks svg").focus()`, nil)
	b.key("Home")
	if got := b.attribute("#blocks svg", "aria-valuetext"); !strings.HasSuffix(got, ", live: at the dump") {
		t.Errorf("a block of the timeline reads %q", got)
	}
	if got := b.text("#card dl"); !strings.Contains(got, "Liveat the dumpSource") || !strings.Contains(got, "Block"+measure.Bytes(v.Buffers[0].BlockBytes).String()) {
		t.Errorf("the card of a block: %s", got)
	}
	var wide bool
	b.eval(`(() => { const c = document.querySelector("#blocks .chosen").getBBox(), a = document.querySelector("#blocks .allocation").getBBox(), r = document.querySelector("#curve .band").getBBox(); return c.width === a.width && r.width === a.width && r.y > 0; })()`, &wide)
	if !wide {
		t.Error("a block is not drawn as living throughout")
	}
	b.choose("#group", "class")
	var rows [][]string
	b.eval(`[...document.querySelectorAll("#table tbody tr")].map((r) => [...r.cells].map((c) => c.textContent))`, &rows)
	if fmt.Sprint(rows) != "[[optimizer_state 16.02 MiB 8] [parameter 8.01 MiB 4]]" {
		t.Errorf("by class: %q", rows)
	}
	var tiles int
	if b.eval(`document.querySelectorAll("#tiles .tile").length`, &tiles); tiles != 2 {
		t.Errorf("%d tiles, want 2", tiles)
	}
	b.choose("#group", "")
	// Beside a side that has a history, what is live at the end of that.
	for _, other := range []bool{false, true} {
		sides := []*page.Side{head, side(t, "regression/torch/head.pickle")}
		end := sides[1].Views[0].Curve.Bytes[len(sides[1].Views[0].Curve.Bytes)-1]
		change := *v.DumpBytes - end
		if other {
			sides[0], sides[1], change = sides[1], sides[0], -change
		}
		b.open(written(t, page.New(sides[0], sides[1])), "")
		b.choose("#group", "kind")
		b.eval(`[...document.querySelectorAll("#table tbody tr")].map((r) => [...r.cells].map((c) => c.textContent))`, &rows)
		if want := measure.Bytes(change).Signed(); len(rows) != 1 || rows[0][3] != want {
			t.Errorf("against the other: %q, want %s", rows, want)
		}
		if note := b.text("#table-note"); !strings.Contains(note, "; of both sides what is live at the dump;") || strings.Contains(b.text("#curve-note"), "Dotted") {
			t.Errorf("against the other, the notes say %q, %q", note, b.text("#curve-note"))
		}
	}
}

// testSeries shows samples with their warm-up, blocks and growth, beside the base's.
func testSeries(t *testing.T, b *browser, file string, p *page.Page) {
	b.open(file, "")
	v := &p.Head.Views[0]
	if v.Trend == nil || len(v.Trend.Blocks) != 8 {
		t.Fatalf("the growth is %+v", v.Trend)
	}
	var circles, lines, shown int
	b.eval(`document.querySelectorAll("#curve circle.fit").length`, &circles)
	b.eval(`document.querySelectorAll("#curve path.fit").length`, &lines)
	b.eval(`[...document.querySelectorAll("#buffers")].filter((e) => e.offsetHeight > 0).length`, &shown)
	if circles != len(v.Trend.Blocks) || lines != 3 || shown != 0 || b.attribute("#curve .warmup", "width") == "0" {
		t.Errorf("%d blocks, %d lines and %d parts for buffers are drawn, warm-up %s wide", circles, lines, shown, b.attribute("#curve .warmup", "width"))
	}
	if got := b.text(`#overview tr[data-key="growth"]`); !strings.Contains(got, v.Figures[3].Text) || !strings.Contains(got, "MiB per step") {
		t.Errorf("the growth is written %q", got)
	}
	b.eval(`document.querySelector("#curve svg").focus()`, nil)
	b.key("End")
	if got := b.text("#curve-read"); !strings.HasPrefix(got, "Position 59 of 59: ") || !strings.HasSuffix(got, ", at step 59") {
		t.Errorf("the last sample reads %q", got)
	}
	b.choose("#module", "regions")
	if got := b.text("#curve .peak-text") + b.text(`#overview tr[data-key="first"]`); !strings.HasPrefix(got, "peak 99") || strings.Contains(got, "B") || !strings.Contains(b.text(`#overview tr[data-key="growth"]`), "+1.000 per step") {
		t.Errorf("counts are written %q, %q", got, b.text(`#overview tr[data-key="growth"]`))
	}
	b.choose("#module", v.Module)
	if got := b.text("#curve-note"); strings.Contains(got, "below zero") {
		t.Errorf("the note of a series above zero: %q", got)
	}
	for _, line := range []string{".live", ".base", ".grew"} {
		if len(b.attribute("#curve "+line, "d")) < 100 {
			t.Errorf("the curve %s is not drawn", line)
		}
	}
	if got, want := b.text(`#overview tr[data-key="end"]`), measure.Bytes(*v.Figures[2].Bytes-*p.Base.Views[0].Figures[2].Bytes).Signed(); !strings.Contains(got, want) {
		t.Errorf("the last sample's row is %q, want %s in it", got, want)
	}
	b.open(written(t, page.New(ramp(-8<<20), nil)), "")
	if got := b.text("#curve-note"); !strings.Contains(got, "What is below zero is not drawn.") {
		t.Errorf("the note of a series below zero: %q", got)
	}
}
