package diagnose

import (
	"fmt"
	"strings"
)

// Page is docs/findings.md, made from the rule book.
func Page() string {
	var out strings.Builder
	out.WriteString(`# Findings

` + "`peakgate explain`" + ` shows what takes the memory and what to do about it; ` + "`diff` and `check`" + ` show what changed for the worse.
Each finding comes from a rule of this page. Evidence is *measured* where the finding repeats what the capture says, and
*inferred* where an assumption lies between. Savings are upper bounds, from the bytes of the capture at hand. Rules read no
names of files, modules or functions: a renamed program has the same findings.

This page is made from the rules themselves: go test ./diagnose -update writes it anew.
`)
	titles := []struct{ family, title string }{{"xla", "XLA plans and compiler messages"}, {"run", "What a run recorded"}, {"torch", "PyTorch snapshots"}, {"affon", "Affon telemetry"}}
	for _, t := range titles {
		for _, compares := range []bool{false, true} {
			head := fmt.Sprintf("\n## %s\n\n| rule | what is seen, and what it means |\n|---|---|\n", t.title)
			if compares {
				head = strings.Replace(head, "\n\n|", ", base against head\n\n|", 1)
			}
			for _, r := range Rules() {
				if r.Family != t.family || r.Compares != compares {
					continue
				}
				out.WriteString(head)
				head = ""
				fmt.Fprintf(&out, "| `%s` | %s |\n", r.Name, strings.ReplaceAll(r.Doc, "|", `\|`))
			}
		}
	}
	return out.String()
}
