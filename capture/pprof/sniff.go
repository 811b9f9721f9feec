package pprof

// Format is the name of this format in a measurement.
const Format = "pprof.device_memory"

// Sniff tells from the first bytes of a file (64 KiB are plenty) whether it is a
// pprof profile: it begins with the types of its samples, each two numbers, and
// goes on with a field of a profile. Every such profile is for this reader: one
// that JAX did not write gets its refusal, which says so.
func Sniff(head []byte) (format string, ok bool) {
	m := message{b: head}
	types := 0
	for m.next() {
		switch {
		case m.num == 1:
			if !valueType(m.body) {
				return "", false
			}
			types++
		case types == 0:
			return "", false
		case m.num >= 2 && m.num <= 6 || m.num == 11:
			return known(m.wire == delim)
		default:
			return known(m.num <= 15 && (m.wire == varint || m.wire == delim && m.num >= 13))
		}
	}
	// The first field behind the types may be cut off.
	return known(types > 0 && m.bad != "" && m.num > 1 && m.num <= 6 && m.wire == delim)
}

func known(ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	return Format, true
}

// valueType reports whether b is a ValueType: indexes of two strings.
func valueType(b []byte) bool {
	m, fields := message{b: b}, [3]int{}
	for m.next() {
		if m.num > 2 || m.wire != varint {
			return false
		}
		fields[m.num]++
	}
	return m.bad == "" && fields[1] == 1 && fields[2] == 1
}
