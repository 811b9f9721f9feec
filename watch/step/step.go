package step

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// pattern is one way to print a step; the first group is its number.
type pattern struct {
	re *regexp.Regexp
	// word, in small letters, is in each line that matches: most lines are passed over
	// without the expression. Empty for a user's own.
	word string
	// bar tells that it is a progress bar: those also count files, batches of a
	// tokenizer and downloads, so a line that says "step" takes their place.
	bar bool
}

// builtin are tried in this order, the most certain first.
var builtin = []pattern{
	{word: "step", re: regexp.MustCompile(`(?i)\b(?:global_?)?step\s*[=: #]\s*(\d+)\b`)},                        // step=5, Step 5 |, step: 5, global_step=5; Affon's epoch 1 batch 2/9: step=5
	{word: "step", re: regexp.MustCompile(`(?i)\bstep\s*\[?\s*(\d+)\s*/\s*\d+`)},                                // Step [5/100]
	{word: "it", re: regexp.MustCompile(`(?i)\b(?:iter|iteration|it)\s*[=:#]?\s*\[?\s*(\d+)\b`)},                // iter: 5, iteration 5/30, it 5/100
	{word: "epoch", re: regexp.MustCompile(`(?i)\bepoch\s*\[?\d+(?:/\d+)?\]?\s*[,: ]*\s*\[\s*(\d+)\s*/\s*\d+`)}, // Epoch [1][5/100], Epoch: [1] [ 5/100]
	{word: "batch", re: regexp.MustCompile(`(?i)\bbatch\s*[=:#]?\s*\[?\s*(\d+)\b`)},                             // batch 5/100
	{word: "/", re: regexp.MustCompile(`\b(\d+)/\d+ \[`), bar: true},                                            // tqdm:  5%|▌ | 5/100 [00:01<00:19
	{word: "/", re: regexp.MustCompile(`(?:^|\s)(\d+)/\d+ (?:\[|━|\x1b)`), bar: true},                           // Keras: 5/100 ━━━━
}

// Finder finds steps in the lines of one run. It is not for several goroutines.
type Finder struct {
	patterns []pattern
	// chosen is the pattern that the run uses, -1 before the first line with one.
	chosen int
	count  unwrap
}

// NewFinder gives a finder that tries these patterns in order, or the built-in
// ones where there are none. The first group of each is the number.
func NewFinder(expressions []string) (*Finder, error) {
	f := &Finder{patterns: builtin, chosen: -1}
	if len(expressions) == 0 {
		return f, nil
	}
	f.patterns = nil
	for _, e := range expressions {
		re, err := regexp.Compile(e)
		if err != nil {
			return nil, err
		}
		if re.NumSubexp() < 1 {
			return nil, fmt.Errorf("%q: want a group in parentheses around the step's number: step (\\d+)", e)
		}
		f.patterns = append(f.patterns, pattern{re: re})
	}
	return f, nil
}

// Line gives the step that a line begins, if it begins one. A line that repeats
// the number (a bar drawn again, another rank) does not.
func (f *Finder) Line(line []byte) (step int64, ok bool) { return f.find(line, false) }

// Bar is Line for one that has not ended: a bar stands after \r until it is drawn
// again. Its number is whole, since more follows it in the pattern; that of another
// line may be cut.
func (f *Finder) Bar(part []byte) (step int64, ok bool) {
	if len(part) > maxBar {
		return 0, false
	}
	return f.find(part, true)
}

// maxBar is more than a bar of any terminal's width, with its colours.
const maxBar = 2 << 10

func (f *Finder) find(line []byte, bar bool) (step int64, ok bool) {
	if !bytes.ContainsAny(line, "0123456789") {
		return 0, false
	}
	for i, p := range f.patterns {
		if bar && !p.bar {
			continue
		}
		if f.chosen >= 0 && i != f.chosen && (!f.patterns[f.chosen].bar || p.bar) {
			continue // the run's pattern stays, but for a bar
		}
		if p.word != "" && !contains(line, p.word) {
			continue
		}
		m := p.re.FindSubmatch(line)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil || n > 1<<53 {
			continue
		}
		if i != f.chosen {
			f.chosen, f.count.first = i, f.count.started
		}
		return f.count.next(n)
	}
	return 0, false
}

// contains tells that an ASCII word, in small letters, is in a line in any letters.
func contains(line []byte, word string) bool {
	first := word[0]
	for i := 0; i+len(word) <= len(line); i++ {
		if line[i]|0x20 == first|0x20 && strings.EqualFold(string(line[i:i+len(word)]), word) {
			return true
		}
	}
	return false
}

// Channel gives the step of one line of a marker channel: its number, or the next
// one where the line is empty or no number.
func (f *Finder) Channel(line []byte) (step int64, ok bool) {
	if n, err := strconv.ParseInt(string(line), 10, 64); err == nil && n >= 0 && n <= 1<<53 {
		return f.count.next(n)
	}
	return f.count.next(f.count.raw + 1)
}

// unwrap makes numbers that begin again go on.
type unwrap struct {
	started bool
	first   bool  // the next number is the first of its kind
	raw     int64 // the last number as printed
	last    int64 // and as given
	stride  int64 // the last rise
}

func (u *unwrap) next(n int64) (int64, bool) {
	switch {
	case !u.started:
		u.started, u.stride = true, 1
		u.raw, u.last = n, n
		return n, true
	case u.first: // another pattern counts on from the steps that were given
		u.first, u.stride = false, 1
		u.raw, u.last = n, max(n, u.last+1)
		return u.last, true
	case n > u.raw:
		u.stride = n - u.raw
		u.raw, u.last = n, u.last+u.stride
		return u.last, true
	case n < u.raw && n <= u.raw/2:
		// A new epoch. A fall of less is a late line of another rank.
		u.raw, u.last = n, u.last+max(u.stride, 1)
		return u.last, true
	}
	return u.last, false
}
