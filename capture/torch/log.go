package torch

import "encoding/binary"

// eventLog keeps what a table of steps needs of each event, about 8 bytes an
// event: annotations, which divide the steps, come after the events in the
// file. It is bounded; of a longer history the newest events are kept.
type eventLog struct {
	chunks []logChunk
	buf    []byte // data of the last chunk, n bytes of it in use
	n      int
	time   int64
}

// logChunk holds some events and where they begin.
type logChunk struct {
	event, time int64 // number of the first event, time before it
	requested   int64 // running total before it
	allocs      int64 // allocations before it
	data        []byte
}

const (
	chunkSize  = 16 << 10
	chunkLimit = 4096 // of one file: 64 MiB, some 8 million events
	eventSize  = 32   // more than an event takes
	// Each event begins with its action; these bits tell what follows.
	logTime = 1 << 4 // the time since the last event
	logMiss = 1 << 5 // an alloc right after a segment event
)

// add appends an event. stack is where the block was allocated.
func (l *eventLog) add(m *machine, t *trace, e *entry, stack StackID, miss bool) {
	if l.n+eventSize > len(l.buf) {
		l.open(m, t, e)
	}
	head := byte(e.action)
	if miss {
		head |= logMiss
	}
	buf, n := l.buf, l.n+1
	if d := e.time - l.time; d != 0 && e.time != 0 {
		head |= logTime
		n += binary.PutVarint(buf[n:], d)
		l.time = e.time
	}
	buf[l.n] = head
	if e.action == Alloc || e.action == FreeCompleted {
		n += binary.PutUvarint(buf[n:], uint64(e.size))
		n += binary.PutUvarint(buf[n:], uint64(stack-StackUnknown))
	}
	l.n = n
}

// open begins a chunk; the event was already counted in t.
func (l *eventLog) open(m *machine, t *trace, e *entry) {
	n := len(l.chunks)
	if n > 0 {
		l.chunks[n-1].data = l.buf[:l.n]
	}
	c := logChunk{event: t.events, time: l.time, requested: t.requested.now, allocs: t.counts[Alloc]}
	switch e.action {
	case Alloc:
		c.requested -= e.size
		c.allocs--
	case FreeCompleted:
		c.requested += e.size
	}
	l.n = 0
	if n > 1 && m.logChunks >= chunkLimit {
		// The oldest chunk makes room.
		l.buf = l.chunks[0].data[:cap(l.chunks[0].data)]
		copy(l.chunks, l.chunks[1:])
		l.chunks[n-1] = c
		return
	}
	m.logChunks++
	size := chunkSize
	if n == 0 {
		size = 1 << 10 // a file may name thousands of devices
	}
	l.buf = make([]byte, size)
	l.chunks = append(l.chunks, c)
}

// logged is one event of the log.
type logged struct {
	number, time int64
	action       Action
	miss         bool
	size         int64
	stack        StackID
}

// replay gives the events of the log, oldest first.
func (l *eventLog) replay(f func(*logged)) {
	for i := range l.chunks {
		c := &l.chunks[i]
		e := logged{number: c.event - 1, time: c.time}
		data := c.data
		if i == len(l.chunks)-1 {
			data = l.buf[:l.n]
		}
		for len(data) > 0 {
			head := data[0]
			data = data[1:]
			e.number++
			e.action, e.miss, e.size, e.stack = Action(head&0xf), head&logMiss != 0, 0, NoStack
			if head&logTime != 0 {
				d, n := binary.Varint(data)
				data = data[n:]
				e.time += d
			}
			if e.action == Alloc || e.action == FreeCompleted {
				size, n := binary.Uvarint(data)
				stack, k := binary.Uvarint(data[n:])
				data = data[n+k:]
				e.size, e.stack = int64(size), StackID(stack)+StackUnknown
			}
			f(&e)
		}
	}
}
