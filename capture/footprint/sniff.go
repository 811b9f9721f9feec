package footprint

import (
	"bytes"
	"encoding/json"
)

// Format is the name of this format in a measurement, whoever watched.
const Format = "footprint.jsonl"

// Sniff tells from the first bytes of a file (64 KiB are plenty) whether it is of a
// watcher: its first line is our header, or has the keys of Affon's script.
func Sniff(head []byte) (format string, ok bool) {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n\ufeff"), []byte("\n"))
	var first struct {
		Schema    string          `json:"schema"`
		Footprint json.RawMessage `json:"physicalFootprintBytes"`
		Regions   json.RawMessage `json:"ioAcceleratorGraphicsRegions"`
	}
	if json.Unmarshal(line, &first) != nil {
		// A header may be longer than the window: the workload's arguments are in it.
		ok = bytes.HasPrefix(line, []byte(`{"schema":"`+Schema+`"`)) && bytes.IndexByte(head, '\n') < 0
	} else {
		ok = first.Schema == Schema || first.Footprint != nil && first.Regions != nil
	}
	if !ok {
		return "", false
	}
	return Format, true
}
