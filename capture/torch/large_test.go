//go:build large

package torch

import (
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// stream writes a snapshot of any size as it is read, shared as CPython shares it:
// keys and frames once, a list of frames for each allocation.
type stream struct {
	buf   []byte
	event int
	left  int64 // bytes still to be written
	state int
	memo  map[string]uint32
	next  uint32
	depth int   // frames of a stack
	live  int64 // blocks live at one time
}

const streamStacks = 200 // distinct stacks

func (s *stream) str(v string) {
	if i, ok := s.memo[v]; ok {
		s.get(i)
		return
	}
	s.buf = append(append(s.buf, 0x8c, byte(len(v))), v...)
	s.memoize(v)
}

func (s *stream) memoize(v string) {
	s.buf = append(s.buf, 0x94)
	if v != "" {
		s.memo[v] = s.next
	}
	s.next++
}

func (s *stream) get(i uint32) {
	if i < 256 {
		s.buf = append(s.buf, 'h', byte(i))
	} else {
		s.buf = binary.LittleEndian.AppendUint32(append(s.buf, 'j'), i)
	}
}

func (s *stream) num(n int64) {
	s.buf = binary.LittleEndian.AppendUint64(append(s.buf, 0x8a, 8), uint64(n))
}

func (s *stream) frame(f int) {
	name := "frame" + string(rune('A'+f/26%26)) + string(rune('a'+f%26)) + string(rune('a'+f/676))
	if i, ok := s.memo[name]; ok {
		s.get(i)
		return
	}
	s.buf = append(s.buf, '}')
	s.memoize(name)
	s.buf = append(s.buf, '(')
	s.str("name")
	s.str("f" + name)
	s.str("filename")
	s.str("/repo/m" + name[len(name)-2:] + ".py")
	s.str("line")
	s.num(int64(f))
	s.buf = append(s.buf, 'u')
}

func (s *stream) entry(action string, addr, size int64, stack int) {
	s.buf = append(s.buf, '}')
	s.memoize("")
	s.buf = append(s.buf, '(')
	s.str("action")
	s.str(action)
	s.str("addr")
	s.num(addr)
	s.str("size")
	s.num(size)
	s.str("stream")
	s.buf = append(s.buf, 'K', 0)
	s.str("time_us")
	s.num(1700000000000000 + int64(s.event)*3)
	for _, key := range [...]string{"compile_context", "user_metadata"} { // fresh strings in each event
		s.str(key)
		s.buf = append(append(s.buf, 0x8c, 3), "N/A"...)
		s.memoize("")
	}
	s.str("frames")
	s.buf = append(s.buf, ']')
	s.memoize("")
	s.buf = append(s.buf, '(')
	for i := range s.depth {
		s.frame((stack*7 + i) % 900)
	}
	s.buf = append(s.buf, "eu"...)
	s.event++
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.buf) == 0 {
		switch s.state {
		case 0:
			s.buf = append(s.buf, 0x80, 4, '}')
			s.memoize("")
			s.buf = append(s.buf, '(')
			s.str("segments")
			s.buf = append(s.buf, ']')
			s.memoize("")
			s.str("device_traces")
			s.buf = append(s.buf, ']')
			s.memoize("")
			s.buf = append(s.buf, ']')
			s.memoize("")
			s.state = 1
		case 1:
			// One batch of the C pickler. Blocks come and go in a ring.
			s.buf = append(s.buf, '(')
			for range 300 {
				i := int64(s.event)
				slot := i / 3 % s.live
				addr, size := slot<<21, 1+slot*300
				switch {
				case i < 3*s.live:
					s.entry("alloc", slot<<21+i%3<<40, size, int(slot)%streamStacks)
				default:
					s.entry([]string{"free_requested", "free_completed", "alloc"}[i%3], addr, size, int(slot)%streamStacks)
				}
			}
			s.buf = append(s.buf, 'e')
			if s.left <= 0 {
				s.state = 2
			}
		case 2:
			s.buf = append(s.buf, "au."...)
			s.state = 3
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, s.buf)
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
	s.left -= int64(n)
	return n, nil
}

// TestGigabyte reads 1 GiB of events, also of many short ones with many blocks
// live, in less than 512 MiB: go test -tags large -run Gigabyte -v ./capture/torch
func TestGigabyte(t *testing.T) {
	for _, src := range []*stream{{left: 64 << 20, depth: 30, live: 5000}, {left: 1 << 30, depth: 30, live: 5000}, {left: 1 << 30, depth: 1, live: 2_000_000}} {
		size := src.left
		runtime.GC()
		start := time.Now()
		src.memo = map[string]uint32{}
		s, err := Read(src, -1, "large.pickle", Options{})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		h := s.Devices[0].History
		m := s.Measurement()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("%d MiB, %d events, %d stacks: %.0f MB/s with the writing of it, %d MiB taken from the system, %d facts (%s)",
			size>>20, h.Events, len(s.Stacks), float64(size)/1e6/took.Seconds(), mem.Sys>>20, len(m.Facts.Snapshots), strings.Join(s.Warnings, "; "))
		if mem.Sys > 512<<20 {
			t.Errorf("%d MiB for a file of %d MiB", mem.Sys>>20, size>>20)
		}
		if len(s.Stacks) > 2*streamStacks || h.Events < size/2000 {
			t.Errorf("%d stacks, %d events", len(s.Stacks), h.Events)
		}
	}
}
