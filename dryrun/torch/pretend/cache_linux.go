package pretend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// manifest is a file in each kept folder: of every other file its hash and name.
const manifest = "SHA256SUMS"

// keep gives the folder of a key, which fill fills if it is not there or damaged. Two
// processes may do so at once: each fills a folder of its own, and one of them stays.
func keep(cache, key string, fill func(dir string) error) (string, error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder for the pretend CUDA libraries: %w", err)
		}
		cache = filepath.Join(user, "peakgate")
	}
	cache, err := filepath.Abs(filepath.Join(cache, "pretend"))
	if err != nil {
		return "", err
	}
	if err := own(cache); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, key)
	if intact(dir) {
		return dir, nil
	}
	sweep(cache)
	work, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fill(work); err != nil {
		return "", err
	}
	if err := seal(work); err != nil {
		return "", err
	}
	if os.Rename(work, dir) == nil || intact(dir) {
		return dir, nil
	}
	// What is there is damaged: out of the way with it, and again.
	old, err := os.MkdirTemp(cache, "old-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(old)
	if err := os.Rename(dir, filepath.Join(old, key)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil && !intact(dir) {
		return "", err
	}
	return dir, nil
}

// abandoned is the age at which nobody works any more in a folder of keep's.
const abandoned = time.Hour

// sweep removes what processes left that were ended while they filled a folder.
func sweep(cache string) {
	for _, kind := range []string{"new-*", "old-*"} {
		left, _ := filepath.Glob(filepath.Join(cache, kind))
		for _, dir := range left {
			if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > abandoned {
				os.RemoveAll(dir)
			}
		}
	}
}

// own makes a folder that nobody else can write to, or refuses one that somebody could:
// what lies there is run.
func own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: want a cache folder to write to: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir() || !ok:
		return fmt.Errorf("%s: want a folder, found %s", dir, info.Mode())
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s: want a cache folder of user %d, found one of user %d; name another", dir, os.Geteuid(), stat.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: want a cache folder that nobody else can write to, found mode %s; chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}

func seal(dir string) error {
	sums, err := sum(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifest), []byte(sums), 0o600)
}

// intact tells whether a folder holds what its manifest says, and nothing else.
func intact(dir string) bool {
	want, err := os.ReadFile(filepath.Join(dir, manifest))
	if err != nil {
		return false
	}
	found, err := sum(dir)
	return err == nil && found == string(want)
}

func sum(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	text := &strings.Builder{}
	for _, e := range entries {
		if e.Name() == manifest {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(text, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return text.String(), nil
}
