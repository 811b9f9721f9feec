package xla

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
)

// field is one field of a message: its number and its bytes with the tag.
type rawField struct {
	num  uint32
	body []byte // of wire type 2
	raw  []byte
}

// fieldsOf splits a message.
func fieldsOf(b []byte) (list []rawField) {
	for i := 0; i < len(b); {
		start := i
		tag, n := uvarint(b[i:])
		i += n
		v, n := uvarint(b[i:])
		i += n
		f := rawField{num: uint32(tag >> 3)}
		if tag&7 == wireBytes {
			f.body = b[i : i+int(v)]
			i += int(v)
		}
		f.raw = b[start:i]
		list = append(list, f)
	}
	return list
}

// withTracer is a profile to whose host plane a thread with n events of the Python
// tracer is added: calls nested ten deep, of a few thousand functions.
func withTracer(tb testing.TB, name string, n int) []byte {
	tb.Helper()
	data, err := os.ReadFile(fixture(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	const functions, firstID = 5000, 1000
	random := rand.New(rand.NewPCG(5, 6))
	line := message{}.int(1, 77).text(2, "python").int(3, 1000)
	at := int64(0)
	for i := 0; i < n; i++ {
		depth := int64(i % 10)
		if depth == 0 {
			at += 40_000_000
		}
		event := message{}.int(1, firstID+random.Int64N(functions)).int(2, at+depth*1_000_000).int(3, 30_000_000-depth*2_000_000)
		line = line.bytes(4, event)
	}
	var out message
	for _, f := range fieldsOf(data) {
		if f.num != 1 || !bytes.Contains(f.body[:min(len(f.body), 64)], []byte(hostPlane)) {
			out = append(out, f.raw...)
			continue
		}
		var plane message
		added := false
		for _, g := range fieldsOf(f.body) {
			if g.num > 3 && !added {
				added = true
				plane = plane.bytes(3, line)
				for id := int64(firstID); id < firstID+functions; id++ {
					plane = plane.bytes(4, message{}.int(1, id).bytes(2, message{}.int(1, id).text(2, fmt.Sprintf("$layer_%d.py:%d forward", id%97, id))))
				}
			}
			plane = append(plane, g.raw...)
		}
		out = out.bytes(1, plane)
	}
	return out
}

// BenchmarkTimeline reads nine million events of the tracer beside the allocator events
// of a real profile: in a thread of their own, and in one that also executes, where each
// is looked at closely. It reports the most memory that a read held, as a share of the file.
func BenchmarkTimeline(b *testing.B) {
	data := withTracer(b, "xla/tf_leak.xplane.pb", 9_000_000)
	b.Run("seeking", func(b *testing.B) {
		benchmarkTimeline(b, data, func() *Capture {
			c, err := Read(bytes.NewReader(data), int64(len(data)), "large.xplane.pb")
			if err != nil {
				b.Fatal(err)
			}
			return c
		})
	})
	busy := bytes.Replace(data, []byte("$layer_30.py:1000 forward"), []byte("jax_LoadedExecutable_Execute")[3:], 1)
	b.Run("executing", func(b *testing.B) {
		benchmarkTimeline(b, busy, func() *Capture {
			c, err := Read(bytes.NewReader(busy), int64(len(busy)), "large.xplane.pb")
			if err != nil {
				b.Fatal(err)
			}
			if c.trace.lastCall < 0 {
				b.Fatal("no execution was called")
			}
			return c
		})
	})
	b.Run("bytes", func(b *testing.B) { // what any reader of the file takes at least
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			sum := 0
			for _, c := range data {
				sum += int(c)
			}
			if sum == 0 {
				b.Fatal("no bytes")
			}
		}
	})
	b.Run("stream", func(b *testing.B) {
		benchmarkTimeline(b, data, func() *Capture {
			c, err := Read(onlyReader{bytes.NewReader(data)}, -1, "large.xplane.pb")
			if err != nil {
				b.Fatal(err)
			}
			return c
		})
	})
}

func benchmarkTimeline(b *testing.B, data []byte, read func() *Capture) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		c := read()
		if len(c.trace.allocators) != 1 || len(c.trace.allocators[0].events) != 749 {
			b.Fatalf("%d allocators", len(c.trace.allocators))
		}
	}
	// All that was allocated is an upper bound of what was held at once.
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(len(data)), "allocated/file")
	b.ReportMetric(9e6*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkTimelineMeasurement replays and measures many allocator events.
func BenchmarkTimelineMeasurement(b *testing.B) {
	benchmarkRead(b, "xla/tf_leak.xplane.pb", func(c *Capture) { c.Measurement() })
}
