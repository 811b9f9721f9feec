package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// XLA_FLAGS=--xla_dump_to writes about one module, beside each other, in the forms
// that further flags ask for:
//
//	[TIME.]module_NUMBER.NAME.SUFFIX_after_optimizations.hlo.pb
//	[TIME.]module_NUMBER.NAME.SUFFIX_after_optimizations-buffer-assignment.txt
//	[TIME.]module_NUMBER.NAME.SUFFIX_after_optimizations-memory-usage-report.txt (or .pb)
//
// SUFFIX is cpu_, sm_9.0a_gpu_, gfx942_gpu_ and the like, and cl_NUMBER. on TPU; the
// modules between two passes are dumped under the same number, without a plan.
var (
	dumpModule = regexp.MustCompile(`^(?:\d+\.)?module_\d+\.[^.]+\.`)
	dumpName   = regexp.MustCompile(`^(?:\d+\.)?module_\d+\.(.+?)\.(?:cl_\d+\.|sm_[0-9.]+[a-z]*_gpu_|[a-z0-9]+_gpu_|[a-z]+_)?after_optimizations[.-]`)
)

// forms are what a module's memory is told by, the one that tells most first.
var forms = []string{xla.FormatHloProto, xla.FormatAssignment, xla.FormatText, xla.FormatReport, textReport, xla.FormatStats}

// textReport stands for a usage report among the texts.
const textReport = xla.FormatText + " report"

// formEndings are what the names of one module's dumps differ in.
var formEndings = []string{".hlo.pb", "-buffer-assignment.txt", "-memory-usage-report.txt", "-memory-usage-report.pb"}

// form is a file that tells the memory of a module, or of several.
type form struct {
	path, stem string
	named      bool // the name ends as XLA's do, so that stem tells the module
	rank       int  // index in forms; a profile has that of a proto
}

// preferPlans leaves out files that tell again, and less, what a plan beside them
// does: so that no module is counted twice.
func preferPlans(files []string) (kept, warnings []string) {
	dirs := map[string]int{}
	for _, f := range files {
		dirs[filepath.Dir(f)]++
	}
	all := map[string][]form{}
	for _, f := range files {
		if dir := filepath.Dir(f); dirs[dir] > 1 {
			if s, ok := formOf(f); ok {
				all[dir] = append(all[dir], s)
			}
		}
	}
	over := map[string]bool{}
	for dir, list := range all {
		var names []string
		for _, f := range list {
			if slices.ContainsFunc(list, f.told) {
				over[f.path] = true
				names = append(names, filepath.Base(f.path))
			}
		}
		if n := len(names); n > 0 {
			more := ""
			if n > namesShown {
				names, more = names[:namesShown], fmt.Sprintf(" and %d more", n-namesShown)
			}
			warnings = append(warnings, fmt.Sprintf("%s: passed over, as a plan of the same module lies beside it: %s%s", dir, strings.Join(names, ", "), more))
		}
	}
	slices.Sort(warnings)
	return slices.DeleteFunc(files, func(f string) bool { return over[f] }), warnings
}

// namesShown is how many files a warning names.
const namesShown = 8

// told reports whether another file tells all that f does: of the same module,
// where f's name tells which that is, else any of the folder that tells more.
func (f form) told(other form) bool {
	if other.rank >= f.rank || other.path == f.path {
		return false
	}
	switch {
	case f.rank == unplannedRank:
		module := dumpModule.FindString(filepath.Base(f.path))
		return other.rank == 0 && module != "" && module == dumpModule.FindString(filepath.Base(other.path))
	case f.named:
		return other.stem == f.stem
	}
	return true
}

// unplannedRank is that of a module without a plan.
const unplannedRank = 100

// formOf tells what a file tells of a module's memory; ok is false where it is
// about something else, or cannot be read.
func formOf(path string) (f form, ok bool) {
	head, err := headOf(path)
	if err != nil {
		return f, false
	}
	f = form{path: path, stem: plainName(path)}
	for _, ending := range formEndings {
		if s, ok := strings.CutSuffix(f.stem, ending); ok {
			f.stem, f.named = s, true
			break
		}
	}
	format, _ := choose(head)
	switch {
	case format == xla.FormatXSpace:
		return f, true
	case format == xla.FormatText && !bytes.HasPrefix(head, []byte("BufferAssignment:")):
		format = textReport
	}
	f.rank = slices.Index(forms, format)
	if f.rank == 0 && !planned(path) {
		f.rank = unplannedRank
	}
	return f, f.rank >= 0
}

// plainName is a file's name without the ending of a layer of compression.
func plainName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".zst")
}

// planned reports whether an HloProto holds a plan. One that cannot be read counts
// as one: reading it will say why.
func planned(path string) bool {
	r, err := os.Open(path)
	if err != nil {
		return true
	}
	defer r.Close()
	content, size, err := unzipped(r)
	if err != nil {
		return true
	}
	has, err := xla.HasPlan(content, size, path)
	return has || err != nil
}

// reportNames are how XLA ends the name of a memory usage report.
var reportNames = []string{"memory-usage-report.pb", "memory-usage-report.txt", "memory-usage-report.pb.gz", "memory-usage-report.txt.gz",
	"memory-usage-report.pb.zst", "memory-usage-report.txt.zst"}

// confirm looks for the memory usage report of a text that does not tell its own
// total, beside it. Without one the text stays doubtful.
func confirm(c *xla.Capture, path string) error {
	report, same, err := reportBeside(path)
	if report == "" || err != nil {
		return err
	}
	r, err := os.Open(report)
	if err != nil {
		return pathError(err)
	}
	defer r.Close()
	content, size, err := unzipped(r)
	if err != nil {
		return fmt.Errorf("%s: %w", report, err)
	}
	sums, err := xla.Read(content, size, report)
	if err == nil {
		err = c.Confirm(sums)
	}
	if !same {
		return nil // it may be another module's, so only that it agrees tells something
	}
	return err
}

// reportBeside gives the memory usage report in the folder of a text: the one whose
// name begins as the text's does, else the only one if neither name tells a module.
func reportBeside(path string) (report string, same bool, err error) {
	dir, name := filepath.Dir(path), plainName(path)
	if stem, ok := strings.CutSuffix(name, "buffer-assignment.txt"); ok {
		for _, end := range reportNames {
			report := filepath.Join(dir, stem+end)
			if _, err := os.Stat(report); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return report, true, pathError(err)
			}
		}
	}
	if dumpModule.MatchString(name) {
		return "", false, nil // a dump's folder holds thousands of files
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false, pathError(err)
	}
	for _, e := range entries {
		if dumpModule.MatchString(e.Name()) || !slices.ContainsFunc(reportNames, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) {
			continue
		}
		if report != "" {
			return "", false, nil
		}
		report = filepath.Join(dir, e.Name())
	}
	return report, false, nil
}

// labelModule gives the rows of a dump that does not name its module the name that
// the file has.
func labelModule(m *measure.Measurement, path string) {
	found := dumpName.FindStringSubmatch(filepath.Base(path))
	if found == nil {
		return
	}
	label := func(l measure.Labels) measure.Labels {
		if _, ok := l["module"]; ok {
			return l
		}
		return l.With("module", found[1])
	}
	for i := range m.Rows {
		m.Rows[i].Labels = label(m.Rows[i].Labels)
	}
	for i := range m.Contributors {
		m.Contributors[i].Labels = label(m.Contributors[i].Labels)
	}
}
