package cli

import (
	"flag"
	"strings"
	"unicode"

	"github.com/peakgate/peakgate/capture"
)

var budgetCommand = command{
	name: "budget", summary: "the budget file's own commands: " + strings.Join([]string{"lint", "init", "update", "schema", "history"}, ", "),
	about: "What there is to do with a budget file. None of these is a gate: that is check.",
	exits: `Exit codes: 0 done; 1 lint found something, or update was refused something;
2 wrong use, or an error in the budget file; 3 no data, or peakgate itself failed.`,
	subcommands: []command{lintCommand, initCommand, updateCommand, schemaCommand, historyCommand},
}

// budgetOptions are what the budget's commands share.
type budgetOptions struct {
	config  string
	allowed []string
	quiet   bool
}

func (o *budgetOptions) declare(f *flag.FlagSet) {
	f.StringVar(&o.config, "config", "peakgate.yml", "the budget `file`")
	f.Var((*list)(&o.allowed), "allow-path", "a `folder` outside of the repository that the budget may name; may be given again")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
}

// reading gives the options of the capture readers, and what ends their progress.
func (o *budgetOptions) reading(s Streams) (capture.Options, func()) {
	opt := capture.Options{Root: repositoryRoot(o.config)}
	p := newProgress(s)
	if !o.quiet {
		opt.Progress = p.tell
	}
	return opt, p.done
}

// clean makes one line of a text that a stranger wrote: what a terminal would act
// upon is replaced, and what is very long is cut.
func clean(text string) string {
	const most = 1000 // bytes
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(text, "\t", " "))
}
