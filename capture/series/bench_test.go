package series

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkRead reads 100,000 rows of four columns, as a table and as JSON lines.
func BenchmarkRead(b *testing.B) {
	const rows = 100_000
	var table, lines bytes.Buffer
	table.WriteString("step,loss,rss_mib,gpu_bytes\n")
	for i := range rows {
		fmt.Fprintf(&table, "%d,%.6f,%.4f,%d\n", i, 1/float64(i+1), 800+float64(i)/1000, 1<<30+i)
		fmt.Fprintf(&lines, "{\"step\": %d, \"loss\": %.6f, \"rss_mib\": %.4f, \"gpu_bytes\": %d}\n", i, 1/float64(i+1), 800+float64(i)/1000, 1<<30+i)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{{"table", table.Bytes()}, {"lines", lines.Bytes()}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(c.data), "x"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
