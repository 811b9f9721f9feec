package pretend

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// compileC compiles a C program or library of a test, and skips the test where there
// is no compiler.
func compileC(t *testing.T, out string, args ...string) {
	t.Helper()
	cc, err := findCompiler(t.Context())
	if err != nil {
		t.Skip(err)
	}
	args = slices.Concat(cc.argv[1:], []string{"-w", "-o", out}, args)
	if text, err := exec.Command(cc.argv[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", args, err, text)
	}
}

// makeTorch makes a folder that looks like an installed PyTorch, of which a library
// wants symbols of CUDA with and without versions.
func makeTorch(t *testing.T, version, cuda string) string {
	t.Helper()
	dir := t.TempDir()
	torch := filepath.Join(dir, "site-packages", "torch")
	if err := os.MkdirAll(filepath.Join(torch, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(torch, "__init__.py"), "raise ImportError('not to be imported')\n")
	write(t, filepath.Join(torch, "version.py"), fmt.Sprintf("from typing import Optional\n__version__ = '%s'\ncuda: Optional[str] = %s\nhip: Optional[str] = None\n", version, cuda))
	info := filepath.Join(dir, "site-packages", "torch-2.9.1.dist-info")
	if err := os.Mkdir(info, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(info, "METADATA"), "Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system\nRequires-Dist: nvidia-nccl-cu12 (==2.20.5)\nRequires-Dist: nvidia-cublas<=13.1.1.3,>=13.1.0.3\n")
	var needed []string
	for _, lib := range []struct{ soname, symbols string }{
		{"libcudart.so.12", "cudaMalloc cudaFree cudaMemGetInfo cudaLaunchKernel cudaMallocManaged __cudaRegisterFunction"},
		{"libcublas.so.12", "cublasSgemm_v2 cublasSnrm2_v2"},
		{"libcusolver.so.11", "cusolverDnSgetrf_bufferSize"},
	} {
		source, script, out := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.map"), filepath.Join(dir, lib.soname)
		var text strings.Builder
		for _, s := range strings.Fields(lib.symbols) {
			fmt.Fprintf(&text, "int %s() { return 0; }\n", s)
		}
		write(t, source, text.String())
		write(t, script, lib.soname+" { global: *; };\n")
		args := []string{"-shared", "-fPIC", "-Wl,-soname," + lib.soname, source}
		if lib.soname != "libcusolver.so.11" {
			args = append(args, "-Wl,--version-script="+script)
		}
		compileC(t, out, args...)
		needed = append(needed, out)
	}
	compileC(t, filepath.Join(torch, "lib", "libtorch_python.so"), append([]string{"-shared", "-fPIC", "testdata/torch_python.c"}, needed...)...)

	// A package beside it wants a call more of a library, and a library more.
	source, random := filepath.Join(dir, "vision.c"), filepath.Join(dir, "libcurand.so.10")
	write(t, source, "int curandCreateGenerator() { return 0; }\n")
	compileC(t, random, "-shared", "-fPIC", "-Wl,-soname,libcurand.so.10", source)
	write(t, source, "int cudaHostGetDevicePointer(), curandCreateGenerator();\nint f() { return cudaHostGetDevicePointer() + curandCreateGenerator(); }\n")
	vision := filepath.Join(dir, "site-packages", "vision")
	if err := os.Mkdir(vision, 0o700); err != nil {
		t.Fatal(err)
	}
	compileC(t, filepath.Join(vision, "_C.so"), "-shared", "-fPIC", "-Wl,--no-as-needed", source, random, needed[0])
	write(t, filepath.Join(vision, "damaged.so"), "\x7fELF")
	return torch
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fakePython is an interpreter that says where a torch is.
func fakePython(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadWheel(t *testing.T) {
	w, err := readWheel(makeTorch(t, "2.9.1+cu128", "'12.8'"))
	if err != nil {
		t.Fatal(err)
	}
	if w.version != "2.9.1+cu128" || w.release() != 12080 || !slices.Equal(w.architectures, []int{80, 90}) {
		t.Errorf("version %s, CUDA %d, architectures %v", w.version, w.release(), w.architectures)
	}
	if want := map[string][3]int{"cudnn": {9, 10, 2}, "nccl": {2, 20, 5}, "cublas": {13, 1, 1}}; !maps.Equal(w.requires, want) {
		t.Errorf("requires %v, want %v", w.requires, want)
	}
	if got := runs(w.architectures); !slices.Equal(got, []string{"8.0", "8.6", "8.9", "9.0"}) {
		t.Errorf("runs on %v", got)
	}
	var got []string
	for _, l := range w.libraries {
		got = append(got, l.soname)
	}
	want := []string{"libcuda.so.1", "libcudart.so.12", "libnvidia-ml.so.1", "libcublas.so.12", "libcusolver.so.11", "libcurand.so.10"}
	if !slices.Equal(got, want) {
		t.Errorf("libraries %v, want %v", got, want)
	}
	if _, ok := w.libraries[1].versions["cudaHostGetDevicePointer"]; !ok {
		t.Error("what a package beside torch wants is not there")
	}
	if v := w.libraries[1].versions["cudaMalloc"]; v != "libcudart.so.12" {
		t.Errorf("cudaMalloc has version %q", v)
	}
}

func TestBuildErrors(t *testing.T) {
	cpu := makeTorch(t, "2.9.1+cpu", "None")
	for _, c := range []struct{ name, version, want string }{
		{"CPU", "__version__ = '2.9.1+cpu'\ncuda: Optional[str] = None\n", "is for the CPU alone"},
		{"ROCm", "__version__ = '2.9.1+rocm6.4'\ncuda = None\nhip: Optional[str] = '6.4.1'\n", "is for ROCm"},
		{"CUDA 11", "__version__ = '2.3.1+cu118'\ncuda = '11.8'\n", "is for CUDA 11.8; the pretend device knows CUDA 12 and 13"},
		{"no version", "cuda = '12.8'\n", "want a line __version__"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, filepath.Join(cpu, "version.py"), c.version)
			_, err := Build(t.Context(), fakePython(t, "echo noise; echo torch at "+cpu+"/__init__.py; echo more"), t.TempDir())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q in one line", err, c.want)
			}
		})
	}
	for _, c := range []struct{ name, script, want string }{
		{"no torch", "echo", "this Python has no torch; pip install torch, or run the program with one that has it, such as .venv/bin/python"},
		{"no Python", "echo trouble >&2; exit 3", `want a Python interpreter: exit status 3: "trouble"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Build(t.Context(), fakePython(t, c.script), t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "python"), t.TempDir()); err == nil {
		t.Error("an interpreter that is not there gave no error")
	}
}

func TestNoCompiler(t *testing.T) {
	w, err := readWheel(makeTorch(t, "2.9.1+cu128", "'12.8'"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", "no-such-compiler -O9")
	if _, err := w.build(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "tried no-such-compiler -O9: apt-get install gcc libc6-dev") {
		t.Errorf("got %v", err)
	}
	t.Setenv("CC", fakePython(t, `[ "$1" = --version ] && exit; echo "x.c:1: fatal error: stdio.h: No such file" >&2; exit 1`))
	if _, err := w.build(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "stdio.h: No such file") {
		t.Errorf("got %v", err)
	}
	t.Setenv("CC", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := w.build(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "tried cc, gcc, clang") {
		t.Errorf("got %v", err)
	}
}

// TestCache: many at once, then one that finds what they left, then damaged ones.
func TestCache(t *testing.T) {
	w, err := readWheel(makeTorch(t, "2.9.1+cu128", "'12.8'"))
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	dirs := make([]string, 3)
	var wait sync.WaitGroup
	for i := range dirs {
		wait.Go(func() {
			l, err := w.build(t.Context(), cache)
			if err != nil {
				t.Error(err)
				return
			}
			dirs[i] = l.Dir
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	if slices.ContainsFunc(dirs, func(d string) bool { return d != dirs[0] }) {
		t.Errorf("folders %v", dirs)
	}
	left, _ := os.ReadDir(filepath.Join(cache, "pretend"))
	if len(left) != 1 {
		t.Errorf("%d folders are left in the cache", len(left))
	}

	dir := dirs[0]
	fresh, ended := filepath.Join(cache, "pretend", "new-1"), filepath.Join(cache, "pretend", "new-2")
	for _, left := range []string{fresh, ended} {
		if err := os.Mkdir(left, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if long := time.Now().Add(-2 * abandoned); os.Chtimes(ended, long, long) != nil {
		t.Fatal("cannot make a folder old")
	}
	built := func() {
		t.Helper()
		before, _ := os.Stat(dir)
		if l, err := w.build(t.Context(), cache); err != nil || l.Dir != dir || !intact(dir) {
			t.Fatalf("got %v, %v", l, err)
		}
		if after, _ := os.Stat(dir); os.SameFile(before, after) {
			t.Error("the damaged folder was taken")
		}
	}
	l, err := w.build(t.Context(), cache)
	if err != nil || l.Dir != dir || len(l.Preload) != 6 || l.Preload[0] != filepath.Join(dir, "libcuda.so.1") {
		t.Errorf("got %+v, %v", l, err)
	}
	if err := os.Truncate(filepath.Join(dir, "libcudart.so.12"), 100); err != nil {
		t.Fatal(err)
	}
	built()
	write(t, filepath.Join(dir, "libc.so.6"), "not ours")
	built()
	if err := os.Remove(filepath.Join(dir, manifest)); err != nil {
		t.Fatal(err)
	}
	built()
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a folder that somebody fills: %v", err)
	}
	if _, err := os.Stat(ended); err == nil {
		t.Error("a folder that somebody began long ago is still there")
	}
}

func TestCacheOwner(t *testing.T) {
	none := func(string) error { return nil }
	for _, c := range []struct {
		name, want string
		make       func(pretend string) error
	}{
		{"others can write", "chmod 700", func(p string) error { return os.Mkdir(p, 0o700) }},
		{"a link", "want a folder", func(p string) error { return os.Symlink(t.TempDir(), p) }},
		{"a file", "want a cache folder to write to", func(p string) error { return os.WriteFile(p, nil, 0o600) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := t.TempDir()
			if err := c.make(filepath.Join(cache, "pretend")); err != nil {
				t.Fatal(err)
			}
			if c.name == "others can write" {
				if err := os.Chmod(filepath.Join(cache, "pretend"), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := keep(cache, "key", none); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if _, err := keep("", "key", none); err == nil || !strings.Contains(err.Error(), "no cache folder") {
		t.Errorf("got %v", err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, err := keep("", "key", none)
	if err != nil || dir != filepath.Join(os.Getenv("XDG_CACHE_HOME"), "peakgate", "pretend", "key") {
		t.Errorf("got %s, %v", dir, err)
	}
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
