package diagnose

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

const (
	donationFix  = "donate the state that the call replaces: jax.jit(step, donate_argnums=…)"
	donationCost = "nothing at run time; a donated array cannot be used after the call, so leave out those that are"
)

var donationRules = []Rule{
	{
		Name: "nothing-donated", Family: "xla", Standing: true,
		Doc: "No argument is donated though outputs of the same sizes exist: the old and the new state are alive together. `donate_argnums` lets an output be written over its argument. The saving is a bound: donation can bring back copies in the temp block.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				p := m.space(device)
				d := p.fact.Donation
				if d == nil || d.Donated > 0 || d.Declared > 0 || !notable(d.MissingBytes, p.size("plan.need_bytes")) {
					continue
				}
				f := m.finding(Warning, Inferred, "no argument is donated: %s of arguments and %s of outputs of their own are alive together, and %s could share memory: %s",
					p.size("plan.argument_bytes"), p.size("plan.unaliased_output_bytes"), plural(d.MissingCount, "argument", "arguments"), list(d.Missing, held))
				f.Fix, f.Cost, f.SavingBytes = donationFix, donationCost, d.MissingBytes
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "partly-donated", Family: "xla", Standing: true,
		Doc: "Some arguments are donated, and others of the size of an output are not.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				p := m.space(device)
				d := p.fact.Donation
				if d == nil || d.Donated+d.Declared == 0 || !notable(d.MissingBytes, p.size("plan.need_bytes")) {
					continue
				}
				f := m.finding(Warning, Inferred, "%d of %d arguments are donated; %s more could be: %s", d.Donated, d.Arguments, plural(d.MissingCount, "argument", "arguments"), list(d.Missing, held))
				f.Fix, f.Cost, f.SavingBytes = donationFix, donationCost, d.MissingBytes
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "donation-unused", Family: "xla",
		Doc: "Arguments were offered for reuse and no output took them: none has their shape, type and sharding. JAX 0.10 no longer warns of it.",
		Find: func(in Input) (out []measure.Finding) {
			said := ""
			for _, l := range in.Head.Facts.Logs {
				if l.Kind == measure.LogDonation {
					said = fmt.Sprintf("; the log says so too (%s:%d)", l.File, l.Line)
				}
			}
			for _, m := range in.modules {
				p := m.space(device)
				d := p.fact.Donation
				if d == nil || d.LeftCount == 0 || d.LeftBytes < smallest && said == "" {
					continue
				}
				f := m.finding(Warning, Measured, "%s (%s) declared as donated %s not used: no output fits %s%s",
					plural(d.LeftCount, "argument", "arguments"), d.LeftBytes, verb(d.LeftCount), list(d.Left, held), said)
				f.Fix = "return an output of the same shape, dtype and sharding for each donated argument (check casts: f32 state returned as bf16), or take it out of donate_argnums"
				f.Cost = "nothing at run time"
				f.SavingBytes = min(d.LeftBytes, p.size("plan.unaliased_output_bytes"))
				out = append(out, f)
			}
			return out
		},
	},
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func verb(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
