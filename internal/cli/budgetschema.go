package cli

import (
	"flag"
	"fmt"

	"github.com/peakgate/peakgate/budget"
)

var schemaCommand = command{
	name: "schema", summary: "the JSON Schema of the budget language, for editors",
	about: `Prints a JSON Schema (draft 2020-12) of the budget language. An editor that knows
YAML takes it from the first line of the budget file, which init writes:
` + budget.SchemaComment,
	setup: func(_ *flag.FlagSet, s Streams) func([]string) (int, error) {
		return func(args []string) (int, error) {
			if len(args) > 0 {
				return ExitUsage, usagef("budget schema: takes no arguments, got %.40q", args[0])
			}
			if _, err := s.Stdout.Write(budget.Schema()); err != nil {
				return ExitNoData, fmt.Errorf("standard output: cannot write: %w", cause(err))
			}
			return ExitPass, nil
		}
	},
}
