package base

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// longest is how long one git may run.
	longest = 10 * time.Minute
	// maxOutput is the most that is read of an answer that should be short, in bytes.
	maxOutput = 1 << 20
	// maxStderr is what is kept of git's own messages, in bytes.
	maxStderr = 16 << 10
	// maxRecord is the longest NUL-terminated record of a listing, in bytes.
	maxRecord = 64 << 10
)

// git is the user's git binary, run in one folder with a bounded environment.
type git struct {
	path string
	dir  string
	env  []string
}

// hardened comes before each subcommand: nothing that a repository's
// configuration names is executed, and nothing is fetched.
var hardened = []string{
	"--no-pager", "--literal-pathspecs", "--no-replace-objects",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.attributesFile=" + os.DevNull,
	"-c", "protocol.allow=never", "-c", "protocol.ext.allow=never",
	"-c", "safe.bareRepository=explicit", // a repository hidden in a tracked folder
	"-c", "log.showSignature=false",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

// passed are the variables that git gets from the caller, if set: where it and
// its own programs are, and the user's configuration, which may hold
// safe.directory.
var passed = []string{
	"PATH", "HOME", "USER", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "XDG_CONFIG_HOME",
	"TMPDIR", "TEMP", "TMP", "SystemRoot", "SYSTEMROOT", "ProgramData", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC",
	"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}

// maxConfigPairs is how many GIT_CONFIG_KEY_n are passed on.
const maxConfigPairs = 64

// newGit finds git on the PATH that getenv gives. Folders that are not absolute
// are passed over: a program of the repository must not pose as git.
func newGit(dir string, getenv func(string) string) (*git, error) {
	g := &git{dir: dir, env: []string{
		"LC_ALL=C", "LANGUAGE=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", // also stops the lazy fetches of a git that does not know GIT_NO_LAZY_FETCH
		"GIT_GRAFT_FILE=" + os.DevNull,
		"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_ATTR_NOSYSTEM=1",
	}}
	for _, name := range passed {
		if v := getenv(name); v != "" {
			g.env = append(g.env, name+"="+v)
		}
	}
	if n, err := strconv.Atoi(getenv("GIT_CONFIG_COUNT")); err == nil && n > 0 && n <= maxConfigPairs {
		g.env = append(g.env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
		for i := range n {
			for _, name := range []string{fmt.Sprint("GIT_CONFIG_KEY_", i), fmt.Sprint("GIT_CONFIG_VALUE_", i)} {
				g.env = append(g.env, name+"="+getenv(name))
			}
		}
	}
	for _, folder := range filepath.SplitList(getenv("PATH")) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(folder, "git")); err == nil {
			g.path = path
			return g, nil
		}
	}
	return nil, fmt.Errorf("git: %w; install git, or name a base that is a file or a folder", ErrNoGit)
}

// gitError is a git that failed.
type gitError struct {
	command string
	code    int // exit status; -1 where it was killed
	stderr  string
}

func (e *gitError) Error() string {
	message := e.message()
	if message == "" {
		message = fmt.Sprintf("exit status %d", e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, message)
}

// message is the line of git's stderr that says why: the fatal one, else the
// last, without control characters.
func (e *gitError) message() string {
	var last string
	for line := range strings.Lines(e.stderr) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok {
			last = rest
			break
		}
		if line != "" && !strings.HasPrefix(line, "hint:") {
			last = line
		}
	}
	return printable(last)
}

// exited tells whether err is a git that ended with this status.
func exited(err error, code int) bool {
	var e *gitError
	return errors.As(err, &e) && e.code == code
}

// stop ends a stream early, without an error.
var errStop = errors.New("stop")

// stream runs git, gives it stdin (nil: empty) and hands its output to read. An
// error of read ends git at once.
func (g *git) stream(stdin io.Reader, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.path, append(hardened[:len(hardened):len(hardened)], args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = g.dir, g.env, stdin
	cmd.WaitDelay = 5 * time.Second
	stderr := &head{left: maxStderr}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git %s: cannot start: %w", args[0], err)
	}
	readErr := read(bufio.NewReaderSize(stdout, 64<<10))
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case errors.Is(readErr, errStop):
		return nil
	case ctx.Err() == context.DeadlineExceeded:
		return fmt.Errorf("git %s: no end after %v", args[0], longest)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && (readErr == nil || errors.Is(readErr, io.ErrUnexpectedEOF)) {
		return &gitError{command: args[0], code: exit.ExitCode(), stderr: stderr.String()}
	}
	if readErr != nil {
		return readErr
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	return nil
}

// output runs git and gives its output, without the last line end. More than
// maxOutput is an error.
func (g *git) output(args ...string) (string, error) {
	var out []byte
	err := g.stream(nil, func(r *bufio.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(r, maxOutput+1))
		if err == nil && len(out) > maxOutput {
			err = fmt.Errorf("git %s: answer of more than %d bytes", args[0], maxOutput)
		}
		return err
	}, args...)
	return strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r"), err
}

// records runs git and calls each for the NUL-terminated records of its output.
func (g *git) records(each func(record []byte) error, args ...string) error {
	return g.stream(nil, func(r *bufio.Reader) error {
		for {
			record, err := readRecord(r)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git %s: %w", args[0], err)
			}
			if err := each(record); err != nil {
				return err
			}
		}
	}, args...)
}

// readRecord reads up to a NUL byte, which it drops; io.EOF is the regular end.
func readRecord(r *bufio.Reader) ([]byte, error) {
	record, err := r.ReadSlice(0)
	if err == nil {
		return record[:len(record)-1], nil
	}
	long := bytes.Clone(record)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > maxRecord {
			return nil, fmt.Errorf("a record of more than %d bytes", maxRecord)
		}
		record, err = r.ReadSlice(0)
		long = append(long, record...)
	}
	switch {
	case err == nil:
		return long[:len(long)-1], nil
	case err == io.EOF && len(long) > 0:
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

// head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.left -= n
	h.Buffer.Write(p[:n])
	return len(p), nil
}

// quote writes a word as a POSIX shell takes it, for commands in messages.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./@:+=,^~%", r)
	}
	switch {
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0:
		return s
	case printable(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	q := strconv.QuoteToASCII(s)
	return "$'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
}

// printable escapes what would break a message's line.
func printable(s string) string {
	q := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}
