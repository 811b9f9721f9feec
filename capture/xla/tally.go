package xla

// tally counts by ids, of which it knows up to maxBetween; others are not counted. It
// is what a profile's busiest thread is counted with: a map takes several times as long.
type tally struct {
	ids    [2 * maxBetween]int64
	counts [2 * maxBetween]int64 // one more than was counted; 0 for a free place
	used   []int16               // places that are taken
}

// place gives where an id is, or may go.
func (t *tally) place(id int64) int {
	const width = 11                                          // bits of the number of places
	i := int(uint64(id) * 0x9e3779b97f4a7c15 >> (64 - width)) // 2^64 divided by the golden ratio
	for t.counts[i] != 0 && t.ids[i] != id {
		i = (i + 1) % len(t.ids)
	}
	return i
}

func (t *tally) add(id int64) {
	i := t.place(id)
	if t.counts[i] == 0 {
		if len(t.used) == maxBetween {
			return
		}
		t.used = append(t.used, int16(i))
		t.ids[i], t.counts[i] = id, 1
	}
	t.counts[i]++
}

// remove takes back one that was added.
func (t *tally) remove(id int64) {
	if i := t.place(id); t.counts[i] > 1 {
		t.counts[i]--
	}
}

func (t *tally) clear() {
	for _, i := range t.used {
		t.counts[i] = 0
	}
	t.used = t.used[:0]
}
