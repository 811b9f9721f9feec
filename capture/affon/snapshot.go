package affon

import (
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Snapshot is the numbers of one moment of a process.
type Snapshot struct {
	// Phase is "batch" or "epoch" in a monitor file. The batch of an epoch's snapshot
	// is 0. Step is -1 where nobody says.
	Phase string
	Step  int64

	values        [signals]int64 // or absent, or doubtful
	misses, drops [top]bucket
	generation    int // of the pool's names, -1 without any
	oldest        int // of the other names, the newest of them
	known         int // how many metrics were taken
	ambiguous     bool
	noFootprint   bool // it is given as 0
}

type bucket struct{ bytes, count int64 }

// What a signal is that has no number.
const (
	absent   = -1
	doubtful = -2 // given, and not to be used; a warning says why
)

func newSnapshot() *Snapshot {
	s := &Snapshot{Step: -1, generation: -1, oldest: -1}
	for i := range s.values {
		s.values[i] = absent
	}
	return s
}

// get gives a number; ok is false without one.
func (s *Snapshot) get(at signal) (n int64, ok bool) {
	n = s.values[at]
	return n, n >= 0
}

// metric is one element of the array, as far as it is read.
type metric struct {
	scope, name, kind, unit []byte
	value                   int64
	given, odd              bool
}

// metrics takes an array of metrics.
func (r *reader) metrics(s *Snapshot) error {
	var m metric
	field := func(key []byte) (err error) {
		switch string(key) {
		case "scope":
			m.scope, err = r.string()
		case "name":
			m.name, err = r.string()
		case "kind":
			m.kind, err = r.string()
		case "unit":
			m.unit, err = r.optional()
		case "value":
			m.value, m.given, m.odd, err = r.number()
		default:
			err = r.skip()
		}
		return err
	}
	return r.array(func() error {
		m = metric{}
		err := r.object(field)
		if err == nil {
			r.take(s, m)
		}
		return err
	})
}

// optional takes a string or null.
func (r *reader) optional() ([]byte, error) {
	if b, err := r.peek(); err != nil || b != 'n' {
		return r.string()
	}
	return nil, r.skip()
}

// take keeps a metric that is known.
func (r *reader) take(s *Snapshot, m metric) {
	r.full = append(append(append(r.full[:0], m.scope...), '/'), m.name...)
	if ambiguous[string(r.full)] {
		s.ambiguous = true
		s.oldest = max(s.oldest, 0)
		s.known++
		return
	}
	if at, ok := bucketSlot(string(m.scope), string(m.name)); ok {
		r.takeBucket(s, at, m)
		return
	}
	k, ok := names[string(r.full)]
	if !ok || !m.given {
		return
	}
	s.known++
	if k.signal >= poolHits && k.signal <= poolPeak {
		s.generation = max(s.generation, k.generation)
	} else {
		s.oldest = max(s.oldest, k.generation)
	}
	value := m.value
	if value == 0 && !m.odd && (k.signal == footprint || k.signal == footprintPeak) {
		s.values[k.signal] = doubtful
		s.noFootprint = true
		r.warn("the physical footprint is given as 0, which is no data: Affon measures it on macOS only")
		return
	}
	switch why := m.wrong(k.signal); {
	case why != "":
		r.warn("%s is not read: %s", r.full, why)
		value = doubtful
	case s.values[k.signal] != absent && s.values[k.signal] != value:
		r.warn("%s is given twice in one snapshot with different values, and not read", r.full)
		value = doubtful
	}
	s.values[k.signal] = value
}

// wrong says why a metric cannot be the number that its name stands for.
func (m metric) wrong(s signal) string {
	want := "bytes"
	if s.isCount() {
		want = "count"
	}
	switch {
	case m.odd:
		return fmt.Sprintf("want a whole number from 0 to %d", int64(maxValue))
	case string(m.kind) == "histogram":
		return "want a counter or a gauge, found a histogram"
	case len(m.unit) > 0 && string(m.unit) != want:
		return fmt.Sprintf("want %s, found the unit %.20q", want, m.unit)
	}
	return ""
}

func (r *reader) takeBucket(s *Snapshot, at slot, m metric) {
	s.known++
	s.generation = max(s.generation, at.generation)
	if m.odd || !m.given {
		if m.odd {
			r.warn("%s/%s is not read: want a whole number from 0 to %d", m.scope, m.name, int64(maxValue))
		}
		return
	}
	table := &s.misses
	if at.drops {
		table = &s.drops
	}
	if at.count {
		table[at.at].count = m.value
	} else {
		table[at.at].bytes = m.value
	}
}

// buckets gives a table without its empty places, a size that is in it twice once.
func buckets(table [top]bucket) []measure.AffonBucket {
	var out []measure.AffonBucket
	for _, b := range table {
		if b.bytes == 0 || b.count == 0 {
			continue
		}
		if i := slices.IndexFunc(out, func(o measure.AffonBucket) bool { return o.Bytes == measure.Bytes(b.bytes) }); i >= 0 {
			out[i].Count = max(out[i].Count, b.count)
			continue
		}
		out = append(out, measure.AffonBucket{Bytes: measure.Bytes(b.bytes), Count: b.count})
	}
	return out
}

// names says which generation the metric names are of.
func (s *Snapshot) names() int {
	if s.generation >= 0 {
		return s.generation
	}
	return max(0, s.oldest)
}
