package compare

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Contributors pairs the contributors of a row's two sides and gives what
// became of each, the most grown first. base and head are the row's values on
// the two sides; what is too small to have been kept apart on the other side is
// counted under measure.Other instead of being called new or gone.
//
// A contributor without a group is matched by its key alone. The members of a
// group (call sites of one function) are aligned in the order of their lines:
// a pair must have the same callee, or the same bytes and count. What is then
// left over is matched across renamed or moved functions and files.
func Contributors(base, head []measure.Contributor, baseTotal, headTotal measure.Bytes) []Contributor {
	m := matcher{base: bucket(base), head: bucket(head)}
	for group, members := range m.head.groups {
		m.align(m.base.groups[group], members)
	}
	m.matchKeys()
	m.matchMoved()
	m.matchRenamed()
	return m.finish(measure.KeepThreshold(baseTotal), measure.KeepThreshold(headTotal))
}

// side holds one side's contributors; matched ones are taken out of left.
type side struct {
	groups map[string][]*measure.Contributor
	left   map[*measure.Contributor]bool
	all    []*measure.Contributor
}

func bucket(cs []measure.Contributor) side {
	s := side{map[string][]*measure.Contributor{}, map[*measure.Contributor]bool{}, nil}
	for i := range cs {
		c := &cs[i]
		s.all = append(s.all, c)
		s.left[c] = true
		if c.Group != "" {
			s.groups[c.Group] = append(s.groups[c.Group], c)
		}
	}
	for _, members := range s.groups {
		slices.SortStableFunc(members, func(a, b *measure.Contributor) int {
			return cmp.Or(cmp.Compare(line(a), line(b)), len(a.Key)-len(b.Key), strings.Compare(a.Key, b.Key))
		})
	}
	return s
}

func line(c *measure.Contributor) int {
	if c.Source == nil {
		return 0
	}
	return c.Source.Line
}

type matcher struct {
	base, head side
	pairs      [][2]*measure.Contributor
}

func (m *matcher) pair(b, h *measure.Contributor) {
	delete(m.base.left, b)
	delete(m.head.left, h)
	m.pairs = append(m.pairs, [2]*measure.Contributor{b, h})
}

// maxAlign bounds the table of an alignment; larger groups pair by key.
const maxAlign = 1 << 20

// align pairs two ordered groups so that the sum of likenesses is largest and
// no two pairs cross.
func (m *matcher) align(bs, hs []*measure.Contributor) {
	bs = slices.DeleteFunc(slices.Clone(bs), func(c *measure.Contributor) bool { return !m.base.left[c] })
	hs = slices.DeleteFunc(slices.Clone(hs), func(c *measure.Contributor) bool { return !m.head.left[c] })
	if len(bs) == 0 || len(hs) == 0 || len(bs)*len(hs) > maxAlign {
		return
	}
	width := len(hs) + 1
	best := make([]int, (len(bs)+1)*width)
	for i := len(bs) - 1; i >= 0; i-- {
		for j := len(hs) - 1; j >= 0; j-- {
			score := max(best[(i+1)*width+j], best[i*width+j+1])
			if like := likeness(bs[i], hs[j]); like > 0 {
				score = max(score, like+best[(i+1)*width+j+1])
			}
			best[i*width+j] = score
		}
	}
	for i, j := 0, 0; i < len(bs) && j < len(hs); {
		like := likeness(bs[i], hs[j])
		switch here := best[i*width+j]; {
		case like > 0 && here == like+best[(i+1)*width+j+1]:
			m.pair(bs[i], hs[j])
			i, j = i+1, j+1
		case here == best[(i+1)*width+j]:
			i++
		default:
			j++
		}
	}
}

// likeness is 0 for two sites that cannot be the same one.
func likeness(b, h *measure.Contributor) int {
	score := 0
	if callee(b) == callee(h) {
		score += 3
	}
	switch {
	case b.Bytes == h.Bytes && b.Count == h.Count:
		score += 4
	case score == 0:
		return 0
	case b.Count == h.Count:
		score += 2
	case b.Bytes == h.Bytes:
		score++
	}
	return score
}

// callee is the part of a key behind the user's function, without the number
// that tells sites of one function apart.
func callee(c *measure.Contributor) string {
	rest := strings.TrimPrefix(c.Key, c.Group)
	if i := strings.LastIndex(rest, " #"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// matchKeys pairs what has the same key, class and all, on both sides.
func (m *matcher) matchKeys() {
	byKey := map[string]*measure.Contributor{}
	for _, b := range m.base.all {
		if m.base.left[b] {
			byKey[b.Key] = b
		}
	}
	for _, h := range m.head.all {
		if b := byKey[h.Key]; b != nil && m.head.left[h] && (h.Group == "" || likeness(b, h) > 0) {
			m.pair(b, h)
			delete(byKey, h.Key)
		}
	}
}

// matchMoved aligns groups that exist on one side only with a group of the same
// function in another file, the one with most bytes in common first.
func (m *matcher) matchMoved() {
	type candidate struct {
		base, head string
		common     measure.Bytes
	}
	var candidates []candidate
	for bg := range m.base.groups {
		if m.head.groups[bg] != nil {
			continue
		}
		for hg := range m.head.groups {
			if m.base.groups[hg] != nil || function(bg) != function(hg) {
				continue
			}
			if n := common(m.base.groups[bg], m.head.groups[hg]); n > 0 || path.Base(file(bg)) == path.Base(file(hg)) {
				candidates = append(candidates, candidate{bg, hg, n})
			}
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.common, a.common), strings.Compare(a.base, b.base), strings.Compare(a.head, b.head))
	})
	taken := map[string]bool{}
	for _, c := range candidates {
		if !taken["b"+c.base] && !taken["h"+c.head] {
			taken["b"+c.base], taken["h"+c.head] = true, true
			m.align(m.base.groups[c.base], m.head.groups[c.head])
		}
	}
}

// A group is "file function"; file names may hold spaces, functions do not.
func function(group string) string { return group[strings.LastIndexByte(group, ' ')+1:] }

func file(group string) string { return group[:max(0, strings.LastIndexByte(group, ' '))] }

// common sums the bytes of members that are equal in bytes and count.
func common(bs, hs []*measure.Contributor) (sum measure.Bytes) {
	type size struct {
		bytes measure.Bytes
		count int64
	}
	have := map[size]int{}
	for _, b := range bs {
		have[size{b.Bytes, b.Count}]++
	}
	for _, h := range hs {
		if k := (size{h.Bytes, h.Count}); have[k] > 0 {
			have[k]--
			sum += h.Bytes
		}
	}
	return sum
}

// matchRenamed pairs leftovers that are alone on their side in class, operation,
// bytes and count: the same thing under another name.
func (m *matcher) matchRenamed() {
	type look struct {
		class, operation string
		bytes            measure.Bytes
		count            int64
	}
	of := func(c *measure.Contributor) look { return look{c.Class, operation(c), c.Bytes, c.Count} }
	only := func(s side) map[look]*measure.Contributor {
		found, twice := map[look]*measure.Contributor{}, map[look]bool{}
		for _, c := range s.all {
			if !s.left[c] || c.Key == measure.Other {
				continue
			}
			if k := of(c); found[k] != nil {
				twice[k] = true
			} else {
				found[k] = c
			}
		}
		for k := range twice {
			delete(found, k)
		}
		return found
	}
	bases, heads := only(m.base), only(m.head)
	for _, h := range m.head.all {
		if b := bases[of(h)]; b != nil && heads[of(h)] == h {
			m.pair(b, h)
		}
	}
}

// operation is what stays of a key where files, functions and modules are
// renamed: a call site's callee, or the last name of an XLA op_name (keys are
// class/op_name/function, and op_names hold slashes).
func operation(c *measure.Contributor) string {
	if c.Group != "" {
		return "site" + callee(c)
	}
	parts := strings.Split(c.Key, "/")
	if len(parts) < 3 {
		return c.Key
	}
	return parts[len(parts)-2]
}

// finish makes the list; leftovers that the other side would not have kept
// apart go under Other.
func (m *matcher) finish(baseLeast, headLeast measure.Bytes) []Contributor {
	var out []Contributor
	rest := Contributor{Key: measure.Other, Display: measure.Other}
	for _, p := range m.pairs {
		b, h := p[0], p[1]
		c := one(h)
		c.BaseBytes, c.BaseCount, c.HeadBytes, c.HeadCount = b.Bytes, b.Count, h.Bytes, h.Count
		if h.Key == measure.Other {
			rest.add(c)
			continue
		}
		c.Change = change(c)
		out = append(out, c)
	}
	for _, h := range m.head.all {
		if m.head.left[h] {
			c := one(h)
			c.HeadBytes, c.HeadCount, c.Change = h.Bytes, h.Count, New
			if h.Key == measure.Other || h.Bytes < baseLeast {
				rest.add(c)
				continue
			}
			out = append(out, c)
		}
	}
	for _, b := range m.base.all {
		if m.base.left[b] {
			c := one(b)
			c.BaseBytes, c.BaseCount, c.Change = b.Bytes, b.Count, Gone
			if b.Key == measure.Other || b.Bytes < headLeast {
				rest.add(c)
				continue
			}
			out = append(out, c)
		}
	}
	if rest.BaseBytes != 0 || rest.HeadBytes != 0 || rest.BaseCount != 0 || rest.HeadCount != 0 {
		rest.Change = change(rest)
		out = append(out, rest)
	}
	sortContributors(out)
	return out
}

func (c *Contributor) add(d Contributor) {
	c.BaseBytes += d.BaseBytes
	c.HeadBytes += d.HeadBytes
	c.BaseCount += d.BaseCount
	c.HeadCount += d.HeadCount
}

func one(c *measure.Contributor) Contributor {
	return Contributor{Key: c.Key, Display: c.Display, Class: c.Class, Source: c.Source}
}

func change(c Contributor) Change {
	switch d := c.Delta(); {
	case d > 0:
		return Grown
	case d < 0:
		return Shrunk
	}
	return Same
}

// sortContributors puts the most grown first, then what stayed (largest first),
// then the most shrunk last; Other comes last among equals.
func sortContributors(cs []Contributor) {
	slices.SortStableFunc(cs, func(a, b Contributor) int {
		other := func(c Contributor) int {
			if c.Key == measure.Other {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(b.Delta(), a.Delta()), cmp.Compare(other(a), other(b)),
			cmp.Compare(b.HeadBytes, a.HeadBytes), strings.Compare(a.Key, b.Key))
	})
}
