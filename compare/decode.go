package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/peakgate/peakgate/measure"
)

// MaxDocument is the largest result file that Decode reads, in bytes. A result of
// a thousand checks is about 10 MB.
const MaxDocument = 128 << 20

// Decode reads one result from its JSON. The file may come from anybody: what it
// says is checked as far as reports rely on it, and nothing else is believed of
// it. name is for messages only.
func Decode(r io.Reader, name string) (*Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%s: expected a result of at most %s, found more", name, measure.Bytes(MaxDocument))
	}
	out := &Result{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("%s: expected a result that `peakgate check --format json` wrote: %w", name, err)
	}
	if err := out.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (r *Result) validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("schema: expected %q, found %.60q", Schema, r.Schema)
	}
	if v := r.Verdict; v != v.whole() || v.Rank() < 0 {
		return fmt.Errorf("verdict: expected pass, warn, fail or no_data, found %.40q", v)
	}
	for i, t := range r.Targets {
		if t.Verdict.Rank() < 0 {
			return fmt.Errorf("targets[%d].verdict: unknown verdict %.40q", i, t.Verdict)
		}
		for j, c := range t.Checks {
			if err := c.validate(); err != nil {
				return fmt.Errorf("targets[%d].checks[%d]%w", i, j, err)
			}
		}
	}
	return nil
}

func (c Check) validate() error {
	switch {
	case c.Verdict.Rank() < 0:
		return fmt.Errorf(".verdict: unknown verdict %.40q", c.Verdict)
	case c.Metric == "":
		return errors.New(".metric: expected a name, found nothing")
	case c.Head == nil && c.Verdict != NoData:
		return fmt.Errorf(".head: expected a value, since the verdict is %s", c.Verdict)
	case c.Trend != nil && c.Trend.Fit != nil && (len(c.Trend.Fit.Blocks) == 0 || c.Series == nil || len(c.Series.Points) == 0):
		return errors.New(".trend.fit: expected blocks, and a series with points, found none")
	}
	if c.Series != nil {
		if err := c.Series.Validate(); err != nil {
			return fmt.Errorf(".series: %w", err)
		}
	}
	return nil
}
