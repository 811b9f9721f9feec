package torch

import (
	"errors"
	"fmt"
)

// sizeLimit bounds one size: 256 TiB, far above any device, so that a sum of
// many sizes cannot overflow before it is looked at.
const sizeLimit = 1 << 48

// sumLimit bounds every running total.
const sumLimit = 1 << 61

var errSum = fmt.Errorf("sizes add up to more than %d bytes", int64(sumLimit))

// integer reads a field that is any integer of 64 bits.
func (m *machine) integer(key int) (int64, error) {
	switch v := m.field[key]; v.tag() {
	case tagInt:
		return v.signed(), nil
	case tagWide:
		return int64(m.wide[v.low()]), nil
	case tagHigh, tagBeyond:
		return 0, fmt.Errorf("%s: integer beyond 64 bits", words[key])
	case tagFloat:
		return 0, fmt.Errorf("%s: want an integer, got %v", words[key], m.floats[v.low()])
	default:
		return 0, fmt.Errorf("%s: want an integer, got %s", words[key], v.noun())
	}
}

// size reads a field that counts bytes.
func (m *machine) size(key int) (int64, error) {
	v := m.field[key]
	if v.tag() == tagInt && v.signed() >= 0 && v.signed() <= sizeLimit {
		return v.signed(), nil
	}
	n, err := m.integer(key)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, fmt.Errorf("%s: negative size %d", words[key], n)
	}
	return 0, fmt.Errorf("%s: %d bytes is more than any device has (256 TiB)", words[key], n)
}

// address reads a field that is an address: 64 bits, written as a signed
// integer by the C++ writer and as an unsigned one by Python's.
func (m *machine) address(key int) (uint64, error) {
	switch v := m.field[key]; v.tag() {
	case tagInt, tagHigh:
		return uint64(v.signed()), nil
	case tagWide:
		return m.wide[v.low()], nil
	default:
		return 0, fmt.Errorf("%s: want an address, got %s", words[key], v.noun())
	}
}

// text reads a field that is a string.
func (m *machine) textField(key int) (uint32, error) {
	v := m.field[key]
	if v.tag() != tagText {
		return 0, fmt.Errorf("%s: want a string, got %s", words[key], v.noun())
	}
	return v.low(), nil
}

// stackField reads a list of frames.
func (m *machine) stackField(keys keySet) (StackID, error) {
	if !keys.has(keyFrames) {
		return NoStack, nil
	}
	switch v := m.field[keyFrames]; {
	case v.tag() == tagStack:
		return firstStack + StackID(v.low()), nil
	case v.tag() == tagEmpty:
		return EmptyStack, nil
	case v == constNone:
		return NoStack, nil
	default:
		return 0, fmt.Errorf("frames: want a list of frames, got %s", m.describe(v))
	}
}

// describe is noun with what a list holds.
func (m *machine) describe(v ref) string {
	if v.tag() == tagHeld {
		s := &m.slots[v.low()]
		if s.isDict {
			return "dict"
		}
		return "list of " + contentNoun[s.holds]
	}
	return v.noun()
}

func missing(key int) error { return fmt.Errorf("%s is missing", words[key]) }

func (m *machine) frame(keys keySet) (ref, error) {
	var k frameKey
	var err error
	m.seen[shapeFrame] |= keys
	if k.file, err = m.textField(keyFilename); err != nil {
		return 0, err
	}
	k.name = wordEmpty
	if keys.has(keyName) {
		if k.name, err = m.textField(keyName); err != nil {
			return 0, err
		}
	}
	// torch writes -1, which is no line (code that the compiler made), as 2^64-1.
	if v := m.field[keyLine]; keys.has(keyLine) && v != constNone && v.tag() != tagHigh {
		if k.line, err = m.integer(keyLine); err != nil {
			return 0, err
		}
	}
	return tagFrame<<tagShift | ref(m.frames.id(k)), nil
}

// history reads an entry of a block's history (torch 2.0): entry 0 is the newest.
func (m *machine) history(keys keySet) (size int64, stack StackID, err error) {
	if size, err = m.size(keyRealSize); err == nil {
		stack, err = m.stackField(keys)
	}
	return size, stack, err
}

func (m *machine) block(keys keySet) (b Block, err error) {
	if !keys.has(keySize) {
		return b, missing(keySize)
	}
	if b.Size, err = m.size(keySize); err != nil {
		return b, err
	}
	w, err := m.textField(keyState)
	if err != nil {
		return b, err
	}
	switch w {
	case wordAllocated:
		b.State = Allocated
	case wordPendingFree, wordAwaitingFree:
		b.State = PendingFree
	case wordInactive:
		b.State = Inactive
	default:
		b.State = UnknownState
		m.unknownStates[w]++
	}
	if b.Stack, err = m.stackField(keys); err != nil {
		return b, err
	}
	b.Requested = b.Size
	rounded := true
	if keys.has(keyHistory) {
		if v := m.field[keyHistory]; v.tag() == tagHeld && m.slots[v.low()].holds == holdsHistory {
			h := &m.slots[v.low()]
			b.Requested, b.Stack, rounded = h.real, h.stack, false
		} else if v.tag() != tagEmpty {
			return b, fmt.Errorf("history: want a list of history entries, got %s", m.describe(v))
		}
	}
	if keys.has(keyRequestedSize) {
		n, err := m.size(keyRequestedSize)
		if err != nil {
			return b, err
		}
		// Some early 2.1 builds write 0 for a live block.
		if n > 0 || b.State == Inactive {
			b.Requested, rounded = n, false
		}
	}
	if rounded && (b.State == Allocated || b.State == PendingFree) {
		m.roundedOnly++
	}
	b.Address = noAddress
	if keys.has(keyAddress) {
		b.Address, err = m.address(keyAddress)
	}
	return b, err
}

// noAddress marks a block whose address follows from its segment (torch 2.0).
const noAddress = ^uint64(0)

func (m *machine) segment(keys keySet) (g Segment, err error) {
	for _, k := range [...]int{keyAddress, keyTotalSize, keyBlocks} {
		if !keys.has(k) {
			return g, missing(k)
		}
	}
	if g.Address, err = m.address(keyAddress); err != nil {
		return g, err
	}
	if g.TotalSize, err = m.size(keyTotalSize); err != nil {
		return g, err
	}
	for _, f := range [...]struct {
		key int
		to  *int64
	}{{keyAllocatedSize, &g.AllocatedSize}, {keyActiveSize, &g.ActiveSize}, {keyRequestedSize, &g.RequestedSize}} {
		if keys.has(f.key) {
			if *f.to, err = m.size(f.key); err != nil {
				return g, err
			}
		}
	}
	if keys.has(keyDevice) {
		d, err := m.integer(keyDevice)
		if err != nil {
			return g, err
		}
		if d < -1 || d >= listLimit {
			return g, fmt.Errorf("device: want an ordinal from 0 to %d, got %d", listLimit-1, d)
		}
		g.Device = int(d)
	}
	if keys.has(keyStream) {
		if g.Stream, err = m.address(keyStream); err != nil {
			return g, err
		}
	}
	if keys.has(keySegmentType) {
		w, err := m.textField(keySegmentType)
		if err != nil {
			return g, err
		}
		g.Small = w == wordSmall
	}
	if keys.has(keySegmentPoolID) {
		v := m.field[keySegmentPoolID]
		if v.tag() != tagPair {
			return g, fmt.Errorf("segment_pool_id: want two integers, got %s", v.noun())
		}
		g.Pool = poolOf(v)
		g.PoolKnown = true
	}
	if keys.has(keyExpandable) {
		switch v := m.field[keyExpandable]; v {
		case constTrue:
			g.Expandable = true
		case constFalse:
		default:
			return g, fmt.Errorf("is_expandable: want True or False, got %s", v.noun())
		}
	}
	switch v := m.field[keyBlocks]; {
	case v.tag() == tagEmpty:
	case v.tag() == tagHeld && m.slots[v.low()].holds == holdsBlocks:
		g.Blocks = append(g.Blocks, m.slots[v.low()].blocks...)
	default:
		return g, fmt.Errorf("blocks: want a list of blocks, got %s", m.describe(v))
	}
	at, sum := g.Address, int64(0)
	for i := range g.Blocks {
		b := &g.Blocks[i]
		if b.Address == noAddress {
			b.Address = at
		}
		at += uint64(b.Size)
		if sum += b.Size; sum > sumLimit {
			return g, errSum
		}
	}
	if sum != g.TotalSize {
		m.misfits++
	}
	return g, nil
}

// event folds a trace entry into the history that it belongs to.
func (m *machine) event(t *trace, keys keySet) (err error) {
	w, err := m.textField(keyAction)
	if err != nil {
		return err
	}
	e := entry{action: Unknown, word: w, deviceFree: -1}
	if w >= wordAlloc && w <= wordAnnotate {
		e.action = Action(w - wordAlloc)
	}
	if keys.has(keySize) {
		if e.size, err = m.size(keySize); err != nil {
			return err
		}
	} else if e.action <= SegmentUnmap {
		return missing(keySize)
	}
	if e.action <= SegmentUnmap {
		if !keys.has(keyAddr) {
			return missing(keyAddr)
		}
		if e.addr, err = m.address(keyAddr); err != nil {
			return err
		}
	}
	if e.stack, err = m.stackField(keys); err != nil {
		return err
	}
	if keys.has(keyTime) {
		if v := m.field[keyTime]; v.tag() == tagInt {
			e.time = v.signed()
		}
	}
	if e.action >= SegmentAlloc {
		m.eventPlace(&e, keys)
	}
	if m.maxEvents > 0 {
		t.later(e, m.maxEvents)
		return nil
	}
	return t.fold(m, &e)
}

// eventPlace reads what only events of segments and failed allocations need:
// stream, pool and the memory that the device had left.
func (m *machine) eventPlace(e *entry, keys keySet) {
	if keys.has(keyStream) {
		e.stream, _ = m.address(keyStream) // absent or strange: the default stream
	}
	if v := m.field[keyPoolID]; keys.has(keyPoolID) && v.tag() == tagPair {
		e.pool = poolOf(v)
	}
	if e.action == OOM && keys.has(keyDeviceFree) {
		if n, err := m.size(keyDeviceFree); err == nil {
			e.deviceFree = n
		}
	}
}

// userDefined reads an annotation of torch 2.4, which is a trace entry: the
// first frame holds START or END as its name and the annotation as its file.
func (m *machine) userDefined(t *trace, stack StackID) {
	f := m.frames.list[m.stacks.frames(int(stack - firstStack))[0]]
	if f.name == wordStart {
		t.notes.start(m.texts.list[f.file], mark{event: t.events})
	}
}

// note folds an external annotation.
func (m *machine) note(n *notes, keys keySet) error {
	stage, err := m.textField(keyStage)
	if err != nil {
		return err
	}
	if !keys.has(keyName) {
		return missing(keyName)
	}
	name, err := m.textField(keyName)
	if err != nil {
		return err
	}
	device := int64(0)
	if keys.has(keyDevice) {
		if device, err = m.integer(keyDevice); err != nil {
			return err
		}
	}
	at := mark{}
	if keys.has(keyTime) {
		if v := m.field[keyTime]; v.tag() == tagInt {
			at.time = v.signed()
		}
	}
	if stage == wordStart && device >= 0 && device < listLimit {
		n.device(int(device)).start(m.texts.list[name], at)
	}
	return nil
}

// top turns what is left on the stack into the snapshot.
func (m *machine) top(s *Snapshot) error {
	if m.sp != 1 || len(m.marks) != 0 {
		return fmt.Errorf("the snapshot ends with %d values on the stack, want 1", m.sp)
	}
	v := m.stack[0]
	if v.tag() != tagOpen || m.slots[v.low()].state != slotOpen {
		return fmt.Errorf("want a snapshot, got %s: not written by torch.cuda.memory._dump_snapshot", v.noun())
	}
	d := &m.slots[v.low()]
	if !d.isDict {
		switch d.holds {
		case holdsNothing:
		case holdsSegments:
			s.segments = d.segments
		default:
			return fmt.Errorf("want a snapshot, got a list of %s: not written by torch.cuda.memory._dump_snapshot", contentNoun[d.holds])
		}
		s.hasSegments, s.SegmentsOnly = true, true
		return nil
	}
	keys, err := m.fields(d)
	if err != nil {
		return err
	}
	m.seen[shapeTop] = keys
	if keys.shape() != shapeTop {
		return errors.New("neither segments nor device_traces at the top: not written by torch.cuda.memory._dump_snapshot")
	}
	if keys.has(keySegments) {
		s.hasSegments = true
		if s.segments, err = m.segmentList(keySegments); err != nil {
			return err
		}
	}
	if keys.has(keyDeviceTraces) {
		s.hasTraces = true
		if err := m.traceLists(s); err != nil {
			return err
		}
	}
	if keys.has(keyHostSegments) {
		host, err := m.segmentList(keyHostSegments)
		if err != nil {
			return err
		}
		for _, g := range host {
			s.HostSegments++
			s.HostBytes += g.TotalSize
			for _, b := range g.Blocks {
				if b.State == Allocated || b.State == PendingFree {
					s.hostLive += b.Size
				}
			}
		}
	}
	if keys.has(keyHostTraces) {
		if v := m.field[keyHostTraces]; v.tag() == tagHeld && m.slots[v.low()].holds == holdsEvents {
			s.hostTrace = m.slots[v.low()].trace
		}
	}
	if keys.has(keyAnnotations) {
		switch v := m.field[keyAnnotations]; {
		case v.tag() == tagEmpty:
		case v.tag() == tagHeld && m.slots[v.low()].holds == holdsNotes:
			s.notes = m.slots[v.low()].notes
		default:
			return fmt.Errorf("external_annotations: want a list of annotations, got %s", m.describe(v))
		}
	}
	if keys.has(keySettings) {
		return m.settings(s, m.field[keySettings])
	}
	return nil
}

func (m *machine) segmentList(key int) ([]Segment, error) {
	switch v := m.field[key]; {
	case v.tag() == tagEmpty:
		return nil, nil
	case v.tag() == tagHeld && m.slots[v.low()].holds == holdsSegments:
		return m.slots[v.low()].segments, nil
	default:
		return nil, fmt.Errorf("%s: want a list of segments, got %s", words[key], m.describe(v))
	}
}

// traceLists takes the histories: one list a device, its index the ordinal.
func (m *machine) traceLists(s *Snapshot) error {
	v := m.field[keyDeviceTraces]
	if v.tag() == tagEmpty {
		return nil
	}
	if v.tag() != tagHeld || m.slots[v.low()].holds != holdsLists {
		return fmt.Errorf("device_traces: want a list of trace entries for each device, got %s", m.describe(v))
	}
	for i, l := range m.slots[v.low()].lists {
		switch {
		case l.tag() == tagEmpty:
			s.traces = append(s.traces, nil)
		case l.tag() == tagHeld && m.slots[l.low()].holds == holdsEvents:
			s.traces = append(s.traces, m.slots[l.low()].trace)
		default:
			return fmt.Errorf("device_traces[%d]: want a list of trace entries, got %s", i, m.describe(l))
		}
	}
	return nil
}
