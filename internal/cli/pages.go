package cli

import (
	"cmp"
	"encoding/json"
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
	side, err := page.Of(records, m, opt.Root)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.reasons[in.SHA256] = strings.TrimPrefix(err.Error(), in.Path+": ")
		return
	}
	p.sides[in.SHA256] = side
}

// keep makes the page of a target that was judged, and forgets what was read for it.
func (p *pages) keep(t *compare.TargetResult) {
	if p == nil {
		return
	}
	out := targetPage{verdict: t.Verdict}
	head, why := p.join(t.Inputs)
	if head == nil {
		out.lacks = fmt.Sprintf("%s: %s", t.Name, cmp.Or(why, "nothing was read"))
	} else {
		base, why := p.join(t.BaseInputs)
		out.Page = page.New(head, base)
		out.Target, out.First = t.Name, first(head, t.Checks)
		switch {
		case base != nil:
		case t.Base.Kind == "measurement":
			out.Note = "The base is a measurement, which tells sizes alone: only the head is shown."
		default:
			out.Note = "There is no base to show" + strings.TrimSuffix(": "+cmp.Or(why, t.Base.How), ": ") + "."
		}
		if data, err := json.Marshal(out.Page); err == nil {
			out.bytes = len(data)
		}
	}
	clear(p.sides)
	clear(p.reasons)
	p.kept = append(p.kept, out)
	p.bound()
}

// join gives the sides of files in one, or why they have none.
func (p *pages) join(inputs []measure.Input) (side *page.Side, why string) {
	var found []*page.Side
	for _, in := range inputs {
		if s := p.sides[in.SHA256]; s != nil && in.SHA256 != "" {
			named := *s
			named.Name = in.Path
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

// first is the view of the first check that names one.
func first(s *page.Side, checks []compare.Check) int {
	for _, c := range checks {
		module, space := c.Labels["module"], c.Labels["memory_space"]
		if d := c.Labels["device"]; module == "" && d != "" {
			module, space = "device "+d, "device"
		}
		for i, v := range s.Views {
			if module != "" && (v.Name == module || v.Module == module) && v.Space == cmp.Or(space, v.Space) {
				return i
			}
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
