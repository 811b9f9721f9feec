package diagnose

import (
	"bufio"
	"cmp"
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
// rematerialization), pjrt_stream_executor_client.cc, bfc_allocator.cc and, with the
// platform allocator, device_memory_allocator.cc (GPU), jax/_src/interpreters/mlir.py
// (donation). The source of libtpu is not public: its wordings are those of
// https://openxla.org/xla/errors (E0100 and E0101 at run time, E1000 HBM, E1001 scoped
// VMEM) and of reports of users (haoliuhl/ringattention issue 11: "Used 59.79M of 16.00M
// vmem"). "on HBM … for HLO temporaries" was seen with libtpu 0.0.42.1.
var (
	logRemat    = regexp.MustCompile(`Can't reduce memory use below \S+ \((\S+) bytes\) by rematerialization; only reduced to (\S+?)(?: \((\S+) bytes\))?(?:, down from \S+ \((\S+) bytes\).*)?$`)
	logGPU      = regexp.MustCompile(`(?i)out of memory (?:while )?(?:trying to allocate|allocating) ([+\-\w.]+?) ?(bytes|[KMGT]iB|B)\b`)
	logPlatform = regexp.MustCompile(`Failed to allocate request for \S+ \((\S+?)B\) on device ordinal`)
	logBFC      = regexp.MustCompile(`Allocator \(\S+\) ran out of memory trying to allocate \S+ \(rounded to (\S+?)\)`)
	logTPU      = regexp.MustCompile(`Ran out of memory (?:on|in memory space) (HBM|hbm|VMEM|vmem)`)
	logExceeds  = regexp.MustCompile(`\((\S+)\) exceeds available \S+ \((\S+)\)`)
	logUsed     = regexp.MustCompile(`Used (\S+) of (\S+) \S+\.`)
	logScoped   = regexp.MustCompile(`Scoped allocation with size (\S+) and limit (\S+) exceeded scoped vmem limit`)
	logCores    = regexp.MustCompile(`TensorCore Hbm usage: ([^\s,]+),.*exceeding available bytes: (\S+)`)
	logNotGiven = regexp.MustCompile(`Attempting to (?:allocate|reserve) (\S+?)(?: at the bottom of memory)?\. That was not possible\. There are (\S+) free(?:, \S+ reserved, and (\S+) reservable)?`)
	// c10/cuda/CUDACachingAllocator.cpp, before torch 2.1 and from it on (2.1 and 2.2 wrote "capacty").
	logTorch    = regexp.MustCompile(`out of memory\. Tried to allocate ([\d.]+) ([KMG]iB|bytes)[. ]+(?:GPU \S+ has a total capaci?ty of|\(GPU \S+;) ([\d.]+) ([KMGT]iB)`)
	logDonation = regexp.MustCompile(`Some donated buffers were not usable: .*`)
)

// ReadLog takes from a log what compilers and runtimes say of memory, each
// message once. It reads lines of any length and holds one at a time. A message
// whose numbers make no sense is left out, and a warning names its line.
func ReadLog(r io.Reader, name string) (facts []measure.LogFact, warnings []string, err error) {
	in := bufio.NewReaderSize(r, maxLogLine)
	seen := map[string]bool{}
	for line := int64(1); ; line++ {
		text, more, err := in.ReadLine()
		if errors.Is(err, io.EOF) {
			return facts, warnings, nil
		}
		if err == nil && len(facts) < maxLogFacts && (strings.Contains(string(text), "emory") || strings.Contains(string(text), "llocat") || strings.Contains(string(text), "donated") || strings.Contains(string(text), "Hbm")) {
			f, absurd, ok := logFact(string(text))
			switch key := fmt.Sprint(f.Kind, f.WantedBytes, f.LimitBytes); {
			case absurd != "" && len(warnings) < maxLogFacts:
				warnings = append(warnings, fmt.Sprintf("%s:%d: want a size in bytes, found %.40q: the message is left out", name, line, absurd))
			case ok && absurd == "" && !seen[key]:
				seen[key] = true
				f.File, f.Line = name, line
				facts = continued(facts, f)
			}
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// continued adds a message. libtpu's error of scoped VMEM has its numbers on a line
// of their own, below the one that names the kernel: they are one message.
func continued(facts []measure.LogFact, f measure.LogFact) []measure.LogFact {
	if n := len(facts); n > 0 && f.Kind == measure.LogVMEM && facts[n-1].Kind == f.Kind && facts[n-1].WantedBytes == 0 && f.Line-facts[n-1].Line < 8 {
		facts[n-1].WantedBytes, facts[n-1].LimitBytes = f.WantedBytes, f.LimitBytes
		return facts
	}
	return append(facts, f)
}

// logFact reads one line. absurd is a number of it that is no size.
func logFact(text string) (f measure.LogFact, absurd string, ok bool) {
	text = strings.ToValidUTF8(text, "\ufffd")
	f = measure.LogFact{Text: text}
	match := func(re *regexp.Regexp) []string {
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			return nil
		}
		f.Text = text[m[0]:]
		return re.FindStringSubmatch(text)
	}
	size := func(read func(string) (measure.Bytes, bool), s string) measure.Bytes {
		n, ok := read(s)
		if !ok && absurd == "" {
			absurd = s
		}
		return n
	}
	if m := match(logRemat); m != nil {
		f.Kind = measure.LogRemat
		// The limit is what arguments leave of the memory: it may be below zero.
		if f.LimitBytes = size(whole, strings.TrimPrefix(m[1], "-")); strings.HasPrefix(m[1], "-") {
			f.LimitBytes = -f.LimitBytes
		}
		if m[3] != "" {
			f.WantedBytes = size(whole, m[3])
		} else {
			f.WantedBytes = size(human, m[2])
		}
		if m[4] != "" {
			f.BeforeBytes = size(whole, m[4])
		}
	} else if m := match(logTPU); m != nil {
		f.Kind = measure.LogHBM
		if strings.EqualFold(m[1], "vmem") {
			f.Kind = measure.LogVMEM
		}
		for _, re := range []*regexp.Regexp{logExceeds, logUsed, logScoped} {
			if n := re.FindStringSubmatch(text); n != nil {
				f.WantedBytes, f.LimitBytes = size(human, n[1]), size(human, n[2])
				break
			}
		}
	} else if m := match(logScoped); m != nil {
		f.Kind, f.WantedBytes, f.LimitBytes = measure.LogVMEM, size(human, m[1]), size(human, m[2])
	} else if m := match(logCores); m != nil {
		f.Kind, f.WantedBytes, f.LimitBytes = measure.LogHBM, size(human, m[1]), size(human, m[2])
	} else if m := match(logNotGiven); m != nil {
		f.Kind, f.WantedBytes, f.LimitBytes = measure.LogHBMRun, size(human, m[1]), size(human, cmp.Or(m[3], m[2]))
	} else if m := match(logPlatform); m != nil {
		f.Kind, f.WantedBytes = measure.LogGPU, size(whole, m[1])
	} else if m := match(logBFC); m != nil {
		f.Kind, f.WantedBytes = measure.LogGPU, size(whole, m[1])
	} else if m := match(logTorch); m != nil {
		f.Kind, f.WantedBytes, f.LimitBytes = measure.LogTorch, size(human, m[1]+m[2]), size(human, m[3]+m[4])
	} else if m := match(logGPU); m != nil {
		f.Kind, f.WantedBytes = measure.LogGPU, size(human, m[1]+m[2])
	} else if match(logDonation) != nil {
		f.Kind = measure.LogDonation
	} else {
		return f, "", false
	}
	if f.Text = strings.TrimSpace(f.Text); len(f.Text) > maxLogText {
		f.Text = strings.ToValidUTF8(f.Text[:maxLogText], "") + "…"
	}
	return f, absurd, true
}

// maxLogBytes is the largest size that is believed: more than any machine has.
const maxLogBytes = 1 << 56

func whole(s string) (measure.Bytes, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > maxLogBytes {
		return 0, false
	}
	return measure.Bytes(n), true
}

// human reads sizes as XLA prints them (tsl/platform/numbers.cc, HumanReadableNumBytes):
// "15.86G", "3.41GiB", "6291456bytes"; the letters are powers of 1024.
func human(s string) (measure.Bytes, bool) {
	end := strings.LastIndexAny(s, "0123456789.") + 1
	n, err := strconv.ParseFloat(s[:end], 64)
	shift := strings.Index("BKMGT", strings.ToUpper((s[end:] + "B")[:1])) * 10
	if err != nil || shift < 0 || !(n > 0) || n*float64(int64(1)<<shift) > maxLogBytes || n*float64(int64(1)<<shift) < 1 {
		return 0, false
	}
	return measure.Bytes(n * float64(int64(1)<<shift)), true
}
