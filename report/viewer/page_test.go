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

// TestPage drives the page in a real browser, from a file, with mouse and keys.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	b.look(1280, 900, "light")
	both := regression(t)
	alone := page.New(&both.Head, nil)
	file, pair, spaces := written(t, alone), written(t, both), written(t, page.New(side(t, "xla/tpu_offload.hlo.pb"), nil))
	snapshot := page.New(side(t, "regression/torch/head.pickle"), side(t, "regression/torch/base.pickle"))
	growing := page.New(ramp(1<<20), ramp(1<<18))
	padded := written(t, page.New(side(t, "stories/padding/head.hlo.pb.gz"), nil))
	devices, samples, check := written(t, snapshot), written(t, growing), stored(t, judged(t, someEvil()))
	for _, part := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"overview", func(t *testing.T) { testOverview(t, b, file, &both.Head.Views[0]) }},
		{"selectors", func(t *testing.T) { testSelectors(t, b, spaces) }},
		{"bars", func(t *testing.T) { testBars(t, b, file, &both.Head.Views[0]) }},
		{"padding", func(t *testing.T) { testPadding(t, b, padded) }},
		{"keyboard", func(t *testing.T) { testKeyboard(t, b, file, &both.Head.Views[0]) }},
		{"zoom", func(t *testing.T) { testZoom(t, b, file, &both.Head.Views[0]) }},
		{"timeline", func(t *testing.T) { testTimeline(t, b, file, &both.Head.Views[0]) }},
		{"table", func(t *testing.T) { testTable(t, b, file, &both.Head.Views[0]) }},
		{"base", func(t *testing.T) { testBase(t, b, pair, both) }},
		{"snapshot", func(t *testing.T) { testSnapshot(t, b, devices, snapshot) }},
		{"dump", func(t *testing.T) { testDump(t, b) }},
		{"unpaired", func(t *testing.T) { testUnpaired(t, b, both) }},
		{"groups", func(t *testing.T) { testGroups(t, b) }},
		{"series", func(t *testing.T) { testSeries(t, b, samples, growing) }},
		{"check", func(t *testing.T) { testCheck(t, b, check) }},
		{"hostile", func(t *testing.T) { testHostile(t, b, written(t, hostile(t))) }},
		{"hostile check", func(t *testing.T) { testHostile(t, b, check) }},
		{"fragments", func(t *testing.T) { testFragments(t, b, file, &both.Head.Views[0]) }},
		{"tab", func(t *testing.T) { testTab(t, b, check) }},
		{"no script", func(t *testing.T) { testNoScript(t, b, check) }},
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
	for _, n := range []int64{0, 1, 1023, 1024, 1536, 1<<20 - 6, 1<<20 - 5, 1 << 20, 7972192316, 1<<40 + 1, -2048, 1152, 1408, 1664, 1920, 25 << 27, -25 << 27, 25<<27 + 1} {
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
		for _, want := range []string{measure.Bytes(largest.Bytes).Exact(), largest.Shape, largest.Op, "HLO opcode" + largest.Opcode, largest.Kind, largest.Source, fmt.Sprintf("positions %d to %d", largest.Start, largest.End)} {
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
	// A wheel down where all is seen moves the page.
	wheel := func(down int) (taken bool) {
		b.eval(fmt.Sprintf(`!document.querySelector("#curve svg").dispatchEvent(new WheelEvent("wheel", { deltaY: %d, bubbles: true, cancelable: true }))`, down), &taken)
		return taken
	}
	if wheel(100) {
		t.Error("the page does not move under a wheel on the whole curve")
	}
	b.click("#zoom-in")
	if !wheel(1) {
		t.Error("the page moves under a wheel on a part of the curve")
	}
	b.click("#zoom-all")
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
	if got := b.text("#curve-read"); !regexp.MustCompile(`^Position \d+ of \d+: `).MatchString(got) {
		t.Errorf("under the mouse the curve reads %q", got)
	}
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": -40, "deltaY": 0})
	left, right := seen(b)
	want("after a wheel to the left", left < from && right < to)
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": 40, "deltaY": 0})
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
	want("after the key >", moved > from)
	b.key("<")
	from, _ = seen(b)
	want("after the key <", from < moved)
	b.key("Home") // the reading goes where the view is not
	from, _ = seen(b)
	want("after the key Home", from == 0)
	b.key("-")
	b.key("-")
	from, to = seen(b)
	want("after the key -", from == 0 && to == width)
	// A window of another width has charts as wide.
	b.look(700, 900, "light")
	b.frame()
	var chart [2]float64
	if b.eval(`[document.querySelector("#curve svg").viewBox.baseVal.width, document.querySelector("#curve").clientWidth]`, &chart); chart[0] != chart[1] || chart[0] > 700 {
		t.Errorf("a chart of %v is in a place of %v", chart[0], chart[1])
	}
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
	// Wheel and drag move along program order here too; a click keeps the block.
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": 0, "deltaY": -240})
	if from, to := seen(b); to-from > v.Steps {
		t.Errorf("after the wheel %d to %d are seen", from, to)
	}
	from, _ := seen(b)
	axis, _ := b.at("#blocks svg", 0.005, 0.5)
	b.mouse("mousePressed", axis, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseMoved", x, y, map[string]any{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", x, y, map[string]any{"button": "left", "clickCount": 1})
	var hash string
	b.eval("location.hash", &hash)
	if moved, _ := seen(b); moved >= from || hash != "" {
		t.Errorf("a drag moves from %d to %d, and leads to %q", from, moved, hash)
	}
	b.eval(`document.querySelector("#zoom-all").click()`, nil)
	b.frame()
	b.clickAt(x, y)
	if b.eval("location.hash", &hash); !strings.Contains(hash, "&buffer=") {
		t.Errorf("a click on a block leads to %s", hash)
	}
	b.eval(`document.activeElement.blur()`, nil)
	if got := b.download("#save-svg", "jit_train_step-device.svg"); strings.Count(got, "<rect") != len(v.Allocations)+placed(v) {
		t.Errorf("the SVG has %d rectangles, want %d", strings.Count(got, "<rect"), len(v.Allocations)+placed(v))
	}
	if got := b.download("#save-svg", "jit_train_step-device.svg"); strings.Count(got, "positions ") != placed(v) || !strings.Contains(got, v.Buffers[0].Name) || !strings.Contains(got, v.Buffers[0].Op) {
		t.Errorf("the titles in the SVG: %.600s", got)
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
	// One that is wrong, or that could take forever, is told, and nothing matches it.
	for _, wrong := range []string{"(", "(a+)+$", "((?:[^/]*)/)*x", ".*.*.*.*x"} {
		b.choose("#filter", wrong)
		if b.attribute("#filter", "aria-invalid") != "true" || !strings.Contains(b.text("#table-note"), "no regular expression") || rows() != 0 {
			t.Errorf("the filter %s: %q, %d rows", wrong, b.text("#table-note"), rows())
		}
	}
	for _, right := range []string{`(?:mul)?[*+?{]*.*?$`, ""} {
		b.choose("#filter", right)
		if b.attribute("#filter", "aria-invalid") != "" || rows() == 0 {
			t.Errorf("the filter %s: %q", right, b.text("#table-note"))
		}
	}
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
	if got := b.text("#table tr.now td"); got != name {
		t.Errorf("the row of %q is marked, want %s", got, name)
	}
}
