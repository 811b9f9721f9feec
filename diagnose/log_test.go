package diagnose

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/measure"
)

func TestReadLog(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		line string
		want measure.LogFact // without text and place
	}{
		{"W1129 22:34:24.255153   16460 hlo_rematerialization.cc:3231] Can't reduce memory use below 60.12GiB (64558729791 bytes) by rematerialization; only reduced to 121.79GiB (130771583288 bytes), down from 122.29GiB (131308978488 bytes) originally",
			measure.LogFact{Kind: measure.LogRemat, LimitBytes: 64558729791, WantedBytes: 130771583288, BeforeBytes: 131308978488}},
		{"Can't reduce memory use below -2.41GiB (-2590144768 bytes) by rematerialization; only reduced to 19.00GiB",
			measure.LogFact{Kind: measure.LogRemat, LimitBytes: -2590144768, WantedBytes: 19 * gib}},
		{"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (15.50G) exceeds available HBM (15.75G).",
			measure.LogFact{Kind: measure.LogHBM, WantedBytes: 31 * gib / 2, LimitBytes: 63 * gib / 4}},
		{"Compilation failure: Ran out of memory in memory space hbm. Used 41.50G of 16.00G hbm. Exceeded hbm capacity by 25.50G.",
			measure.LogFact{Kind: measure.LogHBM, WantedBytes: 83 * gib / 2, LimitBytes: 16 * gib}},
		{"Ran out of memory in memory space vmem. Used 20.00M of 16.00M vmem. Exceeded vmem capacity by 4.00M.",
			measure.LogFact{Kind: measure.LogVMEM, WantedBytes: 20 << 20, LimitBytes: 16 << 20}},
		{"Scoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M. It should not be possible to run out of scoped vmem",
			measure.LogFact{Kind: measure.LogVMEM, WantedBytes: 18 << 20, LimitBytes: 16 << 20}},
		{"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 29995136128 bytes.",
			measure.LogFact{Kind: measure.LogGPU, WantedBytes: 29995136128}},
		{"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.50GiB.",
			measure.LogFact{Kind: measure.LogGPU, WantedBytes: 7 * gib / 2}},
		{"bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of memory trying to allocate 27.93GiB (rounded to 29995136256)requested by op",
			measure.LogFact{Kind: measure.LogGPU, WantedBytes: 29995136256}},
		{"bfc_allocator.cc:514] Allocator (GPU_0_bfc) ran out of memory trying to allocate 73.30GiB (rounded to 78702055168)requested by op",
			measure.LogFact{Kind: measure.LogGPU, WantedBytes: 78702055168}},
		{"RESOURCE_EXHAUSTED: Failed to allocate request for 80.16GiB (86073049088B) on device ordinal 0",
			measure.LogFact{Kind: measure.LogGPU, WantedBytes: 86073049088}},
		{"RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used 59.79M of 16.00M vmem. Exceeded vmem capacity by 43.79M.",
			measure.LogFact{Kind: measure.LogVMEM, WantedBytes: 62694359, LimitBytes: 16 << 20}},
		{"RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.50G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.75G",
			measure.LogFact{Kind: measure.LogHBM, WantedBytes: 69 * gib / 2, LimitBytes: 383 * gib / 4}},
		{"RESOURCE_EXHAUSTED: Error loading program 'jit_step': Attempting to reserve 29.50G at the bottom of memory. That was not possible. There are 147.50M free, 0B reserved, and 146.50M reservable.",
			measure.LogFact{Kind: measure.LogHBMRun, WantedBytes: 59 * gib / 2, LimitBytes: 146<<20 + 1<<19}},
		{"RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 50.00M. That was not possible. There are 27.50M free.; (0x0x0_HBM0)",
			measure.LogFact{Kind: measure.LogHBMRun, WantedBytes: 50 << 20, LimitBytes: 27<<20 + 1<<19}},
		{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 84.00 MiB is free. Of the allocated memory 512.00 MiB is allocated by PyTorch",
			measure.LogFact{Kind: measure.LogTorch, WantedBytes: 128 << 20, LimitBytes: 4 * gib}},
		{"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.50 GiB total capacity; 21.50 GiB already allocated; 13.81 MiB free",
			measure.LogFact{Kind: measure.LogTorch, WantedBytes: 20 << 20, LimitBytes: 47 * gib / 2}},
		{"UserWarning: Some donated buffers were not usable: ShapedArray(float32[8,8]).", measure.LogFact{Kind: measure.LogDonation}},
	} {
		// The message is found once, wherever it stands, between long lines and others.
		text := strings.Repeat("memory ", 40_000) + "\nall is well\n" + c.line + "\r\n" + c.line + "\nlast line"
		got, warnings, err := ReadLog(strings.NewReader(text), "run.log")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || len(warnings) != 0 {
			t.Errorf("%s: %d facts, warnings %q", c.line, len(got), warnings)
			continue
		}
		if got[0].File != "run.log" || got[0].Line != 3 || got[0].Text == "" || !strings.Contains(c.line, strings.TrimSuffix(got[0].Text, "…")) {
			t.Errorf("%s: place and text are %+v", c.line, got[0])
		}
		got[0].File, got[0].Line, got[0].Text = "", 0, ""
		if diff := cmp.Diff(c.want, got[0]); diff != "" {
			t.Errorf("%s:\n%s", c.line, diff)
		}
	}
	for _, line := range []string{"", "out of memory", "Ran out of memory on the train", "memory (1.0G) exceeds available", "Out of memory while trying to allocate bytes", "0 memory allocated"} {
		if got, warnings, err := ReadLog(strings.NewReader(line), "run.log"); err != nil || len(got)+len(warnings) != 0 {
			t.Errorf("%q: %+v, %q, %v", line, got, warnings, err)
		}
	}
}

// TestAbsurdLog: numbers that are no sizes never become a message; their line is named.
func TestAbsurdLog(t *testing.T) {
	for line, found := range map[string]string{
		"Out of memory while trying to allocate 0 bytes.":                                                             "0bytes",
		"Out of memory while trying to allocate -5 bytes.":                                                            "-5bytes",
		"Out of memory while trying to allocate NaN bytes.":                                                           "NaNbytes",
		"Out of memory while trying to allocate 9e99 bytes.":                                                          "9e99bytes",
		"Out of memory while trying to allocate 99999999999999999999 bytes.":                                          "99999999999999999999bytes",
		"Out of memory while trying to allocate 1.2.3GiB.":                                                            "1.2.3GiB",
		"Allocator (GPU_0_bfc) ran out of memory trying to allocate 8EiB (rounded to 9223372036854775807)":            "9223372036854775807",
		"Ran out of memory in memory space hbm. Used 41.50G of 0G hbm.":                                               "0G",
		"Ran out of memory on HBM, the total (infG) exceeds available HBM (15.75G).":                                  "infG",
		"Can't reduce memory use below 1GiB (99999999999999999999 bytes) by rematerialization; only reduced to 2GiB":  "99999999999999999999",
		"Can't reduce memory use below 1GiB (1073741824 bytes) by rematerialization; only reduced to 2GiB (-2 bytes)": "-2",
		"Scoped allocation with size nan and limit 16.00M exceeded scoped vmem limit by 2.00M.":                       "nan",
	} {
		got, warnings, err := ReadLog(strings.NewReader("all is well\n"+line+"\n"), "run.log")
		want := fmt.Sprintf("run.log:2: want a size in bytes, found %q: the message is left out", found)
		if err != nil || len(got) != 0 || len(warnings) != 1 || warnings[0] != want {
			t.Errorf("%s: %+v, %q, %v; want the warning %q", line, got, warnings, err, want)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestReadLogError(t *testing.T) {
	_, _, err := ReadLog(io.MultiReader(strings.NewReader("one\ntwo\n"), failing{}), "run.log")
	if err == nil || err.Error() != "run.log:3: the disk is gone" {
		t.Errorf("error %v", err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add("Out of memory while trying to allocate 9e99 bytes")
	f.Add("Ran out of memory on HBM (1.0G) exceeds available HBM (9999999999999999999999.T)")
	f.Fuzz(func(t *testing.T, text string) {
		facts, warnings, err := ReadLog(strings.NewReader(text), "x")
		if err != nil || len(facts) > maxLogFacts || len(warnings) > maxLogFacts {
			t.Fatalf("%d facts, %v", len(facts), err)
		}
		for _, l := range facts {
			if len(l.Text) > maxLogText+len("…") || l.Kind == "" {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// TestScopedVMEM: libtpu's message has its numbers two lines below; it is one message,
// and the finding names the kernel.
func TestScopedVMEM(t *testing.T) {
	const text = "JaxRuntimeError: RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack for %gmm.1 = f32[16384,512]{1,0:T(8,128)}.\nScoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M.\n"
	logs, _, err := ReadLog(strings.NewReader(text), "run.log")
	if err != nil || len(logs) != 1 || logs[0].WantedBytes != 18<<20 || logs[0].LimitBytes != 16<<20 || logs[0].Line != 2 {
		t.Fatalf("%+v, %v", logs, err)
	}
	m := measure.New()
	m.Facts.Logs = logs
	fs := Run(Input{Head: m})
	if len(fs) != 1 || !strings.Contains(fs[0].Text, "18.00 MiB wanted, 16.00 MiB available (run.log:2); the kernel is %gmm.1") {
		t.Errorf("%+v", fs)
	}
	// Without numbers none are made up.
	m.Facts.Logs, _, _ = ReadLog(strings.NewReader("Ran out of memory in memory space vmem."), "run.log")
	if fs := Run(Input{Head: m}); len(fs) != 1 || !strings.Contains(fs[0].Text, "the message gives no sizes (run.log:1)") {
		t.Errorf("%+v", fs)
	}
}

// TestOperation: a program without modules is told its operation, not a module.
func TestOperation(t *testing.T) {
	f, err := os.Open(shared(t, "lab/tf/oom_graph.stderr.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := open(t, shared(t, "lab/tf/oom_graph.xplane.pb"))
	if m.Facts.Logs, _, err = ReadLog(f, "stderr.txt"); err != nil {
		t.Fatal(err)
	}
	fs := Run(Input{Head: m})
	if len(fs) != 2 || fs[0].Rule != "gpu-out-of-memory" || !strings.HasSuffix(fs[0].Text, "16.00 MiB in one piece (stderr.txt:5); asked for by the operation sort/TopKV2") {
		t.Fatalf("%+v", fs)
	}
	for _, f := range fs {
		if strings.Contains(f.Fix, "module") {
			t.Errorf("%s: %s", f.Rule, f.Fix)
		}
	}
}
