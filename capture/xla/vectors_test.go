package xla

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func parse(t testing.TB, data []byte) *Capture {
	t.Helper()
	c, err := Read(bytes.NewReader(data), int64(len(data)), "test.pb")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	kib  = 1 << 10
	mib1 = 1 << 20
)

// shared is the module of XProf's tests of SHARE_WITH: a temp block and a constant of
// 1 MiB each (hlo_proto_to_memory_visualization_utils_test.cc).
func shared(events ...event) message {
	return hlo(
		[]message{instruction(1, "fusion.1", "fusion"), instruction(2, "fusion.2", "fusion"), instruction(3, "constant.1", "constant")},
		message{}.bytes(1, buffer(1, 512*kib, 1, 0)).bytes(1, buffer(2, 512*kib, 2, 0)).bytes(1, buffer(3, mib1, 3, 0)),
		message{}.bytes(3, allocation(0, mib1, 0, assigned(512*kib, 1, 2))).bytes(3, allocation(1, mib1, 0, message{}.int(12, 1), assigned(mib1, 3))),
		message{}.bytes(4, trace(events...)),
	)
}

// chain is the module of XProf's tests of chains of SHARE_WITH.
func chain(size int64, space MemorySpace, events ...event) message {
	return hlo(
		[]message{instruction(1, "fusion.1", "fusion"), instruction(2, "fusion.2", "fusion"), instruction(3, "fusion.3", "fusion"), instruction(4, "fusion.4", "fusion")},
		message{}.bytes(1, buffer(1, size, 1, space)).bytes(1, buffer(2, size, 2, space)).bytes(1, buffer(3, size, 3, space)).bytes(1, buffer(4, 512*kib, 4, space)),
		message{}.bytes(3, allocation(0, 1536*kib, space, assigned(size, 1, 2, 3), assigned(512*kib, 4))),
		message{}.bytes(4, trace(events...)),
	)
}

func TestShareWith(t *testing.T) {
	for _, c := range []struct {
		name             string
		proto            message
		space            MemorySpace
		peak, unpadded   int64
		need, indefinite int64
		live             []string
	}{
		{"shared and then freed", shared(event{Alloc, 1, 0}, event{ShareWith, 2, 1}, event{Free, 1, 0}, event{Free, 2, 0}),
			Device, 1536 * kib, mib1 + 8, 2 * mib1, mib1, []string{"fusion.1"}},
		{"freed and then shared", shared(event{Alloc, 1, 0}, event{Free, 1, 0}, event{ShareWith, 2, 1}, event{Free, 2, 0}),
			Device, 1536 * kib, mib1 + 8, 2 * mib1, mib1, []string{"fusion.1"}},
		{"a chain", chain(512*kib, Device, event{Alloc, 1, 0}, event{ShareWith, 2, 1}, event{Free, 1, 0}, event{Free, 2, 0}, event{ShareWith, 3, 2}, event{Free, 3, 0}),
			Device, 512 * kib, 8, 1536 * kib, 0, []string{"fusion.1"}},
		{"a chain beside another buffer", chain(256*kib, vmem, event{Alloc, 1, 0}, event{ShareWith, 2, 1}, event{Free, 1, 0}, event{Free, 2, 0},
			event{Alloc, 4, 0}, event{ShareWith, 3, 2}, event{Free, 3, 0}, event{Free, 4, 0}),
			vmem, 768 * kib, 16, 1536 * kib, 0, []string{"fusion.4", "fusion.3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			capture := parse(t, c.proto)
			if err := capture.Validate(); err != nil {
				t.Fatal(err)
			}
			m := capture.Modules[0]
			p, err := m.Plan(c.space)
			if err != nil {
				t.Fatal(err)
			}
			if p.Peak.HeapBytes != c.peak || p.Peak.UnpaddedBytes != c.unpadded || p.NeedBytes != c.need || p.IndefiniteBytes != c.indefinite {
				t.Errorf("peak %d, unpadded %d, need %d, indefinite %d; want %d, %d, %d, %d", p.Peak.HeapBytes, p.Peak.UnpaddedBytes,
					p.NeedBytes, p.IndefiniteBytes, c.peak, c.unpadded, c.need, c.indefinite)
			}
			var live []string
			for _, r := range p.Peak.Simulation.Live() {
				live = append(live, m.instruction(m.Assignment.Buffers[r.Buffer].Instruction).Name)
			}
			if !slices.Equal(live, c.live) {
				t.Errorf("live at the peak: want %v, got %v", c.live, live)
			}
		})
	}
}

func TestCompilerPeak(t *testing.T) {
	in := func(n int) (list []message) {
		for i := range n {
			list = append(list, instruction(int64(i+1), fmt.Sprintf("fusion.%d", i+1), "fusion"))
		}
		return list
	}
	parameter := message{}.int(5, 1)
	for _, c := range []struct {
		name  string
		proto message
		want  int64
	}{
		{"one argument", hlo(in(1), message{}.bytes(1, buffer(1, 10, 1, 0)), message{}.bytes(3, allocation(0, 10, 0, parameter, assigned(10, 1)))), 10},
		{"largest buffer of each argument", hlo(in(3),
			message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 20, 2, 0)).bytes(1, buffer(3, 40, 3, 0)),
			message{}.bytes(3, allocation(0, 20, 0, parameter, assigned(10, 1), assigned(20, 2))).bytes(3, allocation(1, 40, 0, parameter, assigned(40, 3)))), 60},
		{"a trace on top", hlo(in(2),
			message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 10, 2, 0)),
			message{}.bytes(3, allocation(0, 10, 0, parameter, assigned(10, 1))).bytes(3, allocation(1, 10, 0, assigned(10, 2))),
			message{}.bytes(4, trace(event{Alloc, 2, 0}, event{Free, 2, 0}))), 20},
		{"traces of two spaces on one counter", hlo(in(3),
			message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 300, 2, 0)).bytes(1, buffer(3, 3690, 3, 5)),
			message{}.bytes(3, allocation(0, 10, 0, parameter, assigned(10, 1))).bytes(3, allocation(1, 300, 0, assigned(300, 2))).bytes(3, allocation(2, 3690, 5, assigned(3690, 3))),
			message{}.bytes(4, trace(event{Alloc, 2, 0})).bytes(4, trace(event{Alloc, 3, 0}))), 4000},
		{"thread local", hlo(in(1), message{}.bytes(1, buffer(1, 10, 1, 0)), message{}.bytes(3, allocation(0, 10, 0, parameter, message{}.int(3, 1), assigned(10, 1)))), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			capture := parse(t, c.proto)
			if err := capture.Validate(); err != nil {
				t.Fatal(err)
			}
			if got, err := capture.Modules[0].CompilerPeak(); got != c.want || err != nil {
				t.Errorf("want %d, got %d, %v", c.want, got, err)
			}
		})
	}
}

// TestForms checks that equal content in other forms of the wire reads equal.
func TestForms(t *testing.T) {
	usual := parse(t, shared(event{Alloc, 1, 0}, event{Free, 1, 0})).Measurement()
	in := []message{}
	for i, name := range []string{"fusion.1", "fusion.2", "constant.1"} {
		opcode := strings.TrimRight(name, ".123")
		// Fields in reverse order, an unknown field of each wire type, and an id above 32 bits.
		unknown := message{}.int(1000, 1).text(1001, "x")
		unknown = append(unknown, 0xc1, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8) // field 1000, fixed64
		unknown = append(unknown, 0xc5, 0x3e, 1, 2, 3, 4)             // field 1000, fixed32
		in = append(in, append(unknown, message{}.int(35, int64(i)+1+7<<32).bytes(3, message{}.bytes(4, message{}.int(2, 9)).int(2, 13)).text(2, opcode).text(1, name)...))
	}
	unpackedBuffer := func(id, size, instruction int64) message { // shape_index as one number
		return message{}.bytes(3, message{}.int(4, instruction+7<<32).int(3, 0)).int(2, size).int(1, id)
	}
	c := message{}.text(1, "main").int(5, 1).int(6, 1)
	for _, i := range in {
		c = c.bytes(2, i)
	}
	assignment := message{}.bytes(4, trace(event{Alloc, 1, 0}, event{Free, 1, 0})).
		bytes(3, allocation(0, mib1, 0, assigned(512*kib, 1, 2))).bytes(3, allocation(1, mib1, 0, message{}.int(12, 1), assigned(mib1, 3))).
		bytes(1, unpackedBuffer(1, 512*kib, 1)).bytes(1, unpackedBuffer(2, 512*kib, 2)).bytes(1, unpackedBuffer(3, mib1, 3))
	other := message{}.bytes(1, message{}.text(1, "test_module").int(6, 1).bytes(3, c)).bytes(3, assignment)
	capture := parse(t, other)
	if err := capture.Validate(); err != nil {
		t.Fatal(err)
	}
	sameMeasurement(t, "forms", usual, capture.Measurement())

	// The same module in a profile, with the key and the spelling of libtpu 0.0.37.
	profile := bytes.ReplaceAll(space([]string{"test_module(12190760917235803885)"}, []message{other}), []byte("Hlo Proto"), []byte("HLO Proto"))
	m := parse(t, profile).Modules[0]
	if m.Name != "test_module" || m.Program != "12190760917235803885" {
		t.Errorf("want test_module 12190760917235803885, got %s %s", m.Name, m.Program)
	}
	if m = parse(t, space([]string{"no_number"}, []message{other})).Modules[0]; m.Name != "no_number" || m.Program != "1" {
		t.Errorf("want the key as the program, got %s %s", m.Name, m.Program)
	}
}

// TestPadding checks that the padding of arguments counts in our number and not in XProf's.
func TestPadding(t *testing.T) {
	m := parse(t, hlo([]message{instruction(1, "p", "parameter"), instruction(2, "f", "fusion")},
		message{}.bytes(1, buffer(1, 1024, 1, 0)).bytes(1, buffer(2, 512, 2, 0)),
		message{}.bytes(3, allocation(0, 1024, 0, message{}.int(5, 1), assigned(1024, 1))).bytes(3, allocation(1, 600, 0, assigned(512, 2))),
		message{}.bytes(4, trace(event{Alloc, 2, 0}, event{Free, 2, 0})))).Measurement()
	for name, want := range map[string]int64{
		"plan.padding_bytes": 1016 + 504, "plan.viewer_padding_bytes": 504, "plan.fragmentation_bytes": 88,
		"plan.heap_peak_bytes": 1536, "plan.need_bytes": 1624, "plan.argument_bytes": 1024, "plan.temp_bytes": 600,
	} {
		if got := row(t, m, name, "device"); got != want {
			t.Errorf("%s: want %d, got %d", name, want, got)
		}
	}
}

// TestNoData checks the reasons for what cannot be known.
func TestNoData(t *testing.T) {
	in := []message{instruction(1, "f", "fusion"), instruction(2, "g", "fusion")}
	two := message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 10, 2, 0))
	for _, c := range []struct {
		name   string
		proto  message
		reason string
		known  []string // all other rows are absent
	}{
		{"no assignment", hlo(in), "the file holds no buffer assignment of this module", nil},
		{"no trace", hlo(in, two, message{}.bytes(3, allocation(0, 20, 0, assigned(10, 1, 2)))), "no heap trace of the temp block",
			[]string{"plan.need_bytes", "plan.total_bytes", "plan.temp_bytes", "plan.argument_bytes", "plan.output_bytes", "plan.unaliased_output_bytes",
				"plan.donated_bytes", "plan.constant_bytes", "plan.thread_local_bytes", "plan.remat_instructions"}},
		{"two temp blocks", hlo(in, two, message{}.bytes(3, allocation(0, 20, 0, assigned(10, 1))).bytes(3, allocation(1, 20, 0, assigned(10, 2))),
			message{}.bytes(4, trace(event{Alloc, 1, 0}))), "2 temp blocks",
			[]string{"plan.need_bytes", "plan.total_bytes", "plan.temp_bytes", "plan.argument_bytes", "plan.output_bytes", "plan.unaliased_output_bytes",
				"plan.donated_bytes", "plan.constant_bytes", "plan.thread_local_bytes", "plan.remat_instructions"}},
		{"empty stat", space([]string{"jit_f(1)"}, []message{nil}), "empty Hlo Proto", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, c.proto).Measurement()
			reasons := 0
			for _, r := range m.Rows {
				if known := slices.Contains(c.known, r.Name); known != (r.Value != nil) {
					t.Errorf("%s: value %v, reason %q", r.Name, r.Value, r.NoData)
				}
				if strings.Contains(r.NoData, c.reason) {
					reasons++
				}
			}
			if len(m.Rows) != len(planMetrics)+len(peakMetrics)+2 || reasons == 0 {
				t.Errorf("%d rows, %d of them say %q", len(m.Rows), reasons, c.reason)
			}
		})
	}
}

// TestRows checks that all plan metrics of the catalogue are given, and no others.
func TestRows(t *testing.T) {
	m := parse(t, shared(event{Alloc, 1, 0}, event{Free, 1, 0})).Measurement()
	var got, want []string
	for _, r := range m.Rows {
		got = append(got, r.Name)
	}
	for _, c := range measure.Catalogue() {
		if strings.HasPrefix(c.Name, "plan.") {
			want = append(want, c.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("want rows %v, got %v", want, got)
	}
}

func TestGeneralize(t *testing.T) {
	for name, want := range map[string]string{
		"jvp(layer_3)/dot_general":      "jvp(layer_*)/dot_general",
		"fusion.12":                     "fusion.*",
		"params['blocks'][0]['w1']":     "params['blocks'][*]['w1']",
		"conv2d/log1p/f32":              "conv2d/log1p/f32",
		"block-10/h":                    "block-*/h",
		"12":                            "*",
		"a/7/b":                         "a/*/b",
		"":                              "",
		"couche_é2":                     "couche_é2",
		"bhqd,bhkd->bhqk/dot_general_2": "bhqd,bhkd->bhqk/dot_general_*",
	} {
		if got := generalize(name); got != want {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
}

func TestWithoutJit(t *testing.T) {
	for op, want := range map[string]string{
		"jit(step)/jvp()/mul":      "jvp()/mul",
		"jit(step)/jit(main)/conv": "conv",
		"pjit(step)/mul":           "mul",
		"jit(_where)/select_n":     "select_n",
		"jit(step)":                "jit(step)",
		"params['w']":              "params['w']",
		"jit(f)/jit(main)/jvp(while)/body/transpose[permutation=(1, 0)]": "jvp(while)/body/transpose",
		"args[0]['a=b']": "args[0]['a=b']",
		"jit(f(g))/mul":  "jit(f(g))/mul",
	} {
		if got := withoutJit(withoutParameters(op)); got != want {
			t.Errorf("%q: want %q, got %q", op, want, got)
		}
	}
}

func TestShapes(t *testing.T) {
	f32 := &Shape{Type: 11, Dimensions: []int64{8, 1024}}
	for _, c := range []struct {
		shape            *Shape
		text             string
		unpadded, viewer int64
	}{
		{f32, "f32[8,1024]", 32 * kib, 32 * kib},
		{&Shape{Type: 16, Dimensions: []int64{}}, "bf16[]", 2, 2},
		{&Shape{Type: tuple, Tuple: []*Shape{f32, f32}}, "(f32[8,1024], f32[8,1024])", 16, 16},
		{&Shape{Type: 21, Dimensions: []int64{5}, ElementBits: 4}, "s4[5]", 3, 5},
		{&Shape{Type: 21, Dimensions: []int64{5}}, "s4[5]", 5, 5},
		{&Shape{Type: 11, Dimensions: []int64{1 << 40, 1 << 40}}, "f32[1099511627776,1099511627776]", 0, 0},
		{&Shape{Type: 11, Dimensions: []int64{-4}}, "f32[-4]", 0, 0},
		{&Shape{Type: 77, Dimensions: []int64{4}}, "type77[4]", 0, 0},
		{nil, "?", 0, 0},
	} {
		if got := c.shape.String(); got != c.text || c.shape.UnpaddedBytes() != c.unpadded || c.shape.viewerBytes() != c.viewer {
			t.Errorf("want %s %d %d, got %s %d %d", c.text, c.unpadded, c.viewer, got, c.shape.UnpaddedBytes(), c.shape.viewerBytes())
		}
	}
	if f32.At([]int64{0}) != nil || (&Shape{Type: tuple, Tuple: []*Shape{f32}}).At([]int64{0}) != f32 {
		t.Error("At: want nothing inside an array, and the element of a tuple")
	}
}
