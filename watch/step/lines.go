package step

import "bytes"

// maxLine bounds a line that is looked at; what is longer is cut.
const maxLine = 1 << 14

// Lines cuts a stream into lines at \n and \r: a progress bar draws itself anew
// after \r and never ends its line.
type Lines struct {
	part []byte
	cut  bool // the line that goes on here was passed over
}

// Pass passes over bytes: the line that they break off is none.
func (l *Lines) Pass(b []byte) {
	if len(b) > 0 {
		last := b[len(b)-1]
		l.part, l.cut = l.part[:0], last != '\n' && last != '\r'
	}
}

// Feed takes the next bytes and calls fn for each line that they end; fn must not
// keep it.
func (l *Lines) Feed(b []byte, fn func(line []byte)) {
	for len(b) > 0 {
		end := bytes.IndexAny(b, "\n\r")
		if end < 0 {
			l.keep(b)
			return
		}
		line := b[:end]
		if b = b[end+1:]; len(l.part) > 0 || len(line) > maxLine {
			l.keep(line)
			line = l.part
		}
		if len(line) > 0 && !l.cut {
			fn(line)
		}
		l.part, l.cut = l.part[:0], false
	}
}

func (l *Lines) keep(b []byte) {
	if l.cut {
		return
	}
	l.part = append(l.part, b[:min(len(b), maxLine-len(l.part))]...)
}

// Rest is the line that has not ended yet.
func (l *Lines) Rest() []byte { return l.part }

// Mark is Feed for a channel, where an empty line counts too.
func (l *Lines) Mark(b []byte, fn func(line []byte)) {
	for _, c := range b {
		switch {
		case c == '\n':
			fn(l.part)
			l.part = l.part[:0]
		case len(l.part) < maxLine:
			l.part = append(l.part, c)
		}
	}
}
