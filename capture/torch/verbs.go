package torch

import "errors"

// The verbs of the opcodes: each takes its values from the stack.

func (m *machine) appendOne() error {
	if m.sp-m.base < 2 {
		return errStack
	}
	m.sp--
	return m.appendAll(m.stack[m.sp-1], m.stack[m.sp:m.sp+1])
}

func (m *machine) appendBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.at-m.base < 1 {
		return errStack
	}
	err = m.appendAll(m.stack[k.at-1], m.stack[k.at:m.sp])
	m.sp = k.at
	return err
}

func (m *machine) setOne() error {
	if m.sp-m.base < 3 {
		return errStack
	}
	m.sp -= 2
	return m.setAll(m.stack[m.sp-1], m.stack[m.sp:m.sp+2])
}

func (m *machine) setBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.at-m.base < 1 {
		return errStack
	}
	err = m.setAll(m.stack[k.at-1], m.stack[k.at:m.sp])
	m.sp = k.at
	return err
}

// collect makes a list or dict of all that is above the mark (protocol 0).
func (m *machine) collect(isDict bool) error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.flushed {
		return errStack
	}
	// The new container goes on top and then moves below its items.
	items := m.stack[k.at:m.sp]
	outer := m.base
	m.base = m.sp // nothing to flush
	if err := m.pushContainer(isDict); err != nil {
		return err
	}
	m.base = outer
	c := m.stack[m.sp-1]
	if isDict {
		err = m.setAll(c, items)
	} else {
		err = m.appendAll(c, items)
	}
	m.stack[k.at] = c
	m.sp = k.at + 1
	return err
}

// tuple makes a tuple of the top n values. Pool ids are the only tuples of a
// snapshot; others are kept as a value that nothing needs.
func (m *machine) tuple(n int) error {
	if m.sp-m.base < n {
		return errStack
	}
	items := m.stack[m.sp-n : m.sp]
	v := other
	if n == 2 && items[0].tag() == tagInt && items[1].tag() == tagInt {
		v = pair(items[0].signed(), items[1].signed())
	}
	for _, it := range items {
		if it.tag() >= tagOpen {
			return errors.New("a tuple holds a list or a dict: not written by torch.cuda.memory._dump_snapshot")
		}
	}
	m.sp -= n
	return m.push(v)
}

func (m *machine) tupleBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.flushed {
		return errStack
	}
	return m.tuple(m.sp - k.at)
}
