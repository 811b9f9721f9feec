package xla

import (
	"math"
	"strconv"
	"strings"
)

// Shape is the type of a value: an array, or a tuple of shapes.
type Shape struct {
	Type       ElementType
	Dimensions []int64
	// Tuple holds the elements where Type is Tuple.
	Tuple []*Shape
	// ElementBits is the width of an element in its layout, 0 where it is the
	// usual one of the type. Types under one byte take a whole byte unless it says less.
	ElementBits int64

	mark [16]byte // hash of type, dimensions and elements, for the fingerprint
}

// ElementType is xla.PrimitiveType.
type ElementType int64

// The element types that matter here.
const (
	s8      ElementType = 2
	u8      ElementType = 6
	tuple   ElementType = 13
	pointer             = 8 // bytes of an element in a tuple's table
)

// elementTypes gives the name of each xla.PrimitiveType and the bytes of an
// element in the default layout. https://github.com/openxla/xla/blob/main/xla/xla_data.proto
var elementTypes = [...]struct {
	name  string
	bytes int64
}{
	1: {"pred", 1}, 2: {"s8", 1}, 3: {"s16", 2}, 4: {"s32", 4}, 5: {"s64", 8},
	6: {"u8", 1}, 7: {"u16", 2}, 8: {"u32", 4}, 9: {"u64", 8},
	10: {"f16", 2}, 11: {"f32", 4}, 12: {"f64", 8}, 13: {"tuple", pointer}, 14: {"opaque", 0},
	15: {"c64", 8}, 16: {"bf16", 2}, 17: {"token", 0}, 18: {"c128", 16},
	19: {"f8e5m2", 1}, 20: {"f8e4m3fn", 1}, 21: {"s4", 1}, 22: {"u4", 1},
	23: {"f8e4m3b11fnuz", 1}, 24: {"f8e5m2fnuz", 1}, 25: {"f8e4m3fnuz", 1},
	26: {"s2", 1}, 27: {"u2", 1}, 28: {"f8e4m3", 1}, 29: {"f8e3m4", 1},
	30: {"s1", 1}, 31: {"u1", 1}, 32: {"f4e2m1fn", 1}, 33: {"f8e8m0fnu", 1}, 34: {"buffer", 0},
}

// String is XLA's name of the type: "bf16".
func (t ElementType) String() string {
	if t > 0 && int(t) < len(elementTypes) {
		return elementTypes[t].name
	}
	return "type" + strconv.FormatInt(int64(t), 10)
}

func (t ElementType) bytes() int64 {
	if t > 0 && int(t) < len(elementTypes) {
		return elementTypes[t].bytes
	}
	return 0
}

// maxShapeText bounds the text of a shape: tuples of whole models have thousands of elements.
const maxShapeText = 200

// String writes the shape without its layout: "f32[8,1024]", "(s32[], f32[4])".
func (s *Shape) String() string {
	if s == nil {
		return "?"
	}
	var out strings.Builder
	s.write(&out)
	return out.String()
}

func (s *Shape) write(out *strings.Builder) {
	if s.Type == tuple {
		out.WriteByte('(')
		for i, e := range s.Tuple {
			if i > 0 {
				out.WriteString(", ")
			}
			if out.Len() > maxShapeText {
				out.WriteString("…")
				break
			}
			e.write(out)
		}
		out.WriteByte(')')
		return
	}
	out.WriteString(s.Type.String())
	out.WriteByte('[')
	for i, n := range s.Dimensions {
		if i > 0 {
			out.WriteByte(',')
		}
		if out.Len() > maxShapeText {
			out.WriteString("…")
			break
		}
		out.WriteString(strconv.FormatInt(n, 10))
	}
	out.WriteByte(']')
}

// At gives the part of a shape at an index, nil where there is none.
func (s *Shape) At(index []int64) *Shape {
	for _, i := range index {
		if s == nil || i < 0 || i >= int64(len(s.Tuple)) {
			return nil
		}
		s = s.Tuple[i]
	}
	return s
}

// UnpaddedBytes is what the values themselves take: no tiling, no alignment.
// A tuple takes its table of pointers. Nil and overflow give 0.
func (s *Shape) UnpaddedBytes() int64 {
	if s != nil && s.Type != tuple && s.ElementBits > 0 && s.ElementBits < 8 {
		return (s.elements()*s.ElementBits + 7) / 8
	}
	return s.viewerBytes()
}

// viewerBytes is UnpaddedBytes as XProf counts it: in the default layout, where
// each element takes at least one byte.
func (s *Shape) viewerBytes() int64 {
	if s == nil {
		return 0
	}
	if s.Type == tuple {
		return pointer * int64(len(s.Tuple))
	}
	return s.elements() * s.Type.bytes()
}

// maxElements keeps sizes of hostile shapes within an int64, for elements of up to 16 bytes.
const maxElements = math.MaxInt64 / 16

// elements is the number of elements of an array shape; 0 where it is absurd.
func (s *Shape) elements() int64 {
	n := int64(1)
	for _, d := range s.Dimensions {
		if d <= 0 || n > maxElements/d {
			return 0
		}
		n *= d
	}
	return n
}
