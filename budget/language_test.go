package budget

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/measure"
)

// folder reads files below a folder of testdata.
func folder(dir string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if strings.HasPrefix(path, "..") {
			return nil, errors.New("outside the folder")
		}
		return os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	}
}

// files reads from a map.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return []byte(text), nil
}

func fullFile(t testing.TB) *File {
	t.Helper()
	f, err := Load("peakgate.yml", folder(filepath.Join("testdata", "full")))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFullFile(t *testing.T) {
	f := fullFile(t)
	golden(t, filepath.Join("testdata", "full", "full.golden"), dump(f))
}

// broad is the file that the cases below change in one place.
const broad = `version: 1
defaults: { severity: warn, select: { device: 0 }, budgets: { oom.events: 0 } }
policy: { loosen: fail, stale: warn, trust: head, inconclusive: warn }
targets:
  train:
    base: train.json
    expect: { ranks: 8 }
    only_when: { device: "NVIDIA*" }
    warmup: { steps: 10 }
    confirm: 2
    run: [python, train.py]
    dryrun: { framework: torch, memory: 80 GB, capability: "9.0" }
    budgets:
      plan.need_bytes: { max: 9.5 GiB }
      growth.bytes_per_step: { max: 0 B, up_to: 2 GiB, horizon: 1000 }
devices:
  gpu0: { max: 80 GB, targets: [train], metric: plan.total_bytes }
waivers:
  - { target: train, metric: plan.need_bytes, max: 10 GiB, until: 2027-01-31, reason: r, owner: o }
`

var malformedBroad = []struct{ name, old, new, want string }{
	{"defaults a list", "defaults: { severity: warn, select: { device: 0 }, budgets: { oom.events: 0 } }", "defaults: [a]",
		"2:11: defaults: want a mapping with the keys severity, select and budgets, got a list [type]"},
	{"defaults severity", "severity: warn", "severity: off",
		"2:23: defaults.severity: want fail or warn, got \"off\" [choice]"},
	{"defaults metric", "oom.events", "oom.event",
		"2:63: defaults.budgets: unknown metric \"oom.event\"; did you mean oom.events? [metric]"},
	{"defaults limit", "oom.events: 0", "oom.events: x",
		"2:75: defaults.budgets.oom.events: want a whole number, got \"x\"; digits and one point [number]"},
	{"defaults unknown key", "select: { device: 0 }", "selec: { device: 0 }",
		"2:29: defaults: unknown key \"selec\"; did you mean select? legal here: severity, select, budgets [key]"},
	{"policy a word", "{ loosen: fail, stale: warn, trust: head, inconclusive: warn }", "strict",
		"3:9: policy: want a mapping with the keys loosen, stale, trust and inconclusive, got the text \"strict\" [type]"},
	{"policy loosen", "loosen: fail", "loosen: no",
		"3:19: policy.loosen: want warn, fail or label:NAME, got \"no\" [choice]"},
	{"policy loosen label without a name", "loosen: fail", "loosen: \"label: \"",
		"3:19: policy.loosen: want warn, fail or label:NAME, got \"label:\" [choice]"},
	{"policy stale ignore", "stale: warn", "stale: ignore",
		"3:32: policy.stale: want warn or fail, got \"ignore\" [choice]"},
	{"policy trust", "trust: head", "trust: me",
		"3:45: policy.trust: want head or base, got \"me\" [choice]"},
	{"policy inconclusive null", "inconclusive: warn", "inconclusive: ~",
		"3:65: policy.inconclusive: nothing here; want warn or fail [missing]"},
	{"expect nothing", "expect: { ranks: 8 }", "expect: {}",
		"7:13: targets.train.expect: nothing here; want ranks, hosts or devices, each with its number [missing]"},
	{"expect a number", "expect: { ranks: 8 }", "expect: 8",
		"7:13: targets.train.expect: want ranks, hosts or devices, each with its number, got 8 [type]"},
	{"expect none", "ranks: 8", "ranks: 0",
		"7:22: targets.train.expect.ranks: \"0\" is below 1 [range]"},
	{"expect very many", "ranks: 8", "ranks: 99999999999999999999",
		"7:22: targets.train.expect.ranks: \"99999999999999999999\" is more than 1000000 [range]"},
	{"expect a half", "ranks: 8", "ranks: 8.5",
		"7:22: targets.train.expect.ranks: want a whole number, got \"8.5\" [number]"},
	{"expect other", "ranks: 8", "pods: 8",
		"7:15: targets.train.expect: unknown key \"pods\"; legal here: ranks, hosts, devices [key]"},
	{"only_when empty", "only_when: { device: \"NVIDIA*\" }", "only_when: {}",
		"8:16: targets.train.only_when: nothing here; want a mapping of environment keys to patterns; * and ? are wildcards [missing]"},
	{"only_when empty pattern", "\"NVIDIA*\"", "\"\"",
		"8:26: targets.train.only_when.device: an empty pattern; * stands for any text [missing]"},
	{"warmup empty", "warmup: { steps: 10 }", "warmup: {}",
		"9:5: targets.train.warmup: nothing here; want steps, time or fraction [missing]"},
	{"warmup both", "steps: 10", "steps: 10, time: 5 s",
		"9:26: targets.train.warmup: steps and time together; a warm-up ends once: give one of them [limit]"},
	{"warmup fraction and steps", "steps: 10", "fraction: 0.3, steps: 10",
		"9:15: targets.train.warmup: steps and fraction together; a warm-up ends once: give one of them [limit]"},
	{"warmup fraction of all", "steps: 10", "fraction: 1",
		"9:25: targets.train.warmup.fraction: \"1\" leaves nothing to judge; want at most 0.9 [range]"},
	{"warmup fraction in percent", "steps: 10", "fraction: 30%",
		"9:25: targets.train.warmup.fraction: \"30%\" is a percentage: want a ratio such as 0.95 [unit]"},
	{"warmup time without unit", "steps: 10", "time: 10",
		"9:21: targets.train.warmup.time: number without a unit: \"10\"; write one of ms, s, min, h [unit]"},
	{"confirm none", "confirm: 2", "confirm: 0",
		"10:14: targets.train.confirm: \"0\" is below 1 [range]"},
	{"confirm many", "confirm: 2", "confirm: 21",
		"10:14: targets.train.confirm: \"21\" is more than 20 [range]"},
	{"run a line", "[python, train.py]", "python train.py",
		"11:10: targets.train.run: want a list: a program and its arguments, got the text \"python train.py\"; no shell reads it: write [python, train.py] [type]"},
	{"run nothing", "[python, train.py]", "[]",
		"11:10: targets.train.run: nothing here; want a list: a program and its arguments [missing]"},
	{"run an empty program", "[python, train.py]", "[\" \", train.py]",
		"11:11: targets.train.run[0]: the name of the program is empty [missing]"},
	{"run a list", "[python, train.py]", "[python, [a]]",
		"11:19: targets.train.run[1]: want an argument, got a list; put it in quotes [type]"},
	{"run with NUL", "[python, train.py]", "[python, \"a\\0b\"]",
		"11:19: targets.train.run[1]: an argument cannot hold the character U+0000 [type]"},
	{"dryrun framework", "framework: torch", "framework: keras",
		"12:26: targets.train.dryrun.framework: want torch, jax or tf, got \"keras\" [choice]"},
	{"dryrun without framework", "framework: torch, ", "",
		"12:5: targets.train.dryrun: no key \"framework\"; want torch, jax or tf [missing]"},
	{"dryrun memory", "memory: 80 GB", "memory: 80",
		"12:41: targets.train.dryrun.memory: number without a unit: \"80\"; write one of B, KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000) [unit]"},
	{"dryrun memory none", "memory: 80 GB", "memory: 0 GB",
		"12:41: targets.train.dryrun.memory: \"0 GB\" is nothing; leave the key out for the default [range]"},
	{"dryrun devices", "memory: 80 GB", "devices: 65",
		"12:42: targets.train.dryrun.devices: \"65\" is more than 64 [range]"},
	{"dryrun assume", "memory: 80 GB", "assume: 2",
		"12:41: targets.train.dryrun.assume: want 0 or 1, got \"2\" [choice]"},
	{"dryrun timeout", "memory: 80 GB", "timeout: 10m",
		"12:42: targets.train.dryrun.timeout: unknown unit \"m\"; use one of ms, s, min, h [unit]"},
	{"dryrun device of torch", "memory: 80 GB", "device: h100",
		"12:33: targets.train.dryrun: key \"device\" does not go with torch; it is for jax [key]"},
	{"dryrun of jax with a program", "framework: torch, memory: 80 GB, capability: \"9.0\"", "framework: jax, device: h100, function: \"train:step\"",
		"11:10: targets.train: run beside dryrun of jax: the function of dryrun is what is compiled; remove run [key]"},
	{"dryrun of jax with nothing", "framework: torch, memory: 80 GB, capability: \"9.0\" }\n", "framework: jax }\n", `11:10: targets.train: run beside dryrun of jax: the function of dryrun is what is compiled; remove run [key]
12:5: targets.train.dryrun: no key "device"; want a device such as h100 or v5e:2x2, or a list of them [missing]
12:5: targets.train.dryrun: no key "function"; want module:function [missing]`},
	{"dryrun of tf with a capability", "framework: torch, memory: 80 GB, ", "framework: tf, ",
		"12:30: targets.train.dryrun: key \"capability\" does not go with tf; it is for torch [key]"},
	{"dryrun without run", "    run: [python, train.py]\n", "",
		"11:5: targets.train: dryrun of torch without run: there is no program to run; add run: [python, train.py] [missing]"},
	{"dryrun beside captures", "base: train.json", "captures: train.pb",
		"6:15: targets.train: captures beside dryrun: the dry run makes them; remove one of the two [key]"},
	{"dryrun device twice", "run: [python, train.py]\n    dryrun: { framework: torch, memory: 80 GB, capability: \"9.0\" }", "dryrun: { framework: jax, device: [h100, h100, \"v5e 2x2\"], function: step }", `11:46: targets.train.dryrun.device[1]: duplicate device "h100" [duplicate]
11:52: targets.train.dryrun.device[2]: want a device such as h100 or v5e:2x2, got "v5e 2x2" [choice]
11:74: targets.train.dryrun.function: want module:function, got "step" [choice]`},
	{"dryrun capability a number", "\"9.0\"", "9.0",
		"12:60: targets.train.dryrun.capability: want a version in quotes such as \"9.0\", got 9.0; put it in quotes [type]"},
	{"dryrun capability a word", "\"9.0\"", "hopper",
		"12:60: targets.train.dryrun.capability: want a version in quotes such as \"9.0\", got \"hopper\" [number]"},
	{"up_to of a peak", "max: 9.5 GiB", "max: 9.5 GiB, up_to: 1 GiB",
		"14:40: targets.train.budgets.plan.need_bytes: up_to goes with metrics per step or hour, and plan.need_bytes is none [limit]"},
	{"horizon none", "horizon: 1000", "horizon: 0",
		"15:65: targets.train.budgets.growth.bytes_per_step.horizon: \"0\" is below 1 [range]"},
	{"up_to per step", "up_to: 2 GiB", "up_to: 2 GiB/step",
		"15:49: targets.train.budgets.growth.bytes_per_step.up_to: unit \"/step\" does not fit: want bytes such as 9.5 GiB [unit]"},
	{"device without max", "max: 80 GB, targets", "targets",
		"17:3: devices.gpu0: no key \"max\"; want bytes with a unit [missing]"},
	{"device without targets", ", targets: [train]", "",
		"17:3: devices.gpu0: no key \"targets\"; want a list of target names [missing]"},
	{"device target unknown", "targets: [train]", "targets: [trian]",
		"17:33: devices.gpu0.targets[0]: there is no target \"trian\"; targets are train [target]"},
	{"device target twice", "targets: [train]", "targets: [train, train]",
		"17:40: devices.gpu0.targets[1]: duplicate target \"train\"; the first is at 17:33; it would be counted twice [duplicate]"},
	{"device metric unknown", "metric: plan.total_bytes", "metric: plan.totl_bytes",
		"17:49: devices.gpu0.metric: unknown metric \"plan.totl_bytes\"; did you mean plan.total_bytes? [metric]"},
	{"device metric that adds up to nothing", "metric: plan.total_bytes", "metric: pool.hit_ratio",
		"17:49: devices.gpu0.metric: the sum of pool.hit_ratio over targets says nothing about a device; name a metric in bytes that the targets need at one time [metric]"},
	{"device name", "  gpu0:", "  gpu/0:",
		"17:3: devices: device name \"gpu/0\" has a character that file names and flags may not have; use letters, digits, and . _ - inside the name [name]"},
	{"waivers a mapping", "  - { target: train", "  x: { target: train",
		"19:3: waivers: want a list of waivers, got a mapping [type]"},
	{"waiver a text", "  - { target: train, metric: plan.need_bytes, max: 10 GiB, until: 2027-01-31, reason: r, owner: o }", "  - all",
		"19:5: waivers[0]: want a mapping with the keys target, metric, max, until, reason and owner, got the text \"all\" [type]"},
	{"waiver without owner", ", owner: o", "",
		"19:5: waivers[0]: no key \"owner\"; want text [missing]"},
	{"waiver without until", ", until: 2027-01-31", "",
		"19:5: waivers[0]: no key \"until\"; want a date such as 2027-01-31 [missing]"},
	{"waiver without max", ", max: 10 GiB", "",
		"19:5: waivers[0]: no key \"max\"; a waiver says how far plan.need_bytes may go until then [missing]"},
	{"waiver with min", "max: 10 GiB", "min: 10 GiB",
		"19:47: waivers[0]: a waiver of plan.need_bytes takes no min; give max: how far it may go until then [limit]"},
	{"waiver reason empty", "reason: r", "reason: \"\"",
		"19:87: waivers[0].reason: a reason that says nothing; leave no doubt: a waiver is read by people [missing]"},
	{"waiver until a time", "2027-01-31", "2027-01-31T12:00:00Z",
		"19:67: waivers[0].until: want a date such as 2027-01-31, got \"2027-01-31T12:00:00Z\"; the last day on which the waiver holds: YYYY-MM-DD [date]"},
	{"waiver until the other way round", "2027-01-31", "31.01.2027",
		"19:67: waivers[0].until: want a date such as 2027-01-31, got \"31.01.2027\"; the last day on which the waiver holds: YYYY-MM-DD [date]"},
	{"waiver target unknown", "target: train,", "target: eval,",
		"19:15: waivers[0]: there is no target \"eval\"; targets are train [target]"},
	{"waiver metric without budget", "metric: plan.need_bytes", "metric: plan.temp_bytes",
		"19:30: waivers[0]: target train has no budget of plan.temp_bytes; there is nothing to waive: remove the waiver [target]"},
	{"waiver metric unknown", "metric: plan.need_bytes", "metric: vram",
		"19:30: waivers[0].metric: unknown metric \"vram\"; peakgate measure CAPTURE shows the metrics that a capture has [metric]"},
	{"waiver label unknown", "max: 10 GiB", "max: 10 GiB, select: { modul: x }",
		"19:70: waivers[0].select: unknown label \"modul\"; did you mean module? labels are module, program, memory_space, device, allocator, pool, series, rank, host, file, source, step [label]"},
	{"include a glob", "version: 1", "version: 1\nincludes: \"*.yml\"",
		"2:11: includes: path \"*.yml\" is a glob; name each file [pattern]"},
	{"include an absolute path", "version: 1", "version: 1\nincludes: /etc/passwd",
		"2:11: includes: path \"/etc/passwd\" is not relative to this file [pattern]"},
	{"include what is not there", "version: 1", "version: 1\nincludes: ../x.yml",
		"2:11: includes: cannot include \"../x.yml\": there is no file ../x.yml [include]"},
	{"include itself", "version: 1", "version: 1\nincludes: ./a/../peakgate.yml",
		"2:11: includes: a circle: peakgate.yml includes peakgate.yml [include]"},
}

func TestMalformedBroad(t *testing.T) {
	mustLoad(t, broad)
	for _, c := range malformedBroad {
		t.Run(c.name, func(t *testing.T) {
			if n := strings.Count(broad, c.old); n != 1 {
				t.Fatalf("%q is %d times in the file", c.old, n)
			}
			es := loadErrors(t, strings.Replace(broad, c.old, c.new, 1))
			if got := strings.ReplaceAll(es.Error(), "peakgate.yml:", ""); got != c.want {
				t.Errorf("%q => %q\n got %s\nwant %s", c.old, c.new, got, c.want)
			}
		})
	}
}

func TestIncludes(t *testing.T) {
	target := func(name string) string {
		return "targets: { " + name + ": { captures: a, budgets: { plan.need_bytes: 1 B } } }\n"
	}
	for _, c := range []struct {
		name  string
		files files
		want  string
	}{
		{"a circle of three", files{
			"a.yml": "version: 1\nincludes: d/b.yml\n" + target("t"), "d/b.yml": "version: 1\nincludes: c.yml\n", "d/c.yml": "version: 1\nincludes: ../a.yml\n"},
			"d/c.yml:2:11: includes: a circle: a.yml includes d/b.yml includes d/c.yml includes a.yml [include]"},
		{"a target twice", files{"a.yml": "version: 1\nincludes: b.yml\n" + target("t"), "b.yml": "version: 1\n" + target("t")},
			"b.yml:2:12: targets: duplicate target \"t\"; the first is at a.yml:3:12 [duplicate]"},
		{"faults of two files", files{"a.yml": "version: 1\nincludes: b.yml\nx: 1\n" + target("t"), "b.yml": "version: 1\ny: 1\n" + target("u")},
			"a.yml:3:1: unknown key \"x\"; legal here: version, defaults, policy, includes, targets, devices, waivers [key]\n" +
				"b.yml:2:1: unknown key \"y\"; legal here: version, defaults, policy, includes, targets, devices, waivers [key]"},
		{"no target anywhere", files{"a.yml": "version: 1\nincludes: b.yml\n", "b.yml": "version: 1\npolicy: { trust: head }\n"},
			"a.yml:1:1: no key \"targets\"; want a mapping of names to targets [missing]"},
		{"an included file that is no YAML", files{"a.yml": "version: 1\nincludes: b.yml\n" + target("t"), "b.yml": "\x00"},
			"b.yml:1:1: character U+0000 is not allowed in YAML; remove it [encoding]"},
		{"a waiver of an included target", files{"a.yml": "version: 1\nincludes: b.yml\n" + target("t") +
			"waivers: [{ target: u, metric: plan.need_bytes, max: 2 B, until: 2027-01-31, reason: r, owner: o }]\n", "b.yml": "version: 1\n" + target("u")}, ""},
		{"a default with a fault, once", files{"a.yml": "version: 1\nincludes: b.yml\n" + target("t") + "  \n", "b.yml": "version: 1\ndefaults: { budgets: { plan.temp_bytes: 1 } }\n" + target("u")},
			"b.yml:2:41: defaults.budgets.plan.temp_bytes: number without a unit: \"1\"; write one of B, KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000) [unit]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("a.yml", c.files.read)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := Load("a.yml", files{}.read); err == nil || err.Error() != "there is no such file" {
		t.Errorf("the first file is not there: %v", err)
	}
	if _, err := Parse([]byte("version: 1\nincludes: b.yml\n"+target("t")), "a.yml"); err == nil || !strings.Contains(err.Error(), "a.yml:2:11: includes: this budget was read alone") {
		t.Errorf("Parse of a file that includes: %v", err)
	}
}

func TestRenderFiles(t *testing.T) {
	sources := files{"a.yml": "version: 1\nincludes: [b.yml, c.yml]\n", "b.yml": "version: 1\nx: 1\n"}
	_, err := Load("a.yml", sources.read)
	want := "a.yml:2:19: includes: cannot include \"c.yml\": there is no such file [include]\n" +
		"    2 | includes: [b.yml, c.yml]\n      |                   ^~~~~\n" +
		"b.yml:2:1: unknown key \"x\"; legal here: version, defaults, policy, includes, targets, devices, waivers [key]\n" +
		"    2 | x: 1\n      | ^\n"
	es, _ := err.(Errors)
	if diff := cmp.Diff(want, es.RenderFiles(sources.read)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(es.Error()+"\n", es.RenderFiles(files{}.read)); diff != "" {
		t.Error(diff)
	}
}

// TestIncludeBombs: what includes multiply is bounded.
func TestIncludeBombs(t *testing.T) {
	deep := func(path string) ([]byte, error) {
		return []byte("version: 1\nincludes: x" + path + "\n"), nil
	}
	every := func(path string) ([]byte, error) {
		var out strings.Builder
		out.WriteString("version: 1\nincludes:\n")
		for i := range 200 {
			fmt.Fprintf(&out, "- f%d.yml\n", i)
		}
		return []byte(out.String()), nil
	}
	large := func(path string) ([]byte, error) {
		return []byte("version: 1\nincludes: x" + path + "\n" + strings.Repeat("#", MaxSize-1000)), nil
	}
	nodes := func(path string) ([]byte, error) {
		return []byte("version: 1\nincludes: x" + path + "\nwaivers: [" + strings.Repeat("{},", 30_000) + "]\n"), nil
	}
	for name, c := range map[string]struct {
		read func(string) ([]byte, error)
		want string
	}{
		"deep":  {deep, "included deeper than 8 levels"},
		"every": {every, "more than 64 files"},
		"large": {large, "more than 4194304 bytes together"},
		"nodes": {nodes, "more than 1000 errors"},
	} {
		asked := 0
		_, err := Load("a.yml", func(path string) ([]byte, error) { asked++; return c.read(path) })
		if err == nil || !strings.Contains(err.Error(), c.want) || asked > MaxFiles+1 {
			t.Errorf("%s: asked %d times, error %.300v", name, asked, err)
		}
	}
	million := "version: 1\ntargets:\n" + strings.Repeat("  t: {}\n", 1_000_000)
	if _, err := Load("a.yml", files{"a.yml": million}.read); err == nil || !strings.Contains(err.Error(), "[size]") {
		t.Errorf("a million targets: %.300v", err)
	}
	var names strings.Builder
	names.WriteString("version: 1\ntargets:\n")
	long := strings.Repeat("n", 70)
	for i := range 6_000 {
		fmt.Fprintf(&names, "  %s%d: {captures: a, budgets: {plan.need_bytes: 1 B}}\n", long[:60], i)
	}
	names.WriteString("devices: { d: { max: 1 B, targets: [" + strings.Repeat(long+",", 4_000) + "x] } }\n")
	if _, err := Load("a.yml", files{"a.yml": names.String()}.read); err == nil || !strings.Contains(err.Error(), "more than 1000 errors") {
		t.Errorf("many names: %.300v", err)
	}
	var defaults strings.Builder
	defaults.WriteString("version: 1\ndefaults:\n  budgets:\n")
	for _, m := range measure.Catalogue() {
		if m.Unit == measure.ByteUnit && !m.HigherIsBetter && m.Kind != measure.HighWater {
			defaults.WriteString("    " + m.Name + ": 1 B\n")
		}
	}
	defaults.WriteString("targets:\n")
	for i := range 20_000 {
		fmt.Fprintf(&defaults, "  t%d: { captures: a }\n", i)
	}
	var err error
	n := allocated(func() { _, err = Load("a.yml", files{"a.yml": defaults.String()}.read) })
	if err == nil || !strings.Contains(err.Error(), "[alias]") || n > 600<<20 {
		t.Errorf("defaults in 20000 targets: %d MiB, %.300v", n>>20, err)
	}
}

func TestDefaults(t *testing.T) {
	f := mustLoad(t, `version: 1
targets:
  a:
    captures: a
    select: { module: x }
    budgets: { plan.need_bytes: 1 B, plan.temp_bytes: { max: 2 B, severity: fail, select: { device: 1 } } }
  b: { captures: b }
defaults:
  severity: warn
  select: { device: 0, module: y }
  budgets: { plan.need_bytes: 3 B, oom.events: { max: 0, severity: fail, select: { rank: 0 } } }
`)
	var got []string
	for _, t := range f.Targets {
		for _, e := range t.Budgets {
			got = append(got, fmt.Sprintf("%s %s %s %s {%s} %v", t.Name, e.Metric.Name, e.Max.Text, e.Severity, measure.Labels(e.Select).Key(), e.Default))
		}
	}
	want := []string{
		"a plan.need_bytes 1 B warn {device=0 module=x} false",
		"a plan.temp_bytes 2 B fail {device=1 module=x} false",
		"a oom.events 0 fail {device=0 module=x rank=0} true",
		"b plan.need_bytes 3 B warn {device=0 module=y} true",
		"b oom.events 0 fail {device=0 module=y rank=0} true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
