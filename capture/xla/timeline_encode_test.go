package xla

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// host is a host plane under construction. Names get ids in the order of their use.
type host struct {
	lines         []message
	events, stats map[string]int64
}

func newHost() *host { return &host{events: map[string]int64{}, stats: map[string]int64{}} }

func number64(m map[string]int64, name string) int64 {
	if m[name] == 0 {
		m[name] = int64(len(m) + 1)
	}
	return m[name]
}

// at is one event: times in microseconds, statistics by their names as int64, uint64,
// float64, string (held), or ref.
type at struct {
	name          string
	start, length int64
	stats         map[string]any
}

type ref string

func (h *host) line(name string, events ...at) *host {
	m := message{}.int(1, int64(len(h.lines)+1)).text(2, name).int(3, 5000)
	for _, e := range events {
		body := message{}.int(1, number64(h.events, e.name)).int(2, e.start*1e6)
		if e.length != 0 {
			body = body.int(3, e.length*1e6)
		}
		for _, k := range slices.Sorted(maps.Keys(e.stats)) {
			s := message{}.int(1, number64(h.stats, k))
			switch v := e.stats[k].(type) {
			case int:
				s = s.int(4, int64(v))
			case int64:
				s = s.int(4, v)
			case uint64:
				s = s.int(3, int64(v))
			case float64:
				s = append(s, 2<<3|wireFixed64)
				for i := range 8 {
					s = append(s, byte(math.Float64bits(v)>>(8*i)))
				}
			case string:
				s = s.text(5, v)
			case ref:
				s = s.int(7, number64(h.stats, string(v)))
			}
			body = body.bytes(4, s)
		}
		m = m.bytes(4, body)
	}
	h.lines = append(h.lines, m)
	return h
}

func (h *host) plane() message {
	p := message{}.int(1, 9).text(2, hostPlane)
	for _, l := range h.lines {
		p = p.bytes(3, l)
	}
	for i, names := range []map[string]int64{h.events, h.stats} {
		for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Compare(names[a], names[b]) }) {
			p = p.bytes(4+i, message{}.int(1, names[name]).bytes(2, message{}.int(1, names[name]).text(2, name)))
		}
	}
	return p
}

func (h *host) space() message { return message{}.bytes(1, h.plane()).text(4, "host") }

// pool writes the events of an allocator, whose bytes it keeps count of.
type pool struct {
	name         any // allocator_name, or a number for index_on_host
	inUse, limit int64
	addresses    map[int64][2]int64
	kind         func(n int64) any // the type of numbers
	output       int64             // what executions ask for their output
}

func newPool(name any, inUse int64) *pool {
	return &pool{name: name, inUse: inUse, limit: 1 << 40, addresses: map[int64][2]int64{}, kind: func(n int64) any { return n }, output: 5000}
}

func (p *pool) event(name string, start int64, more map[string]any) at {
	s := map[string]any{"bytes_allocated": p.kind(p.inUse), "bytes_available": p.kind(p.limit - p.inUse), "bytes_reserved": p.kind(0), "peak_bytes_in_use": p.kind(0)}
	switch n := p.name.(type) {
	case int:
		s["index_on_host"] = n
	default:
		s["allocator_name"] = n
	}
	for k, v := range more {
		s[k] = v
	}
	return at{name, start, 0, s}
}

func (p *pool) alloc(start, addr, requested int64, more ...any) at {
	chunk := (max(requested, 1) + 255) &^ 255
	p.inUse += chunk
	p.addresses[addr] = [2]int64{chunk, requested}
	stats := map[string]any{"addr": addr, "requested_bytes": p.kind(requested), "allocation_bytes": p.kind(chunk)}
	for i := 0; i+1 < len(more); i += 2 {
		stats[more[i].(string)] = more[i+1]
	}
	return p.event("MemoryAllocation", start, stats)
}

func (p *pool) free(start, addr int64) at {
	size := p.addresses[addr]
	delete(p.addresses, addr)
	p.inUse -= size[0]
	stats := map[string]any{"addr": addr}
	if _, tpu := p.name.(int); !tpu {
		stats["requested_bytes"], stats["allocation_bytes"] = p.kind(size[1]), p.kind(size[0])
	}
	return p.event("MemoryDeallocation", start, stats)
}

// executions are n executions of the module by one client, each of which allocates an
// output and a temporary; keep says how many outputs stay alive.
func executions(p *pool, n int, keep func(i int) bool, client func(start int64, inside ...at) []at) []at {
	var events []at
	for i := range int64(n) {
		start := 1000 * i
		events = append(events, client(start, p.alloc(start+20, 1<<20+i, p.output), p.alloc(start+21, 99, 70000), at{}, p.free(start+80, 99))...)
		if i > 0 && !keep(int(i)) {
			events = append(events, p.free(start+500, 1<<20+i-1))
		}
		events = append(events, at{"DevicePut", start + 600, 10, nil}, at{"DevicePut", start + 620, 10, nil})
	}
	return events
}

// nest puts events inside others: names from the outside in; a name that begins with
// "!" is the launch, which is left out unless launched.
func nest(names []string, launch string, stats map[string]any) func(int64, ...at) []at {
	return func(start int64, inside ...at) []at {
		var out []at
		for i, name := range names {
			e := at{name, start + int64(i), 100 - 2*int64(i), nil}
			if i == len(names)-1 {
				e.stats = stats
			}
			out = append(out, e)
		}
		for _, e := range inside {
			switch {
			case e.name != "":
				out = append(out, e)
			case launch != "":
				out = append(out, at{launch, start + 30, 40, nil})
			}
		}
		return out
	}
}

// clients are the generations of PJRT clients.
var clients = map[string]struct {
	events []string
	launch string
	stats  map[string]any
}{
	"stream executor": {[]string{"PjitFunction(step)", "PJRT_LoadedExecutable_Execute", "PjRtStreamExecutorLoadedExecutable::Execute",
		"PjRtStreamExecutorLoadedExecutable::ExecuteHelper", "PjRtStreamExecutorLoadedExecutable::EnqueueExecution", "Build buffer allocations"}, "jit_step:XLA GPU module", nil},
	"TFRT": {[]string{"PjitFunction(step)", "TfrtGpuExecutable::ExecuteHelper"}, "GpuExecutable::ExecuteThunks", map[string]any{"name": "jit_step", "device_id": 0}},
	"common": {[]string{"CommonPjRtLoadedExecutable::Execute (jit_step)", "[0] CommonPjRtLoadedExecutable::Execute (jit_step)", "ExecuteHelperOnSingleDevice",
		"ExecutePrepare"}, "[0] GpuExecutable::ExecuteThunks", nil},
	"TPU": {[]string{"PjitFunction(step)", "TfrtTpuLoadedExecutable::Execute", "TfrtTpuLoadedExecutable::ExecuteHelperOnSingleDevice", "TfrtTpuLoadedExecutable::ExecutePrepare",
		"AllocateOutputBufferWithInputReuse"}, "tpu::System::Execute", nil},
}
