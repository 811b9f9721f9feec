package xla

import (
	"bytes"
	"encoding/binary"
)

// message is a protocol buffer message under construction.
type message []byte

func (m message) int(field int, values ...int64) message {
	for _, v := range values {
		m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|wireVarint), uint64(v))
	}
	return m
}

func (m message) bytes(field int, parts ...[]byte) message {
	body := bytes.Join(parts, nil)
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|wireBytes), uint64(len(body)))
	return append(m, body...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

func packed(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

// u64Tuple is the shape (u64[]).
func u64Tuple() message {
	return message{}.int(2, 13).bytes(4, message{}.int(2, 9))
}

// instruction is an instruction of shape (u64[]).
func instruction(id int64, name, opcode string) message {
	return message{}.text(1, name).text(2, opcode).bytes(3, u64Tuple()).int(35, id)
}

// buffer is a logical buffer at index {0} of an instruction.
func buffer(id, size, instruction int64, space MemorySpace) message {
	return message{}.int(1, id).int(2, size).bytes(3, message{}.bytes(3, packed(0)).int(4, instruction)).int(4, int64(space))
}

// assigned places buffers at offset 0.
func assigned(size int64, ids ...int64) message {
	var m message
	for _, id := range ids {
		m = m.bytes(9, message{}.int(1, id).int(3, size))
	}
	return m
}

func allocation(index, size int64, space MemorySpace, more ...[]byte) message {
	return append(message{}.int(1, index).int(2, size).int(8, int64(space)), bytes.Join(more, nil)...)
}

type event struct {
	kind              EventKind
	buffer, canonical int64
}

func trace(events ...event) message {
	var m message
	for _, e := range events {
		m = m.bytes(1, message{}.int(1, int64(e.kind)).int(2, e.buffer).int(5, e.canonical))
	}
	return m
}

// hlo is an HloProto of a module with one computation.
func hlo(instructions []message, assignment ...[]byte) message {
	c := message{}.text(1, "main").int(5, 1).int(6, 1)
	for _, in := range instructions {
		c = c.bytes(2, in)
	}
	m := message{}.text(1, "test_module").text(2, "main").bytes(3, c).int(6, 1)
	out := message{}.bytes(1, m)
	if len(assignment) > 0 {
		out = out.bytes(3, assignment...)
	}
	return out
}

// space is an XSpace whose metadata plane holds the given modules under the given titles.
func space(titles []string, protos []message) message {
	plane := message{}.int(1, 3).text(2, metadataPlane)
	for i, title := range titles {
		stat := message{}.int(1, 7).bytes(6, protos[i])
		value := message{}.int(1, int64(i+1)).text(2, title).bytes(5, stat)
		plane = plane.bytes(4, message{}.int(1, int64(i+1)).bytes(2, value))
	}
	plane = plane.bytes(5, message{}.int(1, 7).bytes(2, message{}.int(1, 7).text(2, "Hlo Proto")))
	return message{}.bytes(1, plane).text(4, "host")
}
