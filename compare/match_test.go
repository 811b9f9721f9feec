package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

const mib = measure.Bytes(1 << 20)

// site is a call site of a PyTorch snapshot: file, function, line, bytes, count.
func site(group string, line int, size measure.Bytes, count int64, callee string, n int) measure.Contributor {
	key := group
	if callee != "" {
		key += " → " + callee
	}
	if n > 1 {
		key += fmt.Sprintf(" #%d", n)
	}
	return measure.Contributor{Key: key, Group: group, Display: fmt.Sprintf("%s:%d", group, line), Bytes: size, Count: count, Source: &measure.Source{File: group, Line: line}}
}

func moved(cs []Contributor) (out []string) {
	for _, c := range cs {
		if c.Change != Same {
			out = append(out, fmt.Sprintf("%s %s %s", c.Change, c.Display, c.Delta()))
		}
	}
	return out
}

func totals(cs []measure.Contributor) measure.Bytes { return total(cs) }

func TestContributors(t *testing.T) {
	plain := func(key string, size measure.Bytes, class string) measure.Contributor {
		return measure.Contributor{Key: key, Display: key, Bytes: size, Count: 1, Class: class}
	}
	for _, c := range []struct {
		name       string
		base, head []measure.Contributor
		want       []string
	}{
		{"shifted lines are the same sites",
			[]measure.Contributor{site("m.py forward", 10, 4*mib, 1, "", 1), site("m.py forward", 20, 8*mib, 2, "", 2)},
			[]measure.Contributor{site("m.py forward", 47, 4*mib, 1, "", 1), site("m.py forward", 57, 8*mib, 2, "", 2)},
			nil},
		{"a new site between two others is the one that is new",
			[]measure.Contributor{site("m.py forward", 10, 4*mib, 1, "", 1), site("m.py forward", 20, 8*mib, 2, "", 2)},
			[]measure.Contributor{site("m.py forward", 10, 4*mib, 1, "", 1), site("m.py forward", 15, 16*mib, 3, "", 2), site("m.py forward", 21, 8*mib, 2, "", 3)},
			[]string{"new m.py forward:15 16.00 MiB"}},
		{"a grown site is told by its callee",
			[]measure.Contributor{site("m.py forward", 10, 4*mib, 1, "einops einsum", 1), site("m.py forward", 20, 8*mib, 2, "act silu", 1)},
			[]measure.Contributor{site("m.py forward", 10, 6*mib, 4, "einops einsum", 1), site("m.py forward", 20, 9*mib, 3, "act silu", 1)},
			[]string{"grown m.py forward:10 2.00 MiB", "grown m.py forward:20 1.00 MiB"}},
		{"another callee of another size is another site",
			[]measure.Contributor{site("m.py forward", 10, 4*mib, 1, "a f", 1)},
			[]measure.Contributor{site("m.py forward", 10, 5*mib, 2, "b g", 1)},
			[]string{"new m.py forward:10 5.00 MiB", "gone m.py forward:10 -4.00 MiB"}},
		{"a moved file is the same code",
			[]measure.Contributor{site("model.py forward", 10, 4*mib, 1, "", 1), site("model.py forward", 20, 8*mib, 2, "", 2)},
			[]measure.Contributor{site("nets/gpt.py forward", 12, 4*mib, 1, "", 1), site("nets/gpt.py forward", 22, 9*mib, 2, "", 2)},
			[]string{"grown nets/gpt.py forward:22 1.00 MiB"}},
		{"a widened dtype is grown, not new",
			[]measure.Contributor{plain("temp/dot/f", 4*mib, "temp")},
			[]measure.Contributor{plain("temp/dot/f", 8*mib, "temp")},
			[]string{"grown temp/dot/f 4.00 MiB"}},
		{"a renamed function with equal bytes did not move",
			[]measure.Contributor{plain("temp/jit(old)/dot/old", 4*mib, "temp")},
			[]measure.Contributor{plain("temp/jit(new)/dot/new", 4*mib, "temp")},
			nil},
		{"another operation of equal bytes is another thing",
			[]measure.Contributor{plain("temp/jit(f)/dot/f", 4*mib, "temp")},
			[]measure.Contributor{plain("temp/jit(f)/exp/f", 4*mib, "temp")},
			[]string{"new temp/jit(f)/exp/f 4.00 MiB", "gone temp/jit(f)/dot/f -4.00 MiB"}},
		{"a renamed thing with a twin is not guessed",
			[]measure.Contributor{plain("temp/a/dot/f", 4*mib, "temp"), plain("temp/b/dot/f", 4*mib, "temp")},
			[]measure.Contributor{plain("temp/c/dot/f", 4*mib, "temp")},
			[]string{"new temp/c/dot/f 4.00 MiB", "gone temp/a/dot/f -4.00 MiB", "gone temp/b/dot/f -4.00 MiB"}},
		{"what the other side folds into other is not called gone",
			[]measure.Contributor{plain("big", 2000*mib, "temp"), plain("little", mib/4, "temp")},
			[]measure.Contributor{plain("big", 9000*mib, "temp"), {Key: measure.Other, Display: measure.Other, Bytes: mib / 4}},
			[]string{"grown big 6.84 GiB"}},
	} {
		got := moved(Contributors(c.base, c.head, totals(c.base), totals(c.head)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// Whatever is paired with what, the sides keep their totals and nothing is
// counted twice.
func TestContributorsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	make := func() []measure.Contributor {
		var out []measure.Contributor
		seen := map[string]int{}
		for range random.IntN(12) {
			group := fmt.Sprintf("f%d.py g%d", random.IntN(2), random.IntN(2))
			callee := []string{"", "x f", "y g"}[random.IntN(3)]
			seen[group+callee]++
			out = append(out, site(group, random.IntN(100), measure.Bytes(random.IntN(4))*mib, int64(random.IntN(3)), callee, seen[group+callee]))
		}
		return append(out, measure.Contributor{Key: measure.Other, Display: measure.Other, Bytes: 5})
	}
	for range 2000 {
		base, head := make(), make()
		var baseSum, headSum measure.Bytes
		for _, c := range Contributors(base, head, totals(base), totals(head)) {
			baseSum += c.BaseBytes
			headSum += c.HeadBytes
		}
		if baseSum != totals(base) || headSum != totals(head) {
			t.Fatalf("base %d of %d, head %d of %d:\n%v\n%v", baseSum, totals(base), headSum, totals(head), base, head)
		}
		for _, c := range Contributors(base, base, totals(base), totals(base)) {
			if c.Change != Same {
				t.Fatalf("a side moved against itself: %+v", c)
			}
		}
	}
}
