package growth

// maxBlocks is the most blocks that a series is cut into: see blockCount.
const maxBlocks = 12

// maxPairs is how many pairs of blocks there are at most.
const maxPairs = maxBlocks * (maxBlocks - 1) / 2

// inversions counts the orders of a sequence by how many of its pairs stand the
// wrong way round: counts[i] orders have i such pairs.
type inversions struct {
	counts [maxPairs + 1]uint64
	pairs  int // of unequal members: the most that can stand the wrong way round
	orders uint64
}

// nullOf gives the inversions of n members; ties holds the sizes of the groups
// of equal ones (groups of one may be left out).
//
// Without ties these are the Mahonian numbers, the coefficients of
// [n]! = Π_{k=1..n} (1 + q + … + q^(k-1)); with ties those of the q-multinomial
// [n]! / Π [t]! (MacMahon; G. E. Andrews, The Theory of Partitions, theorem 3.6).
// So ties are exact too: all orders of the very values that were seen are equally
// likely where there is no trend. All of it fits: 12! is 479,001,600.
func nullOf(n int, ties []int) inversions {
	d := inversions{orders: 1}
	d.counts[0] = 1
	for k := 2; k <= n; k++ {
		d.pairs += k - 1
		d.orders *= uint64(k)
		// Times (1 - q^k), then divided by (1 - q): a difference, then running sums.
		for i := maxPairs; i >= k; i-- {
			d.counts[i] -= d.counts[i-k]
		}
		for i := 1; i <= maxPairs; i++ {
			d.counts[i] += d.counts[i-1]
		}
	}
	for _, t := range ties {
		for k := 2; k <= t; k++ {
			d.pairs -= k - 1
			d.orders /= uint64(k)
			for i := maxPairs; i >= 1; i-- {
				d.counts[i] -= d.counts[i-1]
			}
			for i := k; i <= maxPairs; i++ {
				d.counts[i] += d.counts[i-k]
			}
		}
	}
	return d
}

// tail is the chance of Kendall's S (pairs that rise minus pairs that fall) of s
// or more. S is pairs - 2 × inversions.
func (d *inversions) tail(s int) float64 {
	orders := uint64(0)
	for i := 0; i <= d.pairs && d.pairs-2*i >= s; i++ {
		orders += d.counts[i]
	}
	return float64(orders) / float64(d.orders)
}

// critical is the smallest S whose tail is at most alpha; ok is false where there
// is none.
func (d *inversions) critical(alpha float64) (s int, ok bool) {
	orders := uint64(0)
	for i := 0; i <= d.pairs; i++ {
		orders += d.counts[i]
		if float64(orders)/float64(d.orders) > alpha {
			return d.pairs - 2*(i-1), i > 0
		}
	}
	return -d.pairs, true
}

// kendall gives S of the levels and the exact chance of so large an S where there
// is no trend.
func kendall(levels []float64) (s int, p float64) {
	var ties [maxBlocks]int
	groups := 0
	for i, a := range levels {
		first, size := true, 1
		for j, b := range levels {
			switch {
			case j < i && a == b:
				first = false
			case j > i && a == b:
				size++
			case j > i && b > a:
				s++
			case j > i:
				s--
			}
		}
		if first && size > 1 {
			ties[groups] = size
			groups++
		}
	}
	null := nullOf(len(levels), ties[:groups])
	return s, null.tail(s)
}
