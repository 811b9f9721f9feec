package torch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/peakgate/peakgate/dryrun"
)

// pythonName is what interpreters are called.
var pythonName = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)

// interpreter finds the Python that will run: the program itself, the one that its
// first line names (torchrun, accelerate, any script that pip installs), or that of the
// PATH, which a shell script calls.
func interpreter(spec dryrun.Spec) (string, error) {
	path := dryrun.Variable(spec.Env, "PATH")
	if spec.Python != "" {
		return find(spec.Python, path, spec.Dir)
	}
	if len(spec.Argv) == 0 {
		return "", dryrun.Wrong("no program: give the command that runs it, such as python train.py")
	}
	program, err := find(spec.Argv[0], path, spec.Dir)
	if err != nil {
		return "", err
	}
	if pythonName.MatchString(filepath.Base(program)) {
		return program, nil
	}
	for _, word := range firstWords(program) {
		if pythonName.MatchString(filepath.Base(word)) {
			return find(word, path, spec.Dir)
		}
	}
	for _, name := range []string{"python", "python3"} {
		if python, err := find(name, path, spec.Dir); err == nil {
			return python, nil
		}
	}
	return "", fmt.Errorf("%s: no Python found that it could call: there is no python or python3 in PATH", spec.Argv[0])
}

// firstWords are the words of a script's first line, and of the second where pip
// writes a path that is too long for the first: it has the shell execute it.
func firstWords(path string) (words []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := bufio.NewReader(io.LimitReader(f, 4096))
	first, _ := text.ReadString('\n')
	if !strings.HasPrefix(first, "#!") {
		return nil
	}
	second, _ := text.ReadString('\n')
	words = strings.Fields(first[2:])
	if rest, ok := strings.CutPrefix(second, "'''exec' "); ok {
		words = append(words, strings.Trim(strings.Split(rest, ` "$0"`)[0], `"' `))
	}
	return words
}

// find looks for a program as the system would that runs it in a folder.
func find(name, path, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if executable(name) {
			return filepath.Abs(name)
		}
		return "", fmt.Errorf("%s: not a program that can be run", name)
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if full := filepath.Join(folder, name); executable(full) {
			return filepath.Abs(full)
		}
	}
	return "", fmt.Errorf("%s: not found in PATH", name)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
