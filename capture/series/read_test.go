package series

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture/lines"
	"github.com/peakgate/peakgate/measure"
)

// render is a table in one line: x of each series with its levels.
func render(t *Table) string {
	var out []string
	for _, c := range t.Columns {
		s := c.levels.Series(nil, c.Unit, t.unit)
		text := fmt.Sprintf("%s[%s]", c.Name, s.Unit)
		for i, x := range s.X {
			n, _ := s.Points[i].Int64()
			text += fmt.Sprintf(" %g:%d", x, n)
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ") + " by " + string(t.unit)
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, in, want, warnings string }{
		{"plain", "step,rss_mib\n1,0.5\n2,1\n", "rss[B] 1:524288 2:1048576 by step", ""},
		{"all units", "seconds,a_bytes,b_kib,c_mib,d_gib,e_kb,f_mb,g_gb,h_count\n0.5,1,1,1,1,1,1,1,1\n",
			"a[B] 0.5:1 | b[B] 0.5:1024 | c[B] 0.5:1048576 | d[B] 0.5:1073741824 | e[B] 0.5:1000 | f[B] 0.5:1000000 | g[B] 0.5:1000000000 | h[count] 0.5:1 by s",
			"c_mib has 0 decimals: its levels are known to 1.00 MiB; d_gib has 0 decimals: its levels are known to 1.00 GiB; " +
				"f_mb has 0 decimals: its levels are known to 976.56 KiB; g_gb has 0 decimals: its levels are known to 953.67 MiB"},
		{"names with underscores", "step,peak_rss_bytes\n1,7\n", "peak_rss[B] 1:7 by step", ""},
		{"step before seconds", "seconds,step,rss_bytes\n9,1,7\n", "rss[B] 1:7 by step", ""},
		{"comments, blank lines, CRLF, mark of the byte order", "\ufeff# made by hand\r\n\r\nstep,rss_bytes\r\n# half\r\n1,7\r\n  \r\n2,8\r\n", "rss[B] 1:7 2:8 by step", ""},
		{"semicolons", "step;rss_bytes\n1;7\n", "rss[B] 1:7 by step", ""},
		{"tabs", "step\trss_bytes\tnote\n1\t7\t\n2\t\tx\n3\t9\t\n", "rss[B] 1:7 3:9 by step", `columns without a unit are not read: "note"`},
		{"quotes", "\"step\",\"a \"\"b\"\", c_bytes\" , x\n \"1\" ,\"7\",\"a,b\"\n", `a "b", c[B] 1:7 by step`, `columns without a unit are not read: "x"`},
		{"absent is not zero", "step,rss_bytes,gpu_bytes\n1,,5\n2,8,\n3,9,6\n", "rss[B] 2:8 3:9 | gpu[B] 1:5 3:6 by step", ""},
		{"rows without x", "step,rss_bytes\n1,7\n,8\n2,9\n", "rss[B] 1:7 2:9 by step", "rows without a step are left out: 1 of 3"},
		{"the lowest of one step", "step,rss_bytes\n1,7\n1,5\n1,9\n2,8\n2,8\n", "rss[B] 1:5 2:8 by step", ""},
		{"a counter that begins again", "step,rss_bytes\n10,1\n20,2\n30,3\n10,4\n20,5\n30,6\n10,7\n20,8\n30,9\n",
			"rss[B] 10:1 20:2 30:3 40:4 50:5 60:6 70:7 80:8 90:9 by step",
			"step falls 2 times, first on line 5 (a new epoch, or a resumed run): it is counted on from there"},
		{"numbers as programs print them", "step,rss_bytes\n1.0,1e3\n2e0,1.5e+03\n", "rss[B] 1:1000 2:1500 by step", ""},
		{"differences", "step,d_kb\n1,-1\n2,1.5\n", "d[B] 1:-1000 2:1500 by step", ""},
		{"a last line that is cut off", "step,rss_bytes\n1,7\n2,8\n3,12", "rss[B] 1:7 2:8 by step", "the last line, 4, has no end: it was cut off and is left out"},
		{"JSON lines", `{"step":1,"rss_mib":0.5,"loss":{"a":[1]}}` + "\n" + `{"step":2,"rss_mib":null,"cpu_count":3}` + "\n# x\n" + `{"step":3,"rss_mib":1e0}`,
			"rss[B] 1:524288 3:1048576 | cpu[count] 2:3 by step", `columns without a unit are not read: "loss"`},
		{"JSON lines: a loss of NaN", `{"step":1,"loss":NaN,"rss_bytes":7,"note":"\"NaN"}` + "\n" + `{"step":2,"loss":{"a":[-Infinity,Infinity]},"rss_bytes":8}` + "\n",
			"rss[B] 1:7 2:8 by step", `columns without a unit are not read: "loss", "note"`},
		{"JSON lines, cut off", `{"seconds":1,"rss_bytes":7}` + "\n" + `{"seconds":2,"rss_by`, "rss[B] 1:7 by s", "the last line, 2, has no end: it was cut off and is left out"},
		{"JSON lines of another kind between", `{"epoch":1}` + "\n" + `{"step":1,"rss_bytes":7}` + "\n", "rss[B] 1:7 by step", "rows without a step are left out: 1 of 2"},
		{"mprof", "CMDLINE python x.py\nMEM 0.500000 1000.5000\nFUNC x.f 0.5 1000.1 0.6 1000.2 0\nMEM 1.000000 1001.5000\n", "mem[B] 0:524288 1:1048576 by s", ""},
		{"mprof with children", "CMDLINE x\nMEM 1 10.0\nMEM 1 11.0\nCHLD 7 2.0 11.01\nCHLD 8 3.0 11.02\nMEM 1 12.0\nCHLD 7 4.0 12.01\n",
			"mem[B] 0:1048576 1:1048576 2:1048576 | children[B] 1:5242880 2:4194304 by s",
			"the series children is a sum over processes: memory that they share is counted several times; MEM has 0 decimals: its levels are known to 1.00 MiB"},
		{"psrecord", "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n       0.000        0.000        1.500        2.500\n       0.103        9.000        2.000        2.500\n",
			"mem_real[B] 0:1572864 0.103:2097152 | mem_virtual[B] 0:2621440 0.103:2621440 by s", ""},
		{"psrecord with I/O", "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)  Read count  Write count   Read bytes  Write bytes \n       0.000        0.000        1.500        2.500           1           2           3           4\n",
			"mem_real[B] 0:1572864 | mem_virtual[B] 0:2621440 by s", ""},
		{"psrecord as CSV", "elapsed_time,nproc,cpu,mem_real,mem_virtual\n0.25,2,9.5,1.5,2.5\n", "nproc[count] 0.25:2 | mem_real[B] 0.25:1572864 | mem_virtual[B] 0.25:2621440 by s", ""},
		{"prmon", "Time\tnprocs\tnthreads\twtime\tstime\tpss\trss\tswap\tvmem\n1576523936\t2\t3\t1\t0\t10\t20\t0\t30\n1576523967\t3\t10\t31\t4\t11\t21\t1\t31\n",
			"nprocs[count] 1:2 31:3 | nthreads[count] 1:3 31:10 | pss[B] 1:10240 31:11264 | rss[B] 1:20480 31:21504 | swap[B] 1:0 31:1024 | vmem[B] 1:30720 31:31744 by s", ""},
		{"prmon of 2018", "Time\tVMEM\tPSS\tRSS\tSwap\twtime\n1527669447\t4\t3\t2\t1\t9\n", "vmem[B] 9:4096 | pss[B] 9:3072 | rss[B] 9:2048 | swap[B] 9:1024 by s", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := Sniff([]byte(c.in)); !ok {
				t.Error("Sniff refuses it")
			}
			got, err := Read(strings.NewReader(c.in), "x")
			if err != nil {
				t.Fatal(err)
			}
			if r := render(got); r != c.want {
				t.Errorf("got  %s\nwant %s", r, c.want)
			}
			if w := strings.Join(got.Warnings, "; "); w != c.warnings {
				t.Errorf("warnings\ngot  %s\nwant %s", w, c.warnings)
			}
			if err := got.Measurement().Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "x: no header line; want a column step or seconds, and columns " + unitNames},
		{"only comments", "# a\n\n# b\n", "x: no header line; want a column step or seconds, and columns " + unitNames},
		{"no x", "iteration,rss_mb\n1,2\n", `x:1:1: want a column step or seconds, got "iteration", "rss_mb"`},
		{"no unit", "step,rss\n1,2\n", `x:1:1: no column has a unit: want one of ` + unitNames + `, got "step", "rss"`},
		{"no row", "step,rss_mb\n", "x: no row with a step: the writer was interrupted or has not run"},
		{"only a row that is cut off", "step,rss_mb\n1,2", "x: no row with a step: the writer was interrupted or has not run"},
		{"NaN", "step,rss_mb\n1,2\n2,nan\n", `x:3:3: rss_mb: want a number, got "nan"; leave it out where there is no number`},
		{"Inf", "step,rss_mb\n1,-Infinity\n", `x:2:3: rss_mb: want a number, got "-Infinity"; leave it out where there is no number`},
		{"a unit in the cell", "step,rss_mb\n1,12MB\n", `x:2:3: rss_mb: want a number, got "12MB"`},
		{"a decimal comma", "step;rss_mb\n1;12,5\n", `x:2:3: rss_mb: want a number, got "12,5"; write a point for decimals, and nothing between thousands`},
		{"thousands", "step,rss_mb\n1,\"1,024\"\n", `x:2:3: rss_mb: want a number, got "1,024"; write a point for decimals, and nothing between thousands`},
		{"too large", "step,rss_gib\n1,1e12\n", "x:2:3: rss_gib: 1e12 is beyond 64 bits"},
		{"half a process", "step,a_count\n1,0.5\n", "x:2:3: a_count: want a whole number, got 0.5"},
		{"a step that is none", "step,rss_mb\none,2\n", `x:2:1: step: want a number, got "one"`},
		{"a large step", "step,rss_mb\n1e300,2\n", "x:2:1: step: 1e300 is too large"},
		{"seconds that fall", "seconds,rss_mb\n1.5,2\n1.25,2\n", "x:3:1: seconds: want at least 1.5 as in the row before, got 1.25: time went back; write each run into a file of its own"},
		{"steps in no order", "step,rss_mb\n1,2\n9,2\n3,2\n8,2\n2,1\n", "x: step falls 2 times in 5 rows; want rows in the order of time, and each process in a file of its own"},
		{"a short row", "step,a_mb,b_mb\n1,2,3\n2,3\n3,4,5\n", "x:3:1: want 3 cells as in the header, got 2"},
		{"a long row", "step,a_mb\n1,2,3\n", "x:2:1: want 2 cells as in the header, got 3"},
		{"two of one name", "step,a_mb,a_kib\n1,2,3\n", `x:1:11: a_kib: a second column for the series "a", which a_mb gives already`},
		{"an open quote", "step,a_mb\n1,\"2\n", "x:2:3: a quote that does not end on its line"},
		{"text behind a quote", "step,a_mb\n1,\"2\"3\n", `x:2:6: text behind a quoted cell; write "" for a quote in it`},
		{"many columns", "step" + manyColumns(300) + "\n", "x:1:2054: more than 256 columns of series"},
		{"a long line", "step,a_mb\n" + strings.Repeat("1", lines.MaxLine+lines.Window), "x:2:1: a line of more than 1048576 bytes: want a text of lines"},
		{"JSON: text", "{\"step\":1,\"a_mb\":\"12\"}\n", `x:1:11: a_mb: want a number, got "\"12\""`},
		{"JSON: no object", "{\"step\":1,\"a_mb\":1}\n[1]\n", "x:2:1: want one JSON object a line: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		{"JSON: broken inside", "{\"step\":1,\"a_mb\":1}\n{\"step\":2,\n", "x:2:10: want one JSON object a line: unexpected end of JSON input"},
		{"JSON: NaN", "{\"step\":1,\"a_mb\":1}\n{\"step\":2,\"a_mb\":NaN}\n", `x:2:11: a_mb: want a number, got "NaN"; leave it out where there is no number`},
		{"JSON: -Infinity", "{\"step\":1,\"loss\":NaN,\"a_mb\":-Infinity}\n", `x:1:22: a_mb: want a number, got "-Infinity"; leave it out where there is no number`},
		{"JSON: a step that is none", "{\"step\":1,\"a_mb\":1}\n{\"step\":NaN,\"a_mb\":1}\n", `x:2:2: step: want a number, got "NaN"; leave it out where there is no number`},
		{"JSON: NaN and a fault", "{\"step\":1,\"a_mb\":1}\n{\"loss\":NaN,\"step\":2,,}\n", "x:2:9: want one JSON object a line: invalid character 'N' looking for beginning of value"},
		{"mprof: two runs", "CMDLINE a\nMEM 1 1\nCMDLINE a\nMEM 1 2\n", "x:3:1: a second CMDLINE line: two runs were written into one file; keep each in its own"},
		{"mprof: another line", "CMDLINE a\nMEM 1 1\nMEMORY\n", `x:3:1: want a line MEM, CHLD, FUNC or CMDLINE of mprof, got "MEMORY"`},
		{"mprof: a short line", "CMDLINE a\nMEM 1\n", "x:2:1: want MEM MIB SECONDS"},
		{"mprof: nothing", "CMDLINE a\n", "x: no row with a time: the writer was interrupted or has not run"},
		{"mprof: a child of no size", "CMDLINE a\nMEM 1 1\nCHLD 1 x 1\n", `x:3:8: CHLD: want a number, got "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.in), "x")
			if err == nil || err.Error() != c.want || got != nil {
				t.Errorf("%v\ngot  %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func manyColumns(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, ",a%03d_mb", i)
	}
	return out.String()
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		in   string
		want bool
	}{
		{"step,rss_mb\n", true},
		{"step,loss\n1,2\n", false}, // a log without memory is none of ours
		{"iteration,rss_mb\n1,2\n", false},
		{"a,b\n", false},
		{"{\"step\":1}\n", false},
		{"{\"step\":1,\"rss_mb\":3}", true},
		{"{\n\"step\":1,\"rss_mb\":3}\n", false}, // one object over several lines
		{"{\"schema\":\"peakgate.watch/1\"}\n{\"t_ms\":1}\n", false},
		{"MEM 1.0 2.0\n", true},
		{"MEM is short for memory\n", false},
		{"the step, and the rss_mb\n", false},
		{"Time\twtime\n", false},
		{"step,rss_mb" + strings.Repeat(" ", lines.Window), false}, // a header without an end
		{"\x00\x01step,rss_mb\n", false},
		{"", false},
	} {
		if _, got := Sniff([]byte(c.in)); got != c.want {
			t.Errorf("%.60q: %v", c.in, got)
		}
	}
}

func TestHint(t *testing.T) {
	for in, want := range map[string]string{
		"iteration,rss_mb\n1,2\n": `a table without a column step or seconds; name the one that counts so, of "iteration", "rss_mb"`,
		"step,rss\n1,2\n":         "a table with a column step or seconds and none with a unit; name the columns " + unitNames,
		"a,b\n":                   "",
		"<html>, step\n":          "",
		"step by step\n":          "",
	} {
		if got := Hint([]byte(in)); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// TestTableAndLinesAgree: the program of the fixtures wrote each number twice.
func TestTableAndLinesAgree(t *testing.T) {
	var got [2]string
	for i, name := range []string{"trainer.csv", "trainer.jsonl"} {
		got[i] = render(fixture(t, name))
	}
	if got[0] != byName(got[1], "rss", "kept", "gpu") {
		t.Errorf("the table gives\n%s\nthe lines\n%s", got[0], got[1])
	}
}

// byName puts the series of a rendered table into an order.
func byName(rendered string, names ...string) string {
	series, unit, _ := strings.Cut(rendered, " by ")
	var out []string
	for _, n := range names {
		for _, s := range strings.Split(series, " | ") {
			if strings.HasPrefix(s, n+"[") {
				out = append(out, s)
			}
		}
	}
	return strings.Join(out, " | ") + " by " + unit
}

func fixture(t testing.TB, name string) *Table {
	t.Helper()
	f, err := os.Open("../../fixtures/series/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := Read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNeed: the column need goes with the others, unless it does not tell of each step.
func TestNeed(t *testing.T) {
	for in, want := range map[string]int{
		"step,need_count,rss_bytes\n1,4,7\n2,6,8\n":        2,
		"step,rss_bytes,need_bytes\n1,7,4\n2,8,\n":         0,
		"step,rss_bytes,need_bytes\n1,7,4\n1,8,9\n2,8,9\n": 0,
		"step,rss_bytes\n1,7\n":                            0,
	} {
		got, err := Read(strings.NewReader(in), "x")
		if err != nil {
			t.Fatal(err)
		}
		m := got.Measurement()
		s := m.SeriesOf("growth.bytes_per_step", measure.Labels{"series": "rss"})
		if s == nil || len(s.Need) != want || m.Validate() != nil {
			t.Errorf("%q: %+v, want %d needs", in, s, want)
		}
	}
}

// TestManyRows: memory is bounded whatever the number of rows, and the peak stays.
func TestManyRows(t *testing.T) {
	var in strings.Builder
	in.WriteString("step,rss_bytes\n")
	for i := range 50_000 {
		n := 1000 + i
		if i == 31_337 {
			n = 9_999_999
		}
		fmt.Fprintf(&in, "%d,%d\n", i, n)
	}
	got, err := Read(strings.NewReader(in.String()), "x")
	if err != nil {
		t.Fatal(err)
	}
	m := got.Measurement()
	s := m.SeriesOf("growth.bytes_per_step", measure.Labels{"series": "rss"})
	if s == nil || len(s.X) > measure.MaxPoints || s.Samples != 50_000 {
		t.Fatalf("%+v", s)
	}
	for _, r := range m.Rows {
		want := map[string]measure.Value{"growth.bytes_per_step": measure.Float(1), "series.peak_bytes": measure.Int(9_999_999)}[r.Name]
		if r.Value == nil || r.Value.Cmp(want) != 0 || r.Samples != 50_000 {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
}
