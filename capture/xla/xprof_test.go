package xla

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// viewer is what XProf 2.24.2 says of one module in one memory space
// (plugin/xprof/protobuf/memory_viewer_preprocess.proto as JSON). Sizes are in MiB.
type viewer struct {
	HeapSizes      []float64 `json:"heapSizes"`
	UnpaddedSizes  []float64 `json:"unpaddedHeapSizes"`
	MaxHeap        []viewerObject
	Spans          map[string]struct{ Start, Limit int } `json:"logicalBufferSpans"`
	ModuleName     string                                `json:"moduleName"`
	Peak           float64                               `json:"peakHeapMib"`
	UnpaddedPeak   float64                               `json:"peakUnpaddedHeapMib"`
	Position       int                                   `json:"peakHeapSizePosition"`
	Parameters     float64                               `json:"entryComputationParametersMib"`
	LiveOut        float64                               `json:"maybeLiveOutMib"`
	Total          float64                               `json:"totalBufferAllocationMib"`
	Indefinite     float64                               `json:"indefiniteBufferAllocationMib"`
	InstructionSeq []string                              `json:"hloInstructionNames"`
}

type viewerObject struct {
	LogicalBufferID int64   `json:"logicalBufferId"`
	Size            float64 `json:"logicalBufferSizeMib"`
	Unpadded        float64 `json:"unpaddedShapeMib"`
	InstructionName string  `json:"instructionName"`
	GroupName       string  `json:"groupName"`
}

func mib(x float64) int64 { return int64(math.Round(x * (1 << 20))) }

var viewerFile = regexp.MustCompile(`^(.*)\.color(\d+)\.json$`)

// TestXProf compares with what XProf shows of the same files, in every memory space.
func TestXProf(t *testing.T) {
	root := captures(t, "")
	// Where XProf's answers for the files of captures/xla lie.
	shared := map[string]string{
		"conv08": "rocm-mi300/jax_conv_minimal_08.tw003.xplane.pb", "convlegacy": "rocm-mi300/jax_conv_minimal_legacy.xplane.pb",
		"gemm": "rocm-mi300/jax08_gemm.tw003.xplane.pb", "rocm-te": "rocm-te/934987a2fc2f.xplane.pb", "tpu": "tpu/tpu_offload_donation.xplane.pb",
	}
	opened := map[string]*Capture{}
	compared := 0
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		match := viewerFile.FindStringSubmatch(filepath.Base(file))
		if err != nil || match == nil {
			return err
		}
		dir := filepath.Dir(file)
		capture := filepath.Join(filepath.Dir(dir), "step.xplane.pb")
		if name, ok := shared[filepath.Base(dir)]; ok {
			capture = filepath.Join(root, "xla", filepath.FromSlash(name))
		} else if _, err := os.Stat(capture); err != nil {
			capture = filepath.Join(filepath.Dir(dir), "plan.hlo.pb")
		}
		c := opened[capture]
		if c == nil {
			if _, err := os.Stat(capture); err != nil {
				return nil // XProf's answer on a file of another format
			}
			c = open(t, capture)
			opened[capture] = c
		}
		color, err := strconv.ParseInt(match[2], 10, 64)
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(root, file)
		t.Run(relative, func(t *testing.T) {
			for _, m := range c.Modules {
				// XProf adds the module's id to the name of a bare HloProto.
				if m.Title() == match[1] || m.Program == "" && strings.HasPrefix(match[1], m.Name+"(") {
					var v viewer
					readJSON(t, file, &v)
					compareViewer(t, m, MemorySpace(color), &v)
					compared++
					return
				}
			}
			if filepath.Base(capture) == "plan.hlo.pb" && !strings.HasPrefix(match[1], c.Modules[0].Name) {
				return // a helper module of a run whose profile is not kept
			}
			t.Errorf("module %s not found in %s", match[1], capture)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared < 100 {
		t.Errorf("compared %d answers of XProf, want all", compared)
	}
}

func compareViewer(t *testing.T, m *Module, space MemorySpace, v *viewer) {
	check := func(what string, want, got any) {
		t.Helper()
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: want %v, got %v", what, want, got)
		}
	}
	p, err := m.Plan(space)
	if err != nil {
		t.Fatal(err)
	}
	check("total", mib(v.Total), p.NeedBytes)
	check("parameters", mib(v.Parameters), p.ArgumentBytes)
	check("live out", mib(v.LiveOut), p.OutputBytes)
	if p.Peak == nil {
		check("peak without the temp block", mib(v.Peak), p.IndefiniteBytes)
		return
	}
	check("peak", mib(v.Peak), p.Peak.HeapBytes)
	check("unpadded peak", mib(v.UnpaddedPeak), p.Peak.UnpaddedBytes)
	s := p.Peak.Simulation
	if s == nil {
		check("curve", 0, len(v.HeapSizes))
		return
	}
	check("position", v.Position, s.Position)
	curve := make([]int64, len(v.HeapSizes))
	for i, x := range v.HeapSizes {
		curve[i] = mib(x) - p.IndefiniteBytes
	}
	check("curve", curve, s.Curve)
	for i, x := range v.UnpaddedSizes {
		curve[i] = mib(x) - p.IndefiniteBytes
	}
	check("unpadded curve", curve[:len(v.UnpaddedSizes)], s.Unpadded)
	for e, ev := range m.Assignment.Traces[s.Trace].Events {
		check("instruction of an event", v.InstructionSeq[e], ev.Instruction)
	}
	for _, r := range s.Ranges {
		b := &m.Assignment.Buffers[r.Buffer]
		span, ok := v.Spans[strconv.FormatInt(b.ID, 10)]
		if !ok {
			continue
		}
		check(fmt.Sprintf("start of buffer %d", b.ID), span.Start, r.Start)
		if end := min(r.End, len(s.Curve)-2); r.Buffer == r.Memory {
			check(fmt.Sprintf("end of buffer %d", b.ID), span.Limit, end)
		} else if span.Limit > end {
			// XProf ends the span of a buffer that shares memory with itself; others may keep the memory.
			t.Errorf("end of buffer %d: want at least %d, got %d", b.ID, span.Limit, end)
		}
	}
	live := map[int64]int64{}
	for _, r := range s.Live() {
		live[m.Assignment.Buffers[r.Buffer].ID] = m.Assignment.Buffers[r.Memory].SizeBytes
	}
	for _, o := range v.MaxHeap {
		if size, ok := live[o.LogicalBufferID]; ok {
			check("size of a live buffer", mib(o.Size), size)
		}
	}
}
