package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const changeBase = `version: 1
policy: { loosen: fail }
targets:
  train:
    captures: [a.pb, b.pb]
    base: base.pb
    select: { device: 0 }
    expect: { ranks: 8 }
    confirm: 2
    only_when: { device: H100 }
    warmup: { steps: 10 }
    run: [python, train.py]
    # comments are no change
    budgets:
      plan.need_bytes: { max: 9.5 GiB, growth: 2%, floor: 16 MiB }
      plan.temp_bytes: 3 GiB
      pool.hit_ratio: { min: 0.95 }
      plan.total_bytes: { max: 1 TB, select: { memory_space: device } }
      growth.bytes_per_step: { max: 1 KiB, up_to: 1 GiB, horizon: 1000 }
  eval:
    captures: eval.pb
    budgets: { plan.need_bytes: 4 GiB }
devices:
  gpu0: { max: 80 GB, targets: [train, eval], select: { memory_space: device } }
waivers:
  - { target: train, metric: plan.temp_bytes, max: 4 GiB, until: 2027-01-31, reason: r, owner: o }
  - { target: train, metric: pool.hit_ratio, min: 0.5, until: 2027-01-31, reason: r, owner: o }
`

func changed(cs []Change) string {
	var out strings.Builder
	for _, c := range cs {
		where := ""
		if c.InBase {
			where = "base "
		}
		bytes := ""
		if c.Bytes != 0 {
			bytes = fmt.Sprintf(" %+d", int64(c.Bytes))
		}
		fmt.Fprintf(&out, "%s%s %s%s: %s\n", c.Effect, bytes, where, c.Pos, c.Text)
	}
	return out.String()
}

func TestChanges(t *testing.T) {
	base := mustLoad(t, changeBase)
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "9.5 GiB", "9728 MiB", ""},
		{"comments and order", "plan.temp_bytes: 3 GiB\n      pool.hit_ratio: { min: 0.95 }", "pool.hit_ratio: { min: 0.950 } # x\n      plan.temp_bytes: { max: 3 GiB, why: y }", ""},
		{"max raised", "9.5 GiB", "10 GiB", "loosens +536870912 15:31: train: plan.need_bytes max was raised from 9.5 GiB to 10 GiB: 512.00 MiB more\n"},
		{"max lowered", "9.5 GiB", "9 GiB", "tightens -536870912 15:31: train: plan.need_bytes max was lowered from 9.5 GiB to 9 GiB: 512.00 MiB less\n"},
		{"SI for IEC", "9.5 GiB", "9.5 GB", "tightens -700547328 15:31: train: plan.need_bytes max was lowered from 9.5 GiB to 9.5 GB: 668.09 MiB less\n"},
		{"max removed", "max: 9.5 GiB, ", "", "loosens base 15:31: train: plan.need_bytes max of 9.5 GiB was removed\n"},
		{"max added", "min: 0.95", "min: 0.95, max: 1", "tightens 17:41: train: pool.hit_ratio max of 1 was added\n"},
		{"min lowered", "min: 0.95", "min: 0.9", "loosens 17:30: train: pool.hit_ratio min was lowered from 0.95 to 0.9: 0.050 less\n"},
		{"min raised", "min: 0.95", "min: 0.99", "tightens 17:30: train: pool.hit_ratio min was raised from 0.95 to 0.99: 0.040 more\n"},
		{"growth raised", "growth: 2%", "growth: 5%", "loosens 15:48: train: plan.need_bytes growth was raised from 2% to 5%\n"},
		{"growth lowered", "growth: 2%", "growth: 1.5%", "tightens 15:48: train: plan.need_bytes growth was lowered from 2% to 1.5%\n"},
		{"growth removed with its floor", ", growth: 2%, floor: 16 MiB", "", "loosens base 15:48: train: plan.need_bytes growth of 2% was removed\n"},
		{"floor raised", "floor: 16 MiB", "floor: 1 GiB", "loosens +1056964608 15:59: train: plan.need_bytes floor was raised from 16 MiB to 1 GiB: 1008.00 MiB more\n"},
		{"floor removed", ", floor: 16 MiB", "", "tightens -16777216 15:7: train: plan.need_bytes floor was lowered from 16 MiB to none: 16.00 MiB less\n"},
		{"severity lowered", "min: 0.95", "min: 0.95, severity: warn", "loosens 17:46: train: pool.hit_ratio severity was fail and is warn\n"},
		{"severity lowered by defaults", "version: 1", "version: 1\ndefaults: { severity: warn }", "loosens 16:7: train: plan.need_bytes severity was fail and is warn\nloosens 17:7: train: plan.temp_bytes severity was fail and is warn\nloosens 18:7: train: pool.hit_ratio severity was fail and is warn\nloosens 19:7: train: plan.total_bytes severity was fail and is warn\nloosens 20:7: train: growth.bytes_per_step severity was fail and is warn\nloosens 23:16: eval: plan.need_bytes severity was fail and is warn\n"},
		{"metric removed", "      plan.total_bytes: { max: 1 TB, select: { memory_space: device } }\n", "", "loosens base 18:7: train: the budget of plan.total_bytes (max 1 TB) was removed\n"},
		{"metric added", "eval.pb\n    budgets: {", "eval.pb\n    budgets: { oom.events: 0,", "tightens 22:16: eval: a budget of oom.events (max 0) was added\n"},
		{"entry narrowed", "{ memory_space: device } }\n      growth", "{ memory_space: device, module: x } }\n      growth", "loosens 18:7: train: plan.total_bytes select was device=0, memory_space=device and is device=0, memory_space=device, module=x\n"},
		{"entry widened", ", select: { memory_space: device } }\n      growth", " }\n      growth", "tightens 18:7: train: plan.total_bytes select was device=0, memory_space=device and is device=0\n"},
		{"entry turned", "{ memory_space: device } }\n      growth", "{ memory_space: host } }\n      growth", "reshapes 18:7: train: plan.total_bytes select was device=0, memory_space=device and is device=0, memory_space=host\n"},
		{"captures fewer", "[a.pb, b.pb]", "a.pb", "loosens 5:15: train: captures was a.pb, b.pb and is a.pb\n"},
		{"captures more", "[a.pb, b.pb]", "[b.pb, a.pb, c.pb]", "tightens 5:16: train: captures was a.pb, b.pb and is a.pb, b.pb, c.pb\n"},
		{"captures other", "[a.pb, b.pb]", "c.pb", "reshapes 5:15: train: captures was a.pb, b.pb and is c.pb\n"},
		{"captures in another order", "[a.pb, b.pb]", "[./b.pb, a.pb]", ""},
		{"base removed", "    base: base.pb\n", "", "reshapes 4:3: train: base base.pb was removed\n"},
		{"base other", "base.pb", "other.pb", "reshapes 6:11: train: base was base.pb and is other.pb\n"},
		{"base run", "base.pb", "run", "reshapes 6:11: train: base was base.pb and is run\n"},
		{"expect fewer", "ranks: 8", "ranks: 4", "loosens 8:22: train: expected ranks were 8 and are 4\n"},
		{"expect removed", "    expect: { ranks: 8 }\n", "", "loosens base 8:22: train: 8 ranks are no longer expected\n"},
		{"expect added", "ranks: 8", "ranks: 8, hosts: 2", "tightens 8:32: train: 2 hosts are expected now\n"},
		{"confirm more", "confirm: 2", "confirm: 3", "loosens 9:14: train: runs that must agree before a verdict is red: 2, now 3\n"},
		{"only_when", "device: H100", "device: \"*\"", "reshapes 10:26: train: only_when was device=H100 and is device=*\n"},
		{"warmup", "steps: 10", "steps: 100", "reshapes 11:5: train: warmup was 10 steps and is 100 steps\n"},
		{"run", "train.py]", "fake.py]", "reshapes 12:10: train: run was python, train.py and is python, fake.py\n"},
		{"up_to raised", "up_to: 1 GiB", "up_to: 2 GiB", "loosens +1073741824 19:51: train: growth.bytes_per_step up_to was raised from 1 GiB to 2 GiB: 1.00 GiB more\n"},
		{"slope raised", "max: 1 KiB", "max: 2 KiB", "loosens 19:37: train: growth.bytes_per_step max was raised from 1 KiB to 2 KiB: 1.00 KiB/step more\n"},
		{"horizon shorter", "horizon: 1000", "horizon: 10", "loosens 19:67: train: growth.bytes_per_step horizon was 1000 steps and is 10\n"},
		{"the default horizon", ", horizon: 1000", "", ""},
		{"slope with a floor", "max: 1 KiB", "max: 1 KiB, floor: 1 GiB", "reshapes 19:51: train: growth.bytes_per_step floor of 1 GiB replaces the default\n"},
		{"device raised", "max: 80 GB", "max: 96 GB", "loosens +16000000000 24:16: device gpu0 max was raised from 80 GB to 96 GB: 14.90 GiB more\n"},
		{"device counts less", "[train, eval]", "[train]", "loosens base 24:40: device gpu0 no longer counts eval\n"},
		{"policy lowered", "loosen: fail", "loosen: \"label:ok\"", "loosens 2:19: policy loosen was fail and is label:ok\n"},
		{"policy removed", "policy: { loosen: fail }\n", "", "loosens base 2:19: policy loosen was fail and is warn, the default\n"},
		{"policy raised", "loosen: fail", "loosen: fail, trust: base", "tightens 2:32: policy trust was head and is base\n"},
		{"waiver extended", "max: 4 GiB, until: 2027-01-31", "max: 4 GiB, until: 2027-06-30", "loosens 26:66: the waiver of train plan.temp_bytes was extended from 2027-01-31 to 2027-06-30\n"},
		{"waiver raised", "max: 4 GiB, until", "max: 5 GiB, until", "loosens +1073741824 26:52: the waiver of train plan.temp_bytes: max was raised from 4 GiB to 5 GiB: 1.00 GiB more\n"},
		{"waiver removed", "  - { target: train, metric: pool.hit_ratio, min: 0.5, until: 2027-01-31, reason: r, owner: o }\n", "", "tightens base 27:5: the waiver of train pool.hit_ratio (down to 0.5 until 2027-01-31) was removed\n"},
		{"waiver added", "waivers:\n", "waivers:\n  - { target: eval, metric: plan.need_bytes, max: 5 GiB, until: 2027-01-31, reason: \"a b\", owner: \"@o\" }\n", "loosens 26:5: a new waiver of eval plan.need_bytes: up to 5 GiB until 2027-01-31, for \"@o\": \"a b\"\n"},
		{"target renamed", "  eval:\n    captures: eval.pb\n    budgets: { plan.need_bytes: 4 GiB }\ndevices:\n  gpu0: { max: 80 GB, targets: [train, eval]", "  evaluate:\n    captures: eval.pb\n    budgets: { plan.need_bytes: 4 GiB }\ndevices:\n  gpu0: { max: 80 GB, targets: [train, evaluate]",
			"loosens base 20:3: target eval was removed\nloosens base 24:40: device gpu0 no longer counts eval\ntightens 20:3: target evaluate was added\ntightens 24:40: device gpu0 counts evaluate too\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := strings.Count(changeBase, c.old); n != 1 {
				t.Fatalf("%q is %d times in the file", c.old, n)
			}
			head := mustLoad(t, strings.Replace(changeBase, c.old, c.new, 1))
			if diff := cmp.Diff(c.want, changed(Changes(base, head))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChangesSorted: what loosens most comes first, whatever the order of the file.
// Another device, or other values to assume, is another measurement.
func TestChangesOfDryrun(t *testing.T) {
	text := "version: 1\ntargets:\n  t:\n    run: [python, a.py]\n    dryrun: { framework: torch, memory: 80 GB, assume: 0 }\n    budgets: { live.peak_bytes: 4 GiB }\n"
	base := mustLoad(t, text)
	for edit, want := range map[string]string{
		"memory: 60 GB, assume: 0": "was torch, memory 80,000,000,000 B, assume 0 and is torch, memory 60,000,000,000 B, assume 0",
		"memory: 80 GB, assume: 1": "was torch, memory 80,000,000,000 B, assume 0 and is torch, memory 80,000,000,000 B, assume 1",
		"memory: 80 GB":            "was torch, memory 80,000,000,000 B, assume 0 and is torch, memory 80,000,000,000 B",
		"memory: 80 GB, assume: 0, capability: \"8.0\", devices: 2, context: 1 GiB, timeout: 9 s": "was torch, memory 80,000,000,000 B, assume 0 and is torch, memory 80,000,000,000 B, capability 8.0, devices 2, context 1,073,741,824 B, assume 0, timeout 9 s",
	} {
		got := changed(Changes(base, mustLoad(t, strings.Replace(text, "memory: 80 GB, assume: 0", edit, 1))))
		if want = "reshapes 5:5: t: dryrun " + want + "\n"; got != want {
			t.Errorf("%s:\n got %s\nwant %s", edit, got, want)
		}
	}
	if got := changed(Changes(base, mustLoad(t, strings.Replace(text, "80 GB", "80_000 MB", 1)))); got != "" {
		t.Errorf("the same memory in other words: %s", got)
	}
}

func TestChangesSorted(t *testing.T) {
	text := strings.NewReplacer("9.5 GiB", "9.6 GiB", "3 GiB", "5 GiB", "4 GiB }", "1 GiB }", "base.pb", "other.pb", "max: 1 TB", "max: 2 TB").Replace(changeBase)
	got := Changes(mustLoad(t, changeBase), mustLoad(t, text))
	var effects []string
	for _, c := range got {
		effects = append(effects, fmt.Sprint(c.Effect, " ", c.Metric))
	}
	want := []string{"loosens plan.total_bytes", "loosens plan.temp_bytes", "loosens plan.need_bytes", "reshapes ", "tightens plan.need_bytes"}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Error(diff)
	}
}

// TestChangesMirror: what loosens one way tightens the other way, and a file does
// not differ from itself.
func TestChangesMirror(t *testing.T) {
	var fs []*File
	for _, path := range []string{"good.yml", "full/peakgate.yml"} {
		data, err := os.ReadFile(filepath.Join("testdata", path))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "full") {
			fs = append(fs, fullFile(t))
			continue
		}
		fs = append(fs, mustLoad(t, string(data)))
	}
	fs = append(fs, mustLoad(t, changeBase), mustLoad(t, broad), mustLoad(t, strings.NewReplacer("9.5 GiB", "9.6 GiB", "8 }", "7 }").Replace(broad)))
	mirror := map[Effect]Effect{Loosens: Tightens, Tightens: Loosens, Reshapes: Reshapes}
	for i, b := range fs {
		for j, h := range fs {
			there, back := Changes(b, h), Changes(h, b)
			if (i == j) != (len(there) == 0) {
				t.Errorf("%d and %d: %d changes", i, j, len(there))
			}
			count := map[Effect]int{}
			for _, c := range there {
				count[c.Effect]++
			}
			for _, c := range back {
				count[mirror[c.Effect]]--
			}
			for effect, n := range count {
				if n != 0 {
					t.Errorf("%d and %d: %s differs by %d:\n%s\n%s", i, j, effect, n, changed(there), changed(back))
				}
			}
		}
	}
}
