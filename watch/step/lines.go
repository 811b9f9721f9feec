package step

// maxLine bounds a line that is looked at; what is longer is cut.
const maxLine = 1 << 14

// Lines cuts a stream into lines at \n and \r: a progress bar draws itself anew
// after \r and never ends its line.
type Lines struct {
	part []byte
}

// Feed takes the next bytes and calls fn for each line that they end; fn must not
// keep it.
func (l *Lines) Feed(b []byte, fn func(line []byte)) {
	for _, c := range b {
		switch {
		case c == '\n' || c == '\r':
			if len(l.part) > 0 {
				fn(l.part)
			}
			l.part = l.part[:0]
		case len(l.part) < maxLine:
			l.part = append(l.part, c)
		}
	}
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
