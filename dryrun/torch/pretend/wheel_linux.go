package pretend

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A wheel is an installed PyTorch.
type wheel struct {
	version, cuda string // such as "2.9.1+cu128", "12.8"
	architectures []int  // that it has code for, such as 90 for 9.0; none where it does not say
	// requires gives the versions of the vendor's packages that the wheel wants, such as
	// 9.10.2 of cudnn. What torch does depends on them.
	requires  map[string][3]int
	libraries []library
}

// A library is one that a wheel wants from the vendor.
type library struct {
	family   *family
	soname   string
	versions map[string]string // of each wanted symbol; empty where it has none
}

// release gives CUDART_VERSION: 12080 for 12.8.
func (w *wheel) release() int {
	var major, minor int
	fmt.Sscanf(w.cuda, "%d.%d", &major, &minor)
	return 1000*major + 10*minor
}

// findTorch gives the folder of the torch that a Python would import, without importing it.
func findTorch(ctx context.Context, python string) (string, error) {
	const mark = "torch at " // others may print too
	const script = `
import importlib.util, sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
spec = importlib.util.find_spec("torch")
print("\n` + mark + `" + (spec.origin or "" if spec else ""))`
	out, err := exec.CommandContext(ctx, python, "-c", script).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, lastLine(exit.Stderr))
		}
		return "", fmt.Errorf("%s: want a Python interpreter: %w", python, err)
	}
	for line := range strings.Lines(string(out)) {
		origin, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), mark)
		if ok && filepath.Base(origin) == "__init__.py" {
			return filepath.Dir(origin), nil
		}
	}
	return "", fmt.Errorf("%s: this Python has no torch; pip install torch, or run the program with one that has it, such as .venv/bin/python", python)
}

func lastLine(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return strconv.QuoteToGraphic(string(lines[len(lines)-1]))
}

var assignment = regexp.MustCompile(`(?m)^(__version__|cuda|hip)\b[^=\n]*= *'([^'\n]{1,64})'`)

// readWheel reads what a torch folder's libraries want of CUDA's.
func readWheel(torch string) (*wheel, error) {
	path := filepath.Join(torch, "version.py")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	said := map[string]string{}
	for _, m := range assignment.FindAllStringSubmatch(string(text), -1) {
		said[m[1]] = m[2]
	}
	w := &wheel{version: said["__version__"], cuda: said["cuda"]}
	switch major := w.release() / 1000; {
	case w.version == "":
		return nil, fmt.Errorf("%s: want a line __version__ = '…', found none", path)
	case said["hip"] != "":
		return nil, fmt.Errorf("%s: torch %s is for ROCm; a dry run wants the CUDA build: pip install torch", path, w.version)
	case w.cuda == "":
		return nil, fmt.Errorf("%s: torch %s is for the CPU alone; a dry run wants the CUDA build, of which it needs no NVIDIA package: pip install --no-deps torch", path, w.version)
	case major != 12 && major != 13:
		return nil, fmt.Errorf("%s: torch %s is for CUDA %s; the pretend device knows CUDA 12 and 13: install another build", path, w.version, w.cuda)
	}
	w.requires = readRequires(torch)
	return w, w.readLibraries(torch)
}

var requirement = regexp.MustCompile(`(?m)^Requires-Dist: nvidia-(cudnn|nccl|cublas)(?:-cu[0-9]+)?[ (]*[<>=]=([0-9]{1,4})\.([0-9]{1,2})\.([0-9]{1,2})\b`)

// readRequires reads the metadata that pip left beside a torch folder, if it did.
func readRequires(torch string) map[string][3]int {
	requires := map[string][3]int{}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(torch), "torch-*.dist-info", "METADATA"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
			var v [3]int
			for i := range v {
				v[i], _ = strconv.Atoi(m[2+i])
			}
			requires[m[1]] = v
		}
	}
	return requires
}

var (
	sonamePattern  = regexp.MustCompile(`^(lib[A-Za-z_-]+)\.so(\.[0-9]+)+$`)
	symbolPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{1,200}$`)
	versionPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{1,60}$`)
)

func (w *wheel) readLibraries(torch string) error {
	dir := filepath.Join(torch, "lib")
	files, err := filepath.Glob(filepath.Join(dir, "*.so*"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: want the libraries of torch, found none", dir)
	}
	sonames := map[string]string{"libcuda": "libcuda.so.1", "libnvidia-ml": "libnvidia-ml.so.1"} // these are opened by name
	versions := map[string]string{}
	for _, file := range files {
		if err := w.readLibrary(file, sonames, versions); err != nil {
			return fmt.Errorf("%s: %w; install torch again", file, err)
		}
	}
	if sonames["libcudart"] == "" {
		return fmt.Errorf("%s: want a library that needs libcudart.so, found none in %d; install torch again", dir, len(files))
	}
	for _, file := range extensions(torch) {
		w.readLibrary(file, sonames, versions) // one that cannot be read cannot be loaded either
	}
	for i := range families {
		f := &families[i]
		if soname := sonames[f.stem]; soname != "" {
			l := library{family: f, soname: soname, versions: map[string]string{}}
			for _, name := range strings.Fields(f.extra) {
				l.versions[name] = ""
			}
			w.libraries = append(w.libraries, l)
		}
	}
	for name, version := range versions {
		f := familyOf(name)
		if i := slices.IndexFunc(w.libraries, func(l library) bool { return l.family == f }); i >= 0 {
			w.libraries[i].versions[name] = version
		}
	}
	return nil
}

// extensions gives the libraries of the packages installed beside torch, but the vendor's
// own: some, such as torchvision's, want more of CUDA than torch does.
func extensions(torch string) (files []string) {
	filepath.WalkDir(filepath.Dir(torch), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && (path == torch || d.Name() == "nvidia" || d.Name() == "__pycache__"):
			return fs.SkipDir
		case d.Type().IsRegular() && (strings.HasSuffix(path, ".so") || strings.Contains(d.Name(), ".so.")):
			files = append(files, path)
		}
		return nil
	})
	return files
}

// readLibrary adds what one library needs, and the symbols of CUDA that it wants, each
// with its version. The first to need a library says which version of it there is.
func (w *wheel) readLibrary(file string, sonames, versions map[string]string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	vendor := false
	for _, soname := range needed {
		m := sonamePattern.FindStringSubmatch(soname)
		if m != nil && slices.ContainsFunc(families, func(f family) bool { return f.stem == m[1] }) {
			sonames[m[1]] = cmp.Or(sonames[m[1]], soname)
			vendor = true
		}
	}
	if torch := strings.HasPrefix(filepath.Base(file), "libtorch_"); torch {
		if found := architecturesIn(f); len(found) > len(w.architectures) {
			w.architectures = found
		}
	} else if !vendor {
		return nil
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return err
	}
	for _, s := range symbols {
		if familyOf(s.Name) != nil && symbolPattern.MatchString(s.Name) && (s.Version == "" || versionPattern.MatchString(s.Version)) {
			versions[s.Name] = cmp.Or(versions[s.Name], s.Version)
		}
	}
	return nil
}

// The list of torch.cuda.get_arch_list is one string in the data of libtorch_python.so.
var architectureList = regexp.MustCompile(`sm_[0-9]+[af]?(?: (?:sm|compute)_[0-9]+[af]?)*\x00`)

func architecturesIn(f *elf.File) (architectures []int) {
	data := f.Section(".rodata")
	if data == nil || data.Size > 64<<20 {
		return nil
	}
	text, err := data.Data()
	if err != nil {
		return nil
	}
	found := map[int]bool{}
	longest := slices.MaxFunc(append(architectureList.FindAll(text, -1), nil), func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
	for name := range strings.FieldsSeq(strings.Trim(string(longest), "\x00")) {
		if n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(name, "sm_"), "af")); err == nil && n < 1000 {
			found[n] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
