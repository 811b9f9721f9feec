package viewer

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
)

// palette is the page's: the colours of Okabe and Ito
// (https://jfly.uni-koeln.de/color/), which people with any colour vision tell apart.
var palette = [...]string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8ad00", "#7a7a7a"}

// The size of the picture, in pixels.
const width, height = 1200.0, 800.0

// SVG writes the timeline of a view: a rectangle a buffer, whose height is its size
// and whose width is its live range, at its place in memory.
func SVG(w io.Writer, v *page.View) error {
	out := bufio.NewWriter(w)
	memory := memoryOf(v)
	rect := func(from, to int, y, size int64, look, title string) {
		steps := float64(v.Steps + 1)
		fmt.Fprintf(out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" %s><title>%s</title></rect>`+"\n",
			float64(from)/steps*width, (1-float64(y+size)/memory)*height, max(0.5, float64(to-from)/steps*width), max(0.1, float64(size)/memory*height), look, html.EscapeString(title))
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g"><title>%s</title>`+"\n",
		width, height, width, height, html.EscapeString(title(v)))
	for _, a := range v.Allocations {
		rect(0, v.Steps+1, a.Y, a.Bytes, `fill="#ffffff" stroke="#999999"`, fmt.Sprintf("allocation %d, %s, %s", a.Index, a.Kind, measure.Bytes(a.Bytes).Exact()))
	}
	for i, b := range v.Buffers {
		if b.Y != nil {
			rect(b.Start, b.End, *b.Y, b.Bytes, fmt.Sprintf(`fill="%s"`, palette[i%len(palette)]), describe(v, &b))
		}
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// DOT writes the same as a graph whose nodes have places: neato -n draws it.
func DOT(w io.Writer, v *page.View) error {
	const wide, high = 16.0, 10.0 // inches
	const points = 72             // an inch
	out := bufio.NewWriter(w)
	memory, steps := memoryOf(v), float64(v.Steps+1)
	fmt.Fprintf(out, "graph {\n  label=%s;\n  node [shape=box, style=filled, fixedsize=true];\n", quote(title(v)))
	for i, b := range v.Buffers {
		if b.Y == nil {
			continue
		}
		w, h := float64(b.End-b.Start)/steps*wide, float64(b.Bytes)/memory*high
		label := ""
		if w > 1 && h > 0.2 { // the name fits
			label = b.Name
		}
		fmt.Fprintf(out, "  %s [pos=\"%.2f,%.2f\", width=%.4f, height=%.4f, fillcolor=%s, label=%s, tooltip=%s];\n", quote(b.ID),
			(float64(b.Start)/steps*wide+w/2)*points, (float64(*b.Y)/memory*high+h/2)*points, max(w, 0.01), max(h, 0.01),
			quote(palette[i%len(palette)]), quote(label), quote(describe(v, &b)))
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// memoryOf is the height of a timeline in bytes.
func memoryOf(v *page.View) float64 {
	var sum int64
	for _, a := range v.Allocations {
		sum += a.Bytes
	}
	return max(1, float64(sum))
}

func title(v *page.View) string { return v.Module + ", " + v.Space + " memory" }

func describe(v *page.View, b *page.Buffer) string {
	text := b.Name + ", " + measure.Bytes(b.Bytes).String()
	if b.Shape != "" {
		text += ", " + b.Shape
	}
	if v.DumpBytes != nil {
		return text + ", at the dump"
	}
	return text + fmt.Sprintf(", positions %d to %d", b.Start, b.End)
}

// quote writes a string of the DOT language, where only quotes and backslashes mean
// something (https://graphviz.org/doc/info/lang.html).
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
