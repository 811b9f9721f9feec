package page

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// happening is that memory is taken or given back at a position, by what the key names:
// an operation or a call site. The same key in base and head is the same place of the
// program.
type happening struct {
	at  int
	key uint64
}

// keyOf makes one key of texts.
func keyOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// align lays a head beside its base: it finds for each view its partner, for each
// buffer its counterpart, and where in the head a position of the base belongs.
func align(head, base *Side) {
	type name struct{ name, space string }
	partners := map[name][]int{}
	for i, v := range base.Views {
		n := name{v.Name, v.Space}
		partners[n] = append(partners[n], i)
	}
	for i := range head.Views {
		v := &head.Views[i]
		n := name{v.Name, v.Space}
		if len(partners[n]) == 0 {
			continue
		}
		// Several of one name pair in their order.
		v.Base = partners[n][0] + 1
		partners[n] = partners[n][1:]
		was := &base.Views[v.Base-1]
		pair(v.Buffers, was.Buffers)
		if v.samples != nil {
			v.Anchors = atSamples(v.samples, was.samples)
			continue
		}
		v.Anchors = anchors(v.inSteps(was), was.inSteps(v))
		if v.Steps > 0 && was.Steps > 0 {
			v.Anchors = append(append([][2]int{{0, 0}}, v.Anchors...), [2]int{was.Steps + 1, v.Steps + 1})
		}
	}
}

// inSteps gives what happens in a view; where the other marks as many steps by the same,
// what happens in one step is told from the same in others.
func (v *View) inSteps(other *View) []happening {
	if len(v.Marks) == 0 || v.Mark != other.Mark || len(v.Marks) != len(other.Marks) {
		return v.happenings
	}
	out, step := slices.Clone(v.happenings), 0
	for i := range out {
		for step < len(v.Marks) && v.Marks[step] <= out[i].at {
			step++
		}
		out[i].key += uint64(step)
	}
	return out
}

// maxHappenings is how many of the largest buffers of a view serve to align it.
const maxHappenings = 200_000

// happens notes when the largest of a view's buffers are taken and given back, in order;
// describe gives the positions and the key of each. Positions that are no events of the
// view count for nothing.
func (v *View) happens(count int, size func(int) int64, describe func(int) (start, end int, key uint64)) {
	kept, _ := largest(count, maxHappenings, size, func(int) bool { return false })
	for _, i := range kept {
		start, end, key := describe(i)
		for _, h := range []happening{{start, key}, {end, ^key}} {
			if h.at > 0 && h.at <= v.Steps {
				v.happenings = append(v.happenings, h)
			}
		}
	}
	slices.SortFunc(v.happenings, func(a, b happening) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
}

// maxAnchors bounds what is kept of an alignment.
const maxAnchors = 500

// anchors gives positions of the base with those of the head at which the same happens:
// the longest series that rises on both sides. What happens several times is told apart
// by its count. Cost: n log n.
func anchors(head, base []happening) [][2]int {
	type nth struct {
		key uint64
		n   int
	}
	was, count := map[nth]int{}, map[uint64]int{}
	for _, h := range base {
		was[nth{h.key, count[h.key]}] = h.at
		count[h.key]++
	}
	clear(count)
	var both [][2]int // in the order of the head
	for _, h := range head {
		if at, ok := was[nth{h.key, count[h.key]}]; ok {
			both = append(both, [2]int{at, h.at})
		}
		count[h.key]++
	}
	// Of equal positions in the head only one may be taken: the last of the base first.
	slices.SortFunc(both, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(b[0], a[0]))
	})
	rising := longestRise(both)
	if n := len(rising); n > maxAnchors {
		for i := range maxAnchors {
			rising[i] = rising[i*(n-1)/(maxAnchors-1)]
		}
		rising = rising[:maxAnchors]
	}
	return rising
}

// longestRise picks the most pairs whose first numbers rise.
func longestRise(pairs [][2]int) [][2]int {
	before := make([]int, len(pairs)) // the pair that comes before, -1 for none
	var ends []int                    // of the best series of each length, its last pair
	for i, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]][0] >= p[0] })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([][2]int, len(ends))
	if len(ends) > 0 {
		for i, n := ends[len(ends)-1], len(ends)-1; n >= 0; i, n = before[i], n-1 {
			out[n] = pairs[i]
		}
	}
	return out
}

// atSamples aligns samples of equal steps or seconds: each of a bounded number of the
// base's with the last of the head's that is not later.
func atSamples(head, base []float64) (out [][2]int) {
	if !slices.IsSorted(head) || !slices.IsSorted(base) {
		return nil // a counter that restarted: positions alone can be compared
	}
	for i := range min(len(base), maxAnchors) {
		at := i
		if n := len(base); n > maxAnchors {
			at = i * (n - 1) / (maxAnchors - 1)
		}
		j := sort.Search(len(head), func(j int) bool { return head[j] > base[at] }) - 1
		if j < 0 || j == len(head)-1 && base[at] > head[j] || len(out) > 0 && out[len(out)-1][1] >= j {
			continue
		}
		out = append(out, [2]int{at, j})
	}
	return out
}

// pair finds for buffers of the head their counterparts in the base: first what is equal,
// then what has another size, then what stands on another line of its function; each in
// program order, and what is live at the peak with its like.
func pair(head, base []Buffer) {
	taken := make([]bool, len(base))
	place := func(b *Buffer) string {
		if b.Op == "" {
			return b.Source
		}
		return functionOf(b.Source)
	}
	peak := func(b *Buffer) string { return strconv.FormatBool(b.AtPeak) }
	for _, like := range []func(b *Buffer) uint64{
		func(b *Buffer) uint64 {
			return keyOf(b.Op, b.Source, b.Shape, b.Kind, strconv.FormatInt(b.Bytes, 10), peak(b))
		},
		func(b *Buffer) uint64 { return keyOf(b.Op, b.Source, b.Kind, peak(b)) },
		func(b *Buffer) uint64 {
			return keyOf(b.Op, functionOf(b.Source), b.Shape, b.Kind, strconv.FormatInt(b.Bytes, 10), peak(b))
		},
		func(b *Buffer) uint64 { return keyOf(b.Op, place(b), b.Kind, peak(b)) },
		func(b *Buffer) uint64 { return keyOf(b.Op, place(b), b.Kind) },
	} {
		free := map[uint64][]int{}
		for i := range base {
			if !taken[i] {
				k := like(&base[i])
				free[k] = append(free[k], i)
			}
		}
		for i := range head {
			b := &head[i]
			if b.Pair > 0 || b.Op == "" && b.Source == "" && b.Kind == "" {
				continue
			}
			k := like(b)
			if list := free[k]; len(list) > 0 {
				b.Pair, taken[list[0]], free[k] = list[0]+1, true, list[1:]
			}
		}
	}
}

// functionOf is a place without its line: "train.py:22 block" is "train.py block".
func functionOf(source string) string {
	place, name, _ := strings.Cut(source, " ")
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		place = place[:i]
	}
	return strings.TrimSpace(place + " " + name)
}
