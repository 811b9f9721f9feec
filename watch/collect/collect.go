package collect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/peakgate/peakgate/watch/hook"
)

// Collector is what is collected of one run.
type Collector struct {
	dir     string
	env     []string
	dump    string // where XLA writes its modules; empty where it does not
	ownDump bool   // that folder is ours
	notes   []string
	affon   *affon
	torch   *hook.Hook
}

// Options say what is known of the run.
type Options struct {
	// Env is the environment to begin with.
	Env []string
	// Work is the folder that the workload runs in.
	Work string
	// Module is the one XLA module that is wanted, a pattern with * and ?; empty is all.
	Module string
}

// New prepares a run whose files go to a folder.
func New(dir string, o Options) (*Collector, error) {
	c := &Collector{dir: dir, env: slices.Clone(o.Env), affon: newAffon(filepath.Join(dir, "affon-telemetry.json"))}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c.xla(o)
	var err error
	if c.torch, err = hook.Install(dir, nil); err != nil {
		return nil, err
	}
	c.set("PYTHONPATH", c.torch.Path(c.get("PYTHONPATH")))
	c.set(hook.Variable, c.torch.Dir)
	if c.get("PYTHONUNBUFFERED") == "" {
		c.set("PYTHONUNBUFFERED", "1")
	}
	return c, nil
}

// Env is the environment for the workload.
func (c *Collector) Env() []string { return c.env }

// Write takes what the workload prints.
func (c *Collector) Write(p []byte) (int, error) {
	c.affon.printed(p)
	return len(p), nil
}

// Paths are the files and folders to look for captures in, once the workload has
// ended. failed tells that it ended badly: then what was written when memory ran out
// counts, and otherwise what was written at the end.
func (c *Collector) Paths(failed bool) (paths []string) {
	if c.ownDump && exists(c.dump) {
		paths = append(paths, c.dump)
	}
	for _, p := range c.torch.Processes(failed) {
		paths = append(paths, p.Snapshot)
	}
	if exists(c.affon.path) {
		paths = append(paths, c.affon.path)
	}
	return paths
}

// Foreign is a folder of the user's own that XLA's modules go to; empty where there
// is none. What was there before the run is none of it.
func (c *Collector) Foreign() string {
	if c.ownDump {
		return ""
	}
	return c.dump
}

// Notes tell what could not be turned on, or was not.
func (c *Collector) Notes() []string { return append(slices.Clone(c.notes), c.torch.Notes()...) }

// Hooked tells that some Python has run the hook.
func (c *Collector) Hooked() bool { return c.torch.Loaded() }

// Close ends what runs beside the workload.
func (c *Collector) Close() { c.affon.close() }

func (c *Collector) get(name string) string {
	for _, v := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (c *Collector) set(name, value string) {
	c.env = slices.DeleteFunc(c.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	c.env = append(c.env, name+"="+value)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// every is the time between two readings of Affon's metrics.
const every = 5 * time.Second
