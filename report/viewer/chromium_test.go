package viewer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser drives a real Chromium through its debugging pipe: JSON messages that
// end in a zero byte (https://chromedevtools.github.io/devtools-protocol/,
// --remote-debugging-pipe). It needs no module and no open port.
type browser struct {
	t       testing.TB
	in      *os.File
	from    *os.File
	out     *bufio.Reader
	session string
	id      int
	folder  string // where downloads go
	// problems are what the page's script and its policy complained about, and
	// requests every address that it asked for.
	problems, requests []string
	events             []message // that nobody has waited for yet
}

// chromium is the first browser that is installed; PEAKGATE_CHROMIUM names another.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PEAKGATE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: the page is not driven")
	return ""
}

func startBrowser(t testing.TB) *browser {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromium(t), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: ourOut, from: ourIn, out: bufio.NewReaderSize(ourIn, 1<<20)}
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		ourOut.Close()
		cmd.Wait()
		ourIn.Close()
	})
	b.folder = t.TempDir()
	b.call("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": b.folder, "eventsEnabled": true}, nil)
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// patience is how long a browser that hangs is waited for.
const patience = 2 * time.Minute

type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (b *browser) send(method string, params any) int {
	b.id++
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if params == nil {
		m["params"] = map[string]any{}
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	b.in.Write(append(data, 0))
	return b.id
}

// receive takes the next message and notes what the page complains about.
func (b *browser) receive() message {
	b.t.Helper()
	b.from.SetReadDeadline(time.Now().Add(patience))
	data, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("Chromium does not answer: %v", err)
	}
	var m message
	if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m); err != nil {
		b.t.Fatal(err)
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening":
		b.problems = append(b.problems, m.Method+" "+string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		json.Unmarshal(m.Params, &p)
		b.requests = append(b.requests, p.Request.URL)
	}
	return m
}

// call waits for the answer to a command.
func (b *browser) call(method string, params any, result any) {
	b.t.Helper()
	id := b.send(method, params)
	for {
		m := b.receive()
		if m.ID != id {
			b.events = append(b.events, m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// until waits for an event, which may have come since the page was opened.
func (b *browser) until(method string) json.RawMessage {
	b.t.Helper()
	for i, m := range b.events {
		if m.Method == method {
			b.events = b.events[i+1:]
			return m.Params
		}
	}
	b.events = nil
	for {
		if m := b.receive(); m.Method == method {
			return m.Params
		}
	}
}

// open shows a file.
func (b *browser) open(file, fragment string) {
	b.t.Helper()
	b.events = nil
	b.send("Page.navigate", map[string]any{"url": "about:blank"})
	b.until("Page.loadEventFired")
	b.send("Page.navigate", map[string]any{"url": "file://" + filepath.ToSlash(file) + fragment})
	b.until("Page.loadEventFired")
}

// eval runs a script in the page and gives its value.
func (b *browser) eval(script string, into any) {
	b.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &out)
	if e := out.ExceptionDetails; e != nil {
		b.t.Fatalf("%s: %s %s", script, e.Text, e.Exception.Description)
	}
	if into != nil {
		if err := json.Unmarshal(out.Result.Value, into); err != nil {
			b.t.Fatalf("%s: %v: %s", script, err, out.Result.Value)
		}
	}
}

// frame waits until what waits for the next frame is drawn.
func (b *browser) frame() {
	b.t.Helper()
	b.eval(`new Promise((done) => requestAnimationFrame(() => done(0)))`, nil)
}

// text gives the text of the first element that a selector finds.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var s string
	b.eval(fmt.Sprintf(`document.querySelector(%q)?.textContent ?? "no such element"`, selector), &s)
	return s
}

func (b *browser) attribute(selector, name string) string {
	b.t.Helper()
	var s string
	b.eval(fmt.Sprintf(`document.querySelector(%q)?.getAttribute(%q) ?? ""`, selector, name), &s)
	return s
}

// at gives the middle of an element, moved by parts of its size, in the window.
func (b *browser) at(selector string, right, down float64) (x, y float64) {
	b.t.Helper()
	var box [4]float64
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`, selector), &box)
	return box[0] + box[2]*right, box[1] + box[3]*down
}

func (b *browser) mouse(kind string, x, y float64, more map[string]any) {
	b.t.Helper()
	p := map[string]any{"type": kind, "x": x, "y": y}
	for k, v := range more {
		p[k] = v
	}
	b.call("Input.dispatchMouseEvent", p, nil)
}

func (b *browser) click(selector string) {
	b.t.Helper()
	x, y := b.at(selector, 0.5, 0.5)
	b.clickAt(x, y)
}

func (b *browser) clickAt(x, y float64) {
	b.t.Helper()
	b.mouse("mouseMoved", x, y, nil)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.mouse(kind, x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	}
}

// key presses a key on what has the focus.
func (b *browser) key(name string) {
	b.t.Helper()
	p := map[string]any{"type": "keyDown", "key": name}
	if len(name) == 1 {
		p["text"] = name
	} else if name == "Enter" {
		p["text"] = "\r"
	} else if name == "Tab" { // what moves the focus looks at this
		p["code"], p["windowsVirtualKeyCode"] = name, 9
	}
	b.call("Input.dispatchKeyEvent", p, nil)
	p["type"] = "keyUp"
	b.call("Input.dispatchKeyEvent", p, nil)
}

// choose sets a select or an input as a user does.
func (b *browser) choose(selector, value string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; for (const n of ["input", "change"]) e.dispatchEvent(new Event(n, {bubbles: true})); })()`, selector, value), nil)
}

// look sets the size of the window, and dark or light.
func (b *browser) look(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.media("", scheme)
}

// media sets what the page is shown on, "print" or "" for a screen.
func (b *browser) media(kind, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": kind, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// download clicks a button and gives the file that it saves, from the disk.
func (b *browser) download(button, name string) string {
	b.t.Helper()
	b.events = nil
	b.click(button)
	for {
		var p struct{ State string }
		if json.Unmarshal(b.until("Browser.downloadProgress"), &p); p.State != "inProgress" {
			break
		}
	}
	file := filepath.Join(b.folder, name)
	defer os.Remove(file)
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatalf("%s: %v", button, err)
	}
	return string(data)
}

// shot writes a picture of the page, for people, into the folder PEAKGATE_SHOTS.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("PEAKGATE_SHOTS")
	if dir == "" {
		return
	}
	var out struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &out)
	data, err := base64.StdEncoding.DecodeString(out.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails on anything that the page complained about or asked for.
func (b *browser) quiet() {
	b.t.Helper()
	for _, p := range b.problems {
		b.t.Errorf("the page complains: %.600s", p)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, "file://") && !strings.HasPrefix(r, "about:") && !strings.HasPrefix(r, "blob:") && !strings.HasPrefix(r, "data:") {
			b.t.Errorf("the page asked for %s", r)
		}
	}
	b.problems, b.requests = nil, nil
}
