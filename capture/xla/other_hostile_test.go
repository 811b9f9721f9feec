package xla

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/peakgate/peakgate/measure"
)

// smallText is a *-buffer-assignment.txt with every mark; it ends in its total.
const smallText = `BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[256]| at ShapeIndex {}, maybe-live-out:
 value: <0 p.1 @0> (size=1024,offset=0): f32[256]{0}
allocation 1: size 512, parameter 1, shape |f32[128]| at ShapeIndex {0,1}:
 value: <1 p.2{0,1} @0> (size=512,offset=0): f32[128]{0}
allocation 2: size 16, output shape is |(f32[256], f32[])|, maybe-live-out:
 value: <2 tuple.1{} @0> (size=16,offset=0): (f32[256]{0}, f32[])
allocation 3: size 4, constant:
 value: <3 constant.1 @0> (size=4,offset=0): f32[]
allocation 4: size 12, thread-local:
 value: <4 add (phi) @0> (size=4,offset=8): f32[]
 value: <5 mul @0> (size=4,offset=0): f32[]
allocation 5: size 4096, color 1, preallocated-temp:
 value: <6 fusion.3{0} @1> (size=4096,offset=0): f32[1024]{0}
allocation 6: size 64, color 5, parameter 2, shape |f32[16]| at ShapeIndex {}:
 value: <7 p.3 @5> (size=64,offset=0): f32[16]{0}

Total bytes used: 5728 (5.6KiB)

Used values:
`

// smallReport is the usage report of the same module.
const smallReport = `Memory Space: default (color=0)
Total bytes: 1568 (1.5KiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
    1.0KiB(100%);    1.0KiB;            0;                1; f32[256]


Memory Space: vmem (color=1)
Total bytes: 4096 (4.0KiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list


Memory Space: cmem (color=5)
Total bytes: 64 (64B)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list


`

// oldReport is a usage report as jaxlib before 0.9 wrote it.
const oldReport = "Total bytes used: 5728 (5.6KiB)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; allocation\n" +
	"------------------------------------------------------------------------------\n   4.0KiB( 71%);    1.6KiB; allocation 5: size 4.0KiB, preallocated-temp:\n" +
	"\n\nAllocations sorted by size with their values:\nallocation 5: size 4.0KiB, preallocated-temp:\n"

const smallStats = `{"module": "jit_f", "device_kind": "TPU v5 lite", "jaxlib": "0.10.2", "memory_analysis": {"alias_size_in_bytes": 1, "argument_size_in_bytes": 3,
 "output_size_in_bytes": 2, "temp_size_in_bytes": 5, "generated_code_size_in_bytes": 7, "host_temp_size_in_bytes": 0}}
`

// withoutTotal is smallText as jaxlib 0.10 writes it.
func withoutTotal() string {
	text, _, _ := strings.Cut(smallText, "\nTotal bytes used")
	return text
}

func TestSmallText(t *testing.T) {
	for way, text := range map[string]string{"as written": smallText, "with CRLF": strings.ReplaceAll(smallText, "\n", "\r\n"), "total at the end": strings.Split(smallText, "\n\nUsed")[0]} {
		c := parse(t, []byte(text))
		if c.Format != FormatText || c.Doubtful() {
			t.Fatalf("%s: format %s, doubtful %v", way, c.Format, c.Doubtful())
		}
		m := c.Measurement()
		device := measure.Labels{"memory_space": "device"}
		is(t, m, "plan.need_bytes", device, 1556)
		is(t, m, "plan.argument_bytes", device, 1536)
		is(t, m, "plan.output_bytes", device, 1040)
		is(t, m, "plan.unaliased_output_bytes", device, 16)
		is(t, m, "plan.donated_bytes", device, 1024)
		is(t, m, "plan.constant_bytes", device, 4)
		is(t, m, "plan.temp_bytes", device, 0)
		is(t, m, "plan.thread_local_bytes", device, 12)
		is(t, m, "plan.heap_peak_bytes", device, 1556)
		is(t, m, "plan.temp_bytes", measure.Labels{"memory_space": "space1"}, 4096)
		isAbsent(t, m, "plan.heap_peak_bytes", measure.Labels{"memory_space": "space1"}, "no heap trace")
		is(t, m, "plan.argument_bytes", measure.Labels{"memory_space": "host"}, 64)
		isAbsent(t, m, "plan.padding_bytes", device, "neither live ranges")
		isAbsent(t, m, "plan.compiler_peak_bytes", measure.Labels{}, "no heap trace")
		isAbsent(t, m, "plan.remat_instructions", measure.Labels{}, "neither live ranges")
	}
}

func TestSmallReports(t *testing.T) {
	labels := func(space string) measure.Labels {
		return measure.Labels{"memory_space": space, "source": "usage_report"}
	}
	m := parse(t, []byte(smallReport)).Measurement()
	is(t, m, "plan.total_bytes", labels("device"), 1568)
	is(t, m, "plan.total_bytes", labels("space1"), 4096)
	is(t, m, "plan.total_bytes", labels("host"), 64)
	old := parse(t, []byte(oldReport)).Measurement()
	is(t, old, "plan.total_bytes", measure.Labels{"source": "usage_report"}, 5728)
}

func TestSmallStats(t *testing.T) {
	labels := measure.Labels{"memory_space": "device", "source": "memory_analysis", "module": "jit_f"}
	nested := parse(t, []byte(smallStats)).Measurement()
	is(t, nested, "plan.temp_bytes", labels, 5)
	host := labels.With("memory_space", "host")
	is(t, nested, "plan.temp_bytes", host, 0)
	isAbsent(t, nested, "plan.argument_bytes", host, "the file lacks host_argument_size_in_bytes")
	flat := parse(t, []byte(`{"temp_size_in_bytes": 0, "argument_size_in_bytes": 0, "x": {"temp_size_in_bytes": "no number, but not ours"}}`)).Measurement()
	isAbsent(t, flat, "plan.temp_bytes", measure.Labels{"memory_space": "device", "source": "memory_analysis"}, "all numbers of memory_analysis() are zero")
}

// TestConfirm checks that a text without a total counts only if a report agrees.
func TestConfirm(t *testing.T) {
	text := func() *Capture {
		c := parse(t, []byte(withoutTotal()))
		if !c.Doubtful() {
			t.Fatal("a text without a total is believed")
		}
		isAbsent(t, c.Measurement(), "plan.total_bytes", measure.Labels{"memory_space": "host"}, "cannot be told")
		isAbsent(t, c.Measurement(), "plan.compiler_peak_bytes", measure.Labels{}, "cannot be told")
		return c
	}
	for _, report := range []string{smallReport, oldReport} {
		c := text()
		if err := c.Confirm(parse(t, []byte(report))); err != nil {
			t.Fatal(err)
		}
		if c.Doubtful() || len(c.Measurement().Contributors) == 0 {
			t.Errorf("doubtful %v after it was confirmed", c.Doubtful())
		}
		is(t, c.Measurement(), "plan.need_bytes", measure.Labels{"memory_space": "device"}, 1556)
	}
	for name, c := range map[string]struct{ report, want string }{
		"other total": {strings.Replace(smallReport, "Total bytes: 1568", "Total bytes: 1569", 1), "have 1568 bytes"},
		"space lacks": {strings.Split(smallReport, "Memory Space: cmem")[0], "64 bytes are in memory space host"},
		"space more":  {smallReport + strings.Replace(strings.SplitAfter(smallReport, "\n\n\n")[2], "color=5", "color=6", 1), "its allocations have 0 bytes"},
		"old":         {strings.Replace(oldReport, "5728", "5729", 1), "have 5728 bytes"},
		"no report":   {smallText, "found none of its totals"},
	} {
		c2 := text()
		err := c2.Confirm(parse(t, []byte(c.report)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !c2.Doubtful() {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestTextPrefixes checks that no text that is cut off gives a number that the
// whole one does not.
func TestTextPrefixes(t *testing.T) {
	for name, text := range map[string]string{"total": smallText, "no total": withoutTotal(), "report": smallReport, "old report": oldReport, "stats": smallStats} {
		for n := 1; n < len(text); n++ {
			c, err := Read(strings.NewReader(text[:n]), int64(n), "x")
			if err != nil {
				if c != nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "x:") {
					t.Fatalf("%s: first %d bytes: capture %v, error %q", name, n, c, err)
				}
				continue
			}
			if name == "no total" && !c.Doubtful() {
				t.Fatalf("first %d bytes without a total are believed", n)
			}
			for _, r := range c.Measurement().Rows {
				if r.Value == nil {
					continue
				}
				is(t, parse(t, []byte(text)).Measurement(), r.Name, r.Labels, mustInt(t, r))
			}
		}
	}
}

func mustInt(t *testing.T, r measure.Row) int64 {
	t.Helper()
	n, ok := r.Value.Int64()
	if !ok {
		t.Fatalf("%s is no integer", r.Name)
	}
	return n
}

func TestTextMalformed(t *testing.T) {
	swap := func(text, from, to string) string {
		if strings.Count(text, from) == 0 {
			t.Fatalf("%q is not in the text", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"total too small", swap(smallText, "used: 5728", "used: 5727"), "x:18:19: the total is 5727 bytes, the 7 allocations above have 5728: lines are missing"},
		{"total too large", swap(smallText, "used: 5728", "used: 9223372036854775808"), "x:18:19: total: want a number from 0 to 9223372036854775807"},
		{"total without a number", swap(smallText, "used: 5728", "used: many"), `x:18:19: total: want a number, found "many`},
		{"an allocation lacks", swap(smallText, "allocation 3: size 4, constant:\n value: <3 constant.1 @0> (size=4,offset=0): f32[]\n", ""), "x:8:13: want allocation 3, found 4: lines are missing"},
		{"an allocation twice", swap(smallText, "allocation 3:", "allocation 2:"), "want allocation 3, found 2"},
		{"size with a letter", swap(smallText, "size 1024,", "size 1O24,"), "x:2:21: want \":\", found \"O24"},
		{"negative size", swap(smallText, "size 1024,", "size -1,"), "x:2:20: size: want a number, found \"-1"},
		{"size of 2^60", swap(smallText, "size 1024,", "size 1152921504606846976,"), "want a number from 0 to 72057594037927936"},
		{"size of 100 digits", swap(smallText, "size 1024,", "size "+strings.Repeat("9", 100)+","), "x:2:20: size: want a number from 0 to"},
		{"unknown mark", swap(smallText, "constant:", "sharded:"), `want a mark of an allocation (constant, maybe-live-out …), found "sharded:"`},
		{"shape without end", swap(smallText, "shape |f32[256]|", "shape |f32[256]"), "want a shape that ends in"},
		{"shape index", swap(smallText, "{0,1}:", "{0;1}:"), `want ",", found ";1}:"`},
		{"more behind the colon", swap(smallText, "constant:", "constant: x"), `want the end of the line, found " x"`},
		{"value beyond its allocation", swap(smallText, "(size=512,offset=0)", "(size=512,offset=1)"), "value 1 ends at 513 of the 512 bytes of allocation 1"},
		{"value without color", swap(smallText, "p.1 @0>", "p.1>"), "want a name and its color"},
		{"value without place", swap(smallText, "(size=512,offset=0)", "(512)"), "want <id name @color> (size=…,offset=…)"},
		{"value twice", swap(smallText, "<1 p.2", "<0 p.2"), "two of its 8 logical buffers have one id"},
		{"value first", "BufferAssignment:\n value: <0 p.1 @0> (size=1,offset=0): f32[]\n", "x:2:9: want an allocation before its values"},
		{"other line", swap(smallText, "allocation 1:", "Allocation 1:"), `x:4:1: want an allocation, a value or the total, found "Allocation 1:`},
		{"title alone", "BufferAssignment:\n", "it is cut off"},
		{"report: no color", swap(smallReport, "vmem (color=1)", "vmem"), "x:8:15: want a name and (color=…)"},
		{"report: space twice", swap(smallReport, "color=5", "color=1"), "memory space 1 occurs twice"},
		{"report: no total", swap(smallReport, "Total bytes: 4096 (4.0KiB)\n", ""), `want "Total bytes: "`},
		{"report: total", swap(smallReport, "Total bytes: 4096", "Total bytes: 4.0K"), `want " (", found ".0K`},
		{"report: other line", swap(smallReport, "  cumulative", "cumulative"), `x:3:1: want "Memory Space: "`},
		{"report: 33 spaces", manySpaces(33), "more than 32 memory spaces"},
		{"old report: total", swap(oldReport, "5728", "x"), "x:1:19: total: want a number"},
		{"old report: cut", strings.Split(oldReport, "Allocations sorted by size with")[0], "it is cut off"},
		{"stats: a float", swap(smallStats, `"temp_size_in_bytes": 5`, `"temp_size_in_bytes": 5.5`), "x:2:54: temp_size_in_bytes: want an integer, found 5.5"},
		{"stats: a string", swap(smallStats, `"temp_size_in_bytes": 5`, `"temp_size_in_bytes": "5"`), `want an integer, found "5"`},
		{"stats: null", swap(smallStats, `"temp_size_in_bytes": 5`, `"temp_size_in_bytes": null`), "want an integer, found"},
		{"stats: negative", swap(smallStats, `"temp_size_in_bytes": 5`, `"temp_size_in_bytes": -5`), "want a size from 0 to"},
		{"stats: huge", swap(smallStats, `"temp_size_in_bytes": 5`, `"temp_size_in_bytes": `+strings.Repeat("9", 1000)), "temp_size_in_bytes: want"},
		{"stats: twice", swap(smallStats, `"generated_code`, `"temp_size_in_bytes": 5, "generated_code`), "temp_size_in_bytes occurs twice"},
		{"stats: alias above output", swap(smallStats, `"alias_size_in_bytes": 1`, `"alias_size_in_bytes": 3`), "3 bytes are more than the 2 of output_size_in_bytes"},
		{"stats: two places", swap(smallStats, `"module"`, `"host_output_size_in_bytes": 1, "module"`), "found both"},
		{"stats: more behind", smallStats + "{}", "want one JSON object, found more behind it"},
		{"stats: deep", `{"temp_size_in_bytes": 1, "x": ` + strings.Repeat("[", 1000), "values nest deeper than 64"},
		{"stats: large", `{"temp_size_in_bytes": 1, "x": "` + strings.Repeat("x", maxStats), "found more"},
		{"stats: no comma", swap(smallStats, `"host_temp`, `; "host_temp`), "x:2:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.text), int64(len(c.text)), "x")
			if err == nil {
				err = got.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 500 {
				t.Errorf("want an error of one line with %q, got %v", c.want, err)
			}
		})
	}
}

func manySpaces(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "Memory Space: s (color=%d)\nTotal bytes: 0 (0B)\n\n\n", i)
	}
	return out.String()
}

// TestLongLines checks that lines of any length are read in bounded memory.
func TestLongLines(t *testing.T) {
	shape := "(" + strings.Repeat("f32[1024,1024], ", 1<<17) + "f32[])" // 2 MiB
	text := strings.Replace(smallText, "|(f32[256], f32[])|", "|"+shape+"|", 1)
	text = strings.Replace(text, ": (f32[256]{0}, f32[])", ": "+shape, 1)
	m := parse(t, []byte(text)).Measurement()
	is(t, m, "plan.output_bytes", measure.Labels{"memory_space": "device"}, 1040)

	endless := io.MultiReader(strings.NewReader("BufferAssignment:\nallocation 0: size 4, output shape is |"), io.LimitReader(zeros{}, 256<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(endless, -1, "x"); err == nil || !strings.HasPrefix(err.Error(), "x:2:") {
		t.Errorf("an endless line: %v", err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("an endless line of 256 MiB allocated %d bytes", used)
	}
}

// zeros is an endless stream of the digit 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestOtherReaders checks that it does not matter how the bytes of the further
// formats come, and that faults of reading are told.
func TestOtherReaders(t *testing.T) {
	assignment := message{}.bytes(1, buffer(1, 512, 1, 0)).bytes(1, buffer(2, 16, 2, 0)).bytes(3, allocation(0, 512, 0, message{}.int(5, 1), assigned(512, 1))).
		bytes(3, allocation(1, 16, 0, assigned(16, 2))).bytes(4, trace(event{Alloc, 2, 0}, event{Free, 2, 0}))
	report := message{}.bytes(1, message{}.int(1, 528).int(2, 0).bytes(3, message{}.int(2, 512).int(3, 512), []byte("\x21\x00\x00\x00\x00\x00\x00\xf0\x3f")))
	for name, data := range map[string][]byte{"text": []byte(smallText), "report": []byte(smallReport), "stats": []byte(smallStats), "assignment": assignment, "proto report": report} {
		c := parse(t, data)
		want := c.Measurement()
		if err := c.Validate(); err != nil || len(want.Rows) == 0 {
			t.Fatalf("%s: %v, %d rows", name, err, len(want.Rows))
		}
		for way, open := range readers(data) {
			r, size := open()
			c, err := Read(r, size, "x")
			if err != nil {
				t.Fatalf("%s, %s: %v", name, way, err)
			}
			if got, want := dump(c.Measurement()), dump(want); got != want {
				t.Errorf("%s, %s: %s", name, way, firstDifference(want, got))
			}
		}
		if name == "assignment" || name == "proto report" {
			continue
		}
		fault := io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(io.ErrClosedPipe))
		if _, err := Read(fault, -1, "x"); err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
			t.Errorf("%s: a fault of reading: %v", name, err)
		}
	}
	m := parse(t, assignment).Measurement()
	is(t, m, "plan.heap_peak_bytes", measure.Labels{"memory_space": "device"}, 528)
	is(t, m, "plan.compiler_peak_bytes", measure.Labels{}, 528)
	isAbsent(t, m, "plan.other_bytes", measure.Labels{"memory_space": "device"}, "tells neither shapes")
	more := append(bytes.Clone(report), message{}.bytes(1, message{}.int(1, 1).int(2, 1).bytes(3, message{}.int(2, 2)))...)
	if _, err := Read(bytes.NewReader(more), -1, "x"); err == nil || !strings.Contains(err.Error(), "its allocations have 2 bytes, more than its total of 1") {
		t.Errorf("allocations beyond the total: %v", err)
	}
}
