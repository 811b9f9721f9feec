package post

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Run names a run of a workflow. A re-run has the same ID and a higher Attempt.
type Run struct {
	ID      int64
	Attempt int64
}

func (r Run) compare(o Run) int {
	return cmp.Or(cmp.Compare(r.ID, o.ID), cmp.Compare(r.Attempt, o.Attempt))
}

// markerStart begins the first line of each comment of ours. The line is an HTML
// comment: nobody sees it, and nothing else tells whose a comment is and of which
// run. The number is the marker's own version.
const markerStart = "<!-- peakgate:v1 "

// marker is what a comment's first line says.
type marker struct {
	run Run
	sum string // of the text after it
}

// seal puts the marker before a text.
func seal(key string, run Run, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%skey=%s run=%d.%d sum=%s -->\n%s", markerStart, escapeKey(key), run.ID, run.Attempt, hex.EncodeToString(sum[:8]), text)
}

// unseal reads the marker of a comment of this key. What only quotes a marker,
// further down, is none.
func unseal(key, body string) (m marker, ok bool) {
	line, _, _ := strings.Cut(body, "\n")
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r "), markerStart+"key="+escapeKey(key)+" run=")
	if !ok {
		return marker{}, false
	}
	rest, ok = strings.CutSuffix(rest, " -->")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return marker{}, false
	}
	id, attempt, _ := strings.Cut(fields[0], ".")
	var err, err2 error
	m.run.ID, err = strconv.ParseInt(id, 10, 64)
	m.run.Attempt, err2 = strconv.ParseInt(attempt, 10, 64)
	if err != nil || err2 != nil {
		m.run = Run{} // somebody's hand: older than any run
	}
	for _, f := range fields[1:] {
		if sum, ok := strings.CutPrefix(f, "sum="); ok {
			m.sum = sum
		}
	}
	return m, true
}

// escapeKey keeps a key from ending the marker, or its own word of it.
func escapeKey(key string) string {
	var out strings.Builder
	last := byte(0)
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-' && last != '-':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
		last = c
	}
	return out.String()
}
