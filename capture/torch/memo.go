package torch

import (
	"errors"
	"fmt"
)

// settle sets what the memo says about a container from now on.
func (m *machine) settle(s *slot, v ref) {
	if s.memo == 0 {
		return
	}
	m.putMemo(uint32(s.memo-1), v)
}

// memoNext is the number of the next entry of MEMOIZE.
func (m *machine) memoNext() uint32 { return uint32(len(m.memo)) + m.late.n }

// putMemo sets an entry that exists, or one far beyond the others.
func (m *machine) putMemo(i uint32, v ref) {
	switch n := uint32(len(m.memo)); {
	case i < n:
		m.memo[i] = v
	case i-n < m.late.n:
		m.late.set(i-n, v)
	default:
		if m.sparse == nil {
			m.sparse = map[uint32]ref{}
		}
		m.sparse[i] = v
	}
}

func (m *machine) addMemo(v ref) {
	if len(m.memo) < flatLimit {
		m.memo = append(m.memo, v)
	} else {
		m.late.append(v)
	}
}

// getMemo gives an entry; none where it is not set.
func (m *machine) getMemo(i uint32) ref {
	switch n := uint32(len(m.memo)); {
	case i < n:
		return m.memo[i]
	case i-n < m.late.n:
		return m.late.get(i - n)
	}
	return m.sparse[i]
}

// memoize stores the value on top of the stack.
func (m *machine) memoize(i uint32) error {
	if m.sp == 0 {
		return errStack
	}
	v := m.stack[m.sp-1]
	if v.tag() == tagOpen {
		s := &m.slots[v.low()]
		if s.memo != 0 && s.state == slotOpen {
			return errors.New("a container is put into the memo twice")
		}
		if s.state == slotDone {
			v = s.final
		} else {
			s.memo = int64(i) + 1
		}
	}
	switch n := m.memoNext(); {
	case i == n:
		m.addMemo(v)
	case i < n || i >= n+4096:
		m.putMemo(i, v)
	default:
		for k := n; k < i; k++ {
			m.addMemo(m.sparse[k])
		}
		m.addMemo(v)
	}
	return nil
}

// recall pushes a value of the memo.
func (m *machine) recall(i uint32) error {
	v := m.getMemo(i)
	switch v.tag() {
	case tagNone:
		return fmt.Errorf("memo entry %d does not exist; there are %d", i, int(m.memoNext())+len(m.sparse))
	case tagUsed:
		return errReused
	case tagOpen:
		var err error
		if v, err = m.freeze(v.low()); err != nil {
			return err
		}
	}
	return m.push(v)
}

// freeze finishes a container that is read from the memo while it is still on
// the stack: a frame that occurs twice in one stack, a list of frames, or an
// empty list. It may not change after that.
func (m *machine) freeze(i uint32) (ref, error) {
	s := &m.slots[i]
	var v ref
	switch {
	case s.isDict && len(s.pairs) > 0:
		keys, err := m.fields(s)
		if err != nil {
			return 0, err
		}
		if keys.shape() != shapeFrame {
			return 0, errReused
		}
		if v, err = m.frame(keys); err != nil {
			return 0, err
		}
	case s.isDict:
		v = other
	case s.holds == holdsNothing:
		v = empty
	case s.holds == holdsFrames:
		v = tagStack<<tagShift | ref(m.stacks.id(s.ids))
	default:
		return 0, errReused
	}
	m.settle(s, v)
	s.state, s.final = slotDone, v
	return v, nil
}
