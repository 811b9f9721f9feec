package xla

import (
	"encoding/binary"
	"math"
)

// stat is a statistic of an event that is read.
type stat uint8

const (
	noStat stat = iota
	statAllocator
	statIndexOnHost
	statOrdinal
	statInUse
	statAvailable
	statReserved
	statPeak
	statRequested
	statChunk
	statAddress
	statFragmentation
	statOp
	statRegion
	statShape
	statStep
	statGroup
	statName
	statModule
	statProducer // _pt and _p: what this event sets off
	statProduced
	statConsumer // _ct and _c: what set this event off
	statConsumed
	statCount
)

// statOf are the names of the statistics.
var statOf = map[string]stat{
	"allocator_name": statAllocator, "index_on_host": statIndexOnHost, "device_ordinal": statOrdinal,
	"bytes_allocated": statInUse, "bytes_available": statAvailable, "bytes_reserved": statReserved,
	"peak_bytes_in_use": statPeak, "requested_bytes": statRequested, "allocation_bytes": statChunk,
	"addr": statAddress, "fragmentation": statFragmentation, "tf_op": statOp, "region_type": statRegion,
	"shape": statShape, "step_num": statStep, "group_id": statGroup, "name": statName, "module_name": statModule,
	"_pt": statProducer, "_p": statProduced, "_ct": statConsumer, "_c": statConsumed,
}

// statKind reads one entry of stat_metadata for what its name means.
func (s *scan) statKind() {
	id, kind := int64(0), noStat
	for l := s.leaf("stat_metadata"); l.next(); {
		switch l.num {
		case 1:
			id = l.int()
		case 2:
			for v := l.inner("value"); v.next(); {
				if v.num == 2 {
					kind = statOf[string(v.body())]
				}
			}
		}
	}
	if kind != noStat && s.stats[kind] < 0 {
		s.stats[kind] = id
		if id >= 0 && id < int64(len(s.kinds)) {
			s.kinds[id] = kind
		}
	}
}

// kind gives the meaning of a statistic's id.
func (s *scan) kind(id int64) stat {
	if uint64(id) < uint64(len(s.kinds)) {
		return s.kinds[id]
	}
	for k := statAllocator; k < statCount; k++ {
		if s.stats[k] == id {
			return k
		}
	}
	return noStat
}

// statValue is the value of a statistic of any type.
type statValue struct {
	whole int64
	// ok tells that the value is a whole number of 63 bits.
	ok    bool
	float float64
	text  int32
}

// each calls f with the statistics of an event that are known.
func (s *scan) each(b []byte, f func(stat, statValue)) {
	base := s.end - int64(len(b))
	for e := (leaf{d: s.decoder, b: b, base: base, what: "events"}); e.next(); {
		if e.num != 4 {
			continue
		}
		kind, v := noStat, statValue{}
		for l := e.inner("events.stats"); l.next(); {
			switch l.num {
			case 1:
				kind = s.kind(l.int())
			case 2:
				if l.wire == wireFixed64 {
					v.float = math.Float64frombits(binary.LittleEndian.Uint64(l.b[l.pos-8:]))
					if v.whole = int64(v.float); v.float >= 0 && v.float < 1<<63 && float64(v.whole) == v.float {
						v.ok = true
					}
				}
			case 3: // uint64: a value of 64 bits is no size
				v.whole = l.int()
				v.float, v.ok = float64(uint64(v.whole)), v.whole >= 0
			case 4:
				v.whole = l.int()
				v.float, v.ok = float64(v.whole), v.whole >= 0
			case 5:
				if kind == statAllocator || kind == statOp || kind == statRegion || kind == statShape || kind == statName || kind == statModule {
					v.text = s.now(l.body())
				}
			case 7:
				v.text = s.later(statText, l.int())
			}
		}
		if kind != noStat {
			f(kind, v)
		}
	}
}

// now gives the place of a text that an event holds itself.
func (s *scan) now(b []byte) int32 {
	b = b[:min(len(b), maxText)]
	if len(b) == 0 {
		return 0
	}
	i, ok := s.direct[string(b)]
	if !ok {
		i = int32(len(s.out.texts))
		s.out.texts = append(s.out.texts, s.intern(b))
		s.direct[string(b)] = i
	}
	return i
}

// statText gives the text of one statistic of an event, 0 if it has none.
func (s *scan) statText(b []byte, want stat) (text int32) {
	s.each(b, func(k stat, v statValue) {
		if k == want {
			text = v.text
		}
	})
	return text
}

// flow gives the two statistics that connect an event with another.
func (s *scan) flow(b []byte, kind, id stat) (f flow, ok bool) {
	s.each(b, func(k stat, v statValue) {
		switch k {
		case kind:
			f.kind = v.whole
		case id:
			f.id, ok = v.whole, true
		}
	})
	return f, ok
}

// memory reads an allocator event.
func (s *scan) memory(b []byte, at int64, free bool) {
	l := &s.line
	e := memoryEvent{at: at, chunk: -1, requested: -1, fragmentation: math.NaN(), free: free}
	key := allocatorKey{ordinal: -1}
	available, peak, seen, bad := int64(0), int64(0), false, false
	s.each(b, func(k stat, v statValue) {
		take := func(n *int64) {
			*n = v.whole
			bad = bad || !v.ok
		}
		switch k {
		case statAllocator:
			key.name = v.text
		case statIndexOnHost:
			take(&key.ordinal)
		case statOrdinal:
			if key.ordinal < 0 {
				take(&key.ordinal)
			}
		case statInUse:
			take(&e.inUse)
			seen = true
		case statAvailable:
			take(&available)
		case statReserved:
			take(&e.reserved)
		case statPeak:
			take(&peak)
		case statRequested:
			take(&e.requested)
		case statChunk:
			take(&e.chunk)
		case statAddress:
			e.addr = uint64(v.whole)
		case statFragmentation:
			e.fragmentation = v.float
		case statOp:
			e.op = v.text
		case statRegion:
			e.region = v.text
		case statShape:
			e.shape = v.text
		}
	})
	for i := range l.gaps {
		if g := &l.gaps[i]; at > g.start && at <= g.end {
			g.at = max(g.at, at)
		}
	}
	if s.err != nil {
		return
	}
	a := s.allocator(key)
	if a == nil {
		return
	}
	limit, over := add(e.inUse, available)
	limit, over2 := add(limit, e.reserved)
	if !seen || bad || over || over2 {
		a.bad++
		return
	}
	if len(a.events) >= math.MaxInt32-1 {
		a.bad++
		return
	}
	switch {
	case len(a.events) == 0:
		a.limit = limit
	case limit != a.limit:
		if a.limits++; a.limits == 1 {
			a.odd = at
		}
	}
	a.peak = max(a.peak, peak)
	e.chain = s.chain()
	if n := len(l.open); n > 0 {
		e.exec = l.open[n-1].exec
	}
	a.events = append(a.events, e)
}

// maxAllocators bounds how many allocators a file has: a large host has tens.
const maxAllocators = 256

// allocator gives the timeline of an allocator, nil if there are too many.
func (s *scan) allocator(key allocatorKey) *allocator {
	i, ok := s.byOrder[key]
	if !ok {
		if len(s.out.allocators) >= maxAllocators {
			s.out.problem("more than %d allocators: the others are left out", maxAllocators)
			return nil
		}
		i = int32(len(s.out.allocators))
		s.byOrder[key] = i
		s.out.allocators = append(s.out.allocators, &allocator{name: key.name, ordinal: key.ordinal})
	}
	return s.out.allocators[i]
}

// add is a + b for numbers that are not negative; over tells that it is no int64.
func add(a, b int64) (sum int64, over bool) {
	sum = a + b
	return sum, sum < 0
}
