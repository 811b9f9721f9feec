package collect

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxFlags is the largest file of flags that is read, in bytes.
const maxFlags = 64 << 10

// xla turns on XLA's dump of the modules that it has compiled.
func (c *Collector) xla(o Options) {
	flags := strings.TrimSpace(c.get("XLA_FLAGS"))
	if flags != "" && !strings.HasPrefix(flags, "-") {
		text, err := flagFile(o.Work, flags)
		if err != nil {
			c.notes = append(c.notes, "XLA_FLAGS names a file that cannot be read, so XLA writes no plans: "+err.Error())
			return
		}
		flags = strings.TrimSpace(text)
	}
	given := map[string]string{}
	for _, m := range flagWord.FindAllStringSubmatch(flags, -1) {
		given[m[1]] = strings.NewReplacer(`"`, "", "'", "").Replace(m[2])
	}
	add := func(name, value string) {
		if _, ok := given[name]; !ok {
			flags = strings.TrimSpace(flags + " --" + name + "=" + value)
		}
	}
	switch to, ok := given["xla_dump_to"]; {
	case ok && (to == "" || to == "-"):
		c.notes = append(c.notes, "XLA_FLAGS has XLA's plans written to standard output, where they are not read")
		return
	case ok:
		if c.dump = to; !filepath.IsAbs(to) {
			c.dump = filepath.Join(o.Work, to)
		}
	default:
		c.dump, c.ownDump = filepath.Join(c.dir, "xla"), true
		add("xla_dump_to", quoted(c.dump))
		if o.Module != "" {
			add("xla_dump_hlo_module_re", expression(o.Module))
		}
	}
	add("xla_dump_hlo_as_proto", "true")
	c.set("XLA_FLAGS", flags)
	c.set("JAX_ENABLE_COMPILATION_CACHE", "false")
}

// flagWord is one flag with its value, which may be quoted in part.
var flagWord = regexp.MustCompile(`--?([A-Za-z0-9_]+)(?:=((?:"[^"]*"|'[^']*'|[^\s"'])*))?`)

func flagFile(work, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(work, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFlags))
	return string(data), err
}

// quoted is a value that may hold blanks.
func quoted(value string) string {
	if strings.ContainsAny(value, " \t\n") {
		return `"` + value + `"`
	}
	return value
}

// expression is a pattern with * and ? as a regular expression of XLA's. Any other
// sign than those of names is any one character: it might need quotes in a flag.
func expression(pattern string) string {
	var out strings.Builder
	for _, r := range pattern {
		switch {
		case r == '*':
			out.WriteString(".*")
		case r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			out.WriteRune(r)
		default:
			out.WriteByte('.')
		}
	}
	return "^" + out.String() + "$"
}
