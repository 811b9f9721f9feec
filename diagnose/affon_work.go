package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

var affonWorkRules = []Rule{
	{
		Name: "affon-scratch-churn", Family: "affon", Find: eachAffon(scratchChurn),
		Doc: "Temporaries are made anew after warm-up: copies that make inputs contiguous (`contiguity_fixup_bytes`) and chains that were not fused (`fusion_fallback_count`). Scratch is short-lived for the program, but each may be a fresh buffer for the driver. A warning where the footprint grows as well.",
	},
	{
		Name: "affon-host-transfer", Family: "affon", Find: eachAffon(hostTransfer),
		Doc: "Much is copied between device and host after warm-up: values that are read each step, or operations without a kernel on the device.",
	},
}

// notableWork is how many bytes of copies after warm-up are worth a finding.
const notableWork = 64 << 20

func scratchChurn(r affonRun) []measure.Finding {
	fixups, _ := r.since(measure.AffonFixups)
	fallbacks, _ := r.since(measure.AffonFallbacks)
	var what, fix []string
	if fixups >= notableWork {
		what = append(what, fmt.Sprintf("contiguity fixups copied %s", measure.Bytes(fixups)))
		fix = append(fix, "make inputs contiguous once, where they are made (before the loop, or in the order that the kernel reads)")
	}
	if fallbacks >= repeated {
		what = append(what, fmt.Sprintf("%d regions that could have been fused were not", fallbacks))
		fix = append(fix, "use operations that fuse, above all for the LM head's loss")
	}
	if len(what) == 0 {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Measured, Fix: strings.Join(fix, "; ")}
	f.Text = fmt.Sprintf("%s: %s; each temporary may be a fresh buffer", r.period(), strings.Join(what, ", and "))
	if scratch, ok := r.level(measure.AffonScratchMetal); ok && scratch > 0 {
		f.Text += fmt.Sprintf("; scratch on Metal holds %s at the end", scratch)
	}
	if _, _, grows := r.beyond(); grows {
		f.Severity, f.Evidence = Warning, Inferred
		f.Text += ", and the footprint grows"
	}
	return []measure.Finding{f}
}

func hostTransfer(r affonRun) []measure.Finding {
	to, _ := r.since(measure.AffonToHost)
	from, _ := r.since(measure.AffonFromHost)
	if max(to, from) < notableWork || !r.several() {
		return nil
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Measured,
		Text: fmt.Sprintf("%s were copied to the host and %s from it after warm-up", measure.Bytes(to), measure.Bytes(from)),
		Fix:  "read values every so many steps, not each one (item, to_array), and keep operations on the device",
		Cost: "nothing",
	}}
}
