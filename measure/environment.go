package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Environment is what is known of the machine and the software that a measurement was
// made with, by key. What is said of a dry run has keys that begin with "dryrun.": in
// JSON they are one object, "dryrun", of the rest of their names.
type Environment map[string]string

const dryrunPrefix = "dryrun."

// MarshalJSON writes the keys in their order.
func (e Environment) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	out := make(map[string]any, len(e))
	dryrun := map[string]string{}
	for k, v := range e {
		if name, ok := strings.CutPrefix(k, dryrunPrefix); ok {
			dryrun[name] = v
			continue
		}
		out[k] = v
	}
	if len(dryrun) > 0 {
		out["dryrun"] = dryrun
	}
	var text bytes.Buffer
	plain := json.NewEncoder(&text)
	plain.SetEscapeHTML(false) // whoever writes the document decides that
	err := plain.Encode(out)
	return text.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Environment) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	out := make(Environment, len(members))
	for _, k := range slices.Sorted(maps.Keys(members)) {
		var text string
		if json.Unmarshal(members[k], &text) == nil {
			out[k] = text
			continue
		}
		var dryrun map[string]string
		if k != "dryrun" || json.Unmarshal(members[k], &dryrun) != nil {
			return fmt.Errorf("environment: %.60q: expected text, found %.60s", k, members[k])
		}
		for name, text := range dryrun {
			out[dryrunPrefix+name] = text
		}
	}
	*e = out
	return nil
}
