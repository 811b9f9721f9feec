package measure

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// What a script reads of a dry run is a real path of the JSON: environment.dryrun.class.
func TestEnvironmentJSON(t *testing.T) {
	e := Environment{"torch": "2.9", "allocator.x": "1", "dryrun.class": "exact", "dryrun.memory": "80 B"}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"allocator.x":"1","dryrun":{"class":"exact","memory":"80 B"},"torch":"2.9"}`
	if string(data) != want {
		t.Errorf("got %s\nwant %s", data, want)
	}
	var back Environment
	if err := json.Unmarshal(data, &back); err != nil || !maps.Equal(e, back) {
		t.Errorf("read back: %v, %v", back, err)
	}
	if data, _ := json.Marshal([]Environment{nil, {}}); string(data) != "[null,{}]" {
		t.Errorf("empty ones are %s", data)
	}
}

func TestEnvironmentMalformed(t *testing.T) {
	for text, want := range map[string]string{
		`{"torch": 2}`:               `"torch": expected text, found 2`,
		`{"torch": {"a": "b"}}`:      `"torch": expected text`,
		`{"dryrun": {"class": 1}}`:   `"dryrun": expected text`,
		`{"dryrun": {"a": {}}}`:      `"dryrun": expected text`,
		`["torch"]`:                  "cannot unmarshal",
		`{"a": null, "b": [1, "2"]}`: `"b": expected text`,
	} {
		var e Environment
		if err := json.Unmarshal([]byte(text), &e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	e := Environment{}
	if err := json.Unmarshal([]byte(`{"dryrun": "no object", "x": null}`), &e); err != nil || e["dryrun"] != "no object" {
		t.Errorf("an older file: %v, %v", e, err)
	}
}
