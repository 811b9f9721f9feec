package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"strings"

	"github.com/peakgate/peakgate/page"
)

//go:embed assets
var assets embed.FS

// HTML writes the page.
func HTML(w io.Writer, p *page.Page) error {
	data, err := json.Marshal(p) // writes <, > and & as \u003c, \u003e and \u0026
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
		"{{.Title}}", html.EscapeString("Memory viewer: "+p.Head.Name),
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
