package growth

import (
	"math"
	"slices"
)

// Plateau says where a series comes to rest. It is a note and never a verdict: it is
// not flat for any sawtooth.
type Plateau struct {
	// Level is the median of the last third of the points, Base included.
	Level float64 `json:"level"`
	// Flat tells that the largest of the last third is above the median of the
	// middle third by no more than Tolerance: max(8 MiB, 2 %); of counts max(1, 2 %).
	Flat      bool    `json:"flat"`
	Tolerance float64 `json:"tolerance"`
	// From is the X from which on all blocks lie within Tolerance of Level: a warm-up
	// that ends before it was too short.
	From float64 `json:"from"`
}

const (
	flatBytes = 8 << 20
	flatCount = 1
	flatShare = 0.02
)

func plateauOf(s Series, blocks []Block) Plateau {
	n := len(s.Y)
	var room [1400]float64
	scratch := room[:]
	if most := n/3 + 2; most > len(scratch) {
		scratch = make([]float64, most)
	}
	last := s.Y[2*n/3:]
	level := median(scratch[:copy(scratch, last)])
	before := median(scratch[:copy(scratch, s.Y[n/3:2*n/3])])
	p := Plateau{Level: s.Base + level, Tolerance: flatBytes}
	if s.Counts {
		p.Tolerance = flatCount
	}
	p.Tolerance = max(p.Tolerance, flatShare*math.Abs(p.Level))
	p.Flat = slices.Max(last)-before <= p.Tolerance
	p.From = s.X[n-1]
	at := n
	for i := len(blocks) - 1; i >= 0 && math.Abs(blocks[i].Level-level) <= p.Tolerance; i-- {
		at -= blocks[i].Points
		p.From = s.X[at]
	}
	return p
}

// sparse is the largest part of all rises that may come in other steps for growth
// to come only with new maxima.
const sparse = 0.1

// onlyMaxima tells that the level rose, and only in steps that needed more than any
// before. Rises of other steps count only as far as no fall took them back.
func (s Series) onlyMaxima() bool {
	if s.Need == nil {
		return false
	}
	most, highest := s.Need[0], s.Y[0]
	atMaxima, other := 0.0, 0.0
	for i := 1; i < len(s.Y); i++ {
		rise := max(0, s.Y[i]-highest)
		if s.Need[i] > most {
			most = s.Need[i]
			atMaxima += rise
		} else {
			other += rise
		}
		highest = max(highest, s.Y[i])
	}
	return atMaxima > 0 && other <= sparse*(atMaxima+other)
}
