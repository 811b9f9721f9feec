package growth

import (
	"cmp"
	"fmt"
	"slices"
)

// Holm keeps the chance of any false alarm among all results of one run at alpha
// (0: DefaultAlpha). Of m fitted results the k-th smallest POver must be at most
// alpha/(m-k+1), and so must all smaller ones (Holm 1979); a result that fails or
// decelerates on a larger one becomes inconclusive.
func Holm(results []*Result, alpha float64) {
	if alpha == 0 {
		alpha = DefaultAlpha
	}
	var fitted []*Result
	for _, r := range results {
		if r.Fit != nil {
			fitted = append(fitted, r)
		}
	}
	slices.SortStableFunc(fitted, func(a, b *Result) int { return cmp.Compare(a.Fit.POver, b.Fit.POver) })
	rejected := true
	for i, r := range fitted {
		rejected = rejected && r.Fit.POver <= alpha/float64(len(fitted)-i)
		if !rejected && (r.Verdict == Fail || r.Verdict == Decelerating) {
			r.Verdict = Inconclusive
			r.Reason = fmt.Sprintf("%s; beside %d other series of the run that is not sure enough", r.Reason, len(fitted)-1)
		}
	}
}
