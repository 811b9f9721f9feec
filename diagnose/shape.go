package diagnose

import (
	"strconv"
	"strings"
)

// parseShape takes a shape's text apart: "f32[8,1024]" gives "f32" and its
// dimensions. A tuple or a text that was cut gives none.
func parseShape(s string) (element string, dims []int64) {
	element, rest, ok := strings.Cut(s, "[")
	if !ok || strings.HasPrefix(s, "(") || !strings.HasSuffix(rest, "]") {
		return "", nil
	}
	dims = []int64{}
	if rest = strings.TrimSuffix(rest, "]"); rest == "" {
		return element, dims
	}
	for d := range strings.SplitSeq(rest, ",") {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil || n < 0 {
			return "", nil
		}
		dims = append(dims, n)
	}
	return element, dims
}

// bits is the width of an element type by its name: "bf16" 16, "f8e4m3fn" 8; 0
// where it is unknown.
func bits(element string) int64 {
	if element == "pred" {
		return 8
	}
	start := strings.IndexAny(element, "0123456789")
	if start < 0 {
		return 0
	}
	end := start
	for end < len(element) && element[end] >= '0' && element[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(element[start:end], 10, 64)
	if err != nil || n > 128 {
		return 0
	}
	return n
}

// elements multiplies dimensions; 0 where that is absurd.
func elements(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		if d <= 0 || n > 1<<56/d {
			return 0
		}
		n *= d
	}
	return n
}
