package torch

import "bytes"

// Format is the name of this format in a measurement.
const Format = "torch.snapshot"

// Sniff tells from the first bytes of a file (64 KiB are enough) whether it is
// for this reader. Every pickle is: one that holds something else gets this
// reader's refusal, which says why it is not a snapshot.
func Sniff(head []byte) (format string, ok bool) {
	if isPickle(head) || isJSON(trimJSON(head)) || isHTML(head) {
		return Format, true
	}
	return "", false
}

func isPickle(head []byte) bool {
	if len(head) < 2 {
		return false
	}
	switch {
	case head[0] == 0x80: // PROTO of protocols 2 to 5
		return head[1] >= 2 && head[1] <= 5
	case head[0] == '}' || head[0] == ']': // protocol 1: EMPTY_DICT or EMPTY_LIST, then BINPUT
		return head[1] == 'q'
	case len(head) > 3 && head[0] == '(' && (head[1] == 'd' || head[1] == 'l'): // protocol 0: MARK, DICT or LIST
		return head[2] == 'p' && isDigits(head[3:4]) || bytes.IndexByte([]byte("VS(."), head[2]) >= 0
	}
	return false
}

// trimJSON leaves out a byte order mark and white space.
func trimJSON(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
}

// isJSON tells whether JSON text is a snapshot: an object with one of the
// snapshot's keys, or a list whose first object has those of a segment.
func isJSON(head []byte) bool {
	depth, want := 0, 1
	switch {
	case len(head) == 0:
		return false
	case head[0] == '[':
		want = 2
	case head[0] != '{':
		return false
	}
	closedObject := false
	for i := 0; i < len(head); i++ {
		switch head[i] {
		case '{', '[':
			if depth++; depth > 1 && closedObject && want == 2 {
				return false // the second item of the list
			}
		case '}', ']':
			if depth--; depth == 1 {
				closedObject = true
			}
		case '"':
			end := i + 1
			for end < len(head) && head[end] != '"' {
				if head[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(head) {
				return false
			}
			rest := bytes.TrimLeft(head[end+1:], " \t\r\n")
			if depth == want && len(rest) > 0 && rest[0] == ':' {
				switch key := string(head[i+1 : end]); {
				case want == 1 && (key == "segments" || key == "device_traces" || key == "allocator_settings" || key == "external_annotations"):
					return true
				case want == 2 && (key == "blocks" || key == "total_size" || key == "segment_type"):
					return true
				case key == "schema":
					return false
				}
			}
			i = end
		}
	}
	return false
}
