package torch_test

import (
	"fmt"
	"log"
	"os"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/measure"
)

func Example() {
	f, err := os.Open("../../fixtures/regression/torch/head.pickle")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	s, err := torch.Read(f, -1, "head.pickle", torch.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m := s.Measurement()
	for _, r := range m.Rows[:2] {
		fmt.Println(r.Name, r.Value.Exact(r.Unit))
	}
	for _, c := range m.ContributorsOf("live.peak_bytes", measure.Labels{"device": "0"})[:3] {
		fmt.Println(c.Bytes, c.Display)
	}
	// Output:
	// live.peak_bytes 174,349,108 B
	// live.end_bytes 44,463,856 B
	// 37.88 MiB autograd thread (no Python frames)
	// 32.00 MiB model.py:32 forward
	// 28.27 MiB train.py:29 train_step
}
