package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// SuspiciousSaving is the rule that questions a saving: reports show it beside
// checks that pass.
const SuspiciousSaving = "torch-suspicious-saving"

var torchPairRules = []Rule{
	{
		Name: "torch-leak", Family: "torch", Compares: true, Find: leak,
		Doc: "Two dumps of one process (`peakgate diff --leak`): sites that hold more bytes and more blocks at the later one. Dump twice at the same place of a step, after the first optimizer step.",
	},
	{
		Name: "torch-checkpointing-removed", Family: "torch", Compares: true, Find: checkpointingRemoved,
		Doc: "The base recomputes activations in its backward pass (`torch/utils/checkpoint.py` is in its stacks), the head does not, and the peak rose.",
	},
	{
		Name: "peak-moved", Family: "torch", Compares: true, Find: peakMoved,
		Doc: "The peak rose: by what, and whether the bytes stay (live at the end rose too) or are activations and temporaries of one step (it did not).",
	},
	{
		Name: "torch-reserved-moved", Family: "torch", Compares: true, Find: reservedMoved,
		Doc: "The reserved peak rose by a tenth and 64 MiB or more, the live peak by less than a fiftieth: the pool's history, settings or fragmentation, not what the program keeps. Budget `live.peak_bytes`; the reserved peak of identical work moves by several percent.",
	},
	{
		Name: SuspiciousSaving, Family: "torch", Compares: true, Find: suspiciousSaving,
		Doc: "The peak fell by a tenth or more, and the head did much less: under three quarters of the base's events, fewer steps, or fewer than half of its sites. Likely another workload, not a saving.",
	},
	{
		Name: "torch-release-changed", Family: "torch", Compares: true, Find: releaseChanged,
		Doc: "The two sides were written by different releases of torch, or with different allocator settings, and a peak moved: the same program can differ (2.15 no longer keeps cuBLAS workspaces).",
	},
	{
		Name: "torch-rank-outlier", Family: "torch", Find: rankOutlier,
		Doc: "One rank's peak is far above the others (a tenth and 16 MiB above the median of at least three): uneven batches or shards, or work that one rank does alone.",
	},
}

// rowPair is one row on both sides, with the contributors that moved.
type rowPair struct {
	labels     measure.Labels
	base, head measure.Bytes
	moved      []compare.Contributor
}

func (p rowPair) delta() measure.Bytes { return p.head - p.base }

// pairs gives the rows of a metric that have a value on both sides.
func rowPairs(in Input, metric string) (out []rowPair) {
	for _, r := range in.Head.Rows {
		if r.Name != metric || r.Value == nil {
			continue
		}
		head, _ := r.Value.Int64()
		base, ok := rowValue(in.Base, metric, r.Labels)
		if !ok {
			continue
		}
		p := rowPair{labels: r.Labels, base: base, head: measure.Bytes(head)}
		p.moved = compare.Contributors(in.Base.ContributorsOf(metric, r.Labels), in.Head.ContributorsOf(metric, r.Labels), p.base, p.head)
		out = append(out, p)
	}
	return out
}

// snapshotOf is the fact of a row's device, nil where there is none. A row that
// several files agree on has no label file where their facts do, and dumps of two
// files are paired by all else: any file's fact stands in then.
func snapshotOf(m *measure.Measurement, labels measure.Labels) *measure.SnapshotFact {
	return factOf(m.Facts.Snapshots, labels, func(f *measure.SnapshotFact) measure.Labels { return f.Labels })
}

func traceOf(m *measure.Measurement, labels measure.Labels) *measure.TraceFact {
	return factOf(m.Facts.Traces, labels, func(f *measure.TraceFact) measure.Labels { return f.Labels })
}

func factOf[T any](facts []T, labels measure.Labels, of func(*T) measure.Labels) (found *T) {
	for i := range facts {
		l := of(&facts[i])
		if l.Key() == labels.Key() {
			return &facts[i]
		}
		if found == nil && l.Key("file") == labels.Key("file") {
			found = &facts[i]
		}
	}
	return found
}

// classOf gives each site's class by its key.
func classOf(m *measure.Measurement, labels measure.Labels) map[string]string {
	out := map[string]string{}
	if s := snapshotOf(m, labels); s != nil {
		for _, e := range s.Sites {
			out[e.Key] = e.Class
		}
	}
	return out
}

// grownSites names the contributors that grew most. Where steps is above 0, each
// is told by the step.
func grownSites(cs []compare.Contributor, steps int64, of string) (text string, source *measure.Source) {
	var out []string
	for _, c := range cs {
		if c.Delta() <= 0 || c.Key == measure.Other {
			continue
		}
		if source == nil {
			source = c.Source
		}
		if len(out) < 4 {
			size, blocks := c.Delta().Signed(), float64(c.HeadCount-c.BaseCount)
			if blocks != 0 {
				size += fmt.Sprintf(", %+.0f %s", blocks, noun(blocks, "block"))
			}
			if steps > 0 {
				each := blocks / float64(steps)
				size += fmt.Sprintf(": %s and %.3g %s a %s", c.Delta()/measure.Bytes(steps), each, noun(each, "block"), of)
			}
			out = append(out, fmt.Sprintf("%s (%s)", c.Display, size))
		}
	}
	return strings.Join(out, ", "), source
}

func noun(n float64, one string) string {
	if n == 1 || n == -1 {
		return one
	}
	return one + "s"
}

func leak(in Input) (out []measure.Finding) {
	if !in.Earlier {
		return nil
	}
	for _, p := range rowPairs(in, "live.end_bytes") {
		if p.labels["allocator"] != "" {
			continue // no dump, but an allocator's own counter
		}
		class := classOf(in.Head, p.labels)
		var grown []compare.Contributor
		var bytes measure.Bytes
		var blocks int64
		for _, c := range p.moved {
			if c.Delta() > 0 && c.HeadCount > c.BaseCount && c.Key != measure.Other &&
				class[c.Key] != measure.ClassOptimizer && class[c.Key] != measure.ClassWorkspace {
				grown = append(grown, c)
				bytes, blocks = bytes+c.Delta(), blocks+c.HeadCount-c.BaseCount
			}
		}
		f := measure.Finding{Severity: Warning, Evidence: Measured, Labels: p.labels, SavingBytes: bytes}
		if len(grown) == 0 {
			f.Severity = Note
			f.Text = fmt.Sprintf("live memory went from %s to %s between the two dumps, and no site holds more bytes in more blocks: no sign of a leak", p.base, p.head)
			out = append(out, f)
			continue
		}
		steps, of := between(in, p.labels)
		sites, source := grownSites(grown, steps, of)
		f.Source = source
		f.Text = fmt.Sprintf("between the two dumps %s in %s came to stay", bytes, plural(blocks, "block", "blocks"))
		if steps > 0 {
			f.Text += fmt.Sprintf(", %s (%s) a %s over %s", bytes/measure.Bytes(steps), (bytes / measure.Bytes(steps)).Exact(), of, plural(steps, of, of+"s"))
		}
		f.Text += ", allocated at " + sites
		if len(grown) >= graphSites {
			f.Text += fmt.Sprintf("; so many sites at once (%d) are likely an autograd graph that is kept", len(grown))
			f.Fix = "keep loss.detach() or loss.item() instead of the loss; evaluate under torch.no_grad()"
		} else {
			f.Text += ": a container or cache that grows"
			f.Fix = "find what keeps the tensors that this line makes; append x.detach().cpu() instead of x, or bound the container"
		}
		out = append(out, f)
	}
	return out
}

// between is how many steps, or dumps, lie between two dumps of one process; 0
// where nothing tells.
func between(in Input, labels measure.Labels) (n int64, of string) {
	if in.Steps > 0 {
		return in.Steps, "step"
	}
	b, h := snapshotOf(in.Base, labels), snapshotOf(in.Head, labels)
	if b != nil && h != nil && b.Steps != nil && h.Steps != nil && b.Steps.Mark == h.Steps.Mark && b.Steps.Mark != "snapshot" && h.Steps.Marks > b.Steps.Marks {
		return h.Steps.Marks - b.Steps.Marks, "step"
	}
	tb, th := traceOf(in.Base, labels), traceOf(in.Head, labels)
	switch {
	case tb == nil || th == nil:
	case th.Steps > tb.Steps:
		return th.Steps - tb.Steps, "step"
	case th.Actions["snapshot"] > tb.Actions["snapshot"]:
		return th.Actions["snapshot"] - tb.Actions["snapshot"], "dump"
	}
	return 0, ""
}

func checkpointingRemoved(in Input) (out []measure.Finding) {
	for _, p := range rowPairs(in, "live.peak_bytes") {
		b, h := snapshotOf(in.Base, p.labels), snapshotOf(in.Head, p.labels)
		if b == nil || h == nil || !recomputes(b) || recomputes(h) || !notable(p.delta(), p.base) {
			continue
		}
		sites, source := grownSites(p.moved, 0, "")
		out = append(out, measure.Finding{
			Severity: Warning, Evidence: Inferred, Labels: p.labels, SavingBytes: p.delta(), Source: source,
			Text: fmt.Sprintf("the base recomputes activations (activation checkpointing), the head does not: the peak rose by %s from %s to %s; more is allocated at %s", p.delta(), p.base, p.head, sites),
			Fix:  "put torch.utils.checkpoint.checkpoint back around the modules named here, or raise the budget with the reason",
			Cost: "one more forward pass of what is checkpointed",
		})
	}
	return out
}

func peakMoved(in Input) (out []measure.Finding) {
	ends := map[string]rowPair{}
	for _, e := range rowPairs(in, "live.end_bytes") {
		ends[e.labels.Key()] = e
	}
	for _, p := range rowPairs(in, "live.peak_bytes") {
		if in.Earlier || !notable(p.delta(), p.base) {
			continue
		}
		sites, source := grownSites(p.moved, 0, "")
		f := measure.Finding{Severity: Note, Evidence: Measured, Labels: p.labels, Source: source}
		f.Text = fmt.Sprintf("the peak rose by %s (%s)", p.delta(), p.delta().Exact())
		if sites != "" {
			f.Text += ", most of it allocated at " + sites
		}
		switch end, ok := ends[p.labels.Key()]; {
		case !ok:
		case !notable(end.delta(), p.base):
			f.Text += fmt.Sprintf("; live at the end changed by %s: activations or temporaries of a step, not a leak", end.delta().Signed())
		case 2*end.delta() >= p.delta():
			f.Text += fmt.Sprintf("; live at the end rose by %s too: most of it stays allocated", end.delta())
		default:
			f.Text += fmt.Sprintf("; live at the end rose by %s: a part of it stays allocated", end.delta())
		}
		out = append(out, f)
	}
	return out
}

func reservedMoved(in Input) (out []measure.Finding) {
	lives := map[string]rowPair{}
	for _, p := range rowPairs(in, "live.peak_bytes") {
		lives[p.labels.Key()] = p
	}
	for _, p := range rowPairs(in, "reserved.peak_bytes") {
		live, ok := lives[p.labels.Key()]
		if d := p.delta(); !ok || in.Earlier || d < 64<<20 || d < p.base/10 || live.delta() > live.base/50 {
			continue
		}
		out = append(out, measure.Finding{
			Severity: Note, Evidence: Measured, Labels: p.labels, SavingBytes: p.delta(),
			Text: fmt.Sprintf("the reserved peak rose by %s (from %s to %s) while the live peak changed by %s: the pool's own doing (its history, settings, fragmentation), not what the program keeps", p.delta(), p.base, p.head, live.delta().Signed()),
			Fix:  "budget live.peak_bytes; compare the allocator's settings and the sizes that are asked for on both sides",
		})
	}
	return out
}

func suspiciousSaving(in Input) (out []measure.Finding) {
	for _, p := range rowPairs(in, "live.peak_bytes") {
		b, h := traceOf(in.Base, p.labels), traceOf(in.Head, p.labels)
		if b == nil || h == nil || p.base == 0 || -p.delta() < p.base/10 || -p.delta() < 1<<20 {
			continue
		}
		var why []string
		if 4*h.Events < 3*b.Events {
			why = append(why, fmt.Sprintf("%d allocator events, %d in the base", h.Events, b.Events))
		}
		if h.Steps < b.Steps {
			why = append(why, fmt.Sprintf("%d steps, %d in the base", h.Steps, b.Steps))
		}
		if n, common := len(in.Base.ContributorsOf("live.peak_bytes", p.labels)), commonSites(p.moved); n >= 4 && 2*common < n {
			why = append(why, fmt.Sprintf("%d of the base's %d sites", common, n))
		}
		if len(why) == 0 {
			continue
		}
		out = append(out, measure.Finding{
			Severity: Warning, Evidence: Inferred, Labels: p.labels,
			Text: fmt.Sprintf("the peak fell by %s (%s), but the head did less work: %s; that looks like another workload, not a saving", -p.delta(), percent(-p.delta(), p.base), strings.Join(why, ", ")),
			Fix:  "record the same number of steps, batches and lengths on both sides",
		})
	}
	return out
}

// commonSites counts the sites that both sides have.
func commonSites(cs []compare.Contributor) (n int) {
	for _, c := range cs {
		if c.BaseCount > 0 && c.HeadCount > 0 && c.Key != measure.Other {
			n++
		}
	}
	return n
}

func releaseChanged(in Input) []measure.Finding {
	var moved []string
	for _, p := range rowPairs(in, "live.peak_bytes") {
		if d := p.delta(); notable(max(d, -d), p.base) {
			text := fmt.Sprintf("the peak went from %s to %s", p.base, p.head)
			if b, h := snapshotOf(in.Base, p.labels), snapshotOf(in.Head, p.labels); b != nil && h != nil {
				_, base := liveSet(b)
				_, head := liveSet(h)
				if w, v := base[measure.ClassWorkspace], head[measure.ClassWorkspace]; w != v {
					text += fmt.Sprintf(", workspaces in it from %s to %s", w, v)
				}
			}
			moved = append(moved, text)
		}
	}
	var differ []string
	keys := map[string]bool{}
	for _, m := range []*measure.Measurement{in.Base, in.Head} {
		for k := range m.Environment {
			if k == "torch" || strings.HasPrefix(k, "allocator.") {
				keys[k] = true
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if b, h := in.Base.Environment[k], in.Head.Environment[k]; b != h {
			differ = append(differ, fmt.Sprintf("%s is %s, %s in the base", k, cmp.Or(h, "not set"), cmp.Or(b, "not set")))
		}
	}
	if len(moved) == 0 || len(differ) == 0 {
		return nil
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Inferred,
		Text: strings.Join(differ, "; ") + "; " + moved[0] + ": the same program can differ by that alone",
		Fix:  "measure both sides with one release and the same settings before looking for a cause in the program",
	}}
}

// rankOutlier compares the ranks of one measurement with each other.
func rankOutlier(in Input) (out []measure.Finding) {
	m := in.Head
	type member struct {
		labels measure.Labels
		peak   measure.Bytes
	}
	var all []member
	for _, r := range m.Rows {
		if r.Name == "live.peak_bytes" && r.Value != nil && r.Labels["rank"] != "" {
			n, _ := r.Value.Int64()
			all = append(all, member{r.Labels, measure.Bytes(n)})
		}
	}
	if len(all) < 3 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.peak, b.peak) })
	middle := all[(len(all)-1)/2]
	for _, r := range all {
		above := r.peak - middle.peak
		if above < 16<<20 || above < middle.peak/10 {
			continue
		}
		moved := compare.Contributors(m.ContributorsOf("live.peak_bytes", middle.labels), m.ContributorsOf("live.peak_bytes", r.labels), middle.peak, r.peak)
		sites, source := grownSites(moved, 0, "")
		f := measure.Finding{Severity: Warning, Evidence: Measured, Labels: r.labels, SavingBytes: above, Source: source}
		f.Text = fmt.Sprintf("rank %s peaks at %s, %s (%s) above the median of %d ranks (%s)", r.labels["rank"], r.peak, above, percent(above, middle.peak), len(all), middle.peak)
		if sites != "" {
			f.Text += "; more is allocated at " + sites
		}
		f.Fix = "look for uneven batches, lengths or shards, and for work that this rank does alone (logging, evaluation, saving)"
		out = append(out, f)
	}
	return out
}
