package torch

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// texts gives each distinct string a small number. The words of the schema come
// first, so that a key is recognized by its number alone.
type texts struct {
	ids  map[string]uint32
	list []string
	// short remembers texts of up to seven bytes: the values that each event
	// repeats ("N/A", "", a step) need no lookup in the map.
	short [64]struct {
		key uint64
		id  uint32
	}
}

func newTexts() *texts {
	t := &texts{ids: make(map[string]uint32, 1024)}
	for _, w := range words {
		t.ids[w] = uint32(len(t.list))
		t.list = append(t.list, w)
	}
	return t
}

func (t *texts) id(b []byte) uint32 {
	if len(b) > 7 {
		return t.lookup(b)
	}
	key := uint64(len(b)+1) << 56
	for i, c := range b {
		key |= uint64(c) << (8 * i)
	}
	e := &t.short[key*0x9e3779b97f4a7c15>>58]
	if e.key != key {
		e.key, e.id = key, t.lookup(b)
	}
	return e.id
}

func (t *texts) lookup(b []byte) uint32 {
	if id, ok := t.ids[string(b)]; ok {
		return id
	}
	s := string(b)
	id := uint32(len(t.list))
	t.list = append(t.list, s)
	t.ids[s] = id
	return id
}

// frameKey is a frame by the numbers of its texts.
type frameKey struct {
	name, file uint32
	line       int64
}

// frames gives each distinct frame a number, by content: a file holds hundreds
// of frames, millions of times.
type frames struct {
	ids  map[frameKey]uint32
	list []frameKey
}

func (f *frames) id(k frameKey) uint32 {
	if id, ok := f.ids[k]; ok {
		return id
	}
	id := uint32(len(f.list))
	f.list = append(f.list, k)
	f.ids[k] = id
	return id
}

// stacks gives each distinct list of frames a number, by content: two
// allocations of one line hold two lists of the same frames.
type stacks struct {
	table  []int32 // open addressing, power of two; the stack's number + 1
	hashes []uint64
	start  []int // stack i is arena[start[i]:start[i+1]]
	arena  []uint32
	seed   uint64 // random, so that no file can be made to collide
}

func newStacks() *stacks {
	return &stacks{table: make([]int32, 1024), start: []int{0}, seed: rand.Uint64()}
}

func (s *stacks) frames(i int) []uint32 { return s.arena[s.start[i]:s.start[i+1]] }

func (s *stacks) id(frames []uint32) int32 {
	h := hashFrames(s.seed, frames)
	mask := uint64(len(s.table) - 1)
	i := h & mask
	for ; s.table[i] != 0; i = (i + 1) & mask {
		if k := int(s.table[i] - 1); s.hashes[k] == h && slices.Equal(s.frames(k), frames) {
			return int32(k)
		}
	}
	id := int32(len(s.hashes))
	s.table[i] = id + 1
	s.hashes = append(s.hashes, h)
	s.arena = append(s.arena, frames...)
	s.start = append(s.start, len(s.arena))
	if len(s.hashes)*2 > len(s.table) {
		s.grow()
	}
	return id
}

func (s *stacks) grow() {
	s.table = make([]int32, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for k, h := range s.hashes {
		i := h & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = int32(k + 1)
	}
}

// mix is one step of a hash by multiplication (the constants are those of
// wyhash); it only spreads, nothing depends on it being hard to invert.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

func hashFrames(seed uint64, frames []uint32) uint64 {
	h := seed ^ uint64(len(frames))
	for len(frames) >= 2 {
		h = mix(h, uint64(frames[0])|uint64(frames[1])<<32)
		frames = frames[2:]
	}
	if len(frames) == 1 {
		h = mix(h, uint64(frames[0]))
	}
	return h
}
