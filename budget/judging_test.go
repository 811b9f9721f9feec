package budget

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/measure"
)

func TestMismatch(t *testing.T) {
	target := &Target{OnlyWhen: []Condition{{Name: "device", Pattern: "NVIDIA H100*"}, {Name: "jax", Pattern: "0.4.*"}}}
	for _, c := range []struct {
		environment map[string]string
		want        []string
	}{
		{map[string]string{"device": "NVIDIA H100 SXM", "jax": "0.4.30"}, nil},
		{map[string]string{"device": "NVIDIA H100 SXM | NVIDIA H100 PCIe", "jax": "0.4.30"}, nil},
		{map[string]string{"device": "NVIDIA H100 SXM | AMD", "jax": "0.4.30"}, []string{`only_when wants device "NVIDIA H100*", got "AMD"`}},
		{map[string]string{"device": "NVIDIA H100 SXM, AMD", "jax": "0.4.30"}, []string{`only_when wants device "NVIDIA H100*", got "AMD"`}},
		{map[string]string{"device": "TPU v5e", "jax": "0.5.0"}, []string{`only_when wants device "NVIDIA H100*", got "TPU v5e"`, `only_when wants jax "0.4.*", got "0.5.0"`}},
		{map[string]string{"jax": "0.4.1"}, []string{`only_when wants device "NVIDIA H100*", and the captures do not say it`}},
	} {
		if diff := cmp.Diff(c.want, target.Mismatch(c.environment)); diff != "" {
			t.Errorf("%v: %s", c.environment, diff)
		}
	}
	comma := &Target{OnlyWhen: []Condition{{Name: "device", Pattern: "a, b*"}}}
	if got := comma.Mismatch(map[string]string{"device": "a, b, c"}); got != nil {
		t.Errorf("a pattern with a comma: %v", got)
	}
	if got := (&Target{}).Mismatch(nil); got != nil {
		t.Errorf("no conditions: %v", got)
	}
}

func TestAbsent(t *testing.T) {
	rows := func(label string, values ...string) *measure.Measurement {
		m := measure.New()
		for _, v := range values {
			m.Rows = append(m.Rows, measure.NewRow("live.peak_bytes", measure.Labels{label: v}, measure.Int(1)))
		}
		m.Rows = append(m.Rows, measure.Absent("live.peak_bytes", measure.Labels{label: "7"}, "cut off"))
		return m
	}
	for _, c := range []struct {
		label string
		count int64
		m     *measure.Measurement
		want  []string
	}{
		{"rank", 2, rows("rank", "0", "1"), nil},
		{"rank", 2, rows("rank", "0", "1", "2"), nil},
		{"rank", 4, rows("rank", "0", "2"), []string{"expected 4 ranks, measured 2: missing 1, 3"}},
		{"rank", 8, rows("rank", "0", "1", "2", "3", "4", "5", "6"), []string{"expected 8 ranks, measured 7: missing 7"}}, // a row without a value is no member
		{"rank", 1000, rows("rank"), []string{"expected 1000 ranks, measured 0: missing 0, 1, 2, 3, 4, 5, 6, 7, …"}},
		{"host", 2, rows("host", "a"), []string{"expected 2 hosts, measured 1"}},
		{"device", 1, rows("rank", "0"), []string{"expected 1 devices, measured 0: missing 0"}},
	} {
		target := &Target{Expect: []Expect{{Label: c.label, Count: c.count}}}
		if diff := cmp.Diff(c.want, target.Absent(c.m)); diff != "" {
			t.Errorf("%s %d: %s", c.label, c.count, diff)
		}
	}
}

func TestDeviceTotal(t *testing.T) {
	f := mustLoad(t, "version: 1\ntargets: { a: { captures: a, select: { module: m }, budgets: { plan.need_bytes: 1 B } }, b: { captures: b, budgets: { plan.need_bytes: 1 B } } }\n"+
		"devices: { d: { max: 10 B, targets: [a, b], select: { memory_space: device } } }\n")
	row := func(module, space string, n int64) measure.Row {
		return measure.NewRow("plan.need_bytes", measure.Labels{"module": module, "memory_space": space}, measure.Int(n))
	}
	a, b := measure.New(), measure.New()
	a.Rows = append(a.Rows, row("m", "device", 5), row("m", "host", 50), row("n", "device", 500), row("m", "device", 7))
	b.Rows = append(b.Rows, row("z", "device", 1<<62), row("z", "device", 3))
	d := f.Devices[0]
	if total, missing := d.Total(f, map[string]*measure.Measurement{"a": a, "b": b}); total != 1<<62+7 || missing != nil {
		t.Errorf("total %d, missing %v", total, missing)
	}
	if total, missing := d.Total(f, map[string]*measure.Measurement{"a": a}); total != 7 || !slices.Equal(missing, []string{"b"}) {
		t.Errorf("total %d, missing %v", total, missing)
	}
	a.Rows[0] = row("m", "device", 1<<62)
	if total, _ := d.Total(f, map[string]*measure.Measurement{"a": a, "b": b}); total != 1<<63-1 {
		t.Errorf("a sum beyond int64 is %d", total)
	}
}

func TestWaivers(t *testing.T) {
	f := fullFile(t)
	w := f.WaiverFor("train_step", "plan.temp_bytes", measure.Labels{})
	if w == nil || f.WaiverFor("train_step", "plan.need_bytes", nil) != nil || f.WaiverFor("eval_step", "plan.donated_bytes", measure.Labels{"device": "1"}) != nil {
		t.Fatal("waivers found by the wrong rows")
	}
	for today, want := range map[Date]bool{"2026-11-30": false, "2027-01-31": false, "2027-02-01": true, "2028-01-01": true} {
		if got := w.Expired(today); got != want {
			t.Errorf("on %s expired is %v", today, got)
		}
	}
	if d := DateOf(time.Date(2027, 2, 1, 0, 30, 0, 0, time.FixedZone("", 3600))); d != "2027-02-01" {
		t.Errorf("the day is %s", d)
	}
	if !w.Holds(measure.Int(4<<30)) || w.Holds(measure.Int(4<<30+1)) {
		t.Error("the waiver's max is off by one")
	}
	w = f.WaiverFor("eval_step", "plan.donated_bytes", measure.Labels{"device": "0"})
	if w == nil || !w.Holds(measure.Int(0)) || w.Min == nil || w.Max != nil {
		t.Errorf("a waiver with min: %+v", w)
	}

	// The order of waivers means nothing: the strictest counts.
	a := "  - { target: train, metric: plan.need_bytes, select: { device: 0 }, max: 10 GiB, until: 2027-01-31, reason: r, owner: o }\n"
	b := "  - { target: train, metric: plan.need_bytes, max: 11 GiB, until: 2026-01-31, reason: r, owner: o }\n"
	c := "  - { target: train, metric: plan.need_bytes, max: 11 GiB, until: 2026-01-30, reason: r, owner: o }\n"
	head := strings.TrimSuffix(broad, "  - { target: train, metric: plan.need_bytes, max: 10 GiB, until: 2027-01-31, reason: r, owner: o }\n")
	for _, order := range []string{a + b + c, c + b + a, b + a + c} {
		f := mustLoad(t, head+order)
		if w := f.WaiverFor("train", "plan.need_bytes", measure.Labels{"device": "0"}); w == nil || w.Max.Text != "10 GiB" {
			t.Errorf("device 0 has %+v", w)
		}
		if w := f.WaiverFor("train", "plan.need_bytes", measure.Labels{"device": "1"}); w == nil || w.Until != "2026-01-30" {
			t.Errorf("device 1 has %+v", w)
		}
	}
}
