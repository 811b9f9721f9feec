package pretend

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed c/*.c c/*.h
var sources embed.FS

// Build gives the libraries for the PyTorch of a Python interpreter, from the cache or
// made new. An empty cache is the user's own.
func Build(ctx context.Context, python, cache string) (*Libraries, error) {
	torch, err := findTorch(ctx, python)
	if err != nil {
		return nil, err
	}
	w, err := readWheel(torch)
	if err != nil {
		return nil, err
	}
	return w.build(ctx, cache)
}

func (w *wheel) build(ctx context.Context, cache string) (*Libraries, error) {
	cc, err := findCompiler(ctx)
	if err != nil {
		return nil, err
	}
	l := &Libraries{TorchVersion: w.version, CUDAVersion: w.cuda, Capabilities: runs(w.architectures)}
	if len(w.architectures) == 0 {
		l.Capabilities = Capabilities
		l.Warnings = append(l.Warnings, fmt.Sprintf("torch %s does not say which compute capabilities it has code for", w.version))
	}
	if _, ok := w.requires["cudnn"]; !ok {
		l.Warnings = append(l.Warnings, fmt.Sprintf("torch %s does not say which cuDNN it is for", w.version))
	}
	files := w.files()
	l.Hash = hash(files, w.flags(), cc.version)
	if l.Dir, err = keep(cache, l.Hash, func(dir string) error { return w.compile(ctx, cc, files, dir) }); err != nil {
		return nil, err
	}
	for _, lib := range w.libraries {
		l.Preload = append(l.Preload, filepath.Join(l.Dir, lib.soname))
	}
	return l, nil
}

// A compiler is a C compiler: its command with arguments, and what it says of itself.
type compiler struct {
	argv    []string
	version string
}

func findCompiler(ctx context.Context) (*compiler, error) {
	tried := []string{"cc", "gcc", "clang"}
	if cc := os.Getenv("CC"); cc != "" {
		tried = []string{cc}
	}
	for _, command := range tried {
		argv := strings.Fields(command)
		if len(argv) == 0 {
			continue
		}
		if out, err := exec.CommandContext(ctx, argv[0], append(argv[1:], "--version")...).Output(); err == nil {
			return &compiler{argv, string(out)}, nil
		}
	}
	return nil, fmt.Errorf("want a C compiler, to build the pretend CUDA libraries; tried %s: apt-get install gcc libc6-dev, or set CC", strings.Join(tried, ", "))
}

// flags are the same for each library.
func (w *wheel) flags() []string {
	architectures := make([]string, len(w.architectures))
	for i, a := range w.architectures {
		architectures[i] = strconv.Itoa(a)
	}
	flags := []string{"-shared", "-fPIC", "-O1", "-w", "-pthread", "-Wl,-rpath,$ORIGIN", fmt.Sprintf("-DCUDA=%d", w.release()),
		"-DARCHITECTURES=" + strings.Join(architectures, ",")}
	for _, name := range []string{"cudnn", "cublas", "nccl"} {
		v := w.vendorVersion(name)
		flags = append(flags, fmt.Sprintf("-D%s={%d,%d,%d}", strings.ToUpper(name), v[0], v[1], v[2]))
	}
	return flags
}

// vendorVersion is what a library says of itself: what the wheel requires, else what is
// accepted, as new as any of the same major version.
func (w *wheel) vendorVersion(name string) [3]int {
	if v, ok := w.requires[name]; ok {
		return v
	}
	if name == "cublas" {
		return [3]int{w.release() / 1000, w.release() % 1000 / 10, 0}
	}
	v := [3]int{0, 9, 9}
	for _, l := range w.libraries {
		if l.family.stem == "lib"+name {
			fmt.Sscanf(l.soname, "lib"+name+".so.%d", &v[0])
		}
	}
	return v
}

// files gives all that is compiled, by name: the sources, and of each library its stubs
// and the versions of its symbols.
func (w *wheel) files() map[string]string {
	files := map[string]string{}
	entries, _ := sources.ReadDir("c")
	for _, e := range entries {
		text, _ := sources.ReadFile("c/" + e.Name())
		files[e.Name()] = string(text)
	}
	for _, l := range w.libraries {
		stubs, nodes := &strings.Builder{}, map[string][]string{}
		fmt.Fprintf(stubs, "#include \"stubs.h\"\n")
		for _, name := range slices.Sorted(maps.Keys(l.versions)) {
			class := l.family.class(name)
			fmt.Fprintf(stubs, "%s(%s", class, name)
			if class == "REFUSED" || class == "ABSENT" {
				fmt.Fprintf(stubs, ", %d", l.family.status)
			}
			fmt.Fprintf(stubs, ")\n")
			if v := l.versions[name]; v != "" {
				nodes[v] = append(nodes[v], name)
			}
		}
		script := &strings.Builder{}
		for _, v := range slices.Sorted(maps.Keys(nodes)) {
			fmt.Fprintf(script, "%s { global: %s; };\n", v, strings.Join(nodes[v], "; "))
		}
		files[l.soname+".c"], files[l.soname+".map"] = stubs.String(), script.String()
	}
	return files
}

func hash(files map[string]string, flags []string, compiler string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", name, files[name])
	}
	fmt.Fprintf(h, "%q %q\n", flags, compiler)
	return fmt.Sprintf("%x", h.Sum(nil))[:32]
}

// compile makes the libraries in dir, libcuda first: the others are linked with it.
func (w *wheel) compile(ctx context.Context, cc *compiler, files map[string]string, dir string) error {
	src, err := os.MkdirTemp(dir, "src-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(src)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := w.compileLibrary(ctx, cc, w.libraries[0], src, dir); err != nil {
		return err
	}
	// Triton links what it compiles with -lcuda.
	if err := os.Symlink(w.libraries[0].soname, filepath.Join(dir, "libcuda.so")); err != nil {
		return err
	}
	rest := w.libraries[1:]
	errs := make([]error, len(rest))
	var wait sync.WaitGroup
	turns := make(chan bool, runtime.NumCPU())
	for i := range rest {
		wait.Go(func() {
			turns <- true
			errs[i] = w.compileLibrary(ctx, cc, rest[i], src, dir)
			<-turns
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (w *wheel) compileLibrary(ctx context.Context, cc *compiler, l library, src, dir string) error {
	args := slices.Concat(cc.argv[1:], w.flags(), []string{"-o", filepath.Join(dir, l.soname), "-Wl,-soname," + l.soname})
	if script := l.soname + ".map"; len(l.versions) > 0 && hasVersion(l.versions) {
		args = append(args, "-Wl,--version-script="+script)
	}
	for _, source := range l.family.sources {
		if source == "libs.c" {
			args = append(args, "-D"+l.family.stem)
		}
		args = append(args, source)
	}
	args = append(args, l.soname+".c")
	if l.family.stem == "libcuda" {
		args = append(args, "-ldl")
	} else {
		args = append(args, filepath.Join(dir, w.libraries[0].soname))
	}
	cmd := exec.CommandContext(ctx, cc.argv[0], args...)
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: cannot compile %s: %w: %s; is libc6-dev installed?", cc.argv[0], l.soname, err, firstError(out))
	}
	return nil
}

func hasVersion(versions map[string]string) bool {
	for _, v := range versions {
		if v != "" {
			return true
		}
	}
	return false
}

// firstError gives the line of a compiler's output that names the trouble.
func firstError(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "error") }); i > 0 {
		lines = lines[i:]
	}
	return strconv.QuoteToGraphic(lines[0])
}
