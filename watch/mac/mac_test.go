package mac

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared reads a capture of the folder beside the repository.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "captures", "vmmap")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the folder of shared captures is not beside the repository")
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const k, m, g = 1 << 10, 1 << 20, 1 << 30

// tenths gives n tenths of a unit, rounded as the parser rounds.
func tenths(n, unit int64) int64 { return (n*unit + 5) / 10 }

func TestVmmapCaptures(t *testing.T) {
	for _, tt := range []struct {
		file            string
		footprint, peak int64
		rows            map[string]Row
	}{
		{"01_vmmap_summary_llama-server_macos26.4.1.txt", tenths(115, g), tenths(145, g), map[string]Row{
			IOAccelerator:          {64 * k, 64 * k, 64 * k, 0, 2},
			Graphics:               {5008 * k, 4864 * k, 4864 * k, 0, 142},
			"MALLOC_LARGE (empty)": {tenths(14, g), tenths(9822, m), tenths(9822, m), tenths(4002, m), 19}, // with a remark
			"Stack (reserved)":     {544 * k, 0, 0, 0, 1},
			"__AUTH":               {2437 * k, 1367 * k, 16 * k, 1840, 259}, // bytes without a letter
		}},
		{"02_vmmap_summary_ferryx_macos26.6.txt", tenths(9190, m), tenths(9414, m), map[string]Row{
			IOAccelerator: {352 * k, 352 * k, 352 * k, 0, 8},
			Graphics:      {tenths(191, m), 6848 * k, 5648 * k, 1200 * k, 226},
		}},
		{"10_vmmap_pages_mode_sample.txt", -1, -1, map[string]Row{
			Graphics:       {600000 * 16384, 600000 * 16384, 600000 * 16384, 0, 3700},
			"__DATA":       {20025 * 16384 / 100, 10025 * 16384 / 100, 3050 * 16384 / 100, 0, 100},
			"MALLOC_LARGE": {3169 * 16384, 23 * 16384, 23 * 16384, 0, 1},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			s, err := ParseVmmap(shared(t, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []struct {
				name string
				got  *int64
				want int64
			}{{"footprint", s.Footprint, tt.footprint}, {"peak", s.Peak, tt.peak}} {
				if got := value(n.got); got != n.want {
					t.Errorf("%s %d, want %d", n.name, got, n.want)
				}
			}
			for name, want := range tt.rows {
				if got, ok := s.Rows[name]; !ok || got != want {
					t.Errorf("%s: got %+v, want %+v", name, got, want)
				}
			}
			if _, ok := s.Rows["TOTAL"]; ok || len(s.Rows) < 4 {
				t.Errorf("%d rows", len(s.Rows))
			}
		})
	}
}

func value(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// TestVmmapRefuses what would read as no region at all.
func TestVmmapRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"abridged by hand", shared(t, "05_vmmap_rows_omlx_2304_abridged_by_poster.txt"), "line 3: the table has no column of region counts"},
		{"not a summary", shared(t, "08_vmmap_full_region_lines_signet_1006.txt"), "want a table"},
		{"crash report", "REGION TYPE                        VIRTUAL  REGION\nStack 1M 2\n", "crash report"},
		{"refused", "vmmap: cannot examine process 1\n", "want a table"},
		{"empty", "", "want a table"},
		{"short row", "REGION TYPE SIZE SIZE SIZE SIZE SIZE SIZE SIZE COUNT\nStack 1M 2\n", "line 2: want a name, seven sizes and a count"},
		{"footprint", "Physical footprint: lots\n", "line 1: Physical footprint: want a size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseVmmap(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFootprintCaptures(t *testing.T) {
	f, err := ParseFootprint(shared(t, "06_footprint_wgpu_9354.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if f.PID != 12761 || f.Bytes != 60*m || f.Reclaimable != 25*m+144*k || f.Regions[Graphics] != 305 {
		t.Errorf("got %+v", f)
	}
	f, err = ParseFootprint(shared(t, "07_footprint_ruby_socketry3.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "ruby" || f.PID != 3644 || f.Bytes != 42*m || f.Regions["MALLOC_LARGE"] != 2 {
		t.Errorf("got %+v", f)
	}
	if _, err := ParseFootprint("footprint: no such process\n"); err == nil {
		t.Error("no process: want an error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Physical footprint: 11.5G\nREGION TYPE SIZE SIZE SIZE SIZE SIZE SIZE SIZE COUNT\nIOAccelerator 64K 64K 64K 0K 0K 0K 0K 2\nTOTAL\n")
	f.Add("ruby [3644]: 64-bit    Footprint: 42 MB (16384 bytes per page)\n  16 MB 0 B 0 B 2 MALLOC_LARGE\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseVmmap(text); err == nil {
			for name, r := range s.Rows {
				if r.Virtual < 0 || r.Resident < 0 || r.Count < 0 {
					t.Fatalf("%s: %+v", name, r)
				}
			}
		}
		if p, err := ParseFootprint(text); err == nil && (p.Bytes < 0 || p.Reclaimable < 0) {
			t.Fatalf("%+v", p)
		}
	})
}
