package affon

import (
	"errors"
	"slices"
)

// Sniff tells from the first bytes of a file (64 KiB are enough) whether it is for
// this reader, and of which format.
func Sniff(head []byte) (format string, ok bool) {
	head = trimmed(head)
	if len(head) == 0 || head[0] != '[' && head[0] != '{' {
		return "", false
	}
	first := firstOf(head)
	switch {
	case first.has("peakResidentBytes") && first.has("status"),
		head[0] == '{' && first.has("current") && first.inner.has("peakResidentBytes"):
		return FormatReport, true
	case head[0] == '{' && (first.has("everyBatches") || first.has("maxSamples")) && first.has("snapshots"):
		return FormatMonitor, true
	case head[0] == '{' && (first.has("before") || first.has("after")) && first.inner.isMetric(),
		head[0] == '[' && first.isMetric():
		return FormatTelemetry, true
	}
	return "", false
}

func trimmed(head []byte) []byte {
	c := cursor{text: head}
	if len(head) > 3 && string(head[:3]) == "\xef\xbb\xbf" {
		c.at = 3
	}
	if _, err := c.peek(); err != nil {
		return nil
	}
	return head[c.at:]
}

// shape is what the first object in a text looks like.
type shape struct {
	// elements is the first byte of an array's first element, 0 in an object.
	elements byte
	keys     []string
	inner    *shape // of the first value that is a container
	torn     bool   // the text ends in it
}

func (s *shape) has(key string) bool { return s != nil && slices.Contains(s.keys, key) }

func (s *shape) isMetric() bool {
	return s.has("scope") && s.has("name") && (s.has("kind") || s.has("value"))
}

// mostKeys bounds how far a shape is looked at.
const mostKeys = 64

// firstOf gives the keys of the first object of a text: itself, or the first element
// of an array, or of an array of arrays. A text that is cut off gives those before.
func firstOf(text []byte) shape {
	var s shape
	c := &cursor{text: text}
	for depth := 0; depth < 2; depth++ {
		b, err := c.peek()
		if err != nil || b != '[' {
			break
		}
		c.at++
		if b, err = c.peek(); err == nil && depth == 0 {
			s.elements = b
		}
	}
	err := c.object(func(key []byte) error {
		s.keys = append(s.keys, string(key))
		b, err := c.peek()
		if err != nil {
			return err
		}
		if len(s.keys) >= mostKeys {
			return errEnough
		}
		if (b == '[' || b == '{') && s.inner == nil {
			in := keysOf(c.text[c.at:])
			s.inner = &in
		}
		return c.skip()
	})
	s.torn = errors.Is(err, errTorn)
	return s
}

var errEnough = errors.New("enough")

// keysOf is firstOf without its own inner shapes.
func keysOf(text []byte) shape {
	var s shape
	c := &cursor{text: text}
	for range 2 {
		if b, err := c.peek(); err == nil && b == '[' {
			c.at++
		}
	}
	_ = c.object(func(key []byte) error {
		if s.keys = append(s.keys, string(key)); len(s.keys) >= mostKeys {
			return errEnough
		}
		return c.skip()
	})
	return s
}
