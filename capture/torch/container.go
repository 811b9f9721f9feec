package torch

import (
	"errors"
	"fmt"
	"slices"
)

// open gives the slot of a container that may still change.
func (m *machine) open(v ref, dict bool) (*slot, error) {
	if v.tag() != tagOpen {
		if v.tag() >= tagFrame {
			return nil, errChanged
		}
		return nil, fmt.Errorf("want a %s to put values into, got %s", containerNoun(dict), v.noun())
	}
	s := &m.slots[v.low()]
	if s.state != slotOpen {
		return nil, errChanged
	}
	if s.isDict != dict {
		return nil, fmt.Errorf("want a %s to put values into, got a %s", containerNoun(dict), containerNoun(s.isDict))
	}
	return s, nil
}

func containerNoun(dict bool) string {
	if dict {
		return "dict"
	}
	return "list"
}

// setAll puts keys and values into a dict.
func (m *machine) setAll(d ref, items []ref) error {
	s, err := m.open(d, true)
	if err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return errors.New("a dict gets a key without a value")
	}
	if len(s.pairs)+len(items) > 2*pairLimit {
		return fmt.Errorf("more than %d entries in one dict", pairLimit)
	}
	n := len(s.pairs)
	s.pairs = append(s.pairs, items...)
	pairs := s.pairs[n:]
	for i := 0; i+1 < len(pairs); i += 2 {
		if k := pairs[i]; k.tag() != tagText {
			return fmt.Errorf("want a string as the key of a dict, got %s", k.noun())
		}
		if v := pairs[i+1]; v.tag() >= tagOpen {
			if v, err = m.take(v); err != nil {
				return err
			}
			if v.tag() == tagHeld {
				s.nested = true
			}
			pairs[i+1] = v
		}
	}
	return nil
}

// fields spreads the known keys of a dict over m.field.
func (m *machine) fields(s *slot) (keys keySet, err error) {
	for i := 0; i < len(s.pairs); i += 2 {
		k := s.pairs[i].low()
		if k >= numKeys {
			continue
		}
		if keys.has(int(k)) {
			return 0, fmt.Errorf("key %q occurs twice in one dict", words[k])
		}
		keys |= 1 << k
		m.field[k] = s.pairs[i+1]
	}
	return keys, nil
}

// hold notes what a list holds; all its items are of one kind.
func (s *slot) hold(c content) error {
	if s.holds == c {
		return nil
	}
	switch {
	case s.holds == holdsNothing:
		s.holds = c
		if c >= holdsEvents && c <= holdsLists && c != holdsInts {
			s.contents = &contents{}
		}
	case (s.holds == holdsInts || s.holds == holdsOther) && (c == holdsInts || c == holdsOther):
		s.holds = holdsOther
	default:
		return fmt.Errorf("a list of %s also holds %s", contentNoun[s.holds], contentNoun[c])
	}
	return nil
}

// appendAll puts values at the end of a list.
func (m *machine) appendAll(l ref, items []ref) error {
	s, err := m.open(l, false)
	if err != nil {
		return err
	}
	if len(items) > 0 && items[0].tag() == tagFrame {
		if err := s.hold(holdsFrames); err != nil {
			return err
		}
		ids := slices.Grow(s.ids, len(items))
		n := len(ids)
		ids = ids[:n+len(items)]
		k := 0
		for ; k < len(items) && items[k].tag() == tagFrame; k++ {
			ids[n+k] = items[k].low()
		}
		s.ids, s.n, items = ids[:n+k], s.n+int64(k), items[k:]
	}
	for _, v := range items {
		switch v.tag() {
		case tagFrame:
			err = s.hold(holdsFrames)
			s.ids = append(s.ids, v.low())
		case tagInt:
			err = s.hold(holdsInts)
			if s.n < 2 {
				s.ints[s.n] = v.signed()
			}
		case tagUsed, tagHeld:
			err = errReused
		case tagStack, tagEmpty:
			err = s.addList(v)
		case tagOpen:
			err = m.appendContainer(s, v)
		default:
			err = s.hold(holdsOther)
		}
		if err != nil {
			return err
		}
		s.n++
	}
	return nil
}

func (s *slot) addList(v ref) error {
	if err := s.hold(holdsLists); err != nil {
		return err
	}
	if len(s.lists) == listLimit {
		return fmt.Errorf("more than %d lists in one list", listLimit)
	}
	s.lists = append(s.lists, v)
	return nil
}

func (m *machine) appendContainer(s *slot, v ref) error {
	i := v.low()
	d := &m.slots[i]
	if d == s {
		return errReused
	}
	if d.state == slotDone {
		v = d.final
		m.release(i)
		return m.appendValue(s, v)
	}
	if !d.isDict {
		v, err := m.take(v)
		if err != nil {
			return err
		}
		return m.appendValue(s, v)
	}
	keys, err := m.fields(d)
	if err != nil {
		return err
	}
	sh := keys.shape()
	m.seen[sh] |= keys
	memo := used
	switch sh {
	case shapeEvent:
		if err = s.hold(holdsEvents); err == nil {
			if s.trace == nil {
				s.trace = newTrace()
			}
			err = m.event(s.trace, keys)
		}
	case shapeFrame:
		if err = s.hold(holdsFrames); err == nil {
			if memo, err = m.frame(keys); err == nil {
				s.ids = append(s.ids, memo.low())
			}
		}
	case shapeBlock:
		if err = s.hold(holdsBlocks); err == nil {
			var b Block
			if b, err = m.block(keys); err == nil {
				s.blocks = append(s.blocks, b)
			}
		}
	case shapeSegment:
		if err = s.hold(holdsSegments); err == nil {
			var g Segment
			if g, err = m.segment(keys); err == nil {
				s.segments = append(s.segments, g)
			}
		}
	case shapeNote:
		if err = s.hold(holdsNotes); err == nil {
			if s.notes == nil {
				s.notes = newNotes()
			}
			err = m.note(s.notes, keys)
		}
	case shapeHistory:
		if err = s.hold(holdsHistory); err == nil && s.n == 0 {
			s.real, s.stack, err = m.history(keys)
		}
	default:
		err = s.hold(holdsOther)
	}
	if err != nil {
		if sh != shapeOther {
			return fmt.Errorf("%s %d: %w", noun[sh], s.n, err)
		}
		return err
	}
	m.settle(d, memo)
	m.release(i)
	return nil
}

// appendValue puts a finished value at the end of a list.
func (m *machine) appendValue(s *slot, v ref) error {
	switch v.tag() {
	case tagFrame:
		s.ids = append(s.ids, v.low())
		return s.hold(holdsFrames)
	case tagStack, tagEmpty, tagHeld:
		return s.addList(v)
	}
	return s.hold(holdsOther)
}
