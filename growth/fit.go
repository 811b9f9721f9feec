package growth

import (
	"errors"
	"math"
)

const (
	twelveFrom = 60 // points from which on there are 12 blocks; below, 8
	floorBytes = 16 << 20
	floorCount = 1
	floorShare = 0.01 // of the plateau
)

// Block is a part of the series: the medians of its points.
type Block struct {
	X      float64 `json:"x"`
	Level  float64 `json:"level"` // without the Base
	Points int     `json:"points"`
}

// Fit is the growth of a series: slopes are per step, or per hour.
type Fit struct {
	Blocks []Block `json:"blocks"`
	// Slope is the median of the slopes of all pairs of blocks (Theil, Sen). Each of
	// Lower and Upper bounds the growth with the Confidence, on its own.
	Slope      float64 `json:"slope"`
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	Confidence float64 `json:"confidence"`
	// FirstHalf and SecondHalf are the slopes of the halves of the blocks; of the six
	// slopes of four blocks the fourth smallest.
	FirstHalf  float64 `json:"first_half"`
	SecondHalf float64 `json:"second_half"`
	// P is the exact chance of such a trend (Kendall's S) where there is none; POver
	// that of such a trend above the budget where growth is the budget.
	P     float64 `json:"p"`
	POver float64 `json:"p_over"`
	// Projected is the growth over the Horizon, and Floor what it must exceed.
	Horizon   float64 `json:"horizon"`
	Projected float64 `json:"projected"`
	Floor     float64 `json:"floor"`
	// Smallest is the smallest growth that this run, with its noise, would have shown
	// to fail in more than 8 of 10 runs like it.
	Smallest float64 `json:"smallest"`
	Plateau  Plateau `json:"plateau"`
	// OnlyMaxima tells that the level rose only in steps that needed more than any
	// step before them.
	OnlyMaxima bool `json:"only_maxima,omitempty"`
}

func blockCount(points int) int {
	if points >= twelveFrom {
		return maxBlocks
	}
	return 8
}

func fit(s Series, rule Rule) (*Fit, error) {
	f := &Fit{Blocks: cut(s)}
	slopes := slopesOf(f.Blocks, s.per())
	if !slopes.usable() {
		return nil, errSlopes
	}
	null := nullOf(len(f.Blocks), nil)
	critical, _ := null.critical(rule.Alpha) // the least alpha has one for 8 blocks
	f.Slope = slopes.median()
	f.Lower, f.Upper = slopes.bounds(critical)
	f.Confidence = 1 - null.tail(critical)
	var levels [maxBlocks]float64
	for i, b := range f.Blocks {
		levels[i] = b.Level
	}
	_, f.P = kendall(levels[:len(f.Blocks)])
	f.POver = null.tail(slopes.above(rule.Budget))
	half := len(f.Blocks) / 2
	first, second := slopesOf(f.Blocks[:half], s.per()), slopesOf(f.Blocks[half:], s.per())
	f.FirstHalf, f.SecondHalf = first.highMedian(), second.highMedian()
	f.Plateau = plateauOf(s, f.Blocks)
	f.Floor = floorOf(s, rule, f.Plateau.Level)
	f.Horizon, f.Projected = rule.Horizon, f.Slope*rule.Horizon
	f.Smallest = f.smallest(rule)
	f.OnlyMaxima = s.onlyMaxima()
	return f, nil
}

var errSlopes = errors.New("series: levels too large, or steps too close, for a slope")

// cut gives the medians of equal parts of the series, as even as they get.
func cut(s Series) []Block {
	n := len(s.X)
	blocks := make([]Block, blockCount(n))
	var room [512]float64
	scratch := room[:]
	if most := n/len(blocks) + 1; most > len(scratch) {
		scratch = make([]float64, most)
	}
	for i := range blocks {
		from, to := i*n/len(blocks), (i+1)*n/len(blocks)
		levels := scratch[:copy(scratch, s.Y[from:to])]
		blocks[i] = Block{X: middle(s.X[from:to]), Level: median(levels), Points: to - from}
	}
	return blocks
}

func floorOf(s Series, rule Rule, plateau float64) float64 {
	if rule.Floor != nil {
		return *rule.Floor
	}
	least := float64(floorBytes)
	if s.Counts {
		least = floorCount
	}
	return max(least, floorShare*math.Abs(plateau))
}

// sureBy is how far growth must lie above all that it may be, in widths of the
// interval of this run, to be seen: its lower bound is then above too in more than
// 8 of 10 runs (a test simulates it).
const sureBy = 1.5

func (f *Fit) smallest(rule Rule) float64 {
	least := max(rule.Budget, f.Floor/rule.Horizon)
	if rule.UpTo != nil {
		least = max(least, *rule.UpTo/rule.reach)
	}
	return least + sureBy*(f.Upper-f.Lower)
}
