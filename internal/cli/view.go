package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
	"github.com/peakgate/peakgate/report/viewer"
)

var viewCommand = command{
	name: "view", args: "CAPTURE", summary: "the Memory Viewer page of a capture, in one file",
	about: `Writes one HTML file that shows an XLA plan as XProf's Memory Viewer does, and more:
memory over program order, the buffers at its peak, their live ranges, padding and
sources; of a PyTorch snapshot, blocks over the allocator's events; of series of bytes,
samples and growth. It needs no server and no network. With --base it lays the same modules or devices of another
capture beside it. The formats svg and dot are the timeline of one of them alone: the
first, unless --module and --space name another.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		format := f.String("format", "html", "`html`, svg, dot, or json: the data of the page")
		output := f.String("o", "", "write to this `file` instead of standard output")
		base := f.String("base", "", "lay this `capture` beside it")
		module := f.String("module", "", "the `module` of svg and dot: its name, or NAME(PROGRAM)")
		space := f.String("space", "", "the memory `space` of svg and dot: device, host or another that the page lists")
		quiet := f.Bool("quiet", false, "no progress")
		read := declareRead(f)
		return func(args []string) (int, error) {
			if len(args) != 1 {
				return ExitUsage, usagef("view: want one capture, got %d", len(args))
			}
			if !slices.Contains([]string{"html", "svg", "dot", "json"}, *format) {
				return ExitUsage, usagef("unknown format %.40q; there are html, svg, dot and json", *format)
			}
			if *format == "html" && *output == "" && s.StdoutTerminal {
				return ExitUsage, usagef("view: standard output is a terminal, which shows no page; name a file: -o page.html")
			}
			picture := *format == "svg" || *format == "dot"
			if !picture && *module+*space != "" || picture && *base != "" {
				return ExitUsage, usagef("--module and --space are for svg and dot, --base is for html and json")
			}
			if err := read.validate(); err != nil {
				return ExitUsage, err
			}
			opt := read.options("")
			if !*quiet {
				p := newProgress(s)
				defer p.done()
				opt.Progress = p.tell
			}
			p, inputs, err := pageOf(args[0], *base, opt)
			if err != nil {
				return exitOf(err), read.hidden(err)
			}
			if err := spare(*output, inputs); err != nil {
				return ExitUsage, err
			}
			read.hide(p)
			write := func(w io.Writer) error { return viewer.HTML(w, p) }
			if picture {
				v, err := chooseView(p.Head.Views, *module, *space)
				if err != nil {
					return ExitUsage, err
				}
				if len(v.Allocations) == 0 {
					return ExitNoData, fmt.Errorf("%s: %s holds no blocks of memory, so it has no timeline", args[0], v.Module)
				}
				write = func(w io.Writer) error { return viewer.SVG(w, v) }
				if *format == "dot" {
					write = func(w io.Writer) error { return viewer.DOT(w, v) }
				}
			}
			return emit(s, *format, *output, p, write)
		}
	},
}

// exitOf is the exit code of an error: wrong use or no data.
func exitOf(err error) int {
	if errors.As(err, &usageError{}) {
		return ExitUsage
	}
	return ExitNoData
}

// pageOf reads a capture, and its base where one is named.
func pageOf(head, base string, opt capture.Options) (*page.Page, []measure.Input, error) {
	var sides [2]*page.Side
	var inputs []measure.Input
	for i, pattern := range []string{head, base} {
		if pattern == "" {
			continue
		}
		files, _, err := capture.Find(pattern)
		if err != nil {
			return nil, nil, err
		}
		if len(files) != 1 {
			return nil, nil, usagef("%s: holds %d captures; name one of them: %s", pattern, len(files), strings.Join(files[:min(len(files), 5)], ", "))
		}
		inputs = append(inputs, measure.Input{Path: files[0]})
		opt.Records = func(records any, m *measure.Measurement, _ capture.Options) { sides[i], err = page.Of(records, m, "") }
		if _, unread := capture.Open(files[0], opt); unread != nil {
			err = unread
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return page.New(sides[0], sides[1]), inputs, nil
}

// chooseView picks the view that is named, else the first, which is the largest.
func chooseView(views []page.View, module, space string) (*page.View, error) {
	var names []string
	for i := range views {
		v := &views[i]
		if (module == "" || module == v.Module || module == v.Name) && (space == "" || space == v.Space) {
			return v, nil
		}
		names = append(names, fmt.Sprintf("%s in %s", v.Module, v.Space))
	}
	return nil, usagef("no plan of module %.80q in space %.40q; there are %s", module, space, strings.Join(names[:min(len(names), 10)], ", "))
}
