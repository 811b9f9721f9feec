package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
	"github.com/peakgate/peakgate/report/viewer"
)

// pages keeps what the viewer shows of the captures of a check. It is made when they are
// read: those of runs, and bases of git, are gone afterwards. Files are known by their
// SHA-256, which results name too.
type pages struct {
	mu      sync.Mutex
	sides   map[string]*page.Side // of the target that is being judged
	reasons map[string]string     // why a file has no side
	kept    []targetPage
}

// targetPage is the page of one target, or why it has none.
type targetPage struct {
	verdict compare.Verdict
	*page.Page
	lacks string
	bytes int // of its JSON
}

// maxPages is how many bytes of JSON the pages of one file take together. The first,
// whatever its size, is always kept: package page bounds it.
const maxPages = 1500 << 10

func newPages() *pages { return &pages{sides: map[string]*page.Side{}, reasons: map[string]string{}} }

// note makes what is shown of a file that was read (capture.Options.Records).
func (p *pages) note(records any, m *measure.Measurement, opt capture.Options) {
	in := m.Inputs[0]
	if in.SHA256 == "" {
		return
	}
	var side *page.Side
	err := safely(func() (err error) {
		side, err = page.Of(records, m, opt.Root)
		return err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.reasons[in.SHA256] = strings.TrimPrefix(err.Error(), in.Path+": ")
		return
	}
	p.sides[in.SHA256] = side
}

// safely runs what draws no verdict: a fault of it must not become one.
func safely(run func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("internal error: %v", fault)
		}
	}()
	return run()
}

// keep makes the page of a target that was judged, and forgets what was read for it.
func (p *pages) keep(t *compare.TargetResult) {
	if p == nil {
		return
	}
	out := targetPage{verdict: t.Verdict}
	if err := safely(func() error { return p.fill(&out, t) }); err != nil {
		out.lacks, out.Page = page.Clean(t.Name+": "+err.Error()), nil
	}
	clear(p.sides)
	clear(p.reasons)
	p.kept = append(p.kept, out)
	p.bound()
}

// fill makes the page of a target; the error says why it has none.
func (p *pages) fill(out *targetPage, t *compare.TargetResult) error {
	head, why := p.join(t.Inputs)
	if head == nil {
		return errors.New(cmp.Or(why, "nothing was read"))
	}
	base, why := p.join(t.BaseInputs)
	out.Page = page.New(head, base)
	out.Target, out.First = t.Name, first(head, t.Checks)
	switch {
	case base != nil:
	case t.Base.Kind == "measurement":
		out.Note = "The base is a measurement, which tells sizes alone: only the head is shown."
	default:
		out.Note = page.Clean("There is no base to show" + strings.TrimSuffix(": "+cmp.Or(why, t.Base.How), ": ") + ".")
	}
	data, err := json.Marshal(out.Page)
	out.bytes = len(data)
	return err
}

// join gives the sides of files in one, or why they have none.
func (p *pages) join(inputs []measure.Input) (side *page.Side, why string) {
	var found []*page.Side
	for _, in := range inputs {
		if s := p.sides[in.SHA256]; s != nil && in.SHA256 != "" {
			named := *s
			named.Name = page.Clean(in.Path)
			found = append(found, &named)
		} else if why == "" {
			why = p.reasons[in.SHA256]
		}
	}
	if len(found) == 0 {
		return nil, why
	}
	return page.Join(found), ""
}

// bound drops pages, those of the best verdicts first, until the rest is small enough.
func (p *pages) bound() {
	slices.SortStableFunc(p.kept, func(a, b targetPage) int { return cmp.Compare(a.verdict.Rank(), b.verdict.Rank()) })
	sum, some := 0, false
	for i := range p.kept {
		k := &p.kept[i]
		if k.Page == nil {
			continue
		}
		if sum += k.bytes; sum > maxPages && some {
			k.lacks, k.Page = k.Target+": there was no more room on this page; peakgate view shows its captures", nil
		}
		some = true
	}
}

// first is the view of the first check that names one: by its module and memory space,
// its device, or its series. Of several of one name, which ranks have, it is that whose
// figures hold the check's number.
func first(s *page.Side, checks []compare.Check) int {
	for _, c := range checks {
		name, space := c.Labels["module"], c.Labels["memory_space"]
		if d := c.Labels["device"]; name == "" && d != "" {
			name = "device " + d
		}
		name = cmp.Or(name, c.Labels["series"])
		var named []int
		for i, v := range s.Views {
			if name != "" && (v.Name == name || v.Module == name || strings.HasPrefix(v.Name, name+" ")) && v.Space == cmp.Or(space, v.Space) {
				named = append(named, i)
			}
		}
		for _, i := range named {
			if slices.ContainsFunc(s.Views[i].Figures, func(f page.Figure) bool {
				return f.Bytes != nil && c.Head != nil && measure.Int(*f.Bytes) == *c.Head
			}) {
				return i
			}
		}
		if len(named) > 0 {
			return named[0]
		}
	}
	return s.First()
}

// hide takes the names of users out, if that is asked for.
func (p *pages) hide(read *readOptions) {
	if p == nil || read == nil || !read.redact {
		return
	}
	for i := range p.kept {
		read.hide(p.kept[i].Page)
		p.kept[i].lacks = capture.RedactText(p.kept[i].lacks)
	}
}

// write writes the page of a check.
func (p *pages) write(w io.Writer, r *compare.Result) error {
	all, lacking := []*page.Page{}, []string{}
	for _, k := range p.kept {
		if k.Page != nil {
			all = append(all, k.Page)
		} else {
			lacking = append(lacking, k.lacks)
		}
	}
	return viewer.Check(w, r, all, lacking)
}
