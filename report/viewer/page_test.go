package viewer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
)

// written puts a page into a file.
func written(t testing.TB, p *page.Page) string { return stored(t, render(t, p)) }

func stored(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

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

// TestPage drives the page in a real browser, from a file, with mouse and keys.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	b.look(1280, 900, "light")
	both := regression(t)
	alone := page.New(&both.Head, nil)
	file, pair, spaces := written(t, alone), written(t, both), written(t, page.New(side(t, "xla/tpu_offload.hlo.pb"), nil))
	snapshot := page.New(side(t, "regression/torch/head.pickle"), side(t, "regression/torch/base.pickle"))
	growing := page.New(ramp(1<<20), ramp(1<<18))
	devices, samples, check := written(t, snapshot), written(t, growing), stored(t, judged(t, someEvil()))
	for _, part := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"overview", func(t *testing.T) { testOverview(t, b, file, &both.Head.Views[0]) }},
		{"selectors", func(t *testing.T) { testSelectors(t, b, spaces) }},
		{"bars", func(t *testing.T) { testBars(t, b, file, &both.Head.Views[0]) }},
		{"keyboard", func(t *testing.T) { testKeyboard(t, b, file, &both.Head.Views[0]) }},
		{"zoom", func(t *testing.T) { testZoom(t, b, file, &both.Head.Views[0]) }},
		{"timeline", func(t *testing.T) { testTimeline(t, b, file, &both.Head.Views[0]) }},
		{"table", func(t *testing.T) { testTable(t, b, file, &both.Head.Views[0]) }},
		{"base", func(t *testing.T) { testBase(t, b, pair, both) }},
		{"snapshot", func(t *testing.T) { testSnapshot(t, b, devices, snapshot) }},
		{"unpaired", func(t *testing.T) { testUnpaired(t, b, both) }},
		{"groups", func(t *testing.T) { testGroups(t, b) }},
		{"series", func(t *testing.T) { testSeries(t, b, samples, growing) }},
		{"check", func(t *testing.T) { testCheck(t, b, check) }},
		{"hostile", func(t *testing.T) { testHostile(t, b, written(t, hostile(t))) }},
		{"hostile check", func(t *testing.T) { testHostile(t, b, check) }},
		{"fragments", func(t *testing.T) { testFragments(t, b, file, &both.Head.Views[0]) }},
		{"tab", func(t *testing.T) { testTab(t, b, check) }},
		{"print", func(t *testing.T) { testPrint(t, b, pair) }},
		{"accessible", func(t *testing.T) { testAccessible(t, b, pair, devices, samples, check) }},
		{"looks", func(t *testing.T) { testLooks(t, b, pair, devices, samples, check) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			b.t = t
			b.look(1280, 900, "light")
			part.test(t)
			b.quiet()
		})
	}
	b.t = t
}

func testOverview(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	for _, f := range v.Figures {
		var got []string
		b.eval(fmt.Sprintf(`[...document.querySelectorAll('#overview tr[data-key="%s"] > *')].map((e) => e.textContent)`, f.Key), &got)
		want := []string{f.Label, f.Text, "", f.Formula}
		if f.Bytes != nil {
			want[2] = measure.Bytes(*f.Bytes).Exact()
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: want %q, got %q", f.Key, want, got)
		}
	}
	if got, want := b.text("#curve .peak-text"), "peak "+measure.Bytes(v.Peak.Bytes).String(); got != want {
		t.Errorf("the peak is marked %q, want %q", got, want)
	}
	var shown bool
	if b.eval(`document.querySelector("#targets").offsetHeight > 0`, &shown); shown {
		t.Error("targets are offered, where there are none")
	}
	// The page writes sizes as the command does, at every turn of a unit.
	for _, n := range []int64{0, 1, 1023, 1024, 1536, 1<<20 - 6, 1<<20 - 5, 1 << 20, 7972192316, 1<<40 + 1, -2048} {
		var got string
		b.eval(fmt.Sprintf(`(() => { %s; return bytes(%d); })()`, jsFunction(t, "bytes"), n), &got)
		if want := measure.Bytes(n).String(); got != want {
			t.Errorf("%d: the page writes %q, the command %q", n, got, want)
		}
	}
}

// jsFunction takes one function out of the page's script.
func jsFunction(t *testing.T, name string) string {
	script, err := modules(".js")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?ms)^function ` + name + `\(.*?^}`).FindString(script)
	if found == "" {
		t.Fatalf("the script has no function %s", name)
	}
	return found
}

func testSelectors(t *testing.T, b *browser, file string) {
	b.open(file, "")
	var spaces []string
	b.eval(`[...document.querySelector("#space").options].map((o) => o.value)`, &spaces)
	if len(spaces) < 2 || spaces[0] != "device" && b.attribute("#space", "id") == "" {
		t.Fatalf("memory spaces: %q", spaces)
	}
	before := b.text(`#overview tr[data-key="total"]`)
	other := spaces[0]
	for _, s := range spaces {
		if s != "device" {
			other = s
		}
	}
	b.choose("#space", other)
	if after := b.text(`#overview tr[data-key="total"]`); after == before {
		t.Errorf("another memory space shows the same: %s", after)
	}
	var hash string
	if b.eval("location.hash", &hash); !strings.Contains(hash, "space="+other) {
		t.Errorf("the address is %s", hash)
	}
	b.choose("#space", "device")
	if again := b.text(`#overview tr[data-key="total"]`); again != before {
		t.Errorf("back at device memory: %s, want %s", again, before)
	}
}

func testBars(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	largest := &v.Buffers[0]
	for i := range v.Buffers {
		if v.Buffers[i].AtPeak && v.Buffers[i].Bytes > largest.Bytes {
			largest = &v.Buffers[i]
		}
	}
	for _, chart := range []string{"#bars-order", "#bars-size", "#bars-padding"} {
		// The first bar, a little right of the axis.
		var plot float64
		b.eval(fmt.Sprintf(`document.querySelector(%q).clientWidth`, chart), &plot)
		x, y := b.at(chart+" svg", 0, 0.8)
		b.mouse("mouseMoved", x+76, y, nil)
		name := b.text("#card h2")
		if name == "Buffer" || name == "" {
			t.Errorf("%s: no card for the first bar", chart)
			continue
		}
		if got := b.attribute("#curve .band", "visibility"); got != "visible" {
			t.Errorf("%s: the band is %s", chart, got)
		}
		var same bool
		b.eval(fmt.Sprintf(`getComputedStyle(document.querySelector("#curve .band")).fill === getComputedStyle(document.querySelector("#card rect")).fill && document.querySelector("%s .chosen").getAttribute("visibility") === "visible"`, chart), &same)
		if !same {
			t.Errorf("%s: the band has not the card's colour, or the bar is not marked", chart)
		}
		if chart != "#bars-size" {
			continue
		}
		if name != largest.Name {
			t.Errorf("the first bar by size is %s, want %s", name, largest.Name)
		}
		card := b.text("#card dl")
		for _, want := range []string{measure.Bytes(largest.Bytes).Exact(), largest.Shape, largest.Op, largest.Kind, largest.Source, fmt.Sprintf("positions %d to %d", largest.Start, largest.End)} {
			if want == "" || !strings.Contains(card, want) {
				t.Errorf("the card lacks %q: %s", want, card)
			}
		}
		if stack := b.text("#card ol"); len(stack) < 10 {
			t.Errorf("the card has no stack: %q", stack)
		}
		if got := b.attribute("#curve .band", "data-start") + " " + b.attribute("#curve .band", "data-end"); got != fmt.Sprint(largest.Start, largest.End) {
			t.Errorf("the band spans %s, want %d %d", got, largest.Start, largest.End)
		}
	}
	// Away from the chart nothing is chosen; a click keeps it, and the link leads back.
	b.mouse("mouseMoved", 2, 2, nil)
	if got := b.text("#card h2"); got != "Buffer" {
		t.Errorf("the card still shows %s", got)
	}
	x, y := b.at("#bars-size svg", 0, 0.8)
	b.clickAt(x+76, y)
	b.mouse("mouseMoved", 2, 2, nil)
	var hash string
	b.eval("location.hash", &hash)
	if got := b.text("#card h2"); got != largest.Name || !strings.HasSuffix(hash, "buffer="+largest.ID) {
		t.Errorf("kept is %q at %s, want %s", got, hash, largest.ID)
	}
	b.open(file, hash)
	if got := b.text("#card h2"); got != largest.Name {
		t.Errorf("the link leads to %q, want %s", got, largest.Name)
	}
	if got := b.attribute("#curve .band", "visibility"); got != "visible" {
		t.Errorf("the link shows no band")
	}
}

func testKeyboard(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	b.eval(`document.querySelector("#bars-size svg").focus()`, nil)
	b.key("ArrowRight")
	first := b.text("#card h2")
	b.key("ArrowRight")
	second := b.text("#card h2")
	b.key("ArrowLeft")
	if back := b.text("#card h2"); first == "Buffer" || first == second || back != first {
		t.Errorf("arrows went to %q, %q and back to %q", first, second, back)
	}
	if got := b.attribute("#bars-size svg", "aria-valuetext"); !strings.HasPrefix(got, first) {
		t.Errorf("a screen reader hears %q, want %s", got, first)
	}
	b.key("Enter")
	b.key("End")
	if last := b.text("#card h2"); last == first {
		t.Error("End does not go to the last bar")
	}
	b.eval(`document.activeElement.blur()`, nil)
	if kept := b.text("#card h2"); kept != first {
		t.Errorf("Enter kept %q, want %s", kept, first)
	}
	b.eval(`document.querySelector("#bars-size svg").focus()`, nil)
	b.key("Escape")
	if got := b.text("#card h2"); got != "Buffer" {
		t.Errorf("Escape leaves %q", got)
	}
	// Along the curve.
	b.eval(`document.querySelector("#curve svg").focus()`, nil)
	b.key("p")
	want := fmt.Sprintf("Position %d of %d: %s live", v.Peak.X, v.Steps, measure.Bytes(v.Peak.Bytes))
	if got := b.text("#curve-read"); !strings.HasPrefix(got, want) || b.attribute("#curve svg", "aria-valuetext") != got {
		t.Errorf("p reads %q, want %q", got, want)
	}
	b.key("ArrowRight")
	if got := b.text("#curve-read"); !strings.HasPrefix(got, fmt.Sprintf("Position %d of", v.Peak.X+1)) {
		t.Errorf("right of the peak: %q", got)
	}
	b.key("Home")
	if got := b.text("#curve-read"); !strings.HasPrefix(got, "Position 0 of") {
		t.Errorf("Home reads %q", got)
	}
}

// seen gives the ends of the axis of program order.
func seen(b *browser) (from, to int) {
	b.t.Helper()
	b.frame()
	var ends []string
	b.eval(`(() => { const t = [...document.querySelectorAll('#curve svg > text')].map((e) => e.textContent).filter((s) => /^\d+$/.test(s)); return [t[0], t.at(-1)]; })()`, &ends)
	fmt.Sscan(ends[0], &from)
	fmt.Sscan(ends[1], &to)
	return from, to
}

func testZoom(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	width := v.Steps + 1
	want := func(what string, ok bool) {
		t.Helper()
		if from, to := seen(b); !ok {
			t.Errorf("%s: %d to %d are seen of %d", what, from, to, width)
		}
	}
	from, to := seen(b)
	want("at first", from == 0 && to == width)
	b.click("#zoom-in")
	from, to = seen(b)
	want("zoomed in", to-from <= width/2+1 && to-from >= width/2-1)
	b.click("#zoom-out")
	from, to = seen(b)
	want("zoomed out", from == 0 && to == width)
	b.click("#to-peak")
	from, to = seen(b)
	want("at the peak", from <= v.Peak.X && v.Peak.X <= to && to-from < width/2)
	b.click("#zoom-all")
	x, y := b.at("#curve svg", 0.5, 0.5)
	b.mouse("mouseMoved", x, y, nil)
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": 0, "deltaY": -240})
	from, to = seen(b)
	want("after the wheel", to-from < width && to-from > width/2)
	// A drag to the left shows what lies to the right.
	b.mouse("mousePressed", x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseMoved", x-60, y, map[string]any{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", x-60, y, map[string]any{"button": "left", "clickCount": 1})
	moved, _ := seen(b)
	want("after a drag", moved > from)
	b.eval(`document.querySelector("#curve svg").focus()`, nil)
	b.key("0")
	from, to = seen(b)
	want("after the key 0", from == 0 && to == width)
	b.key("+")
	from, to = seen(b)
	want("after the key +", to-from < width)
	b.key(">")
	moved, _ = seen(b)
	want("after the key >", moved >= from)
	b.key("-")
	b.key("-")
	from, to = seen(b)
	want("after the key -", from == 0 && to == width)
	// To move is to draw the curve and the timeline only: all else would stutter.
	b.eval(`document.querySelector("#table table").same = document.querySelector("#bars-size path").same = document.querySelector("#overview table").same = true`, nil)
	b.click("#zoom-in")
	b.frame()
	var same bool
	b.eval(`[document.querySelector("#table table"), document.querySelector("#bars-size path"), document.querySelector("#overview table")].every((e) => e.same)`, &same)
	if !same {
		t.Error("a zoom draws what it does not change")
	}
}

func testTimeline(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	if b.attribute("#timeline-toggle", "aria-expanded") != "false" {
		t.Error("the timeline is open at first")
	}
	b.click("#timeline-toggle")
	var rows int
	b.eval(`document.querySelectorAll("#blocks .allocation").length`, &rows)
	if rows != len(v.Allocations) || b.attribute("#timeline-toggle", "aria-expanded") != "true" {
		t.Errorf("%d allocations are drawn, want %d", rows, len(v.Allocations))
	}
	x, y := b.at("#blocks svg", 0.5, 0.5)
	b.mouse("mouseMoved", x, y, nil)
	if name := b.text("#card h2"); name == "Buffer" {
		t.Error("no card for the block in the middle")
	}
	if got := b.attribute("#blocks .chosen", "visibility"); got != "visible" {
		t.Error("the block is not marked")
	}
	if got := b.download("#save-svg", "jit_train_step-device.svg"); strings.Count(got, "<rect") != len(v.Allocations)+placed(v) {
		t.Errorf("the SVG has %d rectangles, want %d", strings.Count(got, "<rect"), len(v.Allocations)+placed(v))
	}
	dot := b.download("#save-dot", "jit_train_step-device.dot")
	if got := strings.Count(dot, "[pos="); got != placed(v) {
		t.Errorf("the DOT has %d nodes, want %d", got, placed(v))
	}
	html := b.download("#save-html", "jit_train_step-device.html")
	if !strings.HasPrefix(html, "<!DOCTYPE html>") || strings.Count(html, "<rect") != len(v.Allocations)+placed(v) || !strings.Contains(html, "default-src 'none'") {
		t.Errorf("the HTML is %.200s", html)
	}
}

func testTable(t *testing.T, b *browser, file string, v *page.View) {
	b.open(file, "")
	rows := func() (n int) {
		b.eval(`document.querySelectorAll("#table tbody tr").length`, &n)
		return n
	}
	atPeak, all := 0, len(v.Buffers)
	for _, x := range v.Buffers {
		if x.AtPeak {
			atPeak++
		}
	}
	if got := rows(); got != atPeak {
		t.Errorf("%d rows, want %d", got, atPeak)
	}
	b.click("#peak-only")
	if got := b.text("#table-note"); !strings.HasPrefix(got, fmt.Sprintf("%d buffers", all)) {
		t.Errorf("all of them: %q, want %d", got, all)
	}
	b.choose("#filter", "closed_call/(exp|div)$")
	matching := regexp.MustCompile(`(?i)closed_call/(exp|div)$`)
	want := 0
	for _, x := range v.Buffers {
		if matching.MatchString(x.Name) || matching.MatchString(x.Op) || matching.MatchString(x.Source) {
			want++
		}
	}
	if got := rows(); got != want || want == 0 {
		t.Errorf("the filter leaves %d rows, want %d", got, want)
	}
	b.choose("#filter", "(")
	if b.attribute("#filter", "aria-invalid") != "true" || !strings.Contains(b.text("#table-note"), "no regular expression") {
		t.Error("a wrong expression is not told")
	}
	b.choose("#filter", "")
	b.choose("#group", "class")
	classes := map[string]int64{}
	for _, x := range v.Buffers {
		classes[x.Class] += x.Bytes
	}
	var groups []struct {
		Name  string
		Bytes int64
		Count int
	}
	if err := json.Unmarshal([]byte(b.download("#save-json", "jit_train_step-device.json")), &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if classes[g.Name] != g.Bytes {
			t.Errorf("class %s has %d bytes, want %d", g.Name, g.Bytes, classes[g.Name])
		}
	}
	if len(groups) != len(classes) || len(groups) < 3 {
		t.Errorf("%d classes, want %d", len(groups), len(classes))
	}
	b.choose("#group", "")
	if csv := b.download("#save-csv", "jit_train_step-device.csv"); strings.Count(csv, "\r\n") != all+1 || !strings.HasPrefix(csv, `"name","bytes",`) {
		t.Errorf("the CSV has %d lines, want %d", strings.Count(csv, "\r\n"), all+1)
	}
	name := b.text("#table tbody button")
	b.click("#table tbody button")
	if got := b.text("#card h2"); got != name {
		t.Errorf("a click in the table shows %q, want %s", got, name)
	}
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
	b.click("#tiles svg") // what it shows stays shown
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
	origin := page.Origin{Source: "train.py:7 step", Class: "activation"}
	p := page.New(&page.Side{Views: []page.View{{
		Module: "m", Space: "device", Order: "events", Steps: 2, Figures: []page.Figure{}, Allocations: []page.Allocation{}, Peak: &page.Peak{X: 1, Bytes: 100 << 20}, Curve: page.Curve{X: []int{0, 1, 2}, Bytes: []int64{0, 100 << 20, 0}, Instructions: []string{}},
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
	for _, line := range []string{".live", ".base", ".grew"} {
		if len(b.attribute("#curve "+line, "d")) < 100 {
			t.Errorf("the curve %s is not drawn", line)
		}
	}
	if got, want := b.text(`#overview tr[data-key="end"]`), measure.Bytes(*v.Figures[2].Bytes-*p.Base.Views[0].Figures[2].Bytes).Signed(); !strings.Contains(got, want) {
		t.Errorf("the last sample's row is %q, want %s in it", got, want)
	}
}

// testCheck goes from target to target below the verdict.
func testCheck(t *testing.T, b *browser, file string) {
	b.open(file, "")
	if got := b.text("#result h1"); got != "peakgate: fail" {
		t.Errorf("the verdict is %q", got)
	}
	var rows int
	if b.eval(`document.querySelectorAll("#result tbody tr").length`, &rows); rows != 2 {
		t.Errorf("%d checks, want 2", rows)
	}
	if got := b.text("#module"); got != evil[0] {
		t.Errorf("at first the module is %q", got)
	}
	b.choose("#target", "other")
	var hash string
	if b.eval("location.hash", &hash); !strings.Contains(hash, "target=other") || b.text("#module") != "device 0" {
		t.Errorf("the other target's module is %q, at %s", b.text("#module"), hash)
	}
	b.eval(`document.querySelector("#bars-size svg").focus()`, nil)
	b.key("ArrowRight")
	b.key("Enter")
	b.eval("location.hash", &hash)
	name := b.text("#card h2")
	if b.open(file, hash); b.text("#card h2") != name || b.text("#module") != "device 0" {
		t.Errorf("%s leads to %q of %q, want %q", hash, b.text("#card h2"), b.text("#module"), name)
	}
}

func testHostile(t *testing.T, b *browser, file string) {
	b.open(file, "")
	b.click("#timeline-toggle")
	b.choose("#peak-only", "on")
	b.choose("#group", "op")
	b.choose("#group", "")
	for _, chart := range []string{"#bars-order svg", "#blocks svg", "#curve svg"} {
		x, y := b.at(chart, 0.4, 0.7)
		b.clickAt(x, y)
	}
	var owned, foreign int
	b.eval(`window.owned ?? 0`, &owned)
	b.eval(`document.querySelectorAll("img, iframe, object, embed, link, base, form, main script, [onerror], [onload], [onmouseover], a[href]").length`, &foreign)
	if owned != 0 || foreign != 0 {
		t.Errorf("a name became script (%d) or markup (%d elements)", owned, foreign)
	}
	if got := b.text("#module"); got != evil[0] {
		t.Errorf("the module is written %q", got)
	}
}

// testFragments: an address leads to its buffer, also while the page is open, and one
// that leads nowhere shows what is shown without.
func testFragments(t *testing.T, b *browser, file string, v *page.View) {
	last := v.Buffers[len(v.Buffers)-1]
	want := "#module=" + v.Module + "&space=" + v.Space + "&buffer=" + last.ID
	b.open(file, want)
	if got := b.text("#card h2"); got != last.Name {
		t.Errorf("%s leads to %q, want %q", want, got, last.Name)
	}
	first := v.Buffers[0]
	b.eval(fmt.Sprintf(`new Promise((done) => { addEventListener("hashchange", () => done(0)); location.hash = "#buffer=%s"; })`, first.ID), nil)
	if got := b.text("#card h2"); got != first.Name {
		t.Errorf("a new address leads to %q, want %q", got, first.Name)
	}
	for _, wrong := range []string{"#buffer=none", "#module=none&space=none", "#%E0%A4%A", "#target=none", "#<img src=x onerror=window.owned=1>", "#constructor=1&buffer=__proto__"} {
		b.open(file, wrong)
		if got := b.text("#module"); got != v.Module || b.text("#card h2") != "Buffer" {
			t.Errorf("%s leads to %q, %q", wrong, got, b.text("#card h2"))
		}
	}
}

// testTab: all that a mouse can use is reached with the Tab key, in the order of the
// page, is named, and shows that it is reached.
func testTab(t *testing.T, b *browser, file string) {
	b.open(file, "")
	b.eval(`document.querySelector("#timeline-toggle").click(); window.scrollTo(0, 0); document.activeElement.blur()`, nil)
	var want []string
	b.eval(`(() => { let n = 0; return [...document.querySelectorAll("summary, select, input, button, [tabindex='0']")].filter((e) => e.checkVisibility()).map((e) => e.dataset.tab = String(n++)); })()`, &want)
	reached := map[string]bool{}
	for range want {
		b.key("Tab")
		var at struct{ Tab, Name, Outline string }
		b.eval(`(() => { const e = document.activeElement, s = getComputedStyle(e);
			const name = e.getAttribute("aria-label") ?? (e.labels?.[0] ?? e).textContent;
			return { tab: e.dataset.tab ?? e.outerHTML.slice(0, 200), name: name.trim(), outline: s.outlineStyle }; })()`, &at)
		if reached[at.Tab] || at.Name == "" || at.Outline == "none" {
			t.Errorf("the focus is on %+v", at)
		}
		reached[at.Tab] = true
	}
	for _, e := range want {
		if !reached[e] {
			t.Errorf("element %s is not reached", e)
		}
	}
	if len(want) < 25 {
		t.Errorf("%d elements", len(want))
	}
}

// testPrint: on paper nothing is cut off, there are no controls, and paper is white.
func testPrint(t *testing.T, b *browser, file string) {
	b.look(800, 900, "dark")
	b.open(file, "")
	b.media("print", "dark")
	var got struct {
		Paper, Table string
		Controls     int
		Cut          float64
	}
	b.eval(`(() => { const s = (q) => getComputedStyle(document.querySelector(q)); const table = document.querySelector("#table");
		return { paper: s("body").backgroundColor, table: s("#table").overflowY, controls: [...document.querySelectorAll("button, select, input")].filter((e) => !e.closest("table") && e.checkVisibility()).length, cut: table.scrollHeight - table.clientHeight }; })()`, &got)
	if title := b.text("#overview-title"); title != "Overview: jit_train_step, device" {
		t.Errorf("the page on paper does not say what it is of: %q", title)
	}
	if got.Paper != "rgb(255, 255, 255)" || got.Table != "visible" || got.Controls != 0 || got.Cut > 1 {
		t.Errorf("on paper: %+v", got)
	}
	b.shot("print")
}

// testAccessible runs axe-core over the page: nothing serious may be left.
func testAccessible(t *testing.T, b *browser, files ...string) {
	source := os.Getenv("PEAKGATE_AXE")
	if source == "" {
		t.Skip("PEAKGATE_AXE names no axe.min.js")
	}
	axe, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		for _, scheme := range []string{"light", "dark"} {
			b.look(1280, 900, scheme)
			b.open(file, "")
			open(b)
			b.eval(string(axe)+"; 0", nil)
			var found []struct {
				ID, Impact, Help string
				Nodes            []struct{ HTML, FailureSummary string }
			}
			b.eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations)`, &found)
			for _, v := range found {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("page %d, %s: %s (%s), %s: %.300s", i, scheme, v.ID, v.Impact, v.Help, fmt.Sprint(v.Nodes))
				}
			}
		}
	}
}

// open opens all that is folded, and chooses a buffer where there is one.
func open(b *browser) {
	b.t.Helper()
	b.eval(`document.querySelector("#timeline-toggle").click();
		document.querySelectorAll("details").forEach((e) => { e.open = true; });
		document.querySelector("#table tbody button")?.click()`, nil)
}

// testLooks: no part of a page is wider than a narrow window. With PEAKGATE_SHOTS
// it takes pictures for people to look at.
func testLooks(t *testing.T, b *browser, files ...string) {
	for i, file := range files {
		for _, look := range []struct {
			name   string
			width  int
			scheme string
		}{{"light", 1280, "light"}, {"dark", 1280, "dark"}, {"narrow", 360, "light"}} {
			b.look(look.width, 900, look.scheme)
			b.open(file, "")
			open(b)
			var wide int
			b.eval(`document.documentElement.scrollWidth`, &wide)
			if wide > look.width {
				t.Errorf("page %d, %s: %d wide in a window of %d", i, look.name, wide, look.width)
			}
			b.shot(fmt.Sprintf("%d-%s", i, look.name))
		}
	}
}
