package watch

import (
	"fmt"
	"io"
)

// output writes lines to a place that may be full for a while. Nothing that goes
// wrong there ends the run: it is told once, the lines are counted, and the next
// line is tried.
type output struct {
	w    io.Writer
	torn bool // the last write left a part of a line
	lost int64
	err  error // the first
	tell func(string)
}

// Write takes one line and never fails.
func (o *output) Write(line []byte) (int, error) {
	b := line
	if o.torn {
		b = append([]byte{'\n'}, line...) // what was torn is a line of its own, which readers name
	}
	n, err := o.w.Write(b)
	if err == nil {
		o.torn = false
		return len(line), nil
	}
	o.torn = o.torn || n > 0
	o.lost++
	if o.err == nil {
		o.err = err
		o.tell(fmt.Sprintf("the output cannot be written: %v; the workload goes on, and the exit code will say so", err))
	}
	return len(line), nil
}
