package series_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/peakgate/peakgate/capture/series"
)

func Example() {
	const table = `# what any tool can write
step,loss,rss_mib
1,2.31,100.5
2,2.25,104.5
3,2.22,108.5
`
	t, err := series.Read(strings.NewReader(table), "log.csv")
	if err != nil {
		log.Fatal(err)
	}
	m := t.Measurement()
	for _, r := range m.Rows {
		fmt.Println(r.Name, r.Labels.Key(), r.Value.Exact(r.Unit))
	}
	fmt.Println(m.Warnings)
	// Output:
	// growth.bytes_per_step series=rss 4,194,304 B/step
	// series.peak_bytes series=rss 113,770,496 B
	// [columns without a unit are not read: "loss"]
}
