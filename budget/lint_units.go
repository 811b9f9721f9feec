package budget

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// lintUnits looks at byte limits of 1 kB and more.
func lintUnits(l *linter) {
	first := map[string]*Limit{} // by file and metric
	l.entries(func(t *Target, e *Entry, path string) {
		if e.Metric.Unit != measure.ByteUnit {
			return
		}
		for _, limit := range []*Limit{e.Max, e.Min} {
			if limit == nil {
				continue
			}
			unit := byteUnit(limit.Text)
			if unit == "" || unit == "B" {
				continue
			}
			id := limit.Pos.File + "\x00" + e.Metric.Name
			if other := first[id]; other == nil {
				first[id] = limit
			} else if strings.HasSuffix(unit, "iB") != strings.HasSuffix(byteUnit(other.Text), "iB") {
				l.add(limit.Pos, path, fmt.Sprintf("%s is in %s here and in %s at %s", e.Metric.Name, unit, byteUnit(other.Text), other.Pos), "1 GiB is 7.4 % more than 1 GB: use one of them")
			}
			if round := roundElsewhere(limit, unit); round != "" {
				l.addAs(LevelAdvice, limit.Pos, path, limit.Text+" is "+round+", rounded", "write "+round+" if that is meant")
			}
		}
	})
}

func byteUnit(text string) string {
	_, _, unit := splitNumber(text)
	return unit
}

// roundElsewhere gives the round number of the other kind of unit that a limit with
// three digits or more comes from, such as 80 GiB for 85.9 GB. Round are multiples
// of 8 and of 10.
func roundElsewhere(limit *Limit, unit string) string {
	other := strings.Replace(unit, "B", "iB", 1)
	if strings.HasSuffix(unit, "iB") {
		other = strings.Replace(unit, "iB", "B", 1)
	}
	other = strings.NewReplacer("kiB", "KiB", "KB", "kB").Replace(other)
	number, _, _ := splitNumber(limit.Text)
	_, fraction, point := strings.Cut(strings.ReplaceAll(number, "_", ""), ".")
	size, ok := unitSize(unit, measure.ByteUnit)
	otherSize, ok2 := unitSize(other, measure.ByteUnit)
	value := rational(limit.Value)
	if !point || !ok || !ok2 || len(fraction) > 6 || len(strings.Trim(strings.ReplaceAll(number, ".", ""), "0_+-")) < 3 || value == nil {
		return ""
	}
	n := new(big.Rat).Quo(value, otherSize)
	n.Add(n, big.NewRat(1, 2))
	whole := new(big.Int).Div(n.Num(), n.Denom())
	if !whole.IsInt64() || whole.Sign() == 0 || whole.Int64()%8 != 0 && whole.Int64()%10 != 0 {
		return ""
	}
	off := new(big.Rat).Mul(new(big.Rat).SetInt(whole), otherSize)
	off.Sub(off, value)
	half := new(big.Rat).Quo(size, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)))
	if half.Mul(half, big.NewRat(1, 2)); off.Abs(off).Cmp(half) > 0 {
		return ""
	}
	return whole.String() + " " + other
}
