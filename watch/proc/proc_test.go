package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func stat(pid int, comm, state string, parent, threads, start int) string {
	return fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 4194304 9 0 0 0 0 0 0 0 20 0 %d 0 %d 1 2 3\n", pid, comm, state, parent, threads, start)
}

func TestStat(t *testing.T) {
	s, err := parseStat([]byte(stat(7, "a) R (b", "S", 3, 2, 99)))
	if want := (Stat{"a) R (b", 'S', 3, 2, 99}); err != nil || s != want {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "7 name S 1", "7 (x) S", "7 )x( S 1", stat(7, "x", "SS", 1, 1, 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestMemoryFiles(t *testing.T) {
	fs := New(tree(t, map[string]string{
		"7/status":       "Name:\tpython\nVmHWM:\t  2000 kB\nVmRSS:\t  1000 kB\nRssAnon:\t 600 kB\nRssFile:\t 300 kB\nRssShmem:\t 100 kB\nVmSwap:\t 50 kB\nThreads:\t1\n",
		"7/smaps_rollup": "1-2 ---p 0 00:00 0 [rollup]\nRss: 1000 kB\nPss: 500 kB\nPss_Anon: 300 kB\nPss_File: 150 kB\nPss_Shmem: 50 kB\nPrivate_Clean: 10 kB\nPrivate_Dirty: 20 kB\nAnonymous: 600 kB\nLazyFree: 5 kB\nSwap: 50 kB\nSwapPss: 25 kB\n",
		"8/status":       "Name:\tzombie\nState:\tZ (zombie)\n",
		"8/smaps_rollup": "",
		"9/status":       "Name:\tx\nVmRSS:\t-3 kB\n",
		"10/status":      "Name:\tx\nVmRSS:\t3 MB\n",
	}))
	s, err := fs.Status(7)
	if want := (Status{"python", true, 1000 << 10, 2000 << 10, 600 << 10, 300 << 10, 100 << 10, 50 << 10}); err != nil || s != want {
		t.Errorf("status: got %+v, %v", s, err)
	}
	if s.Unshared() != 750<<10 {
		t.Errorf("unshared %d", s.Unshared())
	}
	r, err := fs.Rollup(7)
	want := Rollup{RSS: 1000 << 10, PSS: 500 << 10, PSSAnon: 300 << 10, PSSFile: 150 << 10, PSSShmem: 50 << 10, Split: true,
		Anon: 600 << 10, Private: 30 << 10, Swap: 50 << 10, SwapPSS: 25 << 10, LazyFree: 5 << 10}
	if err != nil || r != want {
		t.Errorf("rollup: got %+v, %v", r, err)
	}
	if s, err := fs.Status(8); err != nil || s.Memory {
		t.Errorf("zombie: got %+v, %v: want no memory, not 0", s, err)
	}
	if _, err := fs.Rollup(8); err == nil {
		t.Error("empty smaps_rollup: want an error")
	}
	for _, pid := range []int{9, 10} {
		if _, err := fs.Status(pid); err == nil || !strings.Contains(err.Error(), "VmRSS: want a number of kB") {
			t.Errorf("%d: got %v", pid, err)
		}
	}
	if _, err := fs.Status(11); !Gone(err) {
		t.Errorf("no process: got %v", err)
	}
}

// TestTree: a pid that is used again is a new member, a member whose parent has
// gone stays, a helper is none.
func TestTree(t *testing.T) {
	files := map[string]string{"loadavg": "0 0 0 1/9 20\n"}
	add := func(pid int, comm string, parent, pages, start int, children string) {
		dir := fmt.Sprint(pid)
		files[dir+"/stat"] = stat(pid, comm, "S", parent, 1, start)
		files[dir+"/statm"] = fmt.Sprintf("100 %d 1 1 0 1 0\n", pages)
		files[dir+"/task/"+dir+"/children"] = children
	}
	add(1, "watcher", 0, 1, 1, "10 11 ")
	add(10, "main", 1, 5, 2, "12 ")
	add(11, "helper", 1, 5, 2, "")
	add(12, "child", 10, 7, 3, "")
	root := tree(t, files)
	fs := New(root)
	tr := NewTree(fs, 1, func(pid int) bool { return pid == 11 })
	defer tr.Close()
	came, went := tr.Tick()
	if len(came) != 2 || len(went) != 0 || tr.Get(11) != nil {
		t.Fatalf("came %v, went %v", came, went)
	}
	if got := tr.Get(12).RSS; got != 7*int64(os.Getpagesize()) {
		t.Errorf("RSS %d", got)
	}
	// Nothing was born: children are not looked for, whatever the files say.
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(filepath.Join(root, "13/task/13"), 0o755)
	write("13/stat", stat(13, "new", "S", 12, 1, 4))
	write("13/statm", "100 9 1 1 0 1 0\n")
	write("13/task/13/children", "")
	write("12/task/12/children", "13 ")
	write("10/task/10/children", "") // 10 has lost its child, which stays
	if came, _ := tr.Tick(); len(came) != 0 {
		t.Errorf("a walk without a new pid: %v", came)
	}
	write("loadavg", "0 0 0 1/9 21\n")
	if came, _ := tr.Tick(); len(came) != 1 || came[0].PID != 13 || tr.Get(12) == nil {
		t.Errorf("came %v", came)
	}
	// An end is noticed by the kept descriptor; then the pid may be used again.
	old := tr.Get(13)
	tr.Remove(old)
	write("13/stat", stat(13, "again", "S", 12, 1, 77))
	if came, _ := tr.Tick(); len(came) != 1 || came[0].Key == old.Key || came[0].Comm != "again" {
		t.Errorf("came %+v", came)
	}
}

// TestTreeWithoutChildrenFiles: a kernel that does not list children is scanned.
func TestTreeWithoutChildrenFiles(t *testing.T) {
	files := map[string]string{}
	for pid, parent := range map[int]int{1: 0, 10: 1, 12: 10, 99: 0} {
		files[fmt.Sprintf("%d/stat", pid)] = stat(pid, "x", "S", parent, 1, 1)
		files[fmt.Sprintf("%d/statm", pid)] = "100 5 1 1 0 1 0\n"
		files[fmt.Sprintf("%d/task/%d/stat", pid, pid)] = ""
	}
	tr := NewTree(New(tree(t, files)), 1, nil)
	defer tr.Close()
	if came, _ := tr.Tick(); len(came) != 2 || tr.Get(99) != nil {
		t.Errorf("came %v", came)
	}
}

func TestCgroup(t *testing.T) {
	for _, tt := range []struct {
		name, groups, mount string
		files               map[string]string
		want                [4]int64 // held, peak, swap, kills; -1 is not told
	}{
		{"v2", "0::/job/step\n", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n", map[string]string{
			"cg/job/step/memory.events": "low 0\noom 1\noom_kill 2\n", "cg/job/step/memory.stat": "file 5\nshmem 30\nanon 100\n",
			"cg/job/step/memory.peak": "500\n", "cg/job/step/memory.swap.current": "7\n",
		}, [4]int64{130, 500, 7, 2}},
		{"v2 before 5.19", "0::/\n", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n", map[string]string{
			"cg/memory.events": "oom_kill 0\n",
		}, [4]int64{-1, -1, -1, 0}},
		{"v1", "4:memory:/job\n0::/\n", "31 1 0:27 / /mem rw - cgroup cgroup rw,memory\n30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n", map[string]string{
			"mem/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "mem/job/memory.stat": "total_rss 10\ntotal_shmem 2\ntotal_swap 0\n",
			"mem/job/memory.max_usage_in_bytes": "99\n",
		}, [4]int64{12, 99, 0, 3}},
		{"a name space of its own", "0::/../other\n", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n", map[string]string{
			"cg/memory.events": "oom_kill 1\n",
		}, [4]int64{-1, -1, -1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["proc/7/cgroup"], tt.files["proc/7/mountinfo"] = tt.groups, tt.mount
			root := tree(t, tt.files)
			c, err := New(filepath.Join(root, "proc")).Cgroup(7, root)
			if err != nil {
				t.Fatal(err)
			}
			k := c.Read()
			for i, n := range []*int64{k.Held, k.Peak, k.Swap, k.Kills} {
				got := int64(-1)
				if n != nil {
					got = *n
				}
				if got != tt.want[i] {
					t.Errorf("counter %d: %d, want %d", i, got, tt.want[i])
				}
			}
		})
	}
	root := tree(t, map[string]string{"proc/7/cgroup": "0::/\n", "proc/7/mountinfo": ""})
	if _, err := New(filepath.Join(root, "proc")).Cgroup(7, root); err == nil {
		t.Error("no controller: want an error")
	}
}

func TestClient(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "captures", "fdinfo")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the folder of shared captures is not beside the repository")
	}
	for _, tt := range []struct {
		file, driver, id string
		regions          map[string]int64
	}{
		{"amdgpu_linux6.1.txt", "amdgpu", "12", map[string]int64{"vram": 1024 << 10, "gtt": 2048 << 10, "cpu": 0}},
		{"amdgpu_new.txt", "amdgpu", "7518", map[string]int64{"vram": 310488 << 10, "gtt": 34880 << 10, "cpu": 0, "gds": 0}},
		{"xe_kernel_doc_example.txt", "xe", "3", map[string]int64{"vram0": 23992 << 10, "gtt": 192 << 10, "system": 0, "stolen": 0}},
	} {
		b, err := os.ReadFile(filepath.Join(dir, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseClient(string(b))
		if err != nil {
			t.Fatal(err)
		}
		if c.Driver != tt.driver || c.ID != tt.id || fmt.Sprint(c.Regions) != fmt.Sprint(tt.regions) {
			t.Errorf("%s: got %+v", tt.file, c)
		}
	}
	if _, err := ParseClient("pos: 0\nflags: 1\n"); err == nil {
		t.Error("no DRM client: want an error")
	}
	if _, err := ParseClient("drm-client-id: 1\ndrm-total-vram: 3 GiB\n"); err == nil {
		t.Error("an unknown unit: want an error")
	}
}

// TestDRMBytes counts a client once, however many descriptors it has.
func TestDRMBytes(t *testing.T) {
	const info = "drm-driver: xe\ndrm-pdev: 0000:03:00.0\ndrm-client-id: %d\ndrm-resident-vram0: %d KiB\n"
	root := tree(t, map[string]string{
		"7/fdinfo/3": fmt.Sprintf(info, 1, 100), "7/fdinfo/4": fmt.Sprintf(info, 1, 100), "8/fdinfo/3": fmt.Sprintf(info, 2, 20),
		"8/fdinfo/5": fmt.Sprintf(info, 9, 999), // no device file
	})
	for name, target := range map[string]string{"7/fd/3": "/dev/dri/renderD128", "7/fd/4": "/dev/dri/renderD128", "8/fd/3": "/dev/dri/card0", "8/fd/5": "/tmp/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
	}
	if n, ok := New(root).DRMBytes([]int{7, 8}); !ok || n != 120<<10 {
		t.Errorf("got %d, %t", n, ok)
	}
	if _, ok := New(root).DRMBytes([]int{6}); ok {
		t.Error("no client: want unknown")
	}
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte("7 (x) S 1 1 1 0 -1 4194304 9 0 0 0 0 0 0 0 20 0 1 0 5 1 2 3\nVmRSS: 5 kB\nPss: 3 kB\ndrm-client-id: 1\ndrm-total-vram: 3 KiB"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseStat(b)
		mountPoint(b, true)
		groupPath(b, false)
		if c, err := ParseClient(string(b)); err == nil {
			for region, n := range c.Regions {
				if n < 0 {
					t.Fatalf("%s: %d", region, n)
				}
			}
		}
	})
}
