package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

var affonGrowthRules = []Rule{
	{
		Name: "affon-resource-churn", Family: "affon", Find: eachAffon(resourceChurn),
		Doc: "The footprint grows while the device's own count of allocated bytes stays: buffers are made and destroyed at a high rate, and the driver keeps mappings and residency around them (`IOAccelerator (graphics)` in vmmap). No tensor leak.",
	},
	{
		Name: "affon-driver-residency", Family: "affon", Find: eachAffon(driverResidency),
		Doc: "The footprint grows while Affon's live tensors on the device stay, and the device's own count does not stay or is not known: the memory is with the driver, or in buffers that are released late. No tensor leak either.",
	},
	{
		Name: "affon-tensor-growth", Family: "affon", Find: eachAffon(tensorGrowth),
		Doc: "Live tensors, or the QuickJS heap, grow after warm-up: the program keeps references to them.",
	},
	{
		Name: "affon-device-growth", Family: "affon", Find: eachAffon(deviceGrowth),
		Doc: "The device's own count of allocated bytes grows while Affon's tensors and its pool stay. It should be near the live tensors plus the pool and reach a plateau; it is a trend and no exact measure of tensors.",
	},
	{
		Name: "affon-warm-limit", Family: "affon", Find: eachAffon(warmLimit),
		Doc: "A level rises after warm-up beyond what Affon's own tests allow: twice its first value and 8 MiB, over 8 snapshots.",
	},
	{
		Name: "affon-after-trim", Family: "affon", Find: eachAffon(afterTrim),
		Doc: "After the pool was trimmed, more tensors are live on the device than at the first snapshot and 1 MiB, or the pool is as full as it ever was: Affon's own tests allow neither.",
	},
	{
		Name: "affon-report-grew", Family: "affon", Find: eachAffon(reportGrew),
		Doc: "The history or comparison of Affon's memory report holds a run of the same program before this one, whose peak was lower by 16 MiB and a hundredth or more.",
	},
	{
		Name: "affon-unattributed", Family: "affon", Find: eachAffon(unattributed),
		Doc: "At least half of the footprint (and 1 GiB) is in nothing that Affon counts: the driver, code, or other libraries.",
	},
}

// beyond is by how much the footprint grew beyond what Affon's own numbers explain.
func (r affonRun) beyond() (by, footprint measure.Bytes, ok bool) {
	footprint, ok = r.grew(measure.AffonFootprint)
	if !ok {
		return 0, 0, false
	}
	by = footprint
	for _, part := range []string{measure.AffonLiveMetal, measure.AffonPoolLive, measure.AffonLiveCPU, measure.AffonHeap} {
		rise, _, _ := r.rise(part)
		by -= max(0, rise)
	}
	_, from, _ := r.rise(measure.AffonFootprint)
	return by, footprint, risen(by, from)
}

func (r affonRun) footprintText() string {
	s := r.Signals[measure.AffonFootprint]
	by, _, _ := r.beyond()
	text := fmt.Sprintf("the footprint grew by %s after warm-up, from %s to %s", measure.Bytes(s.Late-s.Early), measure.Bytes(s.Early), measure.Bytes(s.Late))
	if all := measure.Bytes(s.Late - s.Early); by < all {
		text += fmt.Sprintf(", %s of it in nothing that Affon counts", by)
	}
	return text
}

// confirm is how the driver's part is seen on macOS.
const confirm = "vmmap -summary PID (IOAccelerator (graphics)), or peakgate watch, shows the driver's part and its regions, which should stop growing"

func resourceChurn(r affonRun) []measure.Finding {
	by, _, ok := r.beyond()
	live, device, called := r.tensors()
	if !ok || !r.stayed(device) {
		return nil
	}
	at, _ := r.level(device)
	f := measure.Finding{Severity: Warning, Evidence: Inferred, SavingBytes: by}
	f.Text = fmt.Sprintf("%s, while the device's own count stayed at %s", r.footprintText(), at)
	if n, known := r.level(live); known {
		f.Text += fmt.Sprintf(" and tensors on %s at %s", called, n)
	}
	f.Text += ": churn of buffers, or residency that the driver keeps, no tensor leak"
	f.Fix = "make fewer short-lived buffers: let the pool keep them (affon-bucket-cap, affon-oversize), fuse the loss and elementwise chains, avoid contiguity fixups; " + confirm
	return []measure.Finding{f}
}

func driverResidency(r affonRun) []measure.Finding {
	by, _, ok := r.beyond()
	live, device, called := r.tensors()
	if !ok || !r.stayed(live) || r.stayed(device) {
		return nil
	}
	at, _ := r.level(live)
	f := measure.Finding{Severity: Warning, Evidence: Inferred, SavingBytes: by}
	f.Text = fmt.Sprintf("%s, while tensors on %s stayed at %s", r.footprintText(), called, at)
	if rise, _, known := r.rise(device); known {
		f.Text += fmt.Sprintf("; the device's own count grew by %s", rise)
	} else {
		f.Text += "; the device's own count is not in the snapshots"
	}
	f.Text += ": driver residency or churn, no tensor leak"
	f.Fix = "look for buffers that are made anew each step (the pool's misses and drops, scratch, unfused loss) and for command buffers that are not waited for; " + confirm
	return []measure.Finding{f}
}

func tensorGrowth(r affonRun) (out []measure.Finding) {
	for _, l := range []struct{ name, called, fix string }{
		{measure.AffonLiveMetal, "tensors on Metal", "look for tensors kept from step to step (a list of losses, an autograd graph): keep loss.item(), dispose of what a step made"},
		{measure.AffonLiveCUDA, "tensors on CUDA", "look for tensors kept from step to step (a list of losses, an autograd graph): keep loss.item(), dispose of what a step made"},
		{measure.AffonLiveCPU, "tensors on the CPU", "look for data that is loaded and kept, and for tensors copied to the host"},
		{measure.AffonHeap, "the QuickJS heap", "look for arrays, maps and closures that grow with each step"},
		{measure.AffonAllocator, "Hao's allocator", "look for native objects that scripts keep: tensors on the CPU, files, buffers"},
	} {
		by, ok := r.grew(l.name)
		if !ok || l.name == measure.AffonAllocator && !r.stayed(measure.AffonLiveCPU) {
			continue
		}
		s := r.Signals[l.name]
		out = append(out, measure.Finding{
			Severity: Warning, Evidence: Measured, SavingBytes: by, Fix: l.fix, Cost: "nothing",
			Text: fmt.Sprintf("%s grew by %s after warm-up, from %s to %s: the program keeps references", l.called, by, measure.Bytes(s.Early), measure.Bytes(s.Late)),
		})
	}
	return out
}

func deviceGrowth(r affonRun) []measure.Finding {
	live, device, called := r.tensors()
	by, ok := r.grew(device)
	if !ok || !r.stayed(live) || !r.stayed(measure.AffonPoolLive) {
		return nil
	}
	s := r.Signals[device]
	tensors, _ := r.level(live)
	pool, _ := r.level(measure.AffonPoolLive)
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured, SavingBytes: by,
		Text: fmt.Sprintf("the device's own count grew by %s after warm-up, from %s to %s, while tensors on %s (%s) and the pool (%s) stayed: buffers that neither counts",
			by, measure.Bytes(s.Early), measure.Bytes(s.Late), called, tensors, pool),
		Fix: "look for scratch and workspace buffers that are not released, and for command buffers that are not waited for",
	}}
}

// Limits of Affon's own tests (packages/@affon/lm/test/memory.test.ts).
const (
	warmSnapshots = 8
	warmSlack     = 8 << 20
	trimSlack     = 1 << 20
)

func warmLimit(r affonRun) []measure.Finding {
	if r.Snapshots-r.Warm < warmSnapshots {
		return nil
	}
	var over []string
	for _, l := range []struct{ name, called string }{
		{measure.AffonLiveCPU, "tensors on the CPU"}, {measure.AffonLiveMetal, "tensors on Metal"}, {measure.AffonLiveCUDA, "tensors on CUDA"},
		{measure.AffonPoolLive, "the pool"}, {measure.AffonHeap, "the QuickJS heap"},
	} {
		s, ok := r.Signals[l.name]
		if first := measure.Bytes(s.Warm); ok && s.Max/2 > int64(first)/2 && measure.Bytes(s.Max) > 2*first+warmSlack {
			over = append(over, fmt.Sprintf("%s rose from %s to %s", l.called, first, measure.Bytes(s.Max)))
		}
	}
	if len(over) == 0 {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured,
		Text: strings.Join(over, ", ") + " after warm-up: more than twice the first value and 8 MiB, which Affon's own tests allow",
		Fix:  "see whether the level falls again (a peak of one step) or stays (affon-tensor-growth, affon-pool-growth)",
	}}
}

func afterTrim(r affonRun) (out []measure.Finding) {
	if !r.Trimmed {
		return nil
	}
	live, _, called := r.tensors()
	if s, ok := r.Signals[live]; ok && s.Last-s.First > trimSlack {
		out = append(out, measure.Finding{
			Severity: Warning, Evidence: Measured, SavingBytes: measure.Bytes(s.Last - s.First),
			Text: fmt.Sprintf("after the pool was trimmed, tensors on %s hold %s, %s more than at the first snapshot: they are still referenced", called, measure.Bytes(s.Last), measure.Bytes(s.Last-s.First)),
			Fix:  "drop what the work made before it is measured, or look for what keeps it",
		})
	}
	if s, ok := r.Signals[measure.AffonPoolLive]; ok && s.Last > s.Early && s.Last == s.Max {
		out = append(out, measure.Finding{
			Severity: Warning, Evidence: Measured,
			Text: fmt.Sprintf("the pool was trimmed and keeps %s, as much as it ever did", measure.Bytes(s.Last)),
			Fix:  "trim behind the work, not while its buffers are still on their way back to the pool",
		})
	}
	return out
}

func unattributed(r affonRun) []measure.Finding {
	rest, ok := r.level(measure.AffonUnattributed)
	footprint, ok2 := r.level(measure.AffonFootprint)
	if _, _, grows := r.beyond(); !ok || !ok2 || grows || rest < 1<<30 || rest < footprint/2 {
		return nil
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Inferred,
		Text: fmt.Sprintf("%s of the footprint of %s (%s) are neither tensors, nor the pool, nor the QuickJS heap: the driver's, code, or other libraries", rest, footprint, percent(rest, footprint)),
		Fix:  confirm,
	}}
}

func reportGrew(r affonRun) []measure.Finding {
	by := r.PeakBytes - r.PreviousBytes
	if r.PreviousBytes <= 0 || !risen(by, r.PreviousBytes) {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured, SavingBytes: by,
		Text: fmt.Sprintf("the peak of the process %s since the last run of the same program", moved(r.PreviousBytes, r.PeakBytes)),
		Fix:  "peakgate diff the two reports, or run the one before again: what grew is in their monitor files",
	}}
}
