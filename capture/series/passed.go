package series

import "bytes"

// passed tells lines that say nothing: empty ones and comments.
func passed(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) == 0 || line[0] == '#'
}
