package xla

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/peakgate/peakgate/measure"
)

// MemoryStats are the numbers of JAX's compiled.memory_analysis(), in bytes. They
// are not the plan's: they leave constants out, and on TPU their temp is another
// number, whose meaning is not documented.
type MemoryStats struct {
	Module, DeviceKind, JAX, JAXLib string

	bytes map[string]int64 // by the name of the attribute
}

// Names of CompiledMemoryStats' attributes, without "host_" and "_size_in_bytes":
// https://github.com/openxla/xla/blob/main/xla/pjrt/proto/executable_metadata.proto
var statsNames = []string{"argument", "output", "alias", "temp", "generated_code"}

const (
	statsSuffix = "_size_in_bytes"
	statsKey    = "memory_analysis"
	// statsMark is the attribute by which the numbers are known.
	statsMark = "temp" + statsSuffix
	// maxStats bounds the file: real ones have under 10 KB.
	maxStats = 1 << 20
	// maxStatsDepth bounds the nesting of what stands beside the numbers.
	maxStatsDepth = 64
)

// statsHead reports whether b begins a JSON object with the numbers of
// memory_analysis(), at its top or under the key memory_analysis.
func statsHead(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return false
	}
	found := false
	walkJSON(b, func(path []string, _ json.Token) error {
		if n := len(path); path[n-1] == statsMark && (n == 1 || n == 2 && path[0] == statsKey) {
			found = true
			return io.EOF
		}
		return nil
	})
	return found
}

// walkJSON calls each for every value of a JSON text that is no object or list
// itself, with the keys on the way to it ("[]" for a list).
func walkJSON(data []byte, each func(path []string, value json.Token) error) (at int64, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type open struct{ list, value bool } // value: a key was read, its value comes next
	var stack []open
	var path []string
	closed := false
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && closed:
			return d.InputOffset(), nil
		case errors.Is(err, io.EOF):
			return d.InputOffset(), errors.New("the file ends within the JSON object: it is cut off")
		case err != nil:
			return d.InputOffset(), errors.New(strings.TrimPrefix(err.Error(), "json: "))
		case closed:
			return d.InputOffset(), errors.New("want one JSON object, found more behind it")
		}
		top := len(stack) - 1
		if delim, ok := token.(json.Delim); ok {
			if delim == '}' || delim == ']' {
				stack, path = stack[:top], path[:len(path)-1]
			} else {
				if len(stack) == maxStatsDepth {
					return d.InputOffset(), fmt.Errorf("values nest deeper than %d", maxStatsDepth)
				}
				if top < 0 && delim != '{' {
					return d.InputOffset(), errors.New("want a JSON object, found a list")
				}
				stack = append(stack, open{list: delim == '['})
				path = append(path, "[]")
				continue
			}
		} else if top < 0 {
			return d.InputOffset(), errors.New("want a JSON object, found a plain value")
		} else if key, ok := token.(string); ok && !stack[top].list && !stack[top].value {
			stack[top].value, path[top] = true, key
			continue
		} else if err := each(path, token); err != nil {
			return d.InputOffset(), err
		}
		if top = len(stack) - 1; top < 0 {
			closed = true
		} else {
			stack[top].value = false
		}
	}
}

// readStats reads the numbers of memory_analysis() as JSON.
func readStats(r io.Reader, name string) (*MemoryStats, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxStats+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxStats {
		return nil, fmt.Errorf("%s: want the numbers of memory_analysis() in a JSON object of at most %d bytes, found more", name, maxStats)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: want JSON in UTF-8, found other bytes", name)
	}
	s := &MemoryStats{bytes: map[string]int64{}}
	top, nested := false, false
	at, err := walkJSON(data, func(path []string, value json.Token) error {
		key := path[len(path)-1]
		inside := len(path) == 2 && path[0] == statsKey
		if len(path) != 1 && !inside {
			return nil
		}
		if text, ok := value.(string); ok && !inside {
			text = clip(text, maxKey)
			switch key {
			case "module":
				s.Module = text
			case "device_kind":
				s.DeviceKind = text
			case "jax":
				s.JAX = text
			case "jaxlib":
				s.JAXLib = text
			}
		}
		if !strings.HasSuffix(key, statsSuffix) {
			return nil
		}
		if top, nested = top || !inside, nested || inside; top && nested {
			return fmt.Errorf("%s: want the numbers at the top or under memory_analysis, found both", key)
		}
		n, err := statsNumber(value)
		if err != nil {
			return fmt.Errorf("%s: %w", clip(key, maxKey), err)
		}
		if _, ok := s.bytes[key]; ok {
			return fmt.Errorf("%s occurs twice", clip(key, maxKey))
		}
		s.bytes[key] = n
		return nil
	})
	if err == nil {
		if err = s.check(); err == nil {
			return s, nil
		}
	}
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	column := utf8.RuneCount(data[bytes.LastIndexByte(data[:at], '\n')+1:at]) + 1
	return nil, fmt.Errorf("%s:%d:%d: %w", name, line, column, err)
}

// statsNumber reads a number of bytes: an integer, however it is written.
func statsNumber(value json.Token) (int64, error) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, fmt.Errorf("want an integer, found %.40q", fmt.Sprint(value))
	}
	n, ok := new(big.Int).SetString(clip(number.String(), 40), 10)
	if !ok {
		return 0, fmt.Errorf("want an integer, found %.40s", number)
	}
	if !n.IsInt64() || !sane(n.Int64()) {
		return 0, fmt.Errorf("want a size from 0 to %d bytes, found %.40s", int64(maxSize), number)
	}
	return n.Int64(), nil
}

func (s *MemoryStats) check() error {
	for _, prefix := range []string{"", "host_"} {
		alias, some := s.bytes[prefix+"alias"+statsSuffix]
		for _, name := range []string{"argument", "output"} {
			if n, ok := s.bytes[prefix+name+statsSuffix]; ok && some && alias > n {
				return fmt.Errorf("%salias%s: %d bytes are more than the %d of %s%s%s", prefix, statsSuffix, alias, n, prefix, name, statsSuffix)
			}
		}
	}
	return nil
}

// tpu reports whether the numbers are known to be of a TPU.
func (s *MemoryStats) tpu() bool { return strings.HasPrefix(s.DeviceKind, "TPU") }

// measure gives the rows. The label source keeps them apart from those of a plan.
func (s *MemoryStats) measure(out *measure.Measurement) {
	for name, value := range map[string]string{"device": s.DeviceKind, "jax": s.JAX, "jaxlib": s.JAXLib} {
		if value != "" {
			out.Environment[name] = value
		}
	}
	zeros := ""
	if !s.any("") && !s.any("host_") {
		zeros = "all numbers of memory_analysis() are zero: this backend does not fill them in"
	}
	for _, space := range []struct {
		prefix string
		space  MemorySpace
	}{{"", Device}, {"host_", Host}} {
		if _, ok := s.bytes[space.prefix+statsMark]; !ok && space.prefix != "" {
			continue // jaxlib before 0.4.30 tells nothing of the host
		}
		labels := measure.Labels{"memory_space": space.space.String(), "source": sourceStats}
		if s.Module != "" {
			labels["module"] = s.Module
		}
		s.spaceRows(out, labels, space.prefix, zeros)
	}
	temp := "on TPU, temp of memory_analysis() is not the plan's temp block"
	if s.tpu() {
		temp = "temp of memory_analysis() is not the plan's temp block on this TPU: it has been up to a third larger, and 0 where the plan has some"
	}
	out.Warnings = append(out.Warnings, "numbers of memory_analysis() (source=memory_analysis) are not a plan: "+temp+
		"; constants are missing; dump the plan instead (XLA_FLAGS=--xla_dump_hlo_as_proto)")
}

func (s *MemoryStats) any(prefix string) bool {
	for _, name := range statsNames {
		if s.bytes[prefix+name+statsSuffix] != 0 {
			return true
		}
	}
	return false
}

// spaceRows gives the rows of one memory space.
func (s *MemoryStats) spaceRows(out *measure.Measurement, labels measure.Labels, prefix, zeros string) {
	row := func(metric string, names ...string) {
		if zeros != "" {
			out.Rows = append(out.Rows, measure.Absent(metric, labels, zeros))
			return
		}
		var n int64
		for i, name := range names {
			v, ok := s.bytes[prefix+name+statsSuffix]
			if !ok {
				out.Rows = append(out.Rows, measure.Absent(metric, labels, "the file lacks "+prefix+name+statsSuffix))
				return
			}
			if i > 0 {
				v = -v
			}
			n += v
		}
		out.Rows = append(out.Rows, measure.NewRow(metric, labels, measure.Int(n)))
	}
	row("plan.argument_bytes", "argument")
	row("plan.output_bytes", "output")
	row("plan.unaliased_output_bytes", "output", "alias")
	row("plan.donated_bytes", "alias")
	row("plan.temp_bytes", "temp")
	// Note: a need computed from these fell where the plan's rose (sharding lost, TPU),
	// and the peak leaves the temp block out on CPU and adds the host's memory on TPU.
	out.Rows = append(out.Rows, measure.Absent("plan.need_bytes", labels,
		"memory_analysis() leaves constants out, and on TPU its temp is not the plan's: a need made of it has fallen where the plan's rose; dump the plan"))
}
