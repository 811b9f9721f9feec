package budget

import (
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/measure"
)

func apply(t *testing.T, text string, edits ...Edit) (string, []string) {
	t.Helper()
	out, refused, err := Update([]byte(text), "peakgate.yml", edits)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var reasons []string
	for _, r := range refused {
		reasons = append(reasons, strings.TrimPrefix(r.Error(), "peakgate.yml:"))
	}
	return string(out), reasons
}

// TestUpdate changes one entry of a file in the given way.
func TestUpdate(t *testing.T) {
	const need = "plan.need_bytes"
	const mib = 1 << 20
	tight := Edit{Target: "t", Metric: need, Limit: "max", Value: measure.Int(9*1024*mib + 1)}
	loose := Edit{Target: "t", Metric: need, Limit: "max", Value: measure.Int(10 * 1024 * mib), Loosen: true, Why: "a second  \"head\"\nof 4 layers: # yes"}
	const why = `why: "a second \"head\" of 4 layers: # yes"`
	head := "version: 1\ntargets:\n  t:\n    captures: a\n    budgets:\n"
	for _, c := range []struct {
		name, old string
		edit      Edit
		new       string
		refused   string
	}{
		{"flow", "      plan.need_bytes: { max: 9.5 GiB, growth: 2% } # c\n", tight, "      plan.need_bytes: { max: 9.0001 GiB, growth: 2% } # c\n", ""},
		{"short form", "      plan.need_bytes: 9.5 GiB\t# c\n", tight, "      plan.need_bytes: 9.0001 GiB\t# c\n", ""},
		{"block", "      plan.need_bytes:\n        # c\n        max:   9.5 GiB  # d\n        growth: 2%\n", tight, "      plan.need_bytes:\n        # c\n        max:   9.0001 GiB  # d\n        growth: 2%\n", ""},
		{"value on the next line", "      plan.need_bytes:\n        max:\n          9.5 GiB\n", tight, "      plan.need_bytes:\n        max:\n          9.0001 GiB\n", ""},
		{"double quotes", "      \"plan.need_bytes\": { \"max\": \"9.5 GiB\" }\n", tight, "      \"plan.need_bytes\": { \"max\": \"9.0001 GiB\" }\n", ""},
		{"single quotes", "      plan.need_bytes: '9.5GiB'\n", tight, "      plan.need_bytes: '9.0001GiB'\n", ""},
		{"bytes with underscores", "      plan.need_bytes: 10_200_547_328 B\n", tight, "      plan.need_bytes: 9_663_676_417 B\n", ""},
		{"SI", "      plan.need_bytes: 12.00 GB\n", tight, "      plan.need_bytes: 9.664 GB\n", ""},
		{"MiB", "      plan.need_bytes: 9728 MiB\n", tight, "      plan.need_bytes: 9216.1 MiB\n", ""},
		{"wide characters before it", "      plan.need_bytes: { why: \"日本é\", max: 9.5 GiB }\n", tight, "      plan.need_bytes: { why: \"日本é\", max: 9.0001 GiB }\n", ""},
		{"no newline at the end", "      plan.need_bytes: 9.5 GiB", tight, "      plan.need_bytes: 9.0001 GiB", ""},
		{"already as wanted", "      plan.need_bytes: 9.0001 GiB\n", tight, "      plan.need_bytes: 9.0001 GiB\n", ""},
		{"an anchor that nothing uses, around it", "      &e plan.need_bytes: &x { max: 9.5 GiB }\n", tight, "      &e plan.need_bytes: &x { max: 9.0001 GiB }\n", ""},
		{"complex key", "      ? plan.need_bytes\n      : 9.5 GiB\n", tight, "      ? plan.need_bytes\n      : 9.0001 GiB\n", ""},

		{"loosened, flow", "      plan.need_bytes: { max: 9.5 GiB, growth: 2% } # c\n", loose, "      plan.need_bytes: { max: 10 GiB, " + why + ", growth: 2% } # c\n", ""},
		{"loosened, short form", "      plan.need_bytes: 9.5 GiB # c\n", loose, "      plan.need_bytes: { max: 10 GiB, " + why + " } # c\n", ""},
		{"loosened, short form in quotes", "      plan.need_bytes: \"9.5 GiB\"\n", loose, "      plan.need_bytes: { max: \"10 GiB\", " + why + " }\n", ""},
		{"loosened, block", "      plan.need_bytes:\n        max: 9.5 GiB # c\n        growth: 2%\n", loose, "      plan.need_bytes:\n        max: 10 GiB # c\n        " + why + "\n        growth: 2%\n", ""},
		{"loosened, block, CRLF", "      plan.need_bytes:\r\n        max: 9.5 GiB\r\n", loose, "      plan.need_bytes:\r\n        max: 10 GiB\n        " + why + "\r\n", ""},
		{"loosened, block at the end", "      plan.need_bytes:\n        max: 9.5 GiB", loose, "      plan.need_bytes:\n        max: 10 GiB\n        " + why, ""},
		{"loosened, with a why", "      plan.need_bytes: { why: fits, max: 9.5 GiB }\n", loose, "      plan.need_bytes: { " + why + ", max: 10 GiB }\n", ""},
		{"loosened, with a why in a block", "      plan.need_bytes:\n        max: 9.5 GiB\n        why: 'fits' # c\n", loose, "      plan.need_bytes:\n        max: 10 GiB\n        " + why + " # c\n", ""},

		{"loosened, with a folded why", "      plan.need_bytes:\n        max: 9.5 GiB\n        why: >-\n          fits\n          well\n", loose, "",
			"7:14: max of plan.need_bytes, target t: the reason is to become its why, and that is no plain text on one line; write there by hand: 10 GiB and, as why, \"a second  \\\"head\\\"\\nof 4 layers: # yes\""},
		{"loosened, complex key", "      plan.need_bytes:\n        ? max\n        : 9.5 GiB\n", loose, "",
			"8:11: max of plan.need_bytes, target t: the reason is to become its why, and there is no plain line to put it after; write there by hand: 10 GiB and, as why, \"a second  \\\"head\\\"\\nof 4 layers: # yes\""},
		{"loosened, without leave", "      plan.need_bytes: 9.5 GiB\n", Edit{Target: "t", Metric: need, Limit: "max", Value: measure.Int(10 << 30), Why: "x"}, "",
			"6:24: max of plan.need_bytes, target t: it would allow more: 10 GiB for 9.5 GiB, and that was not asked for"},
		{"loosened, without a reason", "      plan.need_bytes: 9.5 GiB\n", Edit{Target: "t", Metric: need, Limit: "max", Value: measure.Int(10 << 30), Loosen: true, Why: " "}, "",
			"6:24: max of plan.need_bytes, target t: it would allow more, and no reason is given"},
		{"an anchor on it", "      plan.need_bytes: &n 9.5 GiB\n", tight, "",
			"6:24: max of plan.need_bytes, target t: it has an anchor (&); write there by hand: 9.0001 GiB"},
		{"a used anchor on it", "      plan.need_bytes: &n 9.5 GiB\n      plan.temp_bytes: *n\n", tight, "",
			"6:24: max of plan.need_bytes, target t: it is part of an anchor (&) that is used elsewhere, and a change would change other places too; write there by hand: 9.0001 GiB"},
		{"an alias", "      plan.temp_bytes: &n 9.5 GiB\n      plan.need_bytes: *n\n", tight, "",
			"6:24: max of plan.need_bytes, target t: it is the alias *n, and a change would change other places too; write there by hand: 9.0001 GiB"},
		{"an alias of the entry", "      plan.temp_bytes: &n { max: 9.5 GiB }\n      plan.need_bytes: *n\n", tight, "",
			"6:34: max of plan.need_bytes, target t: it is the alias *n, and a change would change other places too; write there by hand: 9.0001 GiB"},
		{"merged", "      plan.temp_bytes: &n { max: 9.5 GiB }\n      plan.need_bytes: { <<: *n, growth: 1% }\n", tight, "",
			"6:34: max of plan.need_bytes, target t: max is merged in (<<), and a change would change other places too; write there by hand: 9.0001 GiB"},
		{"escapes", "      plan.need_bytes: \"9.5\\x20GiB\"\n", tight, "",
			"6:24: max of plan.need_bytes, target t: the value is not plain text on one line; write there by hand: 9.0001 GiB"},
		{"two lines", "      plan.need_bytes: 9.5\n        GiB\n", tight, "",
			"6:24: max of plan.need_bytes, target t: the value is not plain text on one line; write there by hand: 9.0001 GiB"},
		{"no such limit", "      plan.need_bytes: { growth: 1% }\n", tight, "",
			"6:7: max of plan.need_bytes, target t: the entry has no max; write there by hand: max: 9663676417 B"},
		{"no such entry", "      plan.temp_bytes: { growth: 1% }\n", tight, "",
			"3:3: max of plan.need_bytes, target t: the target has no entry of this metric in this file"},
		{"no such target", "      plan.need_bytes: 9.5 GiB\n", Edit{Target: "u", Metric: need, Limit: "max"}, "",
			"1:1: max of plan.need_bytes, target u: the target is not in this file"},
		{"below zero", "      plan.need_bytes: 9.5 GiB\n", Edit{Target: "t", Metric: need, Limit: "max", Value: measure.Int(-1)}, "",
			"6:24: max of plan.need_bytes, target t: \"-0.0000000009313 GiB\" is below zero"},
		{"a limit of no one", "      plan.need_bytes: 9.5 GiB\n", Edit{Target: "t", Metric: need, Limit: "growth"}, "",
			"1:1: growth of plan.need_bytes, target t: want the limit max or min"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.new
			if c.refused != "" {
				want = c.old
			}
			got, refused := apply(t, head+c.old, c.edit)
			if diff := cmp.Diff(head+want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.refused, strings.Join(refused, "\n")); diff != "" {
				t.Error(diff)
			}
			again, _ := apply(t, got, c.edit)
			if again != got {
				t.Errorf("a second update changes\n%s to\n%s", got, again)
			}
		})
	}
}

// TestUpdateAll changes several entries of one file at once, of every unit.
func TestUpdateAll(t *testing.T) {
	got, refused := apply(t, small,
		Edit{Target: "train", Metric: "plan.need_bytes", Limit: "max", Value: measure.Int(9 << 30)},
		Edit{Target: "train", Metric: "pool.hit_ratio", Limit: "min", Value: measure.Float(0.98761)},
		Edit{Target: "train", Metric: "pool.misses", Limit: "max", Value: measure.Int(39)},
		Edit{Target: "train", Metric: "retry.longest_seconds", Limit: "max", Value: measure.Float(0.25)},
		Edit{Target: "train", Metric: "growth.bytes_per_step", Limit: "max", Value: measure.Int(-5)},
		Edit{Target: "eval", Metric: "plan.temp_bytes", Limit: "max", Value: measure.Int(1000 << 20)},
		Edit{Target: "eval", Metric: "plan.temp_bytes", Limit: "max", Value: measure.Int(1000 << 20)})
	want := strings.NewReplacer("9.5 GiB", "9 GiB", "0.95", "0.9876", "40", "39", "10 s", "0.25 s", "0 B", "-5 B", "1 GiB", "0.9766 GiB").Replace(small)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(refused) != 1 || !strings.Contains(refused[0], "it is asked for twice") {
		t.Errorf("refused %v", refused)
	}
	if _, _, err := Update([]byte("version: 2\n"), "f.yml", nil); err == nil || !strings.Contains(err.Error(), "f.yml:1:10: version") {
		t.Errorf("a file with a fault: %v", err)
	}
	_, refused = apply(t, "version: 1\nincludes: b.yml\n", Edit{Target: "t", Metric: "plan.need_bytes", Limit: "max"})
	if len(refused) != 1 || !strings.Contains(refused[0], "2:11: max of plan.need_bytes, target t: the target is not in this file; it may be in one that this includes") {
		t.Errorf("refused %v", refused)
	}
}

func TestTighten(t *testing.T) {
	f := mustParse(t, small)
	entry := func(name string) *Entry { return entryOf(f.Targets[0], name) }
	values := func(ns ...int64) (out []measure.Value) {
		for _, n := range ns {
			out = append(out, measure.Int(n))
		}
		return out
	}
	for _, c := range []struct {
		metric   string
		measured []measure.Value
		headroom *big.Rat
		loose    bool
		want     []measure.Value
	}{
		{"plan.need_bytes", values(1000, 1001), big.NewRat(5, 1), false, values(1052)}, // 1051.05: up
		{"plan.need_bytes", values(1000), big.NewRat(0, 1), false, values(1000)},
		{"plan.need_bytes", values(19 << 29), big.NewRat(0, 1), false, nil},                    // the limit itself
		{"plan.need_bytes", values(19 << 29), big.NewRat(1, 1), false, nil},                    // looser
		{"plan.need_bytes", values(19 << 29), big.NewRat(100, 1), true, values(19 << 30)},      // asked for
		{"plan.need_bytes", values(1<<62, 1<<62), big.NewRat(300, 1), true, values(1<<63 - 1)}, // cut
		{"plan.need_bytes", nil, big.NewRat(0, 1), false, nil},                                 // nothing measured
		{"plan.need_bytes", values(1<<53 + 1), big.NewRat(0, 1), true, values(1<<53 + 1)},      // exact beyond float64
		{"pool.misses", values(10, 33), big.NewRat(10, 1), false, values(37)},                  // 36.3
		{"growth.bytes_per_step", values(-100), big.NewRat(10, 1), false, values(-90)},         // headroom is always towards more
		{"pool.hit_ratio", []measure.Value{measure.Float(1), measure.Float(0.5)}, big.NewRat(0, 1), true, []measure.Value{measure.Float(0.5)}},
		{"pool.hit_ratio", []measure.Value{measure.Int(1)}, big.NewRat(50, 1), false, nil},
		{"pool.hit_ratio", []measure.Value{measure.Int(1)}, big.NewRat(4, 1), false, []measure.Value{measure.Float(0.96)}},
	} {
		var got []measure.Value
		for _, e := range Tighten("train", entry(c.metric), c.measured, c.headroom, c.loose) {
			got = append(got, e.Value)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(measure.Value{})); diff != "" {
			t.Errorf("%s of %v with %s: %s", c.metric, c.measured, c.headroom, diff)
		}
	}
	if e := Tighten("eval", &Entry{Metric: entry("plan.need_bytes").Metric}, values(1), new(big.Rat), true); e != nil {
		t.Errorf("an entry without max: %v", e)
	}
}

// TestWriteValue: what is written is a limit that the value passes, within 0.01 %.
func TestWriteValue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	styles := []string{"9.5 GiB", "1 MiB", "80GB", "1_000 B", "3.25 TiB", "7 kB", "0 PB", "9  KiB"}
	for range 5000 {
		n := random.Int64N(1 << random.IntN(61))
		style := styles[random.IntN(len(styles))]
		for _, lower := range []bool{false, true} {
			text := writeValue(style, measure.Int(n), measure.ByteUnit, lower)
			got, bad := parseValue(text, measure.ByteUnit, lower)
			if bad != nil {
				t.Fatalf("%d as %q: %q: %v", n, style, text, bad)
			}
			m, _ := got.Int64()
			if off := m - n; lower && (off > 0 || -off > n/10_000+1) || !lower && (off < 0 || off > n/10_000+1) {
				t.Fatalf("%d as %q (lower %v): %q is %d", n, style, lower, text, m)
			}
			if again := writeValue(text, measure.Int(n), measure.ByteUnit, lower); again != text {
				t.Fatalf("%d as %q: %q, then %q", n, style, text, again)
			}
			_, gap, unit := splitNumber(style)
			if !strings.HasSuffix(text, gap+unit) {
				t.Fatalf("%d as %q: %q", n, style, text)
			}
		}
	}
}

// variants gives the good file in other forms that mean the same.
func variants(t testing.TB) map[string]string {
	data, err := os.ReadFile(filepath.Join("testdata", "good.yml"))
	if err != nil {
		t.Fatal(err)
	}
	unix := strings.ReplaceAll(string(data), "\r\n", "\n")
	var comments strings.Builder
	for line := range strings.Lines(unix) {
		comments.WriteString("# 日本 max: 1 GiB\n" + strings.TrimSuffix(line, "\n"))
		if !strings.Contains(line, ">-") && !strings.Contains(line, "the runner") && !strings.Contains(line, "and the checkpoint") {
			comments.WriteString("\t # }, max: 2 GiB")
		}
		comments.WriteString("\n")
	}
	quoted := strings.NewReplacer("9.5 GiB", `"9.5 GiB"`, "3.5 GiB", "'3.5 GiB'", "12 GiB", `"12 GiB"`, "20 GB", "'20 GB'", "0.95", `"0.95"`).Replace(unix)
	full, err := os.ReadFile(filepath.Join("testdata", "full", "peakgate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"plain": unix, "CRLF": strings.ReplaceAll(unix, "\n", "\r\n"), "CR": strings.ReplaceAll(unix, "\n", "\r"),
		"byte order mark": byteOrderMark + unix, "quoted": quoted, "small": small, "full": string(full),
		"comments":   strings.Replace(strings.ReplaceAll(comments.String(), "# 日本 max: 1 GiB\n          ", "          "), "# 日本 max: 1 GiB\n          and", "          and", 1),
		"no newline": strings.TrimSuffix(unix, "\n"), "document end": unix + "...\n",
	}
}

// TestUpdateProperty: random edits change the wanted values and no other byte.
func TestUpdateProperty(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, text := range variants(t) {
		t.Run(name, func(t *testing.T) {
			made := 0
			for range 60 {
				l := &loader{}
				d := l.parse([]byte(text), "f")
				if d == nil {
					t.Fatal(l.errors())
				}
				l.readAlone()
				if errs := l.errors(); len(errs) > 0 {
					t.Fatal(errs)
				}
				var edits []Edit
				for _, target := range d.targets {
					for _, e := range target.Budgets {
						limit := "max"
						if e.Max == nil {
							limit = "min"
						}
						if random.IntN(2) == 0 && (e.Max != nil || e.Min != nil) {
							v := measure.Int(random.Int64N(1 << 40))
							if e.Metric.Unit == measure.Ratio {
								v = measure.Float(random.Float64())
							}
							edits = append(edits, Edit{target.Name, e.Metric.Name, limit, v, random.IntN(2) == 0, "because: \"x\" # é"})
						}
					}
				}
				made += checkUpdate(t, text, edits)
			}
			if made == 0 {
				t.Error("no edit was ever made")
			}
		})
	}
}

// checkUpdate holds an update to its promises, and gives how many edits it made.
func checkUpdate(t *testing.T, text string, edits []Edit) int {
	t.Helper()
	out, refused, err := Update([]byte(text), "f", edits)
	if err != nil {
		t.Fatalf("%v\nfor %+v in\n%s", err, edits, text)
	}
	// Without the words that edits may write, both files are the same bytes.
	loose := slices.ContainsFunc(edits, func(e Edit) bool { return e.Loosen })
	if a, b := skeleton(text), skeleton(string(out)); !loose && a != b || simpleWhys(text) && loose && !subsequence(a, b) {
		t.Fatalf("%+v changes other bytes:\n%q\n%q", edits, text, out)
	}
	before, after := values(t, text), values(t, string(out))
	no := map[string]bool{}
	for _, r := range refused {
		no[r.Edit.Target+" "+r.Edit.Metric+" "+r.Edit.Limit] = true
	}
	made := 0
	for _, e := range edits {
		id := e.Target + " " + e.Metric + " " + e.Limit
		if no[id] {
			continue
		}
		got := after[id]
		if got == nil || e.Limit == "max" && got.Cmp(e.Value) < 0 || e.Limit == "min" && got.Cmp(e.Value) > 0 {
			t.Fatalf("%+v gives %v in\n%s", e, got, out)
		}
		delete(before, id)
		delete(after, id)
		made++
	}
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(measure.Value{})); diff != "" {
		t.Fatalf("%+v changes other values: %s", edits, diff)
	}
	again, _, err := Update(out, "f", edits)
	if err != nil || string(again) != string(out) {
		t.Fatalf("a second update changes\n%q\n%q (%v)", out, again, err)
	}
	return made
}

// FuzzUpdate: whatever the file, an update is an error or keeps its promises.
func FuzzUpdate(f *testing.F) {
	n := 0
	for _, text := range variants(f) {
		f.Add([]byte(text), int64(1<<30+1), true)
		f.Add([]byte(text), int64(0), false)
		n++
	}
	if n == 0 {
		f.Fatal("no seeds")
	}
	for _, c := range []string{"{ max: 1 GiB, why: x }", "\n        max: 1 GiB\n        why: >-\n          x\n", "&a 1 GiB", "\"1\\x20GiB\"", "'1 GiB'"} {
		f.Add([]byte(strings.TrimSuffix(oneEntry, " ")+" "+c+"\n"), int64(5), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, value int64, loosen bool) {
		l := &loader{}
		d := l.parse(data, "f")
		l.readAlone()
		if d == nil || len(l.errors()) > 0 {
			if out, _, err := Update(data, "f", nil); err == nil || out != nil {
				t.Fatalf("a file with faults was updated to %q", out)
			}
			return
		}
		var edits []Edit
		for i, target := range d.targets {
			for _, e := range target.Budgets {
				limit := "max"
				if e.Max == nil {
					limit = "min"
				}
				edits = append(edits, Edit{target.Name, e.Metric.Name, limit, measure.Int(value + int64(i)), loosen, "because: \"x\" # é"})
			}
		}
		checkUpdate(t, string(data), edits)
	})
}

// values gives each limit of a file.
func values(t *testing.T, text string) map[string]*measure.Value {
	t.Helper()
	l := &loader{}
	d := l.parse([]byte(text), "f")
	l.readAlone()
	if d == nil || len(l.errors()) > 0 {
		t.Fatalf("%v in\n%s", l.errors(), text)
	}
	out := map[string]*measure.Value{}
	for _, target := range d.targets {
		for _, e := range target.Budgets {
			for name, limit := range map[string]*Limit{"max": e.Max, "min": e.Min, "floor": e.Floor, "up_to": e.UpTo} {
				if limit != nil {
					out[target.Name+" "+e.Metric.Name+" "+name] = &limit.Value
				}
			}
			if e.Growth != nil {
				f, _ := e.Growth.Percent.Float64()
				v := measure.Float(f)
				out[target.Name+" "+e.Metric.Name+" growth"] = &v
			}
		}
	}
	return out
}

// skeleton leaves out digits, points and _, which numbers are written with.
func skeleton(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789._-", r) {
			return -1
		}
		return r
	}, s)
}

// simpleWhys tells whether whyText finds each reason of a file.
func simpleWhys(s string) bool { return strings.Count(s, "why:") == len(whyText.FindAllString(s, -1)) }

// whyText is a reason that an update may replace.
var whyText = regexp.MustCompile(`why: "[^"]*"`)

// subsequence tells whether all of a is in b, in order: an update adds whys, and
// takes away none but those it replaces.
func subsequence(a, b string) bool {
	a = whyText.ReplaceAllString(a, "")
	i := 0
	for j := 0; j < len(b) && i < len(a); j++ {
		if a[i] == b[j] {
			i++
		}
	}
	return i == len(a)
}
