package torch

import "encoding/binary"

// eventLog keeps what a table of steps needs of each event, about 8 bytes an
// event: annotations, which divide the steps, come after the events in the
// file. It is bounded; of a longer history the newest events are kept.
type eventLog struct {
	chunks []logChunk
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
	chunkSize  = 64 << 10
	chunkLimit = 1024 // of one file: 64 MiB, some 8 million events
	// Each event begins with its action; these bits tell what follows.
	logTime = 1 << 4 // the time since the last event
	logMiss = 1 << 5 // an alloc right after a segment event
)

// add appends an event. stack is where the block was allocated.
func (l *eventLog) add(m *machine, t *trace, e *entry, stack StackID, miss bool) {
	n := len(l.chunks)
	if n == 0 || len(l.chunks[n-1].data) > chunkSize-32 {
		l.open(m, t, e)
		n = len(l.chunks)
	}
	c := &l.chunks[n-1]
	head := byte(e.action)
	if miss {
		head |= logMiss
	}
	d := e.time - l.time
	if e.time != 0 && d != 0 {
		head |= logTime
	}
	data := append(c.data, head)
	if head&logTime != 0 {
		data = binary.AppendVarint(data, d)
		l.time = e.time
	}
	if e.action == Alloc || e.action == FreeCompleted {
		data = binary.AppendUvarint(data, uint64(e.size))
		data = binary.AppendUvarint(data, uint64(stack-StackUnknown))
	}
	c.data = data
}

// open begins a chunk; the event was already counted in t.
func (l *eventLog) open(m *machine, t *trace, e *entry) {
	c := logChunk{event: t.events, time: l.time, requested: t.requested.now, allocs: t.counts[Alloc]}
	switch e.action {
	case Alloc:
		c.requested -= e.size
		c.allocs--
	case FreeCompleted:
		c.requested += e.size
	}
	if n := len(l.chunks); n > 1 && m.logChunks >= chunkLimit {
		c.data = l.chunks[0].data[:0]
		copy(l.chunks, l.chunks[1:])
		l.chunks[n-1] = c
		return
	}
	m.logChunks++
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
		for data := c.data; len(data) > 0; {
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
