package xla

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// valid is a small file of each format, with every message that is read.
func valid() map[string]message {
	rich := hlo(
		[]message{
			instruction(1, "fusion.1", "fusion").bytes(7, message{}.text(2, "jit(f)/jvp()/mul").int(15, 1)).bytes(36, packed(2)).bytes(38, packed(1)).text(28, "t"),
			instruction(2, "p.1", "parameter").int(9, 0), instruction(3, "constant.1", "constant"),
		},
		message{}.bytes(1, buffer(1, 512*kib, 1, 0)).bytes(1, buffer(2, 512*kib, 2, 0)).bytes(1, buffer(3, mib1, 3, 0)).
			bytes(2, message{}.int(1, 1).bytes(2, message{}.int(4, 1))),
		message{}.bytes(3, allocation(0, mib1, 0, assigned(512*kib, 1, 2))).bytes(3, allocation(1, mib1, 0, message{}.int(12, 1), assigned(mib1, 3))),
		message{}.bytes(4, trace(event{Alloc, 1, 0}, event{ShareWith, 2, 1}, event{Free, 1, 0}, event{Free, 2, 0}).int(2, 1)),
	)
	frames := message{}.text(1, "/home/me/train.py").text(2, "step").bytes(3, message{}.int(1, 1).int(2, 1).int(3, 7)).bytes(4, message{}.int(1, 1))
	aliases := message{}.bytes(1, message{}.bytes(1, packed(0)).int(2, 0))
	return map[string]message{
		"hlo":    rich,
		"tables": message{}.bytes(1, message{}.text(1, "m").text(2, "main").bytes(8, aliases).bytes(17, frames).bytes(18, message{}.bytes(1, message{}.int(1, 3)))),
		"space":  space([]string{"jit_f(1)"}, []message{rich}),
		"host":   timelineSeed(),
	}
}

// onlyReader hides that a reader can seek.
type onlyReader struct{ io.Reader }

// readers are the ways in which the same bytes may come.
func readers(data []byte) map[string]func() (io.Reader, int64) {
	return map[string]func() (io.Reader, int64){
		"seeking":      func() (io.Reader, int64) { return bytes.NewReader(data), int64(len(data)) },
		"seeking, -1":  func() (io.Reader, int64) { return bytes.NewReader(data), -1 },
		"stream":       func() (io.Reader, int64) { return onlyReader{bytes.NewReader(data)}, int64(len(data)) },
		"stream, -1":   func() (io.Reader, int64) { return onlyReader{bytes.NewReader(data)}, -1 },
		"byte by byte": func() (io.Reader, int64) { return iotest.OneByteReader(bytes.NewReader(data)), -1 },
		"data and EOF": func() (io.Reader, int64) { return iotest.DataErrReader(onlyReader{bytes.NewReader(data)}), -1 },
	}
}

// TestReaders checks that it does not matter how the bytes come.
func TestReaders(t *testing.T) {
	for _, name := range []string{"xla/cpu_donate.xplane.pb", "xla/h100_donate.hlo.pb"} {
		data, err := os.ReadFile(fixture(t, name))
		if err != nil {
			t.Fatal(err)
		}
		want := parse(t, data).Measurement()
		for way, open := range readers(data) {
			r, size := open()
			c, err := Read(r, size, name)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, way, err)
			}
			sameMeasurement(t, name+", "+way, want, c.Measurement())
		}
	}
}

// TestPrefixes checks that a file that is cut off anywhere is an error, unless the
// cut lies between two fields of the outermost message.
func TestPrefixes(t *testing.T) {
	for name, data := range valid() {
		whole := map[int]bool{len(data): true}
		for at := 0; at < len(data); { // ends of the outermost fields
			_, rest, ok := cutField(data[at:], false)
			if !ok {
				t.Fatal(name)
			}
			at = len(data) - len(rest)
			whole[at] = true
		}
		for n := 0; n <= len(data); n++ {
			for way, open := range readers(data[:n]) {
				r, size := open()
				c, err := Read(r, size, "x.pb")
				if (err == nil) != whole[n] || (c == nil) != (err != nil) {
					t.Fatalf("%s: first %d of %d bytes, %s: capture %v, error %v", name, n, len(data), way, c != nil, err)
				}
				if err != nil && !strings.HasPrefix(err.Error(), "x.pb: ") {
					t.Errorf("%s: first %d bytes: error without the file's name: %v", name, n, err)
				}
			}
			// The promised size is longer than the stream.
			if c, err := Read(onlyReader{bytes.NewReader(data[:n])}, int64(len(data)), "x.pb"); n < len(data) && (err == nil || c != nil) {
				t.Fatalf("%s: first %d of %d bytes promised: no error", name, n, len(data))
			}
		}
	}
}

// TestFlips changes each byte of a valid file to several others: Read and what
// follows must not panic.
func TestFlips(t *testing.T) {
	for _, data := range valid() {
		for i := range data {
			for _, x := range []byte{0x00, 0x01, 0x08, 0x7f, 0x80, 0xff, data[i] + 1, data[i] - 1, data[i] ^ 0x80} {
				bad := bytes.Clone(data)
				bad[i] = x
				use(t, bad)
			}
		}
	}
}

// use reads and, if that works, does all that a capture can do.
func use(t testing.TB, data []byte) {
	c, err := Read(bytes.NewReader(data), int64(len(data)), "x.pb")
	if (c == nil) != (err != nil) {
		t.Fatalf("capture %v with error %v", c, err)
	}
	if err != nil {
		return
	}
	valid := c.Validate()
	m := c.Measurement()
	if valid != nil {
		return
	}
	sums := map[string]int64{}
	for _, x := range m.Contributors {
		sums[x.Metric+x.Labels.Key()] += int64(x.Bytes)
	}
	for _, r := range m.Rows {
		if r.Value == nil {
			continue
		}
		n, _ := r.Value.Int64()
		if sum, ok := sums[r.Name+r.Labels.Key()]; ok && sum != n {
			t.Fatalf("%s: contributors add up to %d, want %d", r.Name, sum, n)
		}
	}
}

func TestMalformed(t *testing.T) {
	in := []message{instruction(1, "a", "fusion"), instruction(2, "b", "fusion")}
	two := message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 10, 2, 0))
	one := message{}.bytes(3, allocation(0, 20, 0, assigned(10, 1, 2)))
	deep := message{}.int(2, 9)
	for range 40 {
		deep = message{}.int(2, 13).bytes(4, deep)
	}
	var tooMany []message // 130 allocations of the largest size that is believed
	for i := range int64(130) {
		tooMany = append(tooMany, message{}.bytes(3, allocation(i, maxSize, 0)))
	}
	cut := message{}.bytes(1, message{}.text(1, "m").text(2, "main").bytes(3, message{}.bytes(2, message{}.text(1, "x"))))
	for _, c := range []struct {
		name string
		data []byte
		want string // of Read, or else of Validate
	}{
		{"empty file", nil, "found an empty file"},
		{"other bytes", []byte("hello, world"), "found neither"},
		{"a buffer without allocation", message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(3, allocation(0, 20, 0)), "logical buffer 1 is in no allocation: the file is cut off"},
		{"huge length", append(space(nil, nil), 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "length 9223372036854775807 exceeds the 0 bytes left"},
		{"length of 64 bits", append(space(nil, nil), 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "length 18446744073709551615 exceeds the 0 bytes left"},
		{"varint without end", append(space(nil, nil), bytes.Repeat([]byte{0xff}, 12)...), "varint longer than 64 bits"},
		{"field number 0", append(space(nil, nil), 0x02, 0x00), "want a field number from 1 to 536870911, got 0"},
		{"group", append(space(nil, nil), 0x13), "field 2: wire type 3 is not used by this format"},
		{"end of a group", append(space(nil, nil), 0x14), "field 2: wire type 4 is not used by this format"},
		{"number for a message", append(space(nil, nil), 0x08, 0x01), "field 1: want wire type 2, got 0"},
		{"number for a text", append(space(nil, nil), 0x10, 0x01), "field 2: want wire type 2, got 0"},
		{"text for a number", hlo([]message{message{}.text(2, "add").text(35, "x")}), "field 35: want wire type 0, got 2"},
		{"number for a shape", hlo([]message{message{}.text(2, "add").int(3, 1)}), "field 3: want wire type 2, got 0"},
		{"varint past its message", hlo([]message{append(message{}.text(2, "add"), 0x98, 0x02, 0xff)}), "runs past the end of its message"},
		{"fixed64 past its message", hlo([]message{append(message{}.text(2, "add"), 0x39, 1, 2)}), "field 7: want 8 bytes, 2 are left"},
		{"packed number cut off", hlo([]message{message{}.text(2, "add").bytes(36, []byte{0x80})}), "field 36: a packed number is cut off"},
		{"no opcode", cut, "hlo_proto.hlo_module.computations: instructions: want an opcode, found none"},
		{"tuples in tuples", hlo([]message{message{}.text(2, "add").bytes(3, deep)}), "tuples nest deeper than 32"},
		{"shape cut off", hlo([]message{message{}.text(2, "add").bytes(3, []byte{0x10})}), "shape: a varint runs past the end"},
		{"length in a shape", hlo([]message{message{}.text(2, "add").bytes(3, []byte{0x22, 0x7f})}), "length 127 exceeds the 0 bytes left"},
		{"text for a dimension", hlo([]message{message{}.text(2, "add").bytes(3, message{}.text(2, "f32"))}), "shape: field 2: want wire type 0, got 2"},
		{"number for a layout", hlo([]message{message{}.text(2, "add").bytes(3, message{}.int(5, 1))}), "shape: field 5: want wire type 2, got 0"},
		{"buffer without an instruction", hlo(in, message{}.bytes(1, message{}.int(1, 7))), "buffer 7: want the instruction that defines it"},
		{"negative size of a buffer", hlo(in, message{}.bytes(1, buffer(1, -1, 1, 0))), "want a size from 0 to 72057594037927936 bytes, got -1"},
		{"negative size of an allocation", hlo(in, message{}.bytes(3, allocation(0, -5, 0))), "got -5"},
		{"absurd size", hlo(in, message{}.bytes(3, allocation(0, math.MaxInt64, 0))), "got 9223372036854775807"},
		{"negative offset", hlo(in, message{}.bytes(3, allocation(0, 5, 0, message{}.bytes(9, message{}.int(2, -1))))), "got -1"},
		{"two planes' modules of one name", space([]string{"jit_f(1)", "jit_f(1)"}, []message{hlo(in), hlo(in)}), "module jit_f(1): occurs twice in one file"},
		{"module that is no HloProto", space([]string{"jit_f(1)"}, []message{message("xyz")}), "want an HloProto, found other bytes"},
		{"module that is damaged", space([]string{"jit_f(1)"}, []message{cut}), "want an opcode, found none"},
		{"two instructions of one id", hlo([]message{in[0], in[0]}), "two of its 2 instructions have one id"},
		{"two buffers of one id", hlo(in, message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(1, 10, 2, 0))), "two of its 2 logical buffers have one id"},
		{"two allocations of one index", hlo(in, two, one, one), "buffer allocation 0 occurs twice"},
		{"buffer of an unknown instruction", hlo(in, message{}.bytes(1, buffer(1, 10, 99, 0))), "logical buffer 1: instruction 99 is not in the module"},
		{"unknown buffer assigned", hlo(in, two, message{}.bytes(3, allocation(0, 20, 0, assigned(10, 1, 2, 5)))), "buffer 5 is not among the logical buffers"},
		{"buffer assigned twice", hlo(in, two, one, message{}.bytes(3, allocation(1, 20, 0, assigned(10, 1)))), "logical buffer 1 is assigned to allocations 0 and 1"},
		{"buffer beyond its allocation", hlo(in, two, message{}.bytes(3, allocation(0, 9, 0, assigned(10, 1, 2)))), "buffer 1 ends at 10 of 9 bytes"},
		{"unknown buffer in a trace", hlo(in, two, one, message{}.bytes(4, trace(event{Alloc, 9, 0}))), "heap_simulator_traces[0]: event 0: buffer 9 is not among the logical buffers"},
		{"unknown buffer shared", hlo(in, two, one, message{}.bytes(4, trace(event{Alloc, 1, 0}, event{ShareWith, 2, 9}))), "event 1: buffer 9, shared by 2, is not among the logical buffers"},
		{"freed twice", hlo(in, two, one, message{}.bytes(4, trace(event{Alloc, 1, 0}, event{Free, 1, 0}, event{Free, 1, 0}))), "event 2: buffer 1 is freed more often than allocated"},
		{"negative heap", hlo(in, message{}.bytes(1, buffer(1, 10, 1, 0)).bytes(1, buffer(2, 5, 2, 0)), one,
			message{}.bytes(4, trace(event{Alloc, 1, 0}, event{ShareWith, 2, 1}, event{Free, 1, 0}, event{Free, 2, 0}, event{Alloc, 2, 0}, event{Free, 2, 0}))), "event 5: freeing buffer 1 makes the heap"},
		{"sums beyond what is added exactly", hlo(in, slices.Concat(tooMany...)), "memory space device: allocations of more than 2305843009213693951 bytes"},
		{"shared with itself", hlo(in, two, one, message{}.bytes(4, trace(event{Alloc, 1, 0}, event{ShareWith, 1, 1}))), "buffer 1: shares memory with itself"},
		{"a ring of sharing", hlo(in, two, one, message{}.bytes(4, trace(event{ShareWith, 1, 2}, event{ShareWith, 2, 1}))), "buffer 2: shares memory with itself"},
		{"unknown kind of event", hlo(in, two, one, message{}.bytes(4, trace(event{3, 1, 0}))), "event 0: want a kind from 0 to 2, got 3"},
		{"trace over two allocations", hlo(in, two, message{}.bytes(3, allocation(0, 20, 0, assigned(10, 1))).bytes(3, allocation(1, 20, 0, assigned(10, 2))),
			message{}.bytes(4, trace(event{Alloc, 1, 0}, event{Alloc, 2, 0}))), "event 1: buffer 2 is not in the allocation of buffer 1"},
		{"no entry computation", message{}.bytes(1, message{}.text(1, "m").text(2, "main")).bytes(3, one), "entry computation 0 is not among its computations"},
	} {
		t.Run(c.name, func(t *testing.T) {
			capture, err := Read(bytes.NewReader(c.data), int64(len(c.data)), "x.pb")
			if err == nil {
				err = capture.Validate()
				capture.Measurement() // must not panic
			} else if capture != nil {
				t.Error("a capture beside an error")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.pb: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("want an error of one line with %q, got %v", c.want, err)
			}
		})
	}
}

// TestLongText checks that a long text is cut, and that what follows it is read.
func TestLongText(t *testing.T) {
	long := strings.Repeat("x", 3*windowBytes)
	in := message{}.text(1, long).text(2, long).bytes(7, message{}.text(2, long)).int(35, 77)
	for way, open := range readers(hlo([]message{in})) {
		r, size := open()
		c, err := Read(r, size, "x.pb")
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		got := c.Modules[0].Computations[0].Instructions[0]
		if got.ID != 77 || len(got.Name) != maxText || len(got.Opcode) != maxText || len(got.opName()) != maxText {
			t.Errorf("%s: got id %d, texts of %d, %d and %d bytes", way, got.ID, len(got.Name), len(got.Opcode), len(got.opName()))
		}
	}
}

// TestForeignStat checks that damaged bytes in a statistic that is not HLO do no harm.
func TestForeignStat(t *testing.T) {
	damaged := message{}.bytes(1, message{}.text(1, "m").text(2, "main").bytes(3, message{}.bytes(2, message{}.text(1, "x"))))
	data := bytes.ReplaceAll(space([]string{"SYMBOL_MAP:1"}, []message{damaged}), []byte("Hlo Proto"), []byte("Symbol ma"))
	if c := parse(t, data); len(c.Modules) != 0 {
		t.Errorf("want no module, got %d", len(c.Modules))
	}
}

// TestTextCopy checks that a file whose bytes from 0x80 on were replaced is told so.
func TestTextCopy(t *testing.T) {
	for _, name := range []string{"xla/cpu_donate.xplane.pb", "xla/h100_donate.hlo.pb"} {
		data, err := os.ReadFile(fixture(t, name))
		if err != nil {
			t.Fatal(err)
		}
		copied := []byte(strings.ToValidUTF8(string(data), replacement))
		if _, err := Read(bytes.NewReader(copied), -1, "x.pb"); err == nil || !strings.Contains(err.Error(), "the file was copied as text") {
			t.Errorf("%s: want an error that says so, got %v", name, err)
		}
		if strings.HasSuffix(name, ".xplane.pb") {
			if f, ok := Sniff(copied[:windowBytes]); !ok || f != FormatXSpace {
				t.Errorf("%s: a text copy must reach Read, got %q", name, f)
			}
		}
	}
}

func TestReadFault(t *testing.T) {
	fault := errors.New("disk on fire")
	data := valid()["space"]
	for n := range len(data) {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(fault))
		if c, err := Read(r, -1, "x.pb"); c != nil || !errors.Is(err, fault) {
			t.Fatalf("fault after %d bytes: capture %v, error %v", n, c != nil, err)
		}
	}
}

// TestBombs checks that memory is bounded by what was read, whatever lengths say.
func TestBombs(t *testing.T) {
	repeat := func(m message, n int) message { return message(bytes.Repeat(m, n)) }
	huge := message{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x08, 0x01, 0x12, 0x0e}
	huge = append(huge, metadataPlane...)
	huge = append(huge, 0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f)
	nested := message{}.int(2, 9)
	for range 30 {
		nested = message{}.int(2, 13).bytes(4, nested)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"lengths of terabytes", huge},
		{"many planes", append(space(nil, nil), repeat(message{}.bytes(1), 1_000_000)...)},
		{"many entries", message{}.bytes(1, message{}.text(2, metadataPlane), repeat(message{}.bytes(4), 200_000))},
		{"many errors", append(space(nil, nil), repeat(message{}.text(2, "lost"), 100_000)...)},
		{"many computations", message{}.bytes(1, message{}.text(1, "m").text(2, "main"), repeat(message{}.bytes(3), 200_000))},
		{"many instructions", hlo(slicesRepeat(message{}.text(2, "a"), 100_000))},
		{"many operands", hlo([]message{message{}.text(2, "a").bytes(36, bytes.Repeat([]byte{1}, 500_000))})},
		{"many elements of a tuple", hlo([]message{message{}.text(2, "a").bytes(3, message{}.int(2, 13), repeat(message{}.bytes(4), 200_000))})},
		{"deep tuples", hlo(slicesRepeat(message{}.text(2, "a").bytes(3, nested), 1000))},
		{"many frames", message{}.bytes(1, message{}.text(1, "m").text(2, "main").bytes(17, repeat(message{}.bytes(4), 200_000)))},
		{"many buffers", hlo([]message{instruction(1, "a", "b")}, repeat(message{}.bytes(1, message{}.bytes(3)), 100_000))},
		{"many aliases", hlo([]message{instruction(1, "a", "b")}, repeat(message{}.bytes(2), 200_000))},
		{"many allocations", hlo([]message{instruction(1, "a", "b")}, repeat(message{}.bytes(3), 200_000))},
		{"many traces", hlo([]message{instruction(1, "a", "b")}, repeat(message{}.bytes(4), 200_000))},
		{"many events", hlo([]message{instruction(1, "a", "b")}, message{}.bytes(4, repeat(message{}.bytes(1), 200_000)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			capture, err := Read(onlyReader{bytes.NewReader(c.data)}, -1, "x.pb")
			if err == nil {
				capture.Validate()
				capture.Measurement()
			}
			runtime.ReadMemStats(&after)
			// The worst is an allocation of 2 bytes that becomes 120, doubled while its list grows.
			if got, bound := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+400*len(c.data)); got > bound {
				t.Errorf("%d bytes of file took %d bytes of memory, want at most %d", len(c.data), got, bound)
			}
		})
	}
}

func slicesRepeat(m message, n int) []message {
	list := make([]message, n)
	for i := range list {
		list[i] = m
	}
	return list
}

// TestCutOff: of a profile that is cut off, the error names the plane and the offset.
func TestCutOff(t *testing.T) {
	data := kept()
	at := bytes.Index(data, []byte(hostPlane))
	cut := data[:at+2000]
	for name, want := range map[string]string{
		"a file":   `x.pb: offset 0x31: plane "/host:CPU": field 1: length 5902 exceeds the 2004 bytes left: the file is cut off`,
		"a stream": `plane "/host:CPU": unexpected end of file`,
	} {
		var err error
		if name == "a file" {
			_, err = Read(bytes.NewReader(cut), int64(len(cut)), "x.pb")
		} else {
			_, err = Read(onlyReader{bytes.NewReader(cut)}, -1, "x.pb")
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "the file is cut off") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
