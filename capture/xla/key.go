package xla

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// generalize replaces the numbers in a name that count things ("layer_3", ".12",
// "[0]") by "*", so that a name survives renumbering. Digits that follow a letter
// belong to the name and stay: conv2d, log1p, f32.
func generalize(name string) string {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	var out strings.Builder
	for i := 0; i < len(name); {
		j := i
		for j < len(name) && digit(name[j]) {
			j++
		}
		switch {
		case j == i:
			out.WriteByte(name[i])
			j++
		case i > 0 && isLetter(name[i-1]):
			out.WriteString(name[i:j])
		default:
			out.WriteByte('*')
		}
		i = j
	}
	return out.String()
}

// isLetter takes every byte of a character outside ASCII for a letter.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// withoutParameters cuts off the parameters that JAX before 0.5 added to the name of
// a primitive: "dot_general[dimension_numbers=…]".
func withoutParameters(op string) string {
	for i := range len(op) {
		if op[i] != '[' {
			continue
		}
		j := i + 1
		for j < len(op) && (isLetter(op[j]) || op[j] == '_') {
			j++
		}
		if j > i+1 && j < len(op) && op[j] == '=' {
			return op[:i]
		}
	}
	return op
}

// withoutJit cuts off the name of the jitted function with which every op_name of
// a module begins ("jit(step)/", in JAX before 0.5 "jit(step)/jit(main)/"):
// it is the module's name again.
func withoutJit(op string) string {
	for _, prefix := range []string{"jit(", "pjit("} {
		if rest, ok := strings.CutPrefix(op, prefix); ok {
			if end := strings.Index(rest, ")/"); end >= 0 && !strings.ContainsAny(rest[:end], "()/") {
				return strings.TrimPrefix(rest[end+2:], "jit(main)/")
			}
		}
	}
	return op
}

const (
	maxKey  = 300 // bytes of a key
	maxName = 64  // characters of an operation's name in a display
)

// clip cuts a text to n bytes at a character's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// shorten leaves out the middle of a long name stack: "transpose(jvp())/…/dot_general".
func shorten(op string) string {
	if utf8.RuneCountInString(op) <= maxName {
		return op
	}
	if parts := strings.Split(op, "/"); len(parts) > 2 {
		short := parts[0] + "/…/" + parts[len(parts)-1]
		if utf8.RuneCountInString(short) <= maxName {
			return short
		}
		op = short
	}
	return clip(op, maxName) + "…"
}

// holder is a buffer or an allocation that accounts for bytes.
type holder struct {
	class Class
	bytes int64
	name  string // op_name without the jitted function, or a stand-in
	exact bool   // the name's numbers do not count things
	shape *Shape
	frame Frame // without a file where the capture tells none

	unpadded int64 // bytes of the values alone
	opcode   string
	copy     bool // a copy of an argument
}

// key does not change when lines shift or ids are renumbered: class, operation,
// function. The shape is no part of it, so that a wider type shows as growth.
func (h *holder) key() string {
	key := h.operation()
	if h.frame.Function != "" {
		key += "/" + clip(h.frame.Function, maxKey)
	}
	return key
}

// operation is the key without the function.
func (h *holder) operation() string {
	name := h.name
	if !h.exact {
		name = generalize(name)
	}
	return string(h.class) + "/" + clip(name, maxKey)
}

// display is for people: "f32[8,1024] ×5 jvp(while)/body/softmax — train.py:22 block". The
// shape is that of all, or else mixed: "f32[8,1024] and 4 others …".
func (h *holder) display(count int64, mixed bool) string {
	var out strings.Builder
	if h.shape != nil {
		out.WriteString(h.shape.String())
		out.WriteByte(' ')
	}
	switch {
	case count == 2 && mixed && h.shape != nil:
		out.WriteString("and 1 other ")
	case count > 2 && mixed && h.shape != nil:
		out.WriteString("and " + strconv.FormatInt(count-1, 10) + " others ")
	case count > 1:
		out.WriteString("×" + strconv.FormatInt(count, 10) + " ")
	}
	switch h.class {
	case ClassArgument, ClassOutput, ClassConstant:
		if !strings.HasPrefix(h.name, string(h.class)) {
			out.WriteString(string(h.class) + " ")
		}
	}
	name := h.name
	if count > 1 && !h.exact {
		name = generalize(name)
	}
	out.WriteString(shorten(name))
	if f := h.frame; f.File != "" {
		out.WriteString(" — " + path.Base(f.File))
		if f.Line > 0 {
			out.WriteString(":" + strconv.Itoa(f.Line))
		}
		if f.Function != "" {
			out.WriteString(" " + f.Function)
		}
	}
	return out.String()
}
