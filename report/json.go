package report

import (
	"encoding/json"
	"io"
)

// JSON writes v (a result, a measurement or a diff) as one indented JSON object
// and a newline.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
