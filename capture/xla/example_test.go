package xla_test

import (
	"fmt"
	"log"
	"os"

	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

func ExampleRead() {
	f, err := os.Open("../../fixtures/regression/xla/head.hlo.pb")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	c, err := xla.Read(f, -1, "head.hlo.pb")
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		log.Fatal(err)
	}
	m := c.Measurement()
	labels := measure.Labels{"module": "jit_train_step", "memory_space": "device"}
	for _, holder := range m.ContributorsOf("plan.heap_peak_bytes", labels)[:3] {
		fmt.Println(holder.Bytes, holder.Display)
	}
	// Output:
	// 2.25 GiB f32[4,8,1024,4096] and 5 others jvp()/while/body/closed_call/mul — train.py:22 block
	// 1.25 GiB f32[4,8,8,1024,1024] and 1 other jvp()/while/body/closed_call/exp — train.py:19 block
	// 1.00 GiB f32[4,8,8,1024,1024] and 1 other jvp()/while/body/closed_call/div — train.py:19 block
}
