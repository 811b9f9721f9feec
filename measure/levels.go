package measure

import "slices"

// Levels makes a series of levels as they are read, in bounded memory. More than
// MaxPoints of them share boxes: neighbours in equal numbers, each box with its
// (first) lowest, as what lies between two peaks tells of growth. Every point is one
// that was read; the peak is kept beside them. The zero Levels is empty.
type Levels struct {
	// N is how many points were added, those of an equal x counted once; Max is the
	// largest level of all that were added, and NonZero tells that one is not 0.
	N       int
	Max     int64
	NonZero bool

	boxes   []level
	width   int // points in a whole box
	fill    int // points in the last box, 0 where it is whole
	pending level
}

type level struct {
	x float64
	v int64
}

// Add adds one level. x must not fall. Of several levels at one x the lowest is
// the point: the least within a step has no temporary memory in it.
func (l *Levels) Add(x float64, v int64) {
	l.NonZero = l.NonZero || v != 0
	switch {
	case l.N == 0:
		l.Max, l.N = v, 1
		l.pending = level{x, v}
		return
	case x == l.pending.x:
		l.pending.v = min(l.pending.v, v)
	default:
		l.flush()
		l.pending = level{x, v}
		l.N++
	}
	l.Max = max(l.Max, v)
}

// flush puts the pending point into its box.
func (l *Levels) flush() {
	if l.width == 0 {
		l.width = 1
	}
	if l.fill == 0 {
		if len(l.boxes) == MaxPoints {
			l.halve()
		}
		l.boxes = append(l.boxes, l.pending)
	} else if last := &l.boxes[len(l.boxes)-1]; l.pending.v < last.v {
		*last = l.pending
	}
	if l.fill++; l.fill == l.width {
		l.fill = 0
	}
}

// halve makes one box of each two.
func (l *Levels) halve() {
	for i := range MaxPoints / 2 {
		a, b := l.boxes[2*i], l.boxes[2*i+1]
		if b.v < a.v {
			a = b
		}
		l.boxes[i] = a
	}
	l.boxes = l.boxes[:MaxPoints/2]
	l.width *= 2
}

// Series gives the levels that were added so far.
func (l Levels) Series(labels Labels, unit Unit, x XUnit) Series {
	out := Series{Labels: labels, Unit: unit, XUnit: x}
	if l.N == 0 {
		return out
	}
	l.boxes = slices.Clone(l.boxes)
	l.flush()
	out.X, out.Points = make([]float64, len(l.boxes)), make([]Value, len(l.boxes))
	for i, b := range l.boxes {
		out.X[i], out.Points[i] = b.x, Int(b.v)
	}
	if l.N > len(l.boxes) {
		out.Samples = l.N
	}
	return out
}
