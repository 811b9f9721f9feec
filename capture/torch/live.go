package torch

// liveSet holds the live blocks of one device by address. It is a hash table
// with open addressing, as each allocation goes in and out of it.
type liveSet struct {
	table []liveBlock // a power of two; empty entries have event 0
	count int
	seed  uint64
}

// liveBlock is a block that the history has allocated and not yet freed.
type liveBlock struct {
	addr  uint64
	size  int64
	event int64 // number of the event that allocated it, from 1
	stack StackID
	found bool // a block of the final state is this one
	fate  fate
}

func (s *liveSet) home(addr uint64) int { return int(mix(addr, s.seed)) & (len(s.table) - 1) }

// find gives the entry of an address, or the empty one where it would go.
func (s *liveSet) find(addr uint64) *liveBlock {
	if len(s.table) == 0 {
		return &liveBlock{}
	}
	for i := s.home(addr); ; i = (i + 1) & (len(s.table) - 1) {
		if e := &s.table[i]; e.event == 0 || e.addr == addr {
			return e
		}
	}
}

// put adds a block or replaces that of the same address.
func (s *liveSet) put(b liveBlock) (replaced bool) {
	if 4*(s.count+1) > 3*len(s.table) {
		old := s.table
		s.table = make([]liveBlock, max(64, 2*len(old)))
		for _, e := range old {
			if e.event != 0 {
				*s.find(e.addr) = e
			}
		}
	}
	e := s.find(b.addr)
	replaced = e.event != 0
	if !replaced {
		s.count++
	}
	*e = b
	return replaced
}

// take removes a block.
func (s *liveSet) take(addr uint64) (b liveBlock, ok bool) {
	if s.count == 0 {
		return b, false
	}
	mask := len(s.table) - 1
	i := s.home(addr)
	for s.table[i].addr != addr || s.table[i].event == 0 {
		if s.table[i].event == 0 {
			return b, false
		}
		i = (i + 1) & mask
	}
	b = s.table[i]
	s.count--
	// Close the gap: move back each follower that its home allows.
	for j := (i + 1) & mask; s.table[j].event != 0; j = (j + 1) & mask {
		if (j-s.home(s.table[j].addr))&mask >= (j-i)&mask {
			s.table[i] = s.table[j]
			i = j
		}
	}
	s.table[i] = liveBlock{}
	return b, true
}

// all calls f for each block.
func (s *liveSet) all(f func(liveBlock)) {
	for _, e := range s.table {
		if e.event != 0 {
			f(e)
		}
	}
}
