package torch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// The pages of `python -m torch.cuda._memory_viz trace_plot` and segment_plot
// hold the pickle as text: add_local_files([{"name": …, "base64": "…"}], …)
// (_format_viz in torch/cuda/_memory_viz.py). All drawing is a script's; here
// the page is only searched for that text.

// isHTML tells such a page from its first bytes.
func isHTML(head []byte) bool {
	if text := trimJSON(head); len(text) == 0 || text[0] != '<' {
		return false
	}
	return bytes.Contains(head, []byte("add_local_files")) || bytes.Contains(head, []byte("MemoryViz")) || bytes.Contains(head, embeddedKey)
}

var embeddedKey = []byte(`"base64"`)

// embedded decodes the text of a page as it is read.
type embedded struct {
	in     *input
	out    []byte // decoded, not yet read
	buf    [bufferSize]byte
	padded bool // "=" ends the text
	done   bool
	err    error
}

// findEmbedded goes to the first byte of the text.
func findEmbedded(in *input) error {
	for {
		in.refill()
		text := in.buf[in.pos:in.end]
		i := bytes.Index(text, embeddedKey)
		if i < 0 {
			if in.eof {
				return errors.New(`an HTML page without a snapshot: want what python -m torch.cuda._memory_viz trace_plot wrote`)
			}
			in.pos += max(0, len(text)-len(embeddedKey)+1)
			continue
		}
		in.pos += i + len(embeddedKey)
		if in.skip(':') && in.skip('"') {
			return nil
		}
	}
}

// skip goes past white space and one wanted byte.
func (in *input) skip(want byte) bool {
	for {
		in.refill()
		if in.pos == in.end {
			return false
		}
		switch c := in.buf[in.pos]; c {
		case ' ', '\t', '\r', '\n':
			in.pos++
		default:
			if c == want {
				in.pos++
			}
			return c == want
		}
	}
}

func (e *embedded) Read(p []byte) (int, error) {
	for len(e.out) == 0 && !e.done && e.err == nil {
		e.err = e.decode()
	}
	if len(e.out) > 0 {
		n := copy(p, e.out)
		e.out = e.out[n:]
		return n, nil
	}
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}

// decode takes what is buffered of the page, in groups of four characters.
func (e *embedded) decode() error {
	in := e.in
	in.refill()
	text := in.buf[in.pos:in.end]
	end := bytes.IndexByte(text, '"')
	n := end
	if end < 0 {
		if n = len(text) / 4 * 4; n == 0 {
			if in.err != nil {
				return in.err
			}
			return errors.New("the page ends in the middle of the snapshot: truncated")
		}
	}
	text = text[:n]
	if e.padded && n > 0 {
		return fmt.Errorf("base64 of the page: offset %#x: text after the padding", in.offset())
	}
	k, err := base64.StdEncoding.Decode(e.buf[:], text)
	for _, c := range [...]byte{'\n', '\r'} { // which the decoder passes over
		if i := bytes.IndexByte(text, c); i >= 0 && err == nil {
			err = base64.CorruptInputError(i)
		}
	}
	if err != nil {
		var at base64.CorruptInputError
		if errors.As(err, &at) {
			return fmt.Errorf("base64 of the page: offset %#x: want a character of base64 or the closing quote", in.offset()+int64(at))
		}
		return err
	}
	e.padded = n > 0 && text[n-1] == '='
	e.out = e.buf[:k]
	in.pos += n
	if end >= 0 {
		in.pos++
		e.done = true
	}
	return nil
}

// another tells whether the rest of the page holds one more snapshot.
func (e *embedded) another() bool { return e.done && findEmbedded(e.in) == nil }
