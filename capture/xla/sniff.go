package xla

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// The formats that this package reads.
const (
	FormatXSpace   = "xla.xspace"
	FormatHloProto = "xla.hlo_proto"
	// FormatAssignment is a bare BufferAssignmentProto.
	FormatAssignment = "xla.buffer_assignment"
	// FormatText is a *-buffer-assignment.txt or a *-memory-usage-report.txt.
	FormatText = "xla.text"
	// FormatReport is a *-memory-usage-report.pb.
	FormatReport = "xla.usage_report"
	// FormatStats is JSON of the numbers of compiled.memory_analysis().
	FormatStats = "xla.memory_stats"
)

// Sniff tells from the first bytes of a file (64 KiB are plenty, all of a smaller
// file) which of the formats it has. Of binary ones it looks at the structure of
// the wire: all begin with field 1, a message. An XPlane holds an id and a name
// there, an HloModuleProto a name, another name and computations. A logical buffer
// and a memory space's report hold numbers, as does a pprof profile, and differ in
// what stands in field 3.
//
// A profile or an HloProto that went through a text copy, which destroyed it, is still
// told to be one, so that Read can say what happened to it.
func Sniff(head []byte) (format string, ok bool) {
	switch {
	case hloHead(head), textCopy(head) && namesModule(head):
		return FormatHloProto, true
	case spaceHead(head), textCopy(head) && namesPlane(head):
		return FormatXSpace, true
	case assignmentHead(head):
		return FormatAssignment, true
	case reportHead(head):
		return FormatReport, true
	case textHead(head):
		return FormatText, true
	case statsHead(head):
		return FormatStats, true
	}
	return "", false
}

// field is one field of a message whose end may be cut off.
type field struct {
	num  uint32
	wire uint8
	body []byte // as much as there is of it
	cut  bool   // the body goes on after the end of what is known
}

// cutField reads the first field of b, of which more may follow only if cut. ok is
// false where b cannot be the beginning of a message; the field's number is 0
// where b ends within the field's head.
func cutField(b []byte, cut bool) (f field, rest []byte, ok bool) {
	tag, n := uvarint(b)
	if n == 0 && len(b) < 5 {
		return field{}, nil, cut
	}
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return field{}, nil, false
	}
	f.num, f.wire, b = uint32(tag>>3), uint8(tag&7), b[n:]
	size := uint64(0)
	switch f.wire {
	case wireVarint, wireBytes:
		v, n := uvarint(b)
		switch {
		case n < 0:
			return field{}, nil, false
		case n == 0:
			return field{}, nil, cut
		case f.wire == wireBytes:
			size = v
		}
		b = b[n:]
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	default:
		return field{}, nil, false
	}
	if size > uint64(len(b)) {
		f.body, f.cut = b, true
		return f, nil, cut && size < 1<<40
	}
	f.body = b[:size]
	return f, b[size:], true
}

// spaceHead reports whether b begins an XSpace: planes, one of them with a name.
// What follows that one is for Read to judge.
func spaceHead(b []byte) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b, true)
		if !ok || f.wire != wireBytes || f.num != 1 {
			return false
		}
		if plane, named := planeHead(f.body, f.cut); !plane || named {
			return plane
		}
		b = rest
	}
	return false
}

// planeHead reports whether b begins an XPlane, and whether it holds a name.
func planeHead(b []byte, cut bool) (ok, named bool) {
	for len(b) > 0 {
		f, rest, ok := cutField(b, cut)
		switch {
		case !ok:
			return false, false
		case f.num == 0:
			return true, named
		case f.num == 1 && f.wire != wireVarint:
			return false, false
		case f.num >= 2 && f.num <= 6 && f.wire != wireBytes:
			return false, false
		case f.num > 31:
			return false, false
		case f.num == 2:
			if !isName(f.body) || len(f.body) == 0 {
				return false, false
			}
			named = true
		}
		b = rest
	}
	return true, named
}

// hloHead reports whether b begins an HloProto that holds a module.
func hloHead(b []byte) bool {
	f, _, ok := cutField(b, true)
	if !ok || f.num != 1 || f.wire != wireBytes {
		return false
	}
	named, known, cut := false, 0, f.cut
	for b := f.body; len(b) > 0; {
		f, rest, ok := cutField(b, cut)
		if !ok {
			return false
		}
		switch f.num {
		case 0:
			return named && known > 0
		case 1, 2: // name, entry_computation_name
			if f.wire != wireBytes || !isName(f.body) || len(f.body) == 0 {
				return false
			}
			named = named || f.num == 1
			if f.num == 2 {
				known++
			}
		case 3, 4: // computations, host_program_shape
			if f.wire != wireBytes {
				return false
			}
			known++
		case 5, 6: // id, entry_computation_id
			if f.wire != wireVarint {
				return false
			}
			known++
		default:
			if f.num > 63 {
				return false
			}
		}
		b = rest
	}
	return named && known > 0
}

// isName reports whether b could be a name: valid text of sensible length.
func isName(b []byte) bool {
	if len(b) > 4096 || !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// replacement is what a copy through text writes for each byte that is no valid UTF-8.
const replacement = "\xef\xbf\xbd"

// textCopy reports whether b, the beginning of a file, went through a copy that
// took it for text. Protocol buffers of any length hold bytes of 0x80 and above
// (lengths from 128 on) that are no valid UTF-8; the copy turned them into EF BF BD.
func textCopy(b []byte) bool {
	for cut := 0; cut < utf8.UTFMax && len(b) > 0; cut++ {
		if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n > 1 {
			break
		}
		b = b[:len(b)-1] // the head may end within a character
	}
	return bytes.Contains(b, []byte(replacement)) && utf8.Valid(b)
}

// namesPlane reports whether b holds the name field of a plane that every
// profile has.
func namesPlane(b []byte) bool {
	return b[0] == 0x0a && (bytes.Contains(b, []byte("\x12\x0e/host:metadata")) ||
		bytes.Contains(b, []byte("\x12\x09/host:CPU")) || bytes.Contains(b, []byte("\x12\x10Task Environment")))
}

// namesModule reports whether b begins an HloProto whose lengths a text copy may have
// destroyed: within the first bytes, a module's name and that of its entry computation.
func namesModule(b []byte) bool {
	const length = 5 * len(replacement) // of the module, as the copy writes it
	if b[0] != 1<<3|wireBytes {
		return false
	}
	for i := 1; i < len(b) && i <= 1+length; i++ {
		f, rest, ok := cutField(b[i:], false)
		if !ok || f.num != 1 || f.wire != wireBytes || len(f.body) == 0 || !isName(f.body) {
			continue
		}
		if f, _, ok := cutField(rest, false); ok && f.num == 2 && f.wire == wireBytes && len(f.body) > 0 && isName(f.body) {
			return true
		}
	}
	return false
}

// assignmentHead reports whether b begins a bare BufferAssignmentProto: a logical
// buffer, whose definition holds the id of an instruction.
func assignmentHead(b []byte) bool {
	defined := false
	return firstMessage(b, func(f field) bool {
		switch f.num {
		case 1, 2, 4:
			return f.wire == wireVarint
		case 3:
			return f.wire == wireBytes && eachField(f.body, f.cut, func(f field) bool {
				switch f.num {
				case 2, 3: // instruction_name, no longer written; shape_index
					return f.wire == wireBytes || f.num == 3 && f.wire == wireVarint
				case 4:
					defined = f.wire == wireVarint
					return defined
				}
				return false
			})
		}
		return false
	}) && defined
}

// reportHead reports whether b begins a memory usage report: a memory space's
// total and its allocations, each with its share of the total and names.
func reportHead(b []byte) bool {
	listed := false
	return firstMessage(b, func(f field) bool {
		switch f.num {
		case 1, 2:
			return f.wire == wireVarint
		case 3:
			return f.wire == wireBytes && eachField(f.body, f.cut, func(f field) bool {
				switch f.num {
				case 1, 2, 3:
					return f.wire == wireVarint
				case 4:
					listed = f.wire == wireFixed64
					return listed
				case 5, 6:
					return f.wire == wireBytes
				}
				return false
			})
		}
		return false
	}) && listed
}

// firstMessage walks the first field of b, which must be field 1, a message.
func firstMessage(b []byte, each func(field) bool) bool {
	f, _, ok := cutField(b, true)
	return ok && f.num == 1 && f.wire == wireBytes && eachField(f.body, f.cut, each)
}

// eachField walks a message that may be cut off, until each is false.
func eachField(b []byte, cut bool, each func(field) bool) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b, cut)
		switch {
		case !ok:
			return false
		case f.num == 0: // cut off within the field's head
			return true
		case !each(f):
			return false
		}
		b = rest
	}
	return true
}

// textHead reports whether b begins one of XLA's texts about a module's memory.
func textHead(b []byte) bool {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if bytes.HasPrefix(first, []byte(oldReportTitle)) {
		// The file of all values begins so too, since jaxlib 0.10.
		return bytes.HasPrefix(bytes.TrimLeft(rest, "\r\n"), []byte(oldReportList))
	}
	return string(bytes.TrimSuffix(first, []byte("\r"))) == assignmentTitle ||
		bytes.HasPrefix(first, []byte(reportTitle)) && bytes.Contains(first, []byte(" (color=")) && bytes.HasPrefix(rest, []byte(reportTotal))
}
