package diagnose

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

const (
	maxLogLine  = 64 << 10 // bytes of a line that are looked at
	maxLogText  = 400      // bytes of a message that are kept
	maxLogFacts = 64       // different messages that are kept
)

// What XLA and JAX print, and where: hlo_rematerialization.cc (the limit of
// rematerialization), pjrt_stream_executor_client.cc and bfc_allocator.cc (GPU),
// libtpu's compiler (HBM, VMEM; its source is not public), jax/_src/interpreters/mlir.py
// (donation).
var (
	logRemat    = regexp.MustCompile(`Can't reduce memory use below \S+ \((-?\d+) bytes\) by rematerialization; only reduced to (\S+?)(?: \((\d+) bytes\))?(?:, down from \S+ \((\d+) bytes\).*)?$`)
	logGPU      = regexp.MustCompile(`(?i)out of memory (?:while )?(?:trying to allocate|allocating) ([\d.]+) ?(bytes|[KMGT]iB|B)`)
	logBFC      = regexp.MustCompile(`Allocator \(\S+\) ran out of memory trying to allocate \S+ \(rounded to (\d+)\)`)
	logTPU      = regexp.MustCompile(`Ran out of memory (?:on|in memory space) (HBM|hbm|VMEM|vmem)`)
	logExceeds  = regexp.MustCompile(`\(([\d.]+[KMGT]?)\) exceeds available \S+ \(([\d.]+[KMGT]?)\)`)
	logUsed     = regexp.MustCompile(`Used ([\d.]+[KMGT]?) of ([\d.]+[KMGT]?) \S+\.`)
	logScoped   = regexp.MustCompile(`Scoped allocation with size ([\d.]+[KMGT]?) and limit ([\d.]+[KMGT]?) exceeded scoped vmem limit`)
	logDonation = regexp.MustCompile(`Some donated buffers were not usable: .*`)
)

// ReadLog takes from a log what compilers and runtimes say of memory, each
// message once. It reads lines of any length and holds one at a time.
func ReadLog(r io.Reader, name string) ([]measure.LogFact, error) {
	var facts []measure.LogFact
	in := bufio.NewReaderSize(r, maxLogLine)
	seen := map[string]bool{}
	for line := int64(1); ; line++ {
		text, more, err := in.ReadLine()
		if errors.Is(err, io.EOF) {
			return facts, nil
		}
		if err == nil && len(facts) < maxLogFacts && (strings.Contains(string(text), "emory") || strings.Contains(string(text), "llocat") || strings.Contains(string(text), "donated")) {
			if f, ok := logFact(string(text)); ok {
				key := fmt.Sprint(f.Kind, f.WantedBytes, f.LimitBytes)
				if f.File, f.Line = name, line; !seen[key] {
					seen[key] = true
					facts = append(facts, f)
				}
			}
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// logFact reads one line.
func logFact(text string) (measure.LogFact, bool) {
	text = strings.ToValidUTF8(text, "\ufffd")
	f := measure.LogFact{Text: text}
	match := func(re *regexp.Regexp) []string {
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			return nil
		}
		f.Text = text[m[0]:]
		return re.FindStringSubmatch(text)
	}
	if m := match(logRemat); m != nil {
		f.Kind, f.LimitBytes, f.WantedBytes, f.BeforeBytes = measure.LogRemat, whole(m[1]), whole(m[3]), whole(m[4])
		if f.WantedBytes == 0 {
			f.WantedBytes = human(m[2])
		}
	} else if m := match(logTPU); m != nil {
		f.Kind = measure.LogHBM
		if strings.EqualFold(m[1], "vmem") {
			f.Kind = measure.LogVMEM
		}
		for _, re := range []*regexp.Regexp{logExceeds, logUsed, logScoped} {
			if n := re.FindStringSubmatch(text); n != nil {
				f.WantedBytes, f.LimitBytes = human(n[1]), human(n[2])
				break
			}
		}
	} else if m := match(logScoped); m != nil {
		f.Kind, f.WantedBytes, f.LimitBytes = measure.LogVMEM, human(m[1]), human(m[2])
	} else if m := match(logBFC); m != nil {
		f.Kind, f.WantedBytes = measure.LogGPU, whole(m[1])
	} else if m := match(logGPU); m != nil {
		f.Kind, f.WantedBytes = measure.LogGPU, human(m[1]+m[2])
	} else if match(logDonation) != nil {
		f.Kind = measure.LogDonation
	} else {
		return f, false
	}
	if f.Text = strings.TrimSpace(f.Text); len(f.Text) > maxLogText {
		f.Text = strings.ToValidUTF8(f.Text[:maxLogText], "") + "…"
	}
	return f, true
}

func whole(s string) measure.Bytes {
	n, _ := strconv.ParseInt(s, 10, 64)
	return measure.Bytes(n)
}

// human reads sizes as XLA prints them (tsl/platform/numbers.cc, HumanReadableNumBytes):
// "15.86G", "3.41GiB", "6291456bytes"; the letters are powers of 1024. 0 is unknown.
func human(s string) measure.Bytes {
	end := strings.LastIndexAny(s, "0123456789.") + 1
	n, err := strconv.ParseFloat(s[:end], 64)
	shift := strings.Index("BKMGT", strings.ToUpper((s[end:] + "B")[:1])) * 10
	if err != nil || shift < 0 || n < 0 || n*float64(int64(1)<<shift) >= 1<<62 {
		return 0
	}
	return measure.Bytes(n * float64(int64(1)<<shift))
}
