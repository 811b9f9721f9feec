package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A small pickle writer: enough to say anything a file may say.

func text(s string) string { return "\x8c" + string(rune(len(s))) + s }
func num(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}
func dict(kv ...string) string { return "}(" + strings.Join(kv, "") + "u" }
func list(v ...string) string  { return "](" + strings.Join(v, "") + "e" }

func pickled(body string) string { return "\x80\x04" + body + "." }

func event(action string, addr, size int64) string {
	return dict(text("action"), text(action), text("addr"), num(addr), text("size"), num(size))
}

func block(addr, size int64, state string) string {
	return dict(text("address"), num(addr), text("size"), num(size), text("requested_size"), num(size), text("state"), text(state), text("frames"), "]")
}

func segment(addr, size int64, blocks ...string) string {
	return dict(text("device"), num(0), text("address"), num(addr), text("total_size"), num(size), text("segment_pool_id"), "K\x00K\x00\x86", text("blocks"), list(blocks...))
}

func snapshot(segments, events []string) string {
	return pickled(dict(text("segments"), list(segments...), text("device_traces"), list(list(events...))))
}

// good is a snapshot that reads without a warning; the cases change one thing.
func good() string {
	return snapshot([]string{segment(4096, 1024, block(4096, 512, "active_allocated"), block(4608, 512, "inactive"))},
		[]string{event("segment_alloc", 4096, 1024), event("alloc", 4096, 512), event("alloc", 4608, 512), event("free_requested", 4608, 512), event("free_completed", 4608, 512)})
}

func readText(s string, size int64) (*Snapshot, error) {
	return Read(strings.NewReader(s), size, "x.pickle", Options{})
}

func TestGood(t *testing.T) {
	s, err := readText(good(), int64(len(good())))
	if err != nil {
		t.Fatal(err)
	}
	h := s.Devices[0].History
	if len(s.Warnings) > 0 || h.Kind != "complete" || h.Peak != 1024 || h.Misses != 1 || h.NoPeak != "" {
		t.Errorf("%q, %+v", s.Warnings, h)
	}
}

// TestManyDevices: a trace of one event is a list that its writer appends to without a
// mark, also where many lists wait for the end of their batch.
func TestManyDevices(t *testing.T) {
	const devices = 200
	trace := "]" + event("segment_alloc", 4096, 1024) + "a"
	text := pickled(dict(text("segments"), "]", text("device_traces"), list(slices.Repeat([]string{trace}, devices)...)))
	s, err := readText(text, int64(len(text)))
	if err != nil || len(s.Devices) != devices {
		t.Errorf("want %d devices, got %+v, %v", devices, s, err)
	}
}

func TestMalformed(t *testing.T) {
	const notOurs = ": not written by torch.cuda.memory._dump_snapshot"
	frame := func(kv ...string) string { return dict(text("frames"), list(dict(kv...))) }
	withEvent := func(e string) string { return snapshot(nil, []string{e}) }
	withBlock := func(b string) string { return snapshot([]string{segment(0, 512, b)}, nil) }
	u64 := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, c := range []struct{ name, data, want string }{
		{"empty file", "", "x.pickle: empty file: the dump was interrupted"},
		{"only a header", "\x80\x04", "offset 0x2: the file ends in the middle of the snapshot"},
		{"protocol 6", "\x80\x06.", "offset 0x0: pickle protocol 6: this reader knows 0 to 5"},
		{"second header", "\x80\x04\x80\x04.", "offset 0x2: opcode PROTO in the middle of a pickle"},
		{"unknown opcode", "\x80\x04\xff.", "offset 0x2: byte 0xff is no pickle opcode"},
		{"GLOBAL", "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", "offset 0x2: opcode GLOBAL would execute code" + notOurs},
		{"STACK_GLOBAL", pickled(text("os") + text("system") + "\x93"), "offset 0xe: opcode STACK_GLOBAL would execute code" + notOurs},
		{"REDUCE", pickled("NNR"), "offset 0x4: opcode REDUCE would execute code" + notOurs},
		{"BUILD", pickled("NNb"), "opcode BUILD would execute code"},
		{"INST", "(i__main__\nA\n.", "offset 0x1: opcode INST would execute code"},
		{"OBJ", pickled("(No"), "opcode OBJ would execute code"},
		{"NEWOBJ", pickled("NN\x81"), "opcode NEWOBJ would execute code"},
		{"NEWOBJ_EX", pickled("NNN\x92"), "opcode NEWOBJ_EX would execute code"},
		{"EXT1", pickled("\x82\x01"), "opcode EXT1 would execute code"},
		{"PERSID", "P1\n.", "offset 0x0: opcode PERSID would execute code"},
		{"BINPERSID", pickled("NQ"), "opcode BINPERSID would execute code"},
		{"NEXT_BUFFER", "\x80\x05\x97.", "offset 0x2: opcode NEXT_BUFFER has no place in a snapshot" + notOurs},
		{"BYTEARRAY8", "\x80\x05\x96" + u64(1) + "x.", "opcode BYTEARRAY8 has no place"},
		{"POP", pickled("N0N"), "opcode POP has no place"},
		{"DUP", pickled("]2a"), "opcode DUP has no place"},
		{"EMPTY_SET", pickled("\x8f"), "opcode EMPTY_SET has no place"},
		{"huge BINUNICODE8", "\x80\x04\x8d" + u64(1<<62) + "x", "offset 0x2: length 4611686018427387904 exceeds the 1 bytes left"},
		{"huge BINUNICODE", "\x80\x04X\xff\xff\xff\xffx", "offset 0x2: length 4294967295 exceeds the 1 bytes left"},
		{"huge BINBYTES8", "\x80\x04\x8e" + u64(1<<63) + "x", "offset 0x2: length 9223372036854775808 exceeds the 1 bytes left"},
		{"huge LONG4", "\x80\x04\x8b\xff\xff\xff\x7fx", "offset 0x2: length 2147483647 exceeds the 1 bytes left"},
		{"negative LONG4", "\x80\x04\x8b\xff\xff\xff\xffx", "opcode LONG4 with the negative length -1"},
		{"huge FRAME", "\x80\x04\x95" + u64(1<<40) + "N.", "offset 0x2: a frame of 1099511627776 bytes, and 2 bytes are left: the file is truncated"},
		{"list in itself", pickled("]\x94h\x00a"), "offset 0x6: a container changes after it was used"},
		{"dict in itself", pickled("}\x94(" + text("segments") + "h\x00u"), "a container changes after it was used"},
		{"list of lists in itself", pickled("]\x94]ah\x00a"), "offset 0x6: a container refers to itself or is used twice"},
		{"event used twice", snapshot(nil, []string{"}\x94(" + text("action") + text("snapshot") + "u", "h\x00"}), "a container refers to itself or is used twice"},
		{"trace used twice", pickled(dict(text("segments"), "]", text("device_traces"), list("]\x94("+event("snapshot", 0, 0)+"e", "h\x00"))), "a container refers to itself or is used twice"},
		{"frame changed after use", pickled("](}\x94(" + text("filename") + text("a") + "uh\x00" + text("line") + "K\x01se"), "a container changes after it was used"},
		{"no mark", pickled("}u"), "offset 0x3: no mark on the stack for this opcode"},
		{"open mark", pickled("(}"), "the snapshot ends with 1 values on the stack, want 1"},
		{"stack underflow", pickled("]a"), "offset 0x3: stack underflow"},
		{"underflow under a mark", pickled("](Na"), "stack underflow"},
		{"mark without a list", pickled("(Ne"), "stack underflow"},
		{"append to an integer", pickled("K\x01Na"), "want a list to put values into, got integer"},
		{"append to a dict", pickled("}Na"), "want a list to put values into, got a dict"},
		{"setitem on a list", pickled("]NNs"), "want a dict to put values into, got a list"},
		{"odd number of items", pickled("}(" + text("a") + "u"), "a dict gets a key without a value"},
		{"unset memo entry", pickled("h\x07"), "offset 0x2: memo entry 7 does not exist; there are 0"},
		{"memo entry 2^31", pickled("j\x00\x00\x00\x80"), "offset 0x2: memo entry 2147483648 does not exist"},
		{"MEMOIZE of nothing", pickled("\x94"), "stack underflow"},
		{"container memoized twice", pickled("]\x94\x94"), "a container is put into the memo twice"},
		{"integer key", pickled(dict("K\x01", "K\x01")), "want a string as the key of a dict, got integer"},
		{"list key", pickled(dict("]", "K\x01")), "want a string as the key of a dict, got container"},
		{"duplicate key", withEvent(dict(text("action"), text("oom"), text("action"), text("oom"))), `key "action" occurs twice in one dict`},
		{"list in a tuple", pickled("]K\x01\x86"), "a tuple holds a list or a dict" + notOurs},
		{"integer at the top", pickled("K\x01"), "offset 0x5: want a snapshot, got integer" + notOurs},
		{"strings at the top", pickled(list(text("a"))), "want a snapshot, got a list of other values"},
		{"events at the top", pickled(list(event("oom", 1, 1))), "want a snapshot, got a list of trace entries"},
		{"another dict at the top", pickled(dict(text("state_dict"), "}")), "neither segments nor device_traces at the top" + notOurs},
		{"segments is a dict", pickled(dict(text("segments"), "}")), "segments: want a list of segments, got dict"},
		{"segments holds strings", pickled(dict(text("segments"), list(text("a")))), "segments: want a list of segments, got value of another kind"},
		{"flat device_traces", pickled(dict(text("device_traces"), list(event("oom", 1, 1)))), "device_traces: want a list of trace entries for each device, got list of trace entries"},
		{"device_traces of blocks", pickled(dict(text("device_traces"), list(list(block(0, 1, "inactive"))))), "device_traces[0]: want a list of trace entries, got list of blocks"},
		{"mixed list", pickled(dict(text("segments"), list(block(0, 1, "inactive"), segment(0, 1)))), "a list of blocks also holds segments"},
		{"negative size", withEvent(event("alloc", 1, -5)), "trace entry 0: size: negative size -5"},
		{"negative block", withBlock(block(0, -512, "inactive")), "block 0: size: negative size -512"},
		{"size beyond any device", withEvent(event("alloc", 1, 1<<50)), "size: 1125899906842624 bytes is more than any device has"},
		{"integer beyond 64 bits", withEvent(dict(text("action"), text("oom"), text("size"), "\x8a\x0a1234567890")), "size: integer beyond 64 bits"},
		{"fraction", withEvent(dict(text("action"), text("alloc"), text("addr"), "K\x01", text("size"), "G\x3f\xe0\x00\x00\x00\x00\x00\x00")), "size: want an integer, got 0.5"},
		{"size is a string", withEvent(dict(text("action"), text("alloc"), text("addr"), "K\x01", text("size"), text("1"))), "size: want an integer, got string"},
		{"alloc without addr", withEvent(dict(text("action"), text("alloc"), text("size"), "K\x01")), "trace entry 0: addr is missing"},
		{"alloc without size", withEvent(dict(text("action"), text("alloc"), text("addr"), "K\x01")), "trace entry 0: size is missing"},
		{"action is an integer", withEvent(dict(text("action"), "K\x01")), "action: want a string, got integer"},
		{"block without size", withBlock(dict(text("state"), text("inactive"))), "block 0: size is missing"},
		{"segment without blocks", pickled(dict(text("segments"), list(dict(text("address"), "K\x01", text("total_size"), "K\x01")))), "segment 0: blocks is missing"},
		{"blocks are frames", pickled(dict(text("segments"), list(dict(text("address"), "K\x01", text("total_size"), "K\x01", text("blocks"), list(dict(text("filename"), text("a"))))))), "blocks: want a list of blocks, got list of frames"},
		{"frames is a string", withEvent(dict(text("action"), text("oom"), text("frames"), text("a"))), "frames: want a list of frames, got string"},
		{"filename is an integer", pickled(frame(text("filename"), "K\x01")), "frame 0: filename: want a string, got integer"},
		{"line is a string", pickled(frame(text("filename"), text("a"), text("line"), text("1"))), "line: want an integer, got string"},
		{"device -7", pickled(dict(text("segments"), list(dict(text("device"), "J\xf9\xff\xff\xff", text("address"), "K\x01", text("total_size"), "K\x00", text("blocks"), "]")))), "device: want an ordinal from 0 to 4095, got -7"},
		{"device -1", pickled(dict(text("segments"), list(dict(text("device"), "J\xff\xff\xff\xff", text("address"), "K\x01", text("total_size"), "K\x00", text("blocks"), "]")))), "segments: device: want an ordinal, got -1"},
		{"is_expandable is an integer", pickled(dict(text("segments"), list(dict(text("address"), "K\x01", text("total_size"), "K\x00", text("is_expandable"), "K\x01", text("blocks"), "]")))), "is_expandable: want True or False, got integer"},
		{"pool id is a string", pickled(dict(text("segments"), list(dict(text("address"), "K\x01", text("total_size"), "K\x00", text("segment_pool_id"), text("a"), text("blocks"), "]")))), "segment_pool_id: want two integers, got string"},
		{"settings are a list", pickled(dict(text("segments"), "]", text("allocator_settings"), list("K\x01", "K\x02", "K\x03"))), "allocator_settings: want a dict, got value of another kind"},
		{"overlapping segments", snapshot([]string{segment(4096, 1024, block(4096, 1024, "inactive")), segment(4608, 512, block(4608, 512, "inactive"))}, nil), "damaged file: the segments at 0x1000 and 0x1200 overlap"},
		{"one segment twice", snapshot([]string{segment(0, 512, block(0, 512, "inactive")), segment(0, 512, block(0, 512, "inactive"))}, nil), "damaged file: the segments at 0x0 and 0x0 overlap"},
		{"many settings", pickled(dict(text("segments"), "]", text("allocator_settings"), "}"+strings.Repeat("("+strings.Repeat(text("k")+"N", 100)+"u", 3))), "more than 256 allocator_settings"},
		{"a second pickle", good() + good(), "a second pickle follows: one snapshot a file"},
		{"deep nesting", "\x80\x04" + strings.Repeat("](", 300), "nested deeper than 256"},
		{"sum beyond int64", snapshot(nil, many(1<<14, func(i int) string { return event("alloc", int64(i), 1<<48) })), "sizes add up to more than"},
		{"text line without a number", "(dpx\n.", "offset 0x2: opcode PUT: want a memo number"},
		{"INT of letters", "Iabc\n.", `want an integer, got "abc"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := readText(c.data, int64(len(c.data)))
			if err == nil || s != nil {
				t.Fatalf("read without an error, want %q", c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "x.pickle: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q does not begin with the file or is no line", err)
			}
			// Without knowing the size of the file it must fail as well.
			if s, err := readText(c.data, -1); err == nil || s != nil {
				t.Error("read without an error where the size is not known")
			}
		})
	}
}

func many(n int, f func(int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestMalformedJSON(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"truncated", `{"segments": [`, "offset 0xe: the file ends in the middle"},
		{"truncated string", `{"segm`, "the file ends in the middle"},
		{"deep nesting", strings.Repeat("[", 300), "nested deeper than 256"},
		{"duplicate key", `{"segments": [], "segments": []}`, `key "segments" occurs twice`},
		{"number as key", `{1: 2}`, `want a key, got '1'`},
		{"no colon", `{"segments" []}`, `want a colon after a key, got '['`},
		{"no comma", `{"segments": [1 2]}`, "want a comma or the end of the list, got '2'"},
		{"trailing comma", `{"segments": [1,]}`, "want a value, got ']'"},
		{"two values", `{"segments": []} {}`, "data after the end of the JSON value"},
		{"NaN", `{"segments": NaN}`, `want a value, got "NaN"`},
		{"hex", `{"segments": 0x10}`, `want a value, got "0x10"`},
		{"control character", "{\"seg\nments\": 1}", "control character 0x0a in a string"},
		{"bad escape", `{"\x": 1}`, `unknown escape \x`},
		{"bad unicode escape", `{"\u12g4": 1}`, "want four hexadecimal digits"},
		{"address beyond 64 bits", `{"device_traces": [[{"action": "alloc", "addr": 99999999999999999999999, "size": 1}]]}`, "addr: want an address, got integer beyond 64 bits"},
		{"size beyond int64", `{"device_traces": [[{"action": "alloc", "addr": 1, "size": 9223372036854775808}]]}`, "size: integer beyond 64 bits"},
		{"fraction", `{"device_traces": [[{"action": "alloc", "addr": 1, "size": 1.5}]]}`, "size: want an integer, got 1.5"},
		{"rounded to a float", `{"device_traces": [[{"action": "alloc", "addr": 1.234567890123456789e19, "size": 1}]]}`, "addr: want an address, got number with a fraction"},
		{"long number", `{"segments": ` + strings.Repeat("1", 600) + `}`, "a number of more than 512 digits"},
		{"not a snapshot", `{"traceEvents": []}`, "neither segments nor device_traces at the top"},
		{"null frames key", `{"segments": {}}`, "segments: want a list of segments, got dict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := readText(c.data, int64(len(c.data)))
			if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestTolerated: odd and legal.
func TestTolerated(t *testing.T) {
	u64 := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, c := range []struct {
		name, data, warning string
	}{
		{"NUL padding", good() + "\x00\x00\x00", ""},
		{"trailing text", good() + "\nbye", "4 bytes after the end of the snapshot"},
		{"unknown action", snapshot(nil, []string{event("empty_cache", 0, 0), event("workspace_snapshot", 0, 1)}), `2 events of unknown actions were counted and otherwise ignored: "empty_cache" (1), "workspace_snapshot" (1)`},
		{"unknown state", snapshot([]string{segment(0, 512, block(0, 512, "dreaming"))}, nil), `unknown state count as reserved only: "dreaming" (1)`},
		{"blocks do not add up", snapshot([]string{segment(0, 1024, block(0, 512, "inactive"))}, nil), "1 segments whose blocks do not add up"},
		{"awaiting free as documented", snapshot([]string{segment(0, 512, block(0, 512, "active_awaiting_free"))}, nil), ""},
		{"unused entries", pickled(dict(text("segments"), list(segment(0, 0)), text("new"), list(dict(text("a"), list("N", "\x88", "K\x01")), list(text("b"))), text("bytes"), "C\x02ab")), ""},
		{"frame of a wrong length", "\x80\x04\x95" + u64(1) + good()[2:], ""},
		{"a long metadata", snapshot(nil, []string{dict(text("action"), text("oom"), text("user_metadata"), "X\x00\x00\x20\x00"+strings.Repeat("m", 2<<20))}), ""},
		{"address from 2^63 on", snapshot(nil, []string{dict(text("action"), text("alloc"), text("size"), "K\x01", text("addr"), "\x8a\x09\x00\x00\x00\x00\x00\xff\xff\xff\x00"),
			dict(text("action"), text("free_completed"), text("size"), "K\x01", text("addr"), "\x8a\x08\x00\x00\x00\x00\x00\xff\xff\xff")}), ""},
		{"float without a fraction", snapshot(nil, []string{dict(text("action"), text("oom"), text("size"), "G\x41\xd0\x00\x00\x00\x00\x00\x00")}), ""},
		{"nothing at all", pickled(list()), "nothing was measured"},
		{"the longest setting", pickled(dict(text("segments"), list(segment(0, 0)), text("allocator_settings"), dict(text("max_split_size"), "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"))), ""},
		{"one tuple of another kind", pickled(dict(text("segments"), list(segment(0, 0)), text("x"), "(NNNNt")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := readText(c.data, int64(len(c.data)))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			if got := strings.Join(s.Warnings, "; "); c.warning == "" && got != "" || !strings.Contains(got, c.warning) {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
			s.Measurement()
		})
	}
	s, err := readText(pickled(dict(text("segments"), "]", text("allocator_settings"), dict(text("max_split_size"), "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"))), -1)
	if err != nil || len(s.Measurement().Environment) != 1 {
		t.Errorf("a leaked 2^64-1 is a changed setting: %v, %v", s, err)
	}
}

// TestMissingFrees: a history whose frees were skipped has no peak; one that
// needs none has.
func TestMissingFrees(t *testing.T) {
	live := []string{segment(4096, 1024, block(4096, 512, "active_allocated"), block(4608, 512, "active_allocated"))}
	half := []string{segment(4096, 1024, block(4096, 512, "active_allocated"), block(4608, 512, "inactive"))}
	pending := []string{segment(4096, 1024, block(4096, 512, "active_allocated"), block(4608, 512, "active_pending_free"))}
	allocs := []string{event("alloc", 4096, 512), event("alloc", 4608, 512)}
	with := func(more ...string) []string { return append(append([]string{}, allocs...), more...) }
	for _, c := range []struct {
		name     string
		segments []string
		events   []string
		peak     int64
		reason   string
	}{
		{"allocations only, all live", live, allocs, 1024, ""},
		{"allocations only, one gone", half, allocs, 0, "would have been live when the history begins"},
		{"given back, still awaited", pending, with(event("free_requested", 4608, 512)), 1024, ""},
		{"given back, completion skipped", half, with(event("free_requested", 4608, 512)), 0, "no free_completed in the history"},
		{"completion skipped, another block awaited", pending, with(event("free_requested", 4096, 512), event("free_requested", 4608, 512)), 0, "no free_completed in the history"},
		{"requests skipped", half, with(event("free_completed", 4608, 512)), 1024, ""},
		{"allocated twice", live, with(event("alloc", 4608, 512), event("free_completed", 9999, 512)), 0, "contradicts itself"},
		{"freed twice", live, with(event("free_completed", 9999, 512), event("free_completed", 9999, 512)), 0, "contradicts itself"},
		{"freed with another size", half, with(event("free_completed", 4608, 256)), 0, "would have been live"},
		{"one block twice", []string{segment(4096, 1024, block(4096, 512, "active_allocated"), block(4096, 512, "active_allocated"))}, allocs, 0, "gone at the dump"},
		{"recording ended early", half, with(event("free_completed", 7777, 512)), 0, "disagree on 1 blocks"},
		{"freed without an allocation", half, with(event("free_completed", 4608, 512), event("free_completed", 7777, 100)), 1124, ""},
		{"two events are a history", live, allocs, 1024, ""},
		{"one event is none", live, allocs[:1], 0, "no history was recorded"},
		{"no event", live, nil, 0, "no history was recorded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := readText(snapshot(c.segments, c.events), -1)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			m := s.Measurement()
			addsUp(t, m)
			if c.reason == "" {
				rowsOf(m).want(t, "live.peak_bytes", 0, c.peak)
			} else if r := rowsOf(m)["live.peak_bytes 0"]; r.Value != nil || !strings.Contains(r.NoData, c.reason) {
				t.Errorf("live.peak_bytes: %+v, want no data: %s", r, c.reason)
			}
		})
	}
}

// TestTruncated cuts small files everywhere: always an error that says so.
func TestTruncated(t *testing.T) {
	dir := filepath.Join(repoRoot(t), "fixtures", "torch")
	for _, name := range []string{"metadata.pickle", "forms_proto0.pickle", "forms_proto2.pickle", "forms_json.pickle", "forms_list.pickle"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		step := 1
		if len(data) > 5000 {
			step = 13
		}
		for n := 0; n < len(data); n += step {
			for _, size := range []int64{int64(n), -1} {
				s, err := Read(bytes.NewReader(data[:n]), size, name, Options{})
				if err == nil || s != nil {
					t.Fatalf("%s cut to %d of %d bytes reads without an error", name, n, len(data))
				}
				if msg := err.Error(); !strings.Contains(msg, "truncated") && !strings.Contains(msg, "bytes left") && !strings.Contains(msg, "empty file") {
					t.Fatalf("%s cut to %d bytes: %v", name, n, err)
				}
			}
		}
	}
}

// TestBombs: memory stays within a few times what was read, whatever a file claims.
func TestBombs(t *testing.T) {
	u64 := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	laughs := "\x80\x04](" + "](" + dict(text("filename"), text("a")) + "e\x94" + strings.Repeat("h\x00", 5000) + "e."
	nested := "\x80\x04]\x94("
	for i := range 50 { // each list holds the one before ten times
		nested += strings.Repeat("h"+string(rune(i)), 10) + "e]\x94("
	}
	const limit = 24 << 20
	for _, c := range []struct {
		name, data string
		factor     int // of the size of the file
	}{
		{"length of 2^62 bytes", "\x80\x04\x8d" + u64(1<<62) + "x", 0},
		{"bytes of 2^40", "\x80\x04\x8e" + u64(1<<40) + "x", 0},
		{"LONG4 of 2 GiB", "\x80\x04\x8b\xff\xff\xff\x7fx", 0},
		{"memo entry 2^32-1", "\x80\x04Nr\xff\xff\xff\xff.", 0},
		{"memo entries far apart", "\x80\x04N" + strings.Join(many(10000, func(i int) string {
			return "r" + string(binary.LittleEndian.AppendUint32(nil, uint32(i)*400000))
		}), "") + ".", 40},
		{"MEMOIZE without end", "\x80\x04N" + strings.Repeat("\x94", 4<<20), 40},
		{"open lists", "\x80\x04" + strings.Repeat("]", 4<<20), 8},
		{"open dicts", "\x80\x04" + strings.Repeat("}\x94", 4<<20), 8},
		{"marks", "\x80\x04" + strings.Repeat("(", 4<<20), 4},
		{"integers", "\x80\x04" + strings.Repeat("K\x01", 4<<20), 4},
		{"a list of integers", "\x80\x04](" + strings.Repeat("K\x01", 4<<20) + "e.", 4},
		{"a list of empty lists", "\x80\x04](" + strings.Repeat("]", 4<<20) + "e.", 4},
		{"a dict without end", "\x80\x04}" + strings.Repeat("("+strings.Repeat(text("k")+"N", 1000)+"u", 1000), 8},
		{"shared lists of frames", laughs, 8},
		{"billion laughs", nested, 8},
		{"events without end", "\x80\x04](" + strings.Repeat(event("oom", 0, 0), 100_000) + "e.", 4},
		{"distinct metadata", "\x80\x04](" + strings.Join(many(50_000, func(i int) string {
			return dict(text("action"), text("oom"), text("user_metadata"), text(fmt.Sprintf("step=%030d", i)))
		}), "") + "e.", 3},
		{"JSON list without end", strings.Repeat("[", 4<<20), 4},
		{"JSON numbers", "[" + strings.Repeat("1.5,", 1<<20) + "1]", 24},
		{"JSON string", `{"a": "` + strings.Repeat("m", 8<<20) + `"}`, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int64{int64(len(c.data)), -1} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				Read(strings.NewReader(c.data), size, "bomb", Options{})
				runtime.ReadMemStats(&after)
				if got, most := after.TotalAlloc-before.TotalAlloc, uint64(limit+c.factor*len(c.data)); got > most {
					t.Errorf("allocated %d bytes for a file of %d, want at most %d", got, len(c.data), most)
				}
			}
		})
	}
}

// halting gives its bytes one by one and then an error of its own.
type halting struct {
	data []byte
	err  error
}

func (h *halting) Read(p []byte) (int, error) {
	if len(h.data) == 0 {
		return 0, h.err
	}
	p[0] = h.data[0]
	h.data = h.data[1:]
	return 1, nil
}

func TestReaders(t *testing.T) {
	want, err := readText(good(), -1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(&halting{[]byte(good()), io.EOF}, -1, "x.pickle", Options{})
	if err != nil || got.Devices[0].History.Sequence != want.Devices[0].History.Sequence {
		t.Errorf("byte by byte: %v", err)
	}
	broken := errors.New("connection reset")
	for n := range len(good()) + 1 {
		if s, err := Read(&halting{[]byte(good()[:n]), broken}, -1, "x.pickle", Options{}); s != nil || !errors.Is(err, broken) {
			t.Fatalf("a read error after %d bytes gives %v", n, err)
		}
	}
}
