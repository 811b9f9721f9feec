package diagnose

import (
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

const mi = 1 << 20

// rows are values of plan metrics in MiB, by "metric" or "metric space".
type rows map[string]int64

// made is a measurement of one module made for a test.
func made(values rows, module measure.ModuleFact, plans map[string]measure.PlanFact) *measure.Measurement {
	m := measure.New()
	labels := measure.Labels{"module": "jit_step", "program": "7"}
	if module.Labels = labels; module.Contents == "" {
		module.Contents = "c"
	}
	m.Facts.Modules = []measure.ModuleFact{module}
	spaces := map[string]bool{}
	for key, v := range values {
		metric, space, ok := strings.Cut(key, " ")
		if !ok {
			space = device
		}
		row := labels.With("memory_space", space)
		if spaces[space] = true; metric == "remat_instructions" {
			row, v = labels, v/mi
		}
		m.Rows = append(m.Rows, measure.NewRow("plan."+metric, row, measure.Int(v*mi)))
		if metric == "remat_instructions" {
			m.Rows[len(m.Rows)-1] = measure.NewRow("plan."+metric, labels, measure.Int(values[key]))
		}
	}
	for space := range spaces {
		f := plans[space]
		f.Labels = labels.With("memory_space", space)
		m.Facts.Plans = append(m.Facts.Plans, f)
	}
	return m
}

func holder(class, opcode, shape string, mib, unpadded int64) measure.PlanHolder {
	return measure.PlanHolder{
		Key: class + "/" + opcode + "/f", Operation: class + "/" + opcode, Class: class, Opcode: opcode, Shape: shape, Display: shape + " " + opcode + " — a.py:3 f",
		Bytes: measure.Bytes(mib * mi), UnpaddedBytes: measure.Bytes(unpadded * mi), Count: 1, Source: &measure.Source{File: "a.py", Line: 3},
	}
}

func on(space string, f measure.PlanFact) map[string]measure.PlanFact {
	return map[string]measure.PlanFact{space: f}
}

func logged(m *measure.Measurement, logs ...measure.LogFact) *measure.Measurement {
	for i := range logs {
		logs[i].File, logs[i].Line = "run.log", 9
	}
	m.Facts.Logs = logs
	return m
}

func number[T any](v T) *T { return &v }

// ran adds what a run recorded.
func ran(m *measure.Measurement, change func(*measure.TimelineFact, *measure.ExecutionFact)) *measure.Measurement {
	t := measure.TimelineFact{
		Labels: measure.Labels{"allocator": "GPU_0_bfc", "device": "0"}, Pool: "device", LimitBytes: 3000 * mi, DeviceMemoryBytes: 4000 * mi,
		PeakBytes: 500 * mi, LifetimePeakBytes: 500 * mi,
		LastStart: &measure.LiveFact{Module: "jit_step(7)", InUse: 100 * mi, Groups: []measure.LiveGroup{{Name: "allocated before the capture", Bytes: 60 * mi, Count: 1}, {Name: "BufferFromHostBuffer(s32[16])", Bytes: 40 * mi, Count: 2}}},
	}
	e := measure.ExecutionFact{Labels: measure.Labels{"module": "jit_step(7)", "allocator": "GPU_0_bfc"}, Count: 9, NeverLaunched: number(int64(0))}
	change(&t, &e)
	m.Facts.Timelines, m.Facts.Executions = append(m.Facts.Timelines, t), append(m.Facts.Executions, e)
	return m
}

// arrays is a device memory profile with n arrays of 1 MiB made on one line, and one of another.
func arrays(n int64) *measure.Measurement {
	m := measure.New()
	labels := measure.Labels{"device": "cpu:0"}
	m.Rows = append(m.Rows, measure.NewRow(liveEnd, labels, measure.Int((n+1)*mi)))
	m.Contributors = append(m.Contributors,
		measure.Contributor{Metric: liveEnd, Labels: labels, Key: "run", Display: "train.py:25 run", Bytes: measure.Bytes(n * mi), Count: n},
		measure.Contributor{Metric: liveEnd, Labels: labels, Key: "init", Display: "train.py:3 init", Bytes: mi, Count: 1})
	return m
}

// small is a plan about which there is nothing to say.
func small() *measure.Measurement {
	return made(rows{"need_bytes": 200, "argument_bytes": 100, "temp_bytes": 100, "heap_peak_bytes": 200, "other_bytes": 200}, measure.ModuleFact{}, on(device, measure.PlanFact{BlockBytes: 100 * mi}))
}

func still(m *measure.Measurement) *measure.Measurement {
	return ran(m, func(*measure.TimelineFact, *measure.ExecutionFact) {})
}

// cases hold for each rule an input that it finds something in, a word of what it
// says, the saving in MiB, and an input that is close but fine.
var cases = map[string]struct {
	bad    Input
	text   string
	saving int64
	good   Input
}{
	"does-not-fit": {
		Input{Head: ran(made(rows{"need_bytes": 4000, "forward_kept_bytes": 3000, "heap_peak_bytes": 4000}, measure.ModuleFact{}, on(device, measure.PlanFact{Classes: []measure.PlanClass{{Class: "forward_kept", Bytes: 3000 * mi}}})), func(*measure.TimelineFact, *measure.ExecutionFact) {})},
		"needs 3.91 GiB > 2.93 GiB (the limit of allocator GPU_0_bfc)", 3000, Input{Head: still(small())},
	},
	"gpu-out-of-memory": {
		Input{Head: logged(small(), measure.LogFact{Kind: measure.LogGPU, WantedBytes: 100*mi + 128}, measure.LogFact{Kind: measure.LogGPU, WantedBytes: 100*mi + 256})},
		"it is the temp block of this module", 0, Input{Head: logged(small(), measure.LogFact{Kind: measure.LogDonation})},
	},
	"tpu-hbm-out-of-memory": {
		Input{Head: logged(small(), measure.LogFact{Kind: measure.LogHBM, WantedBytes: 200 * mi, LimitBytes: 210 * mi})},
		"out of HBM: 200.00 MiB wanted, 210.00 MiB available (run.log:9); the count includes arguments; it is the total of this module", 0, Input{Head: logged(small(), measure.LogFact{Kind: measure.LogVMEM})},
	},
	"tpu-vmem-out-of-memory": {
		Input{Head: logged(made(rows{"need_bytes": 1, "need_bytes space1": 1}, measure.ModuleFact{}, on("space1", measure.PlanFact{ScopedBytes: 18 * mi})), measure.LogFact{Kind: measure.LogVMEM, WantedBytes: 20 * mi, LimitBytes: 16 * mi})},
		"out of VMEM (on-chip memory), not of HBM: 20.00 MiB wanted, 16.00 MiB available (run.log:9); the largest scratch memory of a kernel in the plan is 18.00 MiB", 4, Input{Head: logged(small(), measure.LogFact{Kind: measure.LogHBM})},
	},
	"tpu-run-out-of-memory": {
		Input{Head: logged(small(), measure.LogFact{Kind: measure.LogHBMRun, WantedBytes: 100 * mi, LimitBytes: 90 * mi})},
		"the TPU runtime could not give 100.00 MiB of HBM, 90.00 MiB were free (run.log:9); it is the temp block of this module, 104,857,600 B", 10, Input{Head: logged(small(), measure.LogFact{Kind: measure.LogHBM})},
	},
	"remat-exhausted": {
		Input{Head: logged(small(), measure.LogFact{Kind: measure.LogRemat, LimitBytes: 60 * mi, WantedBytes: 190 * mi, BeforeBytes: 200 * mi})},
		"from 200.00 MiB it reached 190.00 MiB, the limit is 60.00 MiB", 0, Input{Head: small()},
	},
	"never-launched": {
		Input{Head: ran(small(), func(_ *measure.TimelineFact, e *measure.ExecutionFact) { e.NeverLaunched = number(int64(1)) })},
		"1 of 9 executions launched no kernel", 0, Input{Head: ran(small(), func(_ *measure.TimelineFact, e *measure.ExecutionFact) { e.NeverLaunched = nil })},
	},
	"allocator-retry": {
		Input{Head: &measure.Measurement{Facts: measure.Facts{Waits: []measure.WaitFact{{Event: "AllocatorRetry::AllocateRaw", Kind: "retry", Count: 2, LongestSeconds: 10.0, GaveUp: 1}}}}},
		"AllocatorRetry::AllocateRaw 2 times, the longest for 10.0 s; 1 gave up", 0, Input{Head: still(small())},
	},
	"growth-per-execution": {
		Input{Head: ran(small(), func(t *measure.TimelineFact, e *measure.ExecutionFact) {
			e.Growth, e.OutputMultiple = &measure.GrowthFact{ChangeBytes: 936 * mi, Steps: 9}, number(1.0)
			t.LastStart.Between = []measure.HostEvent{{Name: "$<unknown> append", Count: 1}, {Name: "$train.py:9 main", Count: 1}}
		})},
		"grows by 104.00 MiB with each execution (936.00 MiB over 9) = 1.00x its outputs that have memory of their own: each step's outputs are kept; between executions: $<unknown> append = list.append", 936,
		Input{Head: ran(small(), func(_ *measure.TimelineFact, e *measure.ExecutionFact) {
			e.Growth = &measure.GrowthFact{ChangeBytes: 900, Steps: 9}
		})},
	},
	"live-arrays-grew": {
		Input{Base: arrays(2), Head: arrays(9)},
		"live arrays grew at train.py:25 run: by 7.00 MiB, from 2 arrays to 9; all live arrays grew by 7.00 MiB, from 3.00 MiB to 10.00 MiB", 7,
		Input{Base: arrays(9), Head: arrays(2)},
	},
	"growth-per-step": {
		Input{Head: ran(measure.New(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) {
			t.Growth, t.Steps, t.StepCount = &measure.GrowthFact{ChangeBytes: 1 * mi, Steps: 1, From: 1, Period: 1}, "step_markers", 30
			t.LastStart.Groups = append(t.LastStart.Groups, measure.LiveGroup{Name: "RandomUniform", Bytes: 29 * mi, Count: 29})
		})},
		"live memory grows by 1.00 MiB with each step (28.00 MiB over 28); live when the last step begins, the largest first: BufferFromHostBuffer(s32[16]): 40.00 MiB in 2, RandomUniform: 29.00 MiB in 29", 28,
		// The executions tell it already.
		Input{Head: ran(measure.New(), func(t *measure.TimelineFact, e *measure.ExecutionFact) {
			t.Growth = &measure.GrowthFact{ChangeBytes: 1 * mi, Steps: 1, Period: 1}
			e.Growth = t.Growth
		})},
	},
	"other-live-arrays": {
		Input{Head: ran(small(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) { t.LastStart.InUse = 2950 * mi })},
		"other live arrays take 2.78 GiB of the 2.93 GiB of allocator GPU_0_bfc when the last execution begins; with them the execution, which needs 200.00 MiB, is 50.00 MiB too much; live then, the largest first: allocated before the capture: 60.00 MiB, BufferFromHostBuffer(s32[16]): 40.00 MiB in 2", 2850,
		Input{Head: ran(small(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) { t.LastStart.InUse = 800 * mi })},
	},
	"temp-is-one-block": {
		Input{Head: ran(small(), func(t *measure.TimelineFact, e *measure.ExecutionFact) {
			t.LargestFreeBytes, e.NeverLaunched = number(measure.Bytes(90*mi)), number(int64(1))
		})},
		"the temp block of 100.00 MiB is one piece: 2.83 GiB is free, but the largest free piece is 90.00 MiB", 10,
		// As small a piece, but every execution ran (a TPU's temp block is elsewhere).
		Input{Head: ran(small(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) {
			t.LargestFreeBytes = number(measure.Bytes(90 * mi))
		})},
	},
	"capacity-below-device": {
		Input{Head: ran(small(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) { t.LimitBytes = 1000 * mi })},
		"is 1000.00 MiB, 25 % of the device's 3.91 GiB", 2000, Input{Head: still(small())},
	},
	"peak-before-capture": {
		Input{Head: ran(small(), func(t *measure.TimelineFact, _ *measure.ExecutionFact) { t.LifetimePeakBytes = 501 * mi })},
		"was before the capture: 501.00 MiB, 500.00 MiB in it", 0, Input{Head: still(small())},
	},
	"nothing-donated": {
		Input{Head: made(rows{"need_bytes": 400, "argument_bytes": 200, "unaliased_output_bytes": 200}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3, MissingCount: 2, MissingBytes: 150 * mi, Missing: []measure.PlanHolder{holder("argument", "parameter", "f32[8]", 100, 100)}}}))},
		"200.00 MiB of arguments and 200.00 MiB of outputs of their own are alive together, and 2 arguments could share memory: f32[8]", 150,
		Input{Head: made(rows{"need_bytes": 400, "argument_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3}}))},
	},
	"partly-donated": {
		Input{Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3, Donated: 1, Declared: 1, MissingCount: 1, MissingBytes: 50 * mi}}))},
		"1 of 3 arguments are donated; 1 argument more could be", 50,
		Input{Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3, Donated: 1, Declared: 1, MissingCount: 1, MissingBytes: 3 * mi}}))},
	},
	"donation-unused": {
		Input{Head: logged(made(rows{"need_bytes": 400, "unaliased_output_bytes": 90}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3, Declared: 2, LeftCount: 2, LeftBytes: 100 * mi}})), measure.LogFact{Kind: measure.LogDonation})},
		"2 arguments (100.00 MiB) declared as donated are not used: no output fits ; the log says so too (run.log:9)", 90,
		Input{Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{Arguments: 3, Declared: 2, Donated: 2}}))},
	},
	"forward-kept": {
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "forward_kept_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("forward_kept", "fusion", "f32[8,8,1024,1024]", 256, 256)}}))},
		"75.0 % of the heap peak, 300.00 MiB of 400.00 MiB, is made by the forward pass and kept for the backward pass: f32[8,8,1024,1024] fusion — a.py:3 f (256.00 MiB); 256.00 MiB of it is quadratic in one dimension (f32[8,8,1024,1024]: half of it takes a quarter)", 300,
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "forward_kept_bytes": 100}, measure.ModuleFact{}, nil)},
	},
	"backward": {
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "backward_bytes": 200}, measure.ModuleFact{Parameters: []string{"bf16[8,8]", "bf16[8]"}}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("backward", "fusion", "f32[8,8]", 100, 100)}}))},
		"100.00 MiB of it is f32 while parameters are bf16", 50, Input{Head: small()},
	},
	"workspace": {
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "workspace_bytes": 64}, measure.ModuleFact{}, nil)},
		"16.0 % of the heap peak, 64.00 MiB of 400.00 MiB, is workspace", 64, Input{Head: made(rows{"need_bytes": 4000, "heap_peak_bytes": 4000, "workspace_bytes": 64}, measure.ModuleFact{}, nil)},
	},
	"state": {
		Input{Head: made(rows{"need_bytes": 4096, "argument_bytes": 3072}, measure.ModuleFact{}, nil)}, "75.0 % of the need, 3.00 GiB of 4.00 GiB, is arguments", 0, Input{Head: small()},
	},
	"padding-heavy": {
		Input{Head: made(rows{"need_bytes": 400, "viewer_padding_bytes": 0}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("argument", "parameter", "f32[8192,4]", 320, 10)}}))},
		"padding takes 310.00 MiB in 1 group of buffers: f32[8192,4] parameter — a.py:3 f (310.00 MiB); largest: 32.0 times its values (padding by XProf's count, without arguments and outputs: 0 B)", 310,
		Input{Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("argument", "parameter", "f32[8192,100]", 320, 250)}}))},
	},
	"checkpoint-without-effect": {
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "forward_kept_bytes": 100}, measure.ModuleFact{Scopes: 12}, nil)},
		"jax.checkpoint has no effect: 12 instructions are in wrapped functions", 100,
		Input{Head: made(rows{"need_bytes": 400, "heap_peak_bytes": 400, "forward_kept_bytes": 100}, measure.ModuleFact{Scopes: 12, Checkpointed: 3}, nil)},
	},
	"fragmentation": {
		Input{Head: made(rows{"need_bytes": 400, "temp_bytes": 300, "fragmentation_bytes": 60}, measure.ModuleFact{}, nil)}, "20.0 % of the temp block, 60.00 MiB of 300.00 MiB, is gaps", 60,
		Input{Head: made(rows{"need_bytes": 400, "temp_bytes": 300, "fragmentation_bytes": 20}, measure.ModuleFact{}, nil)},
	},
	"xla-remat": {
		Input{Head: made(rows{"need_bytes": 400, "remat_instructions": 89}, measure.ModuleFact{}, nil)}, "XLA already rematerialized 89 instructions", 0,
		Input{Head: made(rows{"need_bytes": 400, "remat_instructions": 0}, measure.ModuleFact{}, nil)},
	},

	"donation-lost": {
		Input{Base: made(rows{"need_bytes": 300, "donated_bytes": 200}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 500, "unaliased_output_bytes": 200}, measure.ModuleFact{}, on(device, measure.PlanFact{Donation: &measure.DonationFact{LeftCount: 1, Left: []measure.PlanHolder{holder("argument", "parameter", "bf16[8]", 200, 200)}}}))},
		"written over 200.00 MiB of arguments, now over 0 B; the need grew by 200.00 MiB, from 300.00 MiB to 500.00 MiB; 1 argument is declared, but no output fits: bf16[8]", 200,
		// Fewer arguments are donated since there are fewer: nothing is doubled.
		Input{Base: made(rows{"need_bytes": 300, "donated_bytes": 200}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 200, "donated_bytes": 100}, measure.ModuleFact{}, nil)},
	},
	"remat-lost": {
		Input{Base: made(rows{"need_bytes": 300, "forward_kept_bytes": 50}, measure.ModuleFact{Remat: 9}, nil), Head: made(rows{"need_bytes": 500, "forward_kept_bytes": 250}, measure.ModuleFact{Remat: 2}, nil)},
		"XLA rematerialized 2 instructions (9 in the base), so the forward pass keeps 250.00 MiB for the backward pass (50.00 MiB in the base)", 200,
		// What was in host memory is on the device now: that is offloading, not remat.
		Input{Base: made(rows{"need_bytes": 300, "forward_kept_bytes host": 200, "need_bytes host": 200}, measure.ModuleFact{Checkpointed: 9}, nil), Head: made(rows{"need_bytes": 500, "forward_kept_bytes": 200}, measure.ModuleFact{Checkpointed: 8}, nil)},
	},
	"forward-kept-grew": {
		Input{Base: made(rows{"need_bytes": 300, "forward_kept_bytes": 50}, measure.ModuleFact{Checkpointed: 3}, nil), Head: made(rows{"need_bytes": 500, "forward_kept_bytes": 250}, measure.ModuleFact{Checkpointed: 3}, nil)},
		"keeps 250.00 MiB for the backward pass, 50.00 MiB in the base", 200,
		Input{Base: made(rows{"need_bytes": 300, "forward_kept_bytes": 50}, measure.ModuleFact{Checkpointed: 3}, nil), Head: made(rows{"need_bytes": 500, "forward_kept_bytes": 250}, measure.ModuleFact{Checkpointed: 1}, nil)},
	},
	"offload-lost": {
		Input{Base: made(rows{"need_bytes": 300, "need_bytes host": 200}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 450}, measure.ModuleFact{}, nil)},
		"0 B are planned in host memory, 200.00 MiB in the base, and the device's need grew by 150.00 MiB", 150,
		Input{Base: made(rows{"need_bytes": 300, "need_bytes host": 200}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 300}, measure.ModuleFact{}, nil)},
	},
	"moved-to-other-space": {
		Input{Base: made(rows{"need_bytes": 300, "need_bytes host": 10}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 100, "need_bytes host": 205}, measure.ModuleFact{}, nil)},
		"195.00 MiB only moved: memory space device lost 200.00 MiB and host gained 195.00 MiB", 0,
		Input{Base: made(rows{"need_bytes": 300, "need_bytes host": 10}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 100, "need_bytes host": 60}, measure.ModuleFact{}, nil)},
	},
	"dtype-widened": {
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("backward", "mul", "bf16[8,16]", 50, 50)}})), Head: made(rows{"need_bytes": 350}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("backward", "mul", "f32[128]", 100, 100)}}))},
		"a wider dtype takes 50.00 MiB more: f32[128] mul — a.py:3 f was bf16[8,16] in the base", 50,
		// The base had it in f32 beside the bf16 one.
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("backward", "mul", "bf16[128]", 50, 50), holder("backward", "mul", "f32[128]", 100, 100)}})), Head: made(rows{"need_bytes": 350}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("backward", "mul", "f32[128]", 100, 100)}}))},
	},
	"in-place-lost": {
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 350}, measure.ModuleFact{Updates: 1}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "copy", "f32[8]", 50, 50)}}))},
		"copies of 50.00 MiB are live at the heap peak, 0 B in the base: f32[8] copy", 50,
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 350}, measure.ModuleFact{Updates: 1}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "copy", "f32[8]", 5, 5), holder("forward_kept", "copy", "f32[8]", 50, 50)}}))},
	},
	"new-fusion": {
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Classes: []measure.PlanClass{{Class: "temp", Bytes: 90 * mi}}, Holders: []measure.PlanHolder{holder("temp", "fusion", "f32[8]", 90, 90)}}))},
		"a new fusion holds 90.00 MiB at the heap peak: f32[8] fusion", 90,
		// It was there before, only smaller.
		Input{Base: made(rows{"need_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "fusion", "f32[4]", 45, 45)}})), Head: made(rows{"need_bytes": 400}, measure.ModuleFact{}, on(device, measure.PlanFact{Classes: []measure.PlanClass{{Class: "temp", Bytes: 90 * mi}}, Holders: []measure.PlanHolder{holder("temp", "fusion", "f32[8]", 90, 90)}}))},
	},
	"padding-grew": {
		Input{Base: made(rows{"need_bytes": 300, "padding_bytes": 1}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 350, "padding_bytes": 41}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "transpose", "f32[8,1]", 50, 10)}}))},
		"padding at the heap peak grew by 40.00 MiB, from 1.00 MiB to 41.00 MiB; most of it in f32[8,1] transpose — a.py:3 f (40.00 MiB of 50.00 MiB)", 40,
		Input{Base: made(rows{"need_bytes": 300, "padding_bytes": 1}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 350, "padding_bytes": 2}, measure.ModuleFact{}, nil)},
	},
	"sharding-lost": {
		Input{Base: made(rows{"need_bytes": 300, "argument_bytes": 100}, measure.ModuleFact{Partitions: 4, Parameters: []string{"f32[16,64]", "s32[]"}}, nil), Head: made(rows{"need_bytes": 600, "argument_bytes": 400}, measure.ModuleFact{Partitions: 4, Parameters: []string{"f32[64,64]", "s32[]"}}, nil)},
		"sharding lost: 1 argument is 4 times as large on each of 4 devices (f32[16,64] to f32[64,64]); arguments take 300.00 MiB more", 300,
		// A larger model on one device.
		Input{Base: made(rows{"need_bytes": 300, "argument_bytes": 100}, measure.ModuleFact{Parameters: []string{"f32[16,64]"}}, nil), Head: made(rows{"need_bytes": 600, "argument_bytes": 400}, measure.ModuleFact{Parameters: []string{"f32[64,64]"}}, nil)},
	},
	"order-only": {
		Input{Base: made(rows{"need_bytes": 300, "heap_peak_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Schedule: "a"})), Head: made(rows{"need_bytes": 900, "heap_peak_bytes": 900}, measure.ModuleFact{}, on(device, measure.PlanFact{Schedule: "b"}))},
		"the same instructions in another order: the heap peak grew by 600.00 MiB, from 300.00 MiB to 900.00 MiB", 600,
		Input{Base: made(rows{"need_bytes": 300, "heap_peak_bytes": 300}, measure.ModuleFact{}, on(device, measure.PlanFact{Schedule: "a"})), Head: made(rows{"need_bytes": 900, "heap_peak_bytes": 900}, measure.ModuleFact{Contents: "other"}, on(device, measure.PlanFact{Schedule: "b"}))},
	},
	"larger-arrays": {
		Input{Base: made(rows{"need_bytes": 100, "heap_peak_bytes": 100}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "mul", "f32[4,256]", 40, 40)}})), Head: made(rows{"need_bytes": 150, "heap_peak_bytes": 150}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "mul", "f32[8,256]", 80, 80)}}))},
		"the same operations hold larger arrays, 40.00 MiB more in 1 group of buffers; most of it: f32[8,256] mul — a.py:3 f was f32[4,256] in the base", 40,
		// One larger array is not why the program takes so much more.
		Input{Base: made(rows{"need_bytes": 100, "heap_peak_bytes": 100}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "mul", "f32[4,256]", 40, 40)}})), Head: made(rows{"need_bytes": 250, "heap_peak_bytes": 250}, measure.ModuleFact{}, on(device, measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "mul", "f32[8,256]", 80, 80)}}))},
	},
	"on-chip-grew": {
		Input{Base: made(rows{"need_bytes": 300, "need_bytes space1": 10}, measure.ModuleFact{}, on("space1", measure.PlanFact{ScopedBytes: mi})), Head: made(rows{"need_bytes": 300, "need_bytes space1": 40}, measure.ModuleFact{}, on("space1", measure.PlanFact{ScopedBytes: 4 * mi}))},
		"memory space1 needs more, the device's does not: it grew by 30.00 MiB, from 10.00 MiB to 40.00 MiB; the largest scratch memory of one kernel grew by 3.00 MiB", 0,
		// What left the device's memory is no growth.
		Input{Base: made(rows{"need_bytes": 300, "need_bytes space1": 10}, measure.ModuleFact{}, nil), Head: made(rows{"need_bytes": 250, "need_bytes space1": 40}, measure.ModuleFact{}, nil)},
	},
}

// TestOtherProgram: a program that has less state to donate did not lose the donation,
// though its outputs have memory of their own.
func TestOtherProgram(t *testing.T) {
	base := made(rows{"need_bytes": 94, "donated_bytes": 72}, measure.ModuleFact{}, nil)
	head := made(rows{"need_bytes": 3, "unaliased_output_bytes": 2}, measure.ModuleFact{}, nil)
	if got := rules(Changed(Input{Base: base, Head: head})); got != "" {
		t.Errorf("findings %q", got)
	}
}

// TestRolledLoop: a loop that was rolled up has fewer instructions that compute the
// forward pass again, and fewer of all others; one of two functions unwrapped is a loss.
func TestRolledLoop(t *testing.T) {
	plan := rows{"need_bytes": 300, "forward_kept_bytes": 50}
	more := rows{"need_bytes": 500, "forward_kept_bytes": 250}
	base := made(plan, measure.ModuleFact{Checkpointed: 400, Instructions: 3000}, nil)
	for want, fact := range map[string]measure.ModuleFact{
		"forward-kept-grew": {Checkpointed: 130, Instructions: 1000},
		"remat-lost":        {Checkpointed: 200, Instructions: 2800},
	} {
		if got := rules(Changed(Input{Base: base, Head: made(more, fact, nil)})); got != want {
			t.Errorf("findings %q, want %q", got, want)
		}
	}
}

// TestOnChip: what grew in VMEM alone, where small programs lie altogether, is told by
// the same rules as in the device's memory.
func TestOnChip(t *testing.T) {
	const at = " space1"
	for _, c := range []struct {
		rule, text string
		base, head *measure.Measurement
	}{
		{"dtype-widened", "a wider dtype takes 30.00 MiB more in memory space1: f32[1024,15360]",
			made(rows{"need_bytes": 16, "need_bytes" + at: 40}, measure.ModuleFact{}, on("space1", measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "exp", "bf16[1024,15360]", 30, 30)}})),
			made(rows{"need_bytes": 16, "need_bytes" + at: 70}, measure.ModuleFact{}, on("space1", measure.PlanFact{Holders: []measure.PlanHolder{holder("temp", "exp", "f32[1024,15360]", 60, 60)}}))},
		{"order-only", "the heap peak in memory space1 grew by 20.00 MiB",
			made(rows{"need_bytes": 16, "heap_peak_bytes" + at: 40, "need_bytes" + at: 40}, measure.ModuleFact{}, on("space1", measure.PlanFact{Schedule: "a"})),
			made(rows{"need_bytes": 16, "heap_peak_bytes" + at: 60, "need_bytes" + at: 60}, measure.ModuleFact{}, on("space1", measure.PlanFact{Schedule: "b"}))},
		{"padding-grew", "padding at the heap peak in memory space1 grew by 20.00 MiB",
			made(rows{"need_bytes": 16, "padding_bytes" + at: 1, "need_bytes" + at: 40}, measure.ModuleFact{}, nil),
			made(rows{"need_bytes": 16, "padding_bytes" + at: 21, "need_bytes" + at: 60}, measure.ModuleFact{}, nil)},
		{"forward-kept-grew", "the forward pass keeps 30.00 MiB",
			made(rows{"need_bytes": 16, "forward_kept_bytes" + at: 10, "need_bytes" + at: 40}, measure.ModuleFact{}, nil),
			made(rows{"need_bytes": 16, "forward_kept_bytes" + at: 30, "need_bytes" + at: 60}, measure.ModuleFact{}, nil)},
	} {
		fs := Changed(Input{Base: c.base, Head: c.head})
		if got := rules(fs); got != c.rule || !strings.Contains(fs[0].Text, c.text) {
			t.Errorf("findings %q, want %s alone: %+v", got, c.rule, fs)
		}
		if got := rules(Changed(Input{Base: c.head, Head: c.base})); got != "" {
			t.Errorf("%s: the improvement has the findings %q", c.rule, got)
		}
	}
}

// TestEachRule holds every rule over XLA and over runs against its two inputs.
func TestEachRule(t *testing.T) {
	for _, r := range Rules() {
		if r.Family == "torch" || r.Family == "affon" {
			continue // tested beside its rules
		}
		c, ok := cases[r.Name]
		if !ok {
			t.Errorf("%s has no case", r.Name)
			continue
		}
		found := 0
		for _, f := range Run(c.bad) {
			if f.Rule != r.Name {
				continue
			}
			if found++; !strings.Contains(f.Text, c.text) || f.SavingBytes != measure.Bytes(c.saving*mi) || rank(f.Severity) < 0 || f.Evidence != Measured && f.Evidence != Inferred || strings.Contains(f.Text+f.Fix+f.Cost, "\n") {
				t.Errorf("%s: %+v\nwant %q and %d MiB", r.Name, f, c.text, c.saving)
			}
		}
		if found != 1 {
			t.Errorf("%s: found %d times in what it is for", r.Name, found)
		}
		for _, f := range Run(c.good) {
			if f.Rule == r.Name {
				t.Errorf("%s: found in what is fine: %s", r.Name, f.Text)
			}
		}
	}
	for name := range cases {
		if !strings.Contains(Page(), "| `"+name+"` |") {
			t.Errorf("a case for %s, which is no rule", name)
		}
	}
}

// TestWorkedExample is a public report's case "without donation": 3.88 GiB needed,
// 2.79 GiB there, of which 1,902 MiB are parameters and as much outputs.
func TestWorkedExample(t *testing.T) {
	d := &measure.DonationFact{Arguments: 12, MissingCount: 12, MissingBytes: 1902 * mi}
	m := made(rows{"need_bytes": 3976, "argument_bytes": 1902, "unaliased_output_bytes": 1902, "output_bytes": 1902, "temp_bytes": 172, "heap_peak_bytes": 3976},
		measure.ModuleFact{}, on(device, measure.PlanFact{Donation: d, Classes: []measure.PlanClass{{Class: "argument", Bytes: 1902 * mi}, {Class: "output", Bytes: 1902 * mi}, {Class: "temp", Bytes: 172 * mi}}}))
	ran(m, func(l *measure.TimelineFact, e *measure.ExecutionFact) {
		l.LimitBytes, l.DeviceMemoryBytes = 2857*mi, 288<<30
		e.NeverLaunched = number(int64(1))
	})
	fs := Run(Input{Head: m})
	if got := rules(fs); got != "does-not-fit never-launched nothing-donated capacity-below-device" {
		t.Errorf("findings %s", got)
	}
	for _, want := range []string{"needs 3.88 GiB > 2.79 GiB", "1,902 MiB of parameters + 1,902 MiB of outputs, 0 donated; the temp block is only 172 MiB", "at best 2.03 GiB would be left: it fits"} {
		if !strings.Contains(fs[0].Text, want) {
			t.Errorf("%s\nwant %q", fs[0].Text, want)
		}
	}
	if !strings.Contains(fs[0].Fix, "donate_argnums") || fs[0].SavingBytes != 1902*mi {
		t.Errorf("fix %q saves %s", fs[0].Fix, fs[0].SavingBytes)
	}
	if s, err := Choose(m, ""); err != nil || s.Title != "jit_step(7)" || s.Why != "its last execution never launched a kernel" {
		t.Errorf("subject %+v, %v", s, err)
	}
}

// TestDevices checks that a program on several devices has one finding, not one each.
func TestDevices(t *testing.T) {
	m := small()
	for device, grew := range []measure.Bytes{900 * mi, 1800 * mi, 900 * mi} {
		ran(m, func(l *measure.TimelineFact, e *measure.ExecutionFact) {
			l.Labels = measure.Labels{"allocator": "GPU_" + string(rune('0'+device)) + "_bfc"}
			e.Labels = l.Labels.With("module", "jit_step(7)")
			e.Growth = &measure.GrowthFact{ChangeBytes: grew, Steps: 9}
			l.LastStart.InUse = 2950 * mi
		})
	}
	fs := Run(Input{Head: m})
	if got := rules(fs); got != "other-live-arrays growth-per-execution" && got != "growth-per-execution other-live-arrays" {
		t.Fatalf("findings %s", got)
	}
	for _, f := range fs {
		if f.Rule == "growth-per-execution" && (f.SavingBytes != 1800*mi || !strings.HasSuffix(f.Text, "; 2 more allocators have the like")) {
			t.Errorf("%+v", f)
		}
	}
}
