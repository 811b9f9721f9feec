package torch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const settingLimit = 256 // torch 2.15 has 11

// settings reads allocator_settings: names and plain values, and one dict
// (roundup_power2_divisions) whose entries become "key:value,…".
func (m *machine) settings(s *Snapshot, v ref) error {
	if v.tag() != tagHeld || !m.slots[v.low()].isDict {
		return fmt.Errorf("allocator_settings: want a dict, got %s", m.describe(v))
	}
	d := &m.slots[v.low()]
	for i := 0; i < len(d.pairs); i += 2 {
		k := d.pairs[i].low()
		if k < numKeys {
			m.seen[shapeOther] |= 1 << k
		}
		if len(s.Settings) == settingLimit {
			return fmt.Errorf("more than %d allocator_settings", settingLimit)
		}
		s.Settings = append(s.Settings, Setting{clean(m.texts.list[k]), m.settingText(d.pairs[i+1])})
	}
	return nil
}

func (m *machine) settingText(v ref) string {
	switch v.tag() {
	case tagInt:
		return strconv.FormatInt(v.signed(), 10)
	case tagHigh:
		return strconv.FormatUint(uint64(v.signed()), 10)
	case tagWide:
		return strconv.FormatInt(int64(m.wide[v.low()]), 10)
	case tagFloat:
		return strconv.FormatFloat(m.floats[v.low()], 'g', -1, 64)
	case tagText:
		return clean(m.texts.list[v.low()])
	case tagConst:
		return [...]string{"None", "False", "True"}[v.low()]
	case tagHeld:
		d := &m.slots[v.low()]
		if !d.isDict || len(d.pairs) > 256 {
			break
		}
		var out []string
		for i := 0; i < len(d.pairs); i += 2 {
			if w := d.pairs[i+1]; w.tag() == tagInt && w.signed() != 0 {
				out = append(out, clean(m.texts.list[d.pairs[i].low()])+":"+m.settingText(w))
			}
		}
		return strings.Join(out, ",")
	}
	return v.noun()
}

// defaults are the values of settings that change nothing
// (c10/core/AllocatorConfig.h); 2^64-1 is how early 2.2 builds wrote -1.
var defaults = map[string][]string{
	"max_split_size": {"-1", "18446744073709551615"}, "max_round_threshold": {"-1"}, "max_cached_size": {"-1"},
	"garbage_collection_threshold": {"0"}, "pinned_num_register_threads": {"1"},
	"trace_alloc_overflowed": {"", "False", "True"}, "trace_alloc_max_entries": nil,
}

// changed tells whether a setting has another value than its default.
func (s Setting) changed() bool {
	if s.Name == "trace_alloc_max_entries" {
		return false // of the recording, not of the allocator
	}
	if known, ok := defaults[s.Name]; ok {
		return !slices.Contains(known, s.Value)
	}
	return s.Value != "" && s.Value != "0" && s.Value != "False" && s.Value != "None"
}

func (s *Snapshot) setting(name string) string {
	for _, e := range s.Settings {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// overflowed tells that the ring buffer of events was full.
func (s *Snapshot) overflowed(events int64) bool {
	if s.setting("trace_alloc_overflowed") == "True" {
		return true
	}
	n, err := strconv.ParseInt(s.setting("trace_alloc_max_entries"), 10, 64)
	return err == nil && n > 1 && events >= n
}

// releases lists what tells releases of torch apart: a key that appeared with
// the release, and where. Verified on files written by 2.0.1 to 2.15.0.
var releases = []struct {
	release string
	shape   shape // of the dict that has it; shapeOther: allocator_settings
	key     int
}{
	{"2.14", shapeTop, keyHostSegments},
	{"2.13", shapeOther, keyMaxRound},
	{"2.12", shapeEvent, keyPoolID},
	{"2.10", shapeEvent, keyUserMetadata},
	{"2.9", shapeOther, keyRecordStreamReuse},
	{"2.7", shapeEvent, keyCompileContext},
	{"2.5", shapeTop, keyAnnotations},
	{"2.3", shapeTop, keySettings},
	{"2.2", shapeEvent, keyTime},
	{"2.1", shapeBlock, keyAddress},
	{"2.0", shapeTop, keySegments},
}

// before names the last release before the one of each entry.
var before = map[string]string{"2.14": "2.13", "2.13": "2.12", "2.12": "2.11", "2.10": "2.9", "2.9": "2.8", "2.7": "2.6",
	"2.5": "2.4", "2.3": "2.2", "2.2": "2.1", "2.1": "2.0"}

// torchRelease gives the releases that write such a file, from the keys alone:
// "2.10 to 2.11", "2.14 or newer", "" if nothing tells.
func (m *machine) torchRelease(s *Snapshot) string {
	newest := ""
	for _, r := range releases {
		seen := m.seen[r.shape]
		if seen == 0 {
			continue // nothing of this kind is in the file
		}
		if !seen.has(r.key) {
			newest = before[r.release]
			continue
		}
		oldest := r.release
		switch {
		// From 2.15 on the symbolizer names shared objects.
		case newest == "" && m.sharedObjects():
			return "2.15 or newer"
		case newest == "":
			return oldest + " or newer"
		case newest == oldest:
			return oldest
		}
		return oldest + " to " + newest
	}
	return ""
}

func (m *machine) sharedObjects() bool {
	for _, f := range m.frames.list {
		if strings.HasSuffix(m.texts.list[f.file], "/libtorch_cpu.so") {
			return true
		}
	}
	return false
}
