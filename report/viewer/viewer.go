package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/page"
	"github.com/peakgate/peakgate/report"
)

//go:embed assets
var assets embed.FS

// HTML writes the page of a capture, alone or beside its base.
func HTML(w io.Writer, p *page.Page) error {
	return write(w, "Memory viewer: "+p.Head.Name, "", []*page.Page{p})
}

// Check writes the page of a result: what was judged, and the captures of the targets
// that pages has, the first of which is shown first. lacking says of others why they
// are not there.
func Check(w io.Writer, r *compare.Result, pages []*page.Page, lacking []string) error {
	var top bytes.Buffer
	if err := report.HTML(&top, r); err != nil {
		return err
	}
	if len(lacking) > 0 {
		fmt.Fprintf(&top, "<details><summary>Not in the viewer: %d of %d targets</summary><ul id=\"lacking\">\n", len(lacking), len(lacking)+len(pages))
		for _, line := range lacking {
			top.WriteString("<li>" + html.EscapeString(line) + "</li>\n")
		}
		top.WriteString("</ul></details>\n")
	}
	return write(w, report.Title(r), top.String(), pages)
}

// write writes the page with what stands above the viewer.
func write(w io.Writer, title, top string, pages []*page.Page) error {
	data, err := json.Marshal(pages) // writes <, > and & as \u003c, \u003e and \u0026
	if err != nil {
		return err
	}
	script, err := modules(".js")
	if err != nil {
		return err
	}
	script = "(() => {\n\"use strict\";\n" + script + "})();\n"
	style, err := modules(".css")
	if err != nil {
		return err
	}
	frame, err := assets.ReadFile("assets/page.html")
	if err != nil {
		return err
	}
	// One pass: what is put in is not looked at again.
	_, err = strings.NewReplacer(
		"{{.Title}}", html.EscapeString(title), "{{.Top}}", top,
		"{{.ScriptHash}}", hash(script), "{{.StyleHash}}", hash(style),
		"{{.Script}}", script, "{{.Style}}", style, "{{.Data}}", string(data),
	).WriteString(w, string(frame))
	return err
}

// modules gives the assets of one kind, in the order of their names.
func modules(kind string) (string, error) {
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), kind) {
			data, err := assets.ReadFile("assets/" + e.Name())
			if err != nil {
				return "", err
			}
			out.Write(data)
		}
	}
	return out.String(), nil
}

// hash is the source expression of a policy that allows just this text
// (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
