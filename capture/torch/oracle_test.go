package torch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// fixtures gives the committed snapshots by path, unpacked.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"torch/*.pickle", "*/torch/*.pickle", "*/torch/*.pickle.gz"} {
		paths, err := filepath.Glob(filepath.Join(repoRoot(t), "fixtures", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, ".gz") {
				z, err := gzip.NewReader(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if data, err = io.ReadAll(z); err != nil {
					t.Fatal(err)
				}
			}
			out[path] = data
		}
	}
	if len(out) < 15 {
		t.Fatalf("%d snapshots in fixtures/, want 15 and more", len(out))
	}
	return out
}

// TestOracle compares with an independent unpickler and a replay in two passes
// that keeps everything: as simple and slow as it can be.
func TestOracle(t *testing.T) {
	for path, data := range fixtures(t) {
		if data[0] == '{' {
			continue // JSON
		}
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(path), func(t *testing.T) {
			value, err := pickle.Loads(string(data))
			if err != nil {
				t.Fatal(err)
			}
			top := map[string]any{"segments": value}
			if d, ok := value.(*types.Dict); ok {
				top = object(d)
			}
			traces := [][]any{}
			if l, ok := top["device_traces"]; ok {
				for _, e := range items(l) {
					traces = append(traces, items(e))
				}
			}
			s, err := Read(bytes.NewReader(data), int64(len(data)), "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Devices {
				d := &s.Devices[i]
				var events []any
				if d.Ordinal < len(traces) {
					events = traces[d.Ordinal]
				}
				compareReplay(t, s, d, items(top["segments"]), events)
			}
		})
	}
}

type held struct {
	size  int64
	stack string
	known bool // the stack is that of the allocation
}

func compareReplay(t *testing.T, s *Snapshot, d *Device, segments, events []any) {
	final := map[int64]held{}
	reserved, live := int64(0), int64(0)
	for _, v := range segments {
		g := object(v)
		if integer(g["device"]) != int64(d.Ordinal) {
			continue
		}
		reserved += integer(g["total_size"])
		at := integer(g["address"])
		for _, v := range items(g["blocks"]) {
			b := object(v)
			if b["state"] != "inactive" {
				h := held{integer(b["requested_size"]), stackText(b["frames"]), true}
				if old, ok := b["history"]; ok {
					h.stack = stackText(object(items(old)[0])["frames"])
				}
				live += h.size
				final[at] = h
			}
			at += integer(b["size"])
		}
	}
	net, reservedNet := int64(0), int64(0)
	change := func(e map[string]any) (live, reserved int64) {
		size := int64(0)
		if v, ok := e["size"]; ok {
			size = integer(v)
		}
		switch e["action"] {
		case "alloc":
			return size, 0
		case "free_completed":
			return -size, 0
		case "segment_alloc", "segment_map":
			return 0, size
		case "segment_free", "segment_unmap":
			return 0, -size
		}
		return 0, 0
	}
	for _, e := range events {
		a, b := change(object(e))
		net, reservedNet = net+a, reservedNet+b
	}
	now, reservedNow := live-net, reserved-reservedNet
	peak, reservedPeak, at := now, reservedNow, -1
	for i, e := range events {
		a, b := change(object(e))
		now, reservedNow = now+a, reservedNow+b
		if now > peak {
			peak, at = now, i
		}
		reservedPeak = max(reservedPeak, reservedNow)
	}
	h := d.History
	if got, want := fmt.Sprint(d.State.Requested(), d.State.Reserved, h.Events), fmt.Sprint(live, reserved, len(events)); got != want {
		t.Errorf("device %d: live, reserved, events = %s, want %s", d.Ordinal, got, want)
	}
	if got, want := fmt.Sprint(h.Baseline, h.Peak, h.PeakEvent, h.ReservedPeak), fmt.Sprint(live-net, peak, at, reservedPeak); got != want {
		t.Errorf("device %d: baseline, peak, at, reserved peak = %s, want %s", d.Ordinal, got, want)
	}
	if h.NoPeak != "" {
		return
	}
	// The live set at the peak: what is live at the end, wound back to it.
	set := map[int64]held{}
	for a, b := range final {
		set[a] = b
	}
	for i := len(events) - 1; i > at; i-- {
		switch e := object(events[i]); e["action"] {
		case "alloc":
			delete(set, integer(e["addr"]))
		case "free_completed":
			set[integer(e["addr"])] = held{size: integer(e["size"])}
		}
	}
	// A freed block's stack is that of its allocation, where there is one.
	for i := at; i >= 0; i-- {
		if e := object(events[i]); e["action"] == "alloc" {
			a := integer(e["addr"])
			if b, ok := set[a]; ok && !b.known {
				set[a] = held{b.size, stackText(e["frames"]), true}
			}
		}
	}
	want := map[string]int64{}
	for _, b := range set {
		want[b.stack] += b.size
	}
	got := map[string]int64{}
	for _, p := range d.Peak {
		var out []string
		for _, f := range s.Stack(p.Stack) {
			out = append(out, fmt.Sprint(f.File, f.Line, f.Name))
		}
		got[strings.Join(out, "|")] += p.Bytes
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("device %d: live set at the peak\n got %v\nwant %v", d.Ordinal, got, want)
	}
}

func object(v any) map[string]any {
	out := map[string]any{}
	for _, e := range *v.(*types.Dict) {
		out[e.Key.(string)] = e.Value
	}
	return out
}

func items(v any) []any {
	return *v.(*types.List)
}

func integer(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case *big.Int:
		return n.Int64()
	}
	panic(fmt.Sprintf("%T", v))
}

func stackText(v any) string {
	if v == nil {
		return ""
	}
	var out []string
	for _, f := range items(v) {
		o := object(f)
		out = append(out, fmt.Sprint(clean(o["filename"].(string)), integer(o["line"]), clean(o["name"].(string))))
	}
	return strings.Join(out, "|")
}
