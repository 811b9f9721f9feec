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
	i := s.memo - 1
	if i < int64(len(m.memo)) {
		m.memo[i] = v
	} else {
		m.sparse[uint32(i)] = v
	}
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
	switch n := uint32(len(m.memo)); {
	case i == n:
		m.memo = append(m.memo, v)
	case i < n:
		m.memo[i] = v
	case i < n+4096:
		for uint32(len(m.memo)) < i {
			m.memo = append(m.memo, m.sparse[uint32(len(m.memo))])
		}
		m.memo = append(m.memo, v)
	default:
		if m.sparse == nil {
			m.sparse = map[uint32]ref{}
		}
		m.sparse[i] = v
	}
	return nil
}

// recall pushes a value of the memo.
func (m *machine) recall(i uint32) error {
	var v ref
	if i < uint32(len(m.memo)) {
		v = m.memo[i]
	} else {
		v = m.sparse[i]
	}
	switch v.tag() {
	case tagNone:
		return fmt.Errorf("memo entry %d does not exist; there are %d", i, len(m.memo)+len(m.sparse))
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
