package affon

import (
	"bytes"
	"fmt"
	"slices"
)

// topObject takes an object: a pair, a monitor file, or what memory-report.sh wrote.
func (r *reader) topObject() error {
	first := firstOf(r.text[r.at:])
	switch {
	case first.has("current") && first.has("delta"):
		return r.comparison()
	case first.has("peakResidentBytes"):
		return r.run()
	case first.has("snapshots") || first.has("everyBatches"):
		r.out.Format = FormatMonitor
		return r.monitor()
	case first.has("before") || first.has("after"):
		return r.pair()
	case first.torn:
		return errTorn
	}
	return r.fail(r.at, "want an object with before and after, a monitor file (everyBatches, snapshots) or a memory report (peakResidentBytes), found other keys")
}

// pair takes {"before": METRICS, "after": METRICS}, in either order.
func (r *reader) pair() error {
	before, after := newSnapshot(), newSnapshot()
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "before":
			return r.metrics(before)
		case "after":
			return r.metrics(after)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if before.known == 0 || after.known == 0 {
		return r.fail(r.at, "want metrics of memory in both before and after")
	}
	r.add(before)
	r.add(after)
	return nil
}

// monitor takes a monitor file.
func (r *reader) monitor() error {
	return r.object(func(key []byte) error {
		switch string(key) {
		case "droppedSamples":
			n, _, _, err := r.number()
			r.out.Dropped = n
			return err
		case "snapshots":
			return r.array(r.monitored)
		}
		return r.skip()
	})
}

// monitored takes one snapshot of a monitor file. Its own unattributedBytes counts
// what is absent as 0, so that number is made anew.
func (r *reader) monitored() error {
	s := newSnapshot()
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "phase":
			var phase []byte
			phase, err = r.string()
			if s.Phase = "batch"; string(phase) == "epoch" {
				s.Phase = "epoch"
			}
		case "step":
			n, known, odd, bad := r.number()
			if err = bad; known && !odd {
				s.Step = n
			}
		case "runtimeMetrics":
			err = r.metrics(s)
		default:
			err = r.skip()
		}
		return err
	})
	if err == nil {
		r.add(s)
	}
	return err
}

// run takes one run: a report with its monitor file, or an entry of a history.
func (r *reader) run() error {
	run := &Report{}
	// It counts once it is whole, or once a snapshot of its monitor is.
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "status":
			run.Status, _, _, err = r.number()
		case "peakResidentBytes":
			run.ResidentPeak, _, _, err = r.number()
		case "peakFootprintBytes":
			run.FootprintPeak, _, _, err = r.number()
		case "config", "binary", "configSha256":
			var text []byte
			text, err = r.optional()
			run.program += fmt.Sprintf("%s=%s\x00", key, text)
		case "monitor":
			if b, bad := r.peek(); bad != nil || b != '{' {
				return r.skip() // null: the run ended before it wrote one
			}
			r.out.Snapshots = nil // those of an earlier run
			err = r.monitor()
		case "maxMetrics":
			run.Maxima = newSnapshot()
			err = r.object(func(key []byte) error { return r.maximum(run.Maxima, key) })
		default:
			err = r.skip()
		}
		return err
	})
	if err == nil || run.ResidentPeak > 0 && len(r.out.Snapshots) > 0 {
		r.runs = append(r.runs, run)
	}
	return err
}

// maximum takes the largest value of one metric, SCOPE/NAME.
func (r *reader) maximum(s *Snapshot, key []byte) error {
	value, given, odd, err := r.number()
	if err != nil {
		return err
	}
	scope, name, _ := bytes.Cut(key, []byte("/"))
	r.take(s, metric{scope: scope, name: name, value: value, given: given, odd: odd})
	return nil
}

// comparison takes {"current": RUN, "previous": RUN or null, "delta": …}.
func (r *reader) comparison() error {
	var current, previous *Report
	err := r.object(func(key []byte) error {
		side := string(key)
		if side != "current" && side != "previous" {
			return r.skip()
		}
		if b, err := r.peek(); err != nil || b != '{' {
			return r.skip()
		}
		if err := r.run(); err != nil {
			return err
		}
		last := r.runs[len(r.runs)-1]
		r.runs = r.runs[:len(r.runs)-1]
		if side == "current" {
			current = last
		} else {
			previous = last
		}
		return nil
	})
	if err != nil {
		return err
	}
	if current == nil {
		return r.fail(r.at, "want a run under current")
	}
	if previous != nil {
		r.runs = append(r.runs, previous)
	}
	r.runs = append(r.runs, current)
	return nil
}

// newest gives the last run with the one of the same program before it.
func (r *reader) newest() *Report {
	last := r.runs[len(r.runs)-1]
	measured := slices.ContainsFunc(r.out.Snapshots, func(s *Snapshot) bool { return s.values[footprint] > 0 })
	for _, run := range r.runs {
		// On Linux the script stores GNU time's "Maximum resident set size (kbytes)" as
		// bytes, and 0 as the footprint. macOS gives bytes, and both.
		if m := run.Maxima; run.FootprintPeak > 0 || run == last && measured || m != nil && m.values[footprint] > 0 {
			continue
		}
		run.ResidentPeak *= 1024
		if run == last && run.ResidentPeak > 0 {
			r.warn("peakResidentBytes is in kB, as on Linux, where peakFootprintBytes is 0: it is multiplied by 1024")
		}
	}
	for _, run := range r.runs[:len(r.runs)-1] {
		if run.program == last.program && run.Status == 0 {
			last.Previous = run
		}
	}
	if n := len(r.runs); n > 1 && last.Previous == nil {
		r.warn("the newest of %d runs is measured; none before it is of the same program", n)
	}
	return last
}
