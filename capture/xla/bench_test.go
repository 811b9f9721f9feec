package xla

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

func benchmarkRead(b *testing.B, name string, after func(*Capture)) {
	data, err := os.ReadFile(fixture(b, name))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := Read(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			b.Fatal(err)
		}
		after(c)
	}
}

func nothing(*Capture) {}

// BenchmarkXSpace reads a small profile, most of which is skipped.
func BenchmarkXSpace(b *testing.B) { benchmarkRead(b, "xla/cpu_donate.xplane.pb", nothing) }

// BenchmarkHloProto decodes one module.
func BenchmarkHloProto(b *testing.B) { benchmarkRead(b, "regression/xla/head.hlo.pb", nothing) }

// BenchmarkMeasurement also checks the module and measures it.
func BenchmarkMeasurement(b *testing.B) {
	benchmarkRead(b, "regression/xla/head.hlo.pb", func(c *Capture) {
		if err := c.Validate(); err != nil {
			b.Fatal(err)
		}
		if m := c.Measurement(); len(m.Rows) == 0 {
			b.Fatal("no rows")
		}
	})
}

// BenchmarkXSpaceLarge reads a profile of 100 MB as real ones are: nearly all of it
// events, and the modules at the end; from a file that seeks, and from a stream.
func BenchmarkXSpaceLarge(b *testing.B) {
	small, err := os.ReadFile(fixture(b, "xla/cpu_donate.xplane.pb"))
	if err != nil {
		b.Fatal(err)
	}
	line := message{}.text(2, "python").bytes(4, bytes.Repeat([]byte{1, 2, 3, 4}, 5_000))
	plane := message{}.text(2, "/host:CPU")
	for len(plane) < 25<<20 {
		plane = plane.bytes(3, line)
	}
	var data message
	for range 4 {
		data = data.bytes(1, plane)
	}
	data = append(data, small...)
	for way, open := range readers(data) {
		if way == "byte by byte" {
			continue
		}
		b.Run(way, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, size := open()
				if _, err := Read(r, size, "large"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkText reads a *-buffer-assignment.txt of 4 MB.
func BenchmarkText(b *testing.B) {
	var out bytes.Buffer
	out.WriteString(assignmentTitle + "\n")
	for i := 0; out.Len() < 4<<20; i++ {
		fmt.Fprintf(&out, "allocation %d: size 4096, output shape is |f32[32,32]|, maybe-live-out:\n value: <%d loop_multiply_fusion.%d @0> (size=4096,offset=0): f32[32,32]{1,0}\n", i, i, i)
	}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len()), "text"); err != nil {
			b.Fatal(err)
		}
	}
}
