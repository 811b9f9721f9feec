package compare

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	good := `{"schema":"peakgate.result/1","verdict":"fail","targets":[{"name":"t","verdict":"fail","checks":[{"metric":"plan.need_bytes","verdict":"fail","head":5}]}]}`
	r, err := Decode(strings.NewReader(good), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(bytes.NewReader(data), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	if data2, _ := json.Marshal(again); !bytes.Equal(data, data2) {
		t.Errorf("a result changes on its way through JSON:\n%s\n%s", data, data2)
	}
	for _, c := range []struct{ old, new, want string }{
		{good, "", "unexpected end"},
		{good, good[:40], "unexpected end"},
		{good, "[]", "expected a result"},
		{"peakgate.result/1", "peakgate.measurement/1", `expected "peakgate.result/1", found "peakgate.measurement/1"`},
		{`"verdict":"fail","targets"`, `"verdict":"waived","targets"`, `verdict: expected pass, warn, fail or no_data, found "waived"`},
		{`"verdict":"fail","targets"`, `"verdict":"fine","targets"`, "verdict: expected"},
		{`"t","verdict":"fail"`, `"t","verdict":"x"`, `targets[0].verdict: unknown verdict "x"`},
		{`bytes","verdict":"fail"`, `bytes","verdict":""`, "targets[0].checks[0].verdict: unknown"},
		{`"head":5`, `"head":null`, "checks[0].head: expected a value"},
		{`"head":5`, `"head":"x"`, "r.json: "},
		{`plan.need_bytes`, ``, "checks[0].metric"},
		{`"head":5`, `"head":5,"series":{"unit":"B","x_unit":"step","x":[],"points":[1]}`, "checks[0].series: 0 x for 1 points"},
		{`"head":5`, `"head":5,"trend":{"fit":{"blocks":[]}}`, "checks[0].trend.fit: expected blocks"},
	} {
		if _, err := Decode(strings.NewReader(strings.Replace(good, c.old, c.new, 1)), "r.json"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}
