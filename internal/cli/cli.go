// Package cli is the command line: subcommands, flags, exit codes and files. It
// is the only package that reads the process's environment and writes its
// streams; all else takes values and returns them.
package cli

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/peakgate/peakgate/report"
)

// Exit codes; -h, the README and action.yml list them.
const (
	ExitPass   = 0 // pass or warn
	ExitFail   = 1 // a budget does not hold
	ExitUsage  = 2 // wrong use, or an error in the budget file
	ExitNoData = 3 // nothing was measured, or peakgate itself failed
)

const exitCodes = `Exit codes: 0 pass or warn; 1 a budget does not hold; 2 wrong use or an error in
the budget file; 3 no data (never a pass), or peakgate itself failed.`

// Streams are what a command may touch of its process.
type Streams struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Now is the clock: waivers expire by it. Nil is the system's.
	Now func() time.Time
	// Transport carries requests to a code host; nil is the network.
	Transport http.RoundTripper
	// Terminal tells whether Stderr is a terminal: progress is drawn on it.
	Terminal bool
	// StdoutTerminal tells whether Stdout is one: no page is written to it.
	StdoutTerminal bool
}

// Process gives the streams of this process.
func Process() Streams {
	return Streams{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal: isTerminal(os.Stderr), StdoutTerminal: isTerminal(os.Stdout),
	}
}

// isTerminal tells a terminal from files, pipes and the null device, which is a device
// of characters too.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func (s Streams) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// command is one subcommand.
type command struct {
	name, args, summary string
	// about is the text that -h shows below the usage line.
	about string
	// exits replaces exitCodes in -h where the command has its own.
	exits string
	// setup declares the flags and returns the function that runs the command
	// with what is left of the arguments.
	setup func(f *flag.FlagSet, s Streams) func(args []string) (int, error)
	// subcommands stand for setup where the command is a group of them.
	subcommands []command
}

func commands() []command {
	return []command{checkCommand, measureCommand, diffCommand, explainCommand, viewCommand, watchCommand, dryrunCommand, budgetCommand, actionCommand, commentCommand, versionCommand}
}

// usageError is a wrong use of the command line: exit code 2.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// Main runs one command and gives the exit code of the process.
func Main(args []string, s Streams) int {
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-v") {
		args = []string{"version"}
	}
	all := command{name: "peakgate", about: "peakgate stops memory regressions of ML programs at the pull request.", subcommands: commands()}
	return all.dispatch(args, s)
}

// dispatch runs the subcommand that the first argument names.
func (c command) dispatch(args []string, s Streams) int {
	if len(args) == 0 {
		c.list(s.Stderr)
		return ExitUsage
	}
	switch args[0] {
	case "-h", "--help", "help":
		c.list(s.Stdout)
		return ExitPass
	}
	var names []string
	for _, sub := range c.subcommands {
		if sub.name != args[0] {
			names = append(names, sub.name)
			continue
		}
		if sub.name = c.name + " " + sub.name; sub.subcommands != nil {
			return sub.dispatch(args[1:], s)
		}
		return sub.run(args[1:], s)
	}
	_, of, nested := strings.Cut(c.name, " ")
	if nested {
		of += " "
	}
	report.Problem(s.Stderr, fmt.Errorf("unknown command %.40q; there are %s", of+args[0], strings.Join(names, ", ")))
	return ExitUsage
}

// list tells of the subcommands.
func (c command) list(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage: %s COMMAND [flags] …\n\n", c.about, c.name)
	for _, sub := range c.subcommands {
		fmt.Fprintf(w, "  %-9s %s\n", sub.name, sub.summary)
	}
	fmt.Fprintf(w, "\n%s COMMAND -h tells more of one.\n\n%s\n", c.name, cmp.Or(c.exits, exitCodes))
}

func (c command) run(args []string, s Streams) (code int) {
	defer func() {
		if fault := recover(); fault != nil {
			report.Problem(s.Stderr, fmt.Errorf("internal error: %v; please report it\n%s", fault, debug.Stack()))
			code = ExitNoData
		}
	}()
	short := strings.TrimPrefix(c.name, "peakgate ")
	flags := flag.NewFlagSet(short, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	run := c.setup(flags, s)
	rest, err := parseFlags(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(s.Stdout, flags)
		return ExitPass
	}
	if err != nil {
		report.Problem(s.Stderr, fmt.Errorf("%s: %w; %s -h lists the flags", short, err, c.name))
		return ExitUsage
	}
	code, err = run(rest)
	if err != nil {
		var faulty budgetError
		if errors.As(err, &faulty) {
			report.Lines(s.Stderr, err) // FILE:LINE:COLUMN first, as editors read it
		} else {
			report.Problem(s.Stderr, err)
		}
		var wrong usageError
		if errors.As(err, &wrong) {
			return ExitUsage
		}
	}
	return code
}

func (c command) help(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: %s [flags] %s\n\n%s\n", c.name, c.args, c.about)
	var list bytes.Buffer
	flags.SetOutput(&list)
	flags.PrintDefaults()
	if list.Len() > 0 {
		fmt.Fprintf(w, "\nFlags:\n%s", list.String())
	}
	fmt.Fprintf(w, "\n%s\n", cmp.Or(c.exits, exitCodes))
}

// parseFlags takes flags before, between and after the arguments; "--" ends them.
func parseFlags(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		left := flags.Args()
		if len(left) == 0 {
			return rest, nil
		}
		if taken := len(args) - len(left); taken > 0 && args[taken-1] == "--" {
			return append(rest, left...), nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

func (l *list) Set(s string) error {
	if s == "" {
		return errors.New("want a value")
	}
	*l = append(*l, s)
	return nil
}
