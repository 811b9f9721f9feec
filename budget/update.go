package budget

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// Edit asks for a limit that the value passes.
type Edit struct {
	Target, Metric string
	Limit          string // "max" or "min"
	// Value is the largest (of a min the smallest) value that must pass. It is
	// written with as many digits as keep the limit within 0.01 % of it.
	Value measure.Value
	// Loosen permits a limit that lets more pass than the one in the file. It
	// wants a reason, which becomes the entry's why.
	Loosen bool
	Why    string
}

// Refused is an edit that was not made, and what a person can do.
type Refused struct {
	Edit   Edit
	Pos    Position // of the limit, or of what comes nearest to it
	Reason string
	// Write is what to write at the place by hand; empty where nothing should be.
	Write string
}

// Error is the refusal in one line.
func (r Refused) Error() string {
	text := fmt.Sprintf("%s:%s: %s of %s, target %s: %s", printable(r.Pos.File), r.Pos, r.Edit.Limit, r.Edit.Metric, element(r.Edit.Target), r.Reason)
	if r.Write != "" {
		text += "; write there by hand: " + r.Write
	}
	return text
}

// Tighten gives the edits that bring the max (where higher is better, the min) of
// an entry to the worst of the measured values plus headroom percent of it (minus,
// for a min), rounded to the side that passes. It gives none where the entry has no
// such limit, or where that would allow more than the limit does: loose tells to
// give those edits too. All of it is computed on exact rationals.
func Tighten(target string, e *Entry, measured []measure.Value, headroom *big.Rat, loose bool) []Edit {
	edit := Edit{Target: target, Metric: e.Metric.Name, Limit: "max", Loosen: loose}
	limit, sign := e.Max, 1
	if e.Metric.HigherIsBetter {
		edit.Limit, limit, sign = "min", e.Min, -1
	}
	var worst *big.Rat
	for _, v := range measured {
		if r := rational(v); r != nil && (worst == nil || r.Cmp(worst) == sign) {
			worst = r
		}
	}
	if limit == nil || worst == nil {
		return nil
	}
	room := new(big.Rat).Mul(new(big.Rat).Abs(worst), headroom)
	room.Quo(room, big.NewRat(int64(100*sign), 1))
	worst = room.Add(room, worst)
	if isWhole(e.Metric.Unit) {
		worst.SetInt(roundUp(worst, sign < 0))
	}
	edit.Value = atLeast(worst, sign < 0)
	if d := edit.Value.Cmp(limit.Value); d == 0 || d == sign && !loose {
		return nil
	}
	return []Edit{edit}
}

// isWhole tells whether limits of a unit are whole numbers.
func isWhole(unit measure.Unit) bool {
	return unit == measure.ByteUnit || unit == measure.Count || unit == measure.BytesPerStep || unit == measure.BytesPerHour
}

// Update makes edits in the text of one budget file and gives the new text. It
// replaces only the bytes of the scalars themselves: comments, order, quotes,
// indentation and line ends stay. Numbers keep the unit and the spacing that the
// file has. Where an edit loosens, the entry's why is replaced, or added.
//
// Before the new text is given it is parsed, and it is an error if anything but
// the wanted values differs. What cannot be changed safely is refused: aliases,
// anchors, merged mappings, blocks, quotes with escapes, entries of defaults or of
// other files. A file with faults is an error; nothing is given then.
func Update(data []byte, file string, edits []Edit) ([]byte, []Refused, error) {
	l := &loader{}
	d := l.parse(data, file)
	if d != nil {
		l.readAlone()
	}
	if errs := l.errors(); len(errs) > 0 {
		return nil, nil, errs
	}
	u := &updater{document: d, data: data, lines: lineStarts(data), shared: map[*yaml.Node]bool{}, seen: map[string]bool{}}
	u.findShared()
	var refused []Refused
	for _, e := range edits {
		if r := u.edit(e); r != nil {
			refused = append(refused, *r)
		}
	}
	out, err := u.apply()
	if err != nil {
		return nil, nil, err
	}
	return out, refused, nil
}

// updater collects the replacements of one file.
type updater struct {
	*document
	data   []byte
	lines  []int               // offsets of the first byte of each line
	shared map[*yaml.Node]bool // behind an anchor, or inside one
	seen   map[string]bool     // limits that edits ask for
	spans  []span
}

// span is a piece of the file that is replaced.
type span struct {
	from, to int
	text     string
}

// edit plans one edit, or says why not.
func (u *updater) edit(e Edit) *Refused {
	refuse := func(at Position, reason, write string) *Refused {
		return &Refused{e, at, reason, write}
	}
	start := Position{1, 1, u.parser.file}
	i := slices.IndexFunc(u.targets, func(t *targetPair) bool { return t.Name == e.Target })
	switch {
	case e.Limit != "max" && e.Limit != "min":
		return refuse(start, "want the limit max or min", "")
	case i < 0 && len(u.includes) > 0:
		return refuse(u.includes[0].Pos, "the target is not in this file; it may be in one that this includes", "")
	case i < 0:
		return refuse(start, "the target is not in this file", "")
	}
	t := u.targets[i]
	entry := entryOf(t.Target, e.Metric)
	if entry == nil {
		return refuse(t.Pos, "the target has no entry of this metric in this file", "")
	}
	limit := entry.Max
	if e.Limit == "min" {
		limit = entry.Min
	}
	if limit == nil {
		return refuse(entry.Pos, "the entry has no "+e.Limit, e.Limit+": "+writeValue("", e.Value, entry.Metric.Unit, e.Limit == "min"))
	}
	text := writeValue(limit.Text, e.Value, entry.Metric.Unit, e.Limit == "min")
	value, bad := parseValue(text, entry.Metric.Unit, e.Limit == "min")
	if bad == nil {
		bad = checkRange(text, value, entry.Metric.Unit)
	}
	if bad != nil {
		return refuse(limit.Pos, bad.Message, "")
	}
	way := value.Cmp(limit.Value)
	if e.Limit == "min" {
		way = -way
	}
	switch {
	case way == 0:
		return nil
	case way > 0 && !e.Loosen:
		return refuse(limit.Pos, "it would allow more: "+text+" for "+limit.Text+", and that was not asked for", "")
	case way > 0 && strings.TrimSpace(e.Why) == "":
		return refuse(limit.Pos, "it would allow more, and no reason is given", "")
	}
	id := e.Target + "\x00" + e.Metric + "\x00" + e.Limit
	if u.seen[id] {
		return refuse(limit.Pos, "it is asked for twice", "")
	}
	u.seen[id] = true
	n := u.locate(t, e)
	if n.refused != "" {
		return refuse(limit.Pos, n.refused, text)
	}
	from, to, ok := u.scalarSpan(n.value)
	if !ok {
		return refuse(limit.Pos, "the value is not plain text on one line", text)
	}
	spans, changes := []span{{from, to, quotedLike(u.data[from:to], text)}}, []func(){}
	if way > 0 {
		var reason string
		spans, changes, reason = u.addWhy(n, spans[0], text, strings.Join(strings.Fields(e.Why), " "))
		if reason != "" {
			return refuse(limit.Pos, reason, text+" and, as why, "+quote(e.Why))
		}
	}
	u.spans = append(u.spans, spans...)
	n.value.Value = text
	n.value.Tag = ""
	n.value.Tag = n.value.ShortTag()
	for _, change := range changes {
		change()
	}
	return nil
}
