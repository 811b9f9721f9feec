package torch

// liveSet holds the live blocks of one device by address. Each allocation goes in
// and out of it, so it is a hash table with open addressing; it grows by splitting
// one small table at a time (extendible hashing), so that no large one is copied.
type liveSet struct {
	tables []*liveTable // by the first bits of the hash; neighbours may share one
	bits   uint8        // how many bits
	count  int
	seed   uint64
}

// liveTable holds the blocks whose hashes agree in their first bits.
type liveTable struct {
	blocks []liveBlock // a power of two; empty entries have event 0
	count  int
	bits   uint8 // in how many bits the hashes agree
}

// liveTableLimit is the largest table: one that is full is split.
const liveTableLimit = 1 << 11

// liveBlock is a block that the history has allocated and not yet freed.
type liveBlock struct {
	addr  uint64
	size  int64
	event int64 // number of the event that allocated it, from 1
	stack StackID
	found bool // a block of the final state is this one
	fate  fate
}

func (t *liveTable) home(hash uint64) int { return int(hash) & (len(t.blocks) - 1) }

// table gives the table of a hash.
func (s *liveSet) table(hash uint64) *liveTable { return s.tables[hash>>(64-s.bits)] }

// find gives the entry of an address, or the empty one where it would go.
func (s *liveSet) find(addr uint64) *liveBlock {
	if len(s.tables) == 0 {
		return &liveBlock{}
	}
	hash := mix(addr, s.seed)
	return s.table(hash).find(addr, hash)
}

func (t *liveTable) find(addr, hash uint64) *liveBlock {
	for i := t.home(hash); ; i = (i + 1) & (len(t.blocks) - 1) {
		if e := &t.blocks[i]; e.event == 0 || e.addr == addr {
			return e
		}
	}
}

// put adds a block or replaces that of the same address.
func (s *liveSet) put(b liveBlock) (replaced bool) {
	if len(s.tables) == 0 {
		s.tables = []*liveTable{{blocks: make([]liveBlock, 64)}}
	}
	hash := mix(b.addr, s.seed)
	t := s.table(hash)
	for 5*(t.count+1) > 4*len(t.blocks) {
		s.grow(t, hash)
		t = s.table(hash)
	}
	e := t.find(b.addr, hash)
	replaced = e.event != 0
	if !replaced {
		s.count++
		t.count++
	}
	*e = b
	return replaced
}

// grow makes a table larger or splits it by the next bit of the hashes.
func (s *liveSet) grow(t *liveTable, hash uint64) {
	old := t.blocks
	t.blocks, t.count = make([]liveBlock, min(2*len(old), liveTableLimit)), 0
	if len(old) == liveTableLimit {
		if t.bits == s.bits {
			s.widen()
		}
		t.bits++
		half := &liveTable{blocks: make([]liveBlock, liveTableLimit), bits: t.bits}
		// The places of the old table: the second half of them is the new one's.
		n := 1 << (s.bits - t.bits)
		first := int(hash>>(64-s.bits)) &^ (2*n - 1)
		for i := range n {
			s.tables[first+n+i] = half
		}
	}
	for _, b := range old {
		if b.event != 0 {
			hash := mix(b.addr, s.seed)
			to := s.table(hash)
			*to.find(b.addr, hash) = b
			to.count++
		}
	}
}

// widen takes one more bit of the hashes to tell tables apart.
func (s *liveSet) widen() {
	tables := make([]*liveTable, 2*len(s.tables))
	for i := range tables {
		tables[i] = s.tables[i/2]
	}
	s.tables = tables
	s.bits++
}

// take removes a block.
func (s *liveSet) take(addr uint64) (b liveBlock, ok bool) {
	if s.count == 0 {
		return b, false
	}
	hash := mix(addr, s.seed)
	t := s.table(hash)
	mask := len(t.blocks) - 1
	i := t.home(hash)
	for t.blocks[i].addr != addr || t.blocks[i].event == 0 {
		if t.blocks[i].event == 0 {
			return b, false
		}
		i = (i + 1) & mask
	}
	b = t.blocks[i]
	s.count--
	t.count--
	// Close the gap: move back each follower that its home allows.
	for j := (i + 1) & mask; t.blocks[j].event != 0; j = (j + 1) & mask {
		if (j-t.home(mix(t.blocks[j].addr, s.seed)))&mask >= (j-i)&mask {
			t.blocks[i] = t.blocks[j]
			i = j
		}
	}
	t.blocks[i] = liveBlock{}
	return b, true
}

// all calls f for each block.
func (s *liveSet) all(f func(liveBlock)) {
	var last *liveTable
	for _, t := range s.tables {
		if t == last {
			continue // neighbours share it
		}
		last = t
		for _, b := range t.blocks {
			if b.event != 0 {
				f(b)
			}
		}
	}
}
