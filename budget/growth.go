package budget

import (
	"math"
	"math/big"

	"github.com/peakgate/peakgate/measure"
)

// Exceeded tells whether head breaks the growth limit against base. It is the
// one place where that is decided:
//
//	lower is better:  head > base × (1 + growth)  and  head − base > floor
//	higher is better: head < base × (1 − growth)  and  base − head > floor
//
// A floor that is nil is 0. Everything is computed on exact rationals, so no
// value near the end of int64 overflows and no float is rounded. A value that is
// not finite was not measured and is never within a limit.
func (g *Growth) Exceeded(base, head measure.Value, floor *Limit) bool {
	b, h := rational(base), rational(head)
	if b == nil || h == nil {
		return true
	}
	limit := g.limit(b)
	change, over := new(big.Rat).Sub(h, b), h.Cmp(limit) > 0
	if g.Fall {
		change, over = change.Neg(change), h.Cmp(limit) < 0
	}
	return over && change.Cmp(floorOf(floor)) > 0
}

// Limit is base × (1 + growth), the largest head value that the percentage
// allows, rounded down to a whole number where base is one; what passes the
// int64 range is cut to it. Where higher is better it is base × (1 − growth),
// the smallest, rounded up. The floor is not in it: see Allowed.
func (g *Growth) Limit(base measure.Value) measure.Value {
	b := rational(base)
	if b == nil {
		return base
	}
	return g.value(g.limit(b), base)
}

// Allowed is Limit with the floor in it: the largest head value (the smallest,
// where higher is better) for which Exceeded is false.
func (g *Growth) Allowed(base measure.Value, floor *Limit) measure.Value {
	b := rational(base)
	if b == nil {
		return base
	}
	limit, step := g.limit(b), floorOf(floor)
	if g.Fall {
		if byFloor := b.Sub(b, step); byFloor.Cmp(limit) < 0 {
			limit = byFloor
		}
	} else if byFloor := b.Add(b, step); byFloor.Cmp(limit) > 0 {
		limit = byFloor
	}
	return g.value(limit, base)
}

// limit is base × (100 ± percent) / 100.
func (g *Growth) limit(base *big.Rat) *big.Rat {
	factor := new(big.Rat).SetInt64(100)
	if g.Fall {
		factor.Sub(factor, g.Percent)
	} else {
		factor.Add(factor, g.Percent)
	}
	factor.Quo(factor, big.NewRat(100, 1))
	return factor.Mul(factor, base)
}

// value rounds the rational to what base is, towards the stricter side.
func (g *Growth) value(r *big.Rat, base measure.Value) measure.Value {
	if _, whole := base.Int64(); whole {
		n := new(big.Int)
		if g.Fall { // up: -floor(-r)
			n.Div(n.Neg(r.Num()), r.Denom())
			n.Neg(n)
		} else {
			n.Div(r.Num(), r.Denom())
		}
		switch {
		case n.IsInt64():
			return measure.Int(n.Int64())
		case n.Sign() > 0:
			return measure.Int(math.MaxInt64)
		}
		return measure.Int(math.MinInt64)
	}
	f, exact := r.Float64()
	switch {
	case math.IsInf(f, 1):
		f = math.MaxFloat64
	case math.IsInf(f, -1):
		f = -math.MaxFloat64
	case !exact:
		back := new(big.Rat).SetFloat64(f)
		if g.Fall && back.Cmp(r) < 0 {
			f = math.Nextafter(f, math.Inf(1))
		} else if !g.Fall && back.Cmp(r) > 0 {
			f = math.Nextafter(f, math.Inf(-1))
		}
	}
	return measure.Float(f)
}

func floorOf(floor *Limit) *big.Rat {
	if floor != nil {
		if r := rational(floor.Value); r != nil {
			return r
		}
	}
	return new(big.Rat)
}

// rational is the exact value, nil where it is NaN or infinite.
func rational(v measure.Value) *big.Rat {
	if n, ok := v.Int64(); ok {
		return new(big.Rat).SetInt64(n)
	}
	return new(big.Rat).SetFloat64(v.Float64())
}
