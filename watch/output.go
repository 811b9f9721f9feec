package watch

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// output writes lines to a place that may be full for a while. Nothing that goes
// wrong there ends the run: it is told once, the lines are counted, and the next
// line is tried. The first line, without which no reader knows the rest, is tried
// again with each one until it is written.
type output struct {
	w     io.Writer
	first []byte // while it is not written
	begun bool
	torn  bool // the last write left a part of a line
	lost  int64
	err   error // the first
	tell  func(string)
}

// Write takes one line and never fails.
func (o *output) Write(line []byte) (int, error) {
	b := line
	if o.first != nil {
		b = append(bytes.Clone(o.first), line...)
	} else if !o.begun {
		o.begun, o.first = true, bytes.Clone(line)
	}
	if o.torn {
		b = append([]byte{'\n'}, b...) // what was torn is a line of its own, which readers name
	}
	n, err := o.w.Write(b)
	if err == nil {
		o.torn, o.first = false, nil
		return len(line), nil
	}
	o.torn = (o.torn || n > 0) && !o.takeBack(n)
	o.lost++
	if o.err == nil {
		o.err = err
		o.tell(fmt.Sprintf("the output cannot be written: %v; the workload goes on, and the exit code will say so", err))
	}
	return len(line), nil
}

// takeBack cuts the torn part off a file; a pipe keeps it.
func (o *output) takeBack(n int) bool {
	f, ok := o.w.(*os.File)
	if !ok || o.torn {
		return false
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil || f.Truncate(end-int64(n)) != nil {
		return false
	}
	_, err = f.Seek(end-int64(n), io.SeekStart)
	return err == nil
}
