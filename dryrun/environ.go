package dryrun

import (
	"path/filepath"
	"strings"
)

// Variable is the value of a variable; of several the last counts.
func Variable(env []string, name string) (value string) {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// With is an environment with a variable set.
func With(env []string, name, value string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			out = append(out, v)
		}
	}
	return append(out, name+"="+value)
}

// Before puts a path before those of a variable.
func Before(env []string, name, path string) []string {
	if old := Variable(env, name); old != "" {
		path += string(filepath.ListSeparator) + old
	}
	return With(env, name, path)
}
