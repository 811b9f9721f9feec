package page

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// captures is the folder of captures beside the repository.
func captures(t testing.TB) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "captures")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the folder ../shared/captures is not beside this repository")
	}
	return dir
}

// load reads an XLA capture into a side.
func load(t testing.TB, file string) *Side {
	t.Helper()
	s, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open gives what the page shows of a file.
func open(file string) (s *Side, err error) {
	opt := capture.Options{Records: func(records any, m *measure.Measurement, _ capture.Options) { s, err = Of(records, m, "") }}
	if _, unread := capture.Open(file, opt); unread != nil {
		return nil, unread
	}
	return s, err
}

// xprof is what XProf 2.24.2 shows of one module in one memory space, sizes in MiB.
type xprof struct {
	HeapSizes, UnpaddedHeapSizes  []float64
	MaxHeap                       []xprofObject
	MaxHeapBySize                 []xprofObject
	LogicalBufferSpans            map[string]struct{ Start, Limit int }
	EntryComputationName          string
	PeakHeapMib                   float64
	PeakUnpaddedHeapMib           float64
	PeakHeapSizePosition          int
	EntryComputationParametersMib float64
	MaybeLiveOutMib               float64
	NonReusableMib                float64
	TotalBufferAllocationMib      float64
	IndefiniteBufferAllocationMib float64
	MaxScopedVmemAllocationMib    float64
	HloInstructionNames           []string
}

type xprofObject struct {
	LogicalBufferID      int64
	LogicalBufferSizeMib float64
	UnpaddedShapeMib     float64
	InstructionName      string
	ShapeString          string
	TfOpName             string
	GroupName            string
	OpCode               string
	SourceInfo           struct{ StackFrame string }
}

func mib(x float64) int64 { return int64(math.Round(x * (1 << 20))) }

// TestXProf compares the data of the page with XProf's answer for the same files.
func TestXProf(t *testing.T) {
	root := captures(t)
	files := map[string]string{
		"conv08": "rocm-mi300/jax_conv_minimal_08.tw003.xplane.pb", "convlegacy": "rocm-mi300/jax_conv_minimal_legacy.xplane.pb",
		"gemm": "rocm-mi300/jax08_gemm.tw003.xplane.pb", "rocm-te": "rocm-te/934987a2fc2f.xplane.pb", "tpu": "tpu/tpu_offload_donation.xplane.pb",
	}
	pattern := regexp.MustCompile(`^(.*)\.color(\d+)\.json$`)
	sides, compared, objects := map[string]*Side{}, 0, 0
	err := filepath.WalkDir(filepath.Join(root, "xla", "xprof"), func(file string, _ fs.DirEntry, err error) error {
		match := pattern.FindStringSubmatch(filepath.Base(file))
		if err != nil || match == nil {
			return err
		}
		name, ok := files[filepath.Base(filepath.Dir(file))]
		if !ok {
			return nil
		}
		if sides[name] == nil {
			sides[name] = load(t, filepath.Join(root, "xla", filepath.FromSlash(name)))
		}
		color, err := strconv.ParseInt(match[2], 10, 64)
		if err != nil {
			return err
		}
		space := xla.MemorySpace(color).String()
		i := slices.IndexFunc(sides[name].Views, func(v View) bool { return v.Module == match[1] && v.Space == space })
		var want xprof
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &want); err != nil {
			return err
		}
		if i < 0 {
			if want.TotalBufferAllocationMib > 0 {
				t.Errorf("%s: no view of it", file)
			}
			return nil
		}
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			objects += compareView(t, sides[name], &sides[name].Views[i], &want)
			compared++
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared < 40 || objects < 60 {
		t.Errorf("compared %d answers and %d buffers of XProf, want all", compared, objects)
	}
}

func compareView(t *testing.T, s *Side, v *View, want *xprof) (objects int) {
	figure := func(key string, want int64) {
		t.Helper()
		if i := slices.IndexFunc(v.Figures, func(f Figure) bool { return f.Key == key }); i < 0 || v.Figures[i].Bytes == nil || *v.Figures[i].Bytes != want {
			t.Errorf("%s: want %d, got %+v", key, want, v.Figures)
		}
	}
	if v.Peak != nil {
		figure("peak", mib(want.PeakHeapMib))
		figure("peak_unpadded", mib(want.PeakUnpaddedHeapMib))
		figure("padding", mib(want.PeakHeapMib)-mib(want.PeakUnpaddedHeapMib))
		figure("temp_live", mib(want.PeakHeapMib)-mib(want.IndefiniteBufferAllocationMib))
		if v.Peak.Bytes != mib(want.PeakHeapMib) || v.Peak.Unpadded != mib(want.PeakUnpaddedHeapMib) {
			t.Errorf("peak: got %+v", v.Peak)
		}
	}
	figure("total", mib(want.TotalBufferAllocationMib))
	figure("arguments", mib(want.EntryComputationParametersMib))
	figure("outputs", mib(want.MaybeLiveOutMib))
	figure("indefinite", mib(want.IndefiniteBufferAllocationMib))
	figure("temp", mib(want.TotalBufferAllocationMib)-mib(want.IndefiniteBufferAllocationMib))
	if want.NonReusableMib > 0 {
		figure("non_reusable", mib(want.NonReusableMib))
	}
	if want.MaxScopedVmemAllocationMib > 0 && v.Space == "vmem" {
		figure("scoped", mib(want.MaxScopedVmemAllocationMib))
	}
	if v.Entry != want.EntryComputationName {
		t.Errorf("entry computation: want %q, got %q", want.EntryComputationName, v.Entry)
	}
	if len(want.HeapSizes) > 0 {
		compareCurve(t, v, want)
	}
	if v.Peak == nil {
		return 0
	}
	// XProf draws what lives throughout for color 0 only, and one bar for what is small.
	bars := slices.DeleteFunc(slices.Clone(v.Buffers), func(b Buffer) bool {
		return !b.AtPeak || b.Bytes < SmallBytes || v.Space != "device" && b.Kind != "Temporary"
	})
	theirs := slices.DeleteFunc(slices.Clone(want.MaxHeap), func(o xprofObject) bool { return o.LogicalBufferID < 0 })
	if len(bars) != len(theirs) {
		t.Errorf("bars: want %d, got %d", len(theirs), len(bars))
		return 0
	}
	// XProf takes what lives throughout in the order of its hash table: of these only
	// what they are is compared, of the others the order too.
	byID := func(a, b Buffer) int { return strings.Compare(a.ID, b.ID) }
	lasting := slices.IndexFunc(bars, func(b Buffer) bool { return b.Kind == "Temporary" })
	if lasting < 0 {
		lasting = len(bars)
	}
	slices.SortFunc(bars[:lasting], byID)
	slices.SortFunc(theirs[:lasting], func(a, b xprofObject) int {
		return strings.Compare(strconv.FormatInt(a.LogicalBufferID, 10), strconv.FormatInt(b.LogicalBufferID, 10))
	})
	for i, o := range theirs {
		compareBuffer(t, s, &bars[i], &o)
	}
	return len(bars)
}

func compareCurve(t *testing.T, v *View, want *xprof) {
	if v.Peak.X != want.PeakHeapSizePosition+1 {
		t.Errorf("peak at %d, want %d", v.Peak.X, want.PeakHeapSizePosition+1)
	}
	if v.Steps+1 != len(want.HeapSizes) || len(v.Curve.X) != len(want.HeapSizes) {
		t.Fatalf("curve: want %d points, got %d of %d steps", len(want.HeapSizes), len(v.Curve.X), v.Steps)
	}
	for i := range want.HeapSizes {
		if v.Curve.X[i] != i || v.Curve.Bytes[i] != mib(want.HeapSizes[i]) || v.Curve.Unpadded[i] != mib(want.UnpaddedHeapSizes[i]) {
			t.Errorf("curve at %d: want %d and %d, got %d and %d at %d", i, mib(want.HeapSizes[i]), mib(want.UnpaddedHeapSizes[i]), v.Curve.Bytes[i], v.Curve.Unpadded[i], v.Curve.X[i])
		}
		if i > 0 && v.Curve.Instructions[i] != Clean(want.HloInstructionNames[i-1]) {
			t.Errorf("instruction before %d: want %q, got %q", i, want.HloInstructionNames[i-1], v.Curve.Instructions[i])
		}
	}
	for _, b := range v.Buffers {
		if span, ok := want.LogicalBufferSpans[b.ID]; ok && b.Kind == "Temporary" && b.Start != span.Start+1 {
			t.Errorf("buffer %s: starts at %d, want %d", b.ID, b.Start, span.Start+1)
		}
	}
}

func compareBuffer(t *testing.T, s *Side, b *Buffer, o *xprofObject) {
	check := func(what string, want, got any) {
		t.Helper()
		if want != got {
			t.Errorf("buffer %d: %s: want %v, got %v", o.LogicalBufferID, what, want, got)
		}
	}
	check("id", strconv.FormatInt(o.LogicalBufferID, 10), b.ID)
	check("size", mib(o.LogicalBufferSizeMib), b.Bytes)
	check("kind", o.GroupName, b.Kind)
	check("opcode", o.OpCode, b.Opcode)
	check("name", strings.ReplaceAll(o.InstructionName, " ", ""), strings.ReplaceAll(b.Name, " ", ""))
	if o.TfOpName != "" {
		check("operation", Clean(o.TfOpName), b.Op)
	}
	if b.Kind == "Temporary" {
		check("size without padding", mib(o.UnpaddedShapeMib), b.ViewerUnpadded)
	}
	shape, _, _ := strings.Cut(o.ShapeString, "{") // without its layout
	if !strings.HasPrefix(shape, "(") {
		check("shape", shape, b.Shape)
	}
	if o.SourceInfo.StackFrame == "" {
		return
	}
	// XProf writes file:line:column, the page file:line and the function.
	var want, got []string
	for _, line := range strings.Split(o.SourceInfo.StackFrame, "\n") {
		want = append(want, line[:strings.LastIndexByte(line, ':')])
	}
	if b.Stack > 0 {
		for _, line := range s.lines(b.Stack) {
			place, _, _ := strings.Cut(line, " ")
			got = append(got, place)
		}
	}
	if len(want) > 0 && !strings.Contains(o.SourceInfo.StackFrame, " ") {
		check("stack", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}
