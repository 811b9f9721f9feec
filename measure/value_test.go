package measure

import (
	"encoding/json"
	"math"
	"testing"
)

func TestValueIsExact(t *testing.T) {
	big, next := Int(1<<53), Int(1<<53+1) // equal as float64
	if big.Cmp(next) != -1 || next.Cmp(big) != 1 || big.Cmp(big) != 0 {
		t.Error("neighbours above 2^53 must differ")
	}
	if Int(1<<53+1).Cmp(Float(1<<53)) != 1 {
		t.Error("an integer must not be rounded to compare it with a float")
	}
	if d, ok := next.Sub(big).Int64(); d != 1 || !ok {
		t.Errorf("difference = %d, exact %v", d, ok)
	}
	if d := Int(math.MaxInt64).Sub(Int(-1)); d.Float64() < math.MaxInt64 {
		t.Errorf("overflow wrapped to %v", d.Float64())
	}
	if d := Int(math.MinInt64).Sub(Int(1)); d.Float64() > math.MinInt64 {
		t.Errorf("underflow wrapped to %v", d.Float64())
	}
}

func TestValueJSON(t *testing.T) {
	for text, want := range map[string]Value{
		"0": Int(0), "19249000448": Int(19249000448), "9223372036854775807": Int(math.MaxInt64), "-5": Int(-5),
		"0.5": Float(0.5), "1e3": Float(1000),
	} {
		var got Value
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"9223372036854775808", `"5"`, "true", "1e999", "[1]", "-"} {
		var got Value
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %+v", text, got)
		}
	}
	for _, v := range []Value{Int(math.MaxInt64), Int(0), Float(0.985), Float(1e19), Float(-1e20), Float(1e22)} {
		data, err := json.Marshal(v)
		var back Value
		if err != nil || json.Unmarshal(data, &back) != nil || back != v {
			t.Errorf("%+v became %s and then %+v (%v)", v, data, back, err)
		}
	}
	if _, err := json.Marshal(Float(math.NaN())); err == nil {
		t.Error("NaN was written")
	}
}

func TestValueFormat(t *testing.T) {
	for _, c := range []struct {
		v    Value
		unit Unit
		want string
	}{
		{Int(3 << 29), ByteUnit, "1.50 GiB"},
		{Int(1_000_000), BytesPerStep, "976.56 KiB/step"},
		{Float(400.4), BytesPerStep, "400 B/step"},
		{Float(0.98512), Ratio, "0.985"},
		{Int(12345), Count, "12,345"},
		{Float(1.5), CountPerStep, "1.500/step"},
		{Float(10), Seconds, "10.000 s"},
	} {
		if got := c.v.Format(c.unit); got != c.want {
			t.Errorf("%+v in %s = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	if got := Int(7).FormatSigned(Count); got != "+7" {
		t.Errorf("signed = %q", got)
	}
}
