package viewer

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/page"
)

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
	if got := b.text("#note"); got == "" {
		t.Error("the target's note is not shown")
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
	var warnings int
	if b.eval(`[...document.querySelectorAll("#warnings li")].filter((e) => e.checkVisibility()).length`, &warnings); warnings != 2*len(evil) {
		t.Errorf("%d warnings are shown, want %d", warnings, 2*len(evil))
	}
	// No field of the CSV is a formula to a spreadsheet.
	table, err := csv.NewReader(strings.NewReader(b.download("#save-csv", "_script_script_window.owned_1_script_-device.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for _, row := range table {
		for _, field := range row {
			if strings.ContainsAny(field[:min(1, len(field))], "=+-@") {
				t.Errorf("a field of the CSV is %q", field)
			}
			if field == "'"+evil[10] {
				quoted++
			}
		}
	}
	if quoted == 0 {
		t.Errorf("%s is nowhere in the CSV", evil[10])
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
	if got := b.text("#note"); got != "" {
		t.Errorf("a right address makes the note %q", got)
	}
	for wrong, lost := range map[string]string{"#buffer=none": "buffer", "#module=none&space=none": "module", "#%E0%A4%A": "", "#target=none": "target", "#<img src=x onerror=window.owned=1>": "", "#constructor=1&buffer=__proto__": "buffer"} {
		b.open(file, wrong)
		if got := b.text("#note"); strings.HasPrefix(got, "The "+lost+" that the address names is not") != (lost != "") {
			t.Errorf("%s makes the note %q", wrong, got)
		}
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

// testNoScript: without script the verdict is there, and of the viewer only why it is not.
func testNoScript(t *testing.T, b *browser, file string) {
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	defer b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	b.open(file, "")
	var seen []string
	b.eval(`[...document.querySelectorAll("h1, h2, select, input, button, aside, noscript")].filter((e) => e.checkVisibility()).map((e) => e.localName)`, &seen)
	if got := strings.Join(seen, " "); got != "h1 noscript" {
		t.Errorf("without script there are %s", got)
	}
}

// testPrint: on paper nothing is cut off, there are no controls, and paper is white.
func testPrint(t *testing.T, b *browser, file string) {
	b.look(700, 900, "dark") // as wide as A4
	b.open(file, "")
	b.media("print", "dark")
	var got struct {
		Paper, Table string
		Controls     int
		Cut, Wide    float64
	}
	b.eval(`(() => { const s = (q) => getComputedStyle(document.querySelector(q)); const table = document.querySelector("#table");
		return { paper: s("body").backgroundColor, table: s("#table").overflowY, controls: [...document.querySelectorAll("button, select, input")].filter((e) => !e.closest("table") && e.checkVisibility()).length, cut: table.scrollHeight - table.clientHeight, wide: document.documentElement.scrollWidth }; })()`, &got)
	if title := b.text("#overview-title"); title != "Overview: jit_train_step, device" {
		t.Errorf("the page on paper does not say what it is of: %q", title)
	}
	if got.Paper != "rgb(255, 255, 255)" || got.Table != "visible" || got.Controls != 0 || got.Cut > 1 || got.Wide > 700 {
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

// testPadding: the buffer whose padding is largest comes first in its chart, and is pale
// as far as it is padding.
func testPadding(t *testing.T, b *browser, file string) {
	b.open(file, "")
	b.eval(`document.querySelector("#bars-padding svg").focus()`, nil)
	b.key("ArrowRight")
	if card := b.text("#card dl"); !strings.HasPrefix(card, "Namecopy.2Size512.00 MiB") || !strings.Contains(card, "Padding496.00 MiB") {
		t.Errorf("the first is %s", card)
	}
	var pale, whole float64
	b.eval(`+document.querySelector("#bars-padding path.pad").getAttribute("d").match(/v([\d.]+)/)[1]`, &pale)
	b.eval(`+document.querySelector("#bars-padding .chosen").getAttribute("height")`, &whole)
	if pale < 0.96*whole || pale > 0.98*whole { // 496 of 512
		t.Errorf("%.1f of %.1f are pale", pale, whole)
	}
}
