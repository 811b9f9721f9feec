package torch

import (
	"bufio"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// load reads the snapshot of a process.
func load(path, root string) (*torch.Snapshot, error) {
	f, size, err := dryrun.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return torch.Read(bufio.NewReaderSize(f, 1<<16), size, filepath.Base(path), torch.Options{Root: root})
}

// request is an allocation and what was freed since the one before.
type request struct {
	size  int64
	stack torch.StackID
	freed []int64 // sizes, sorted: the order of frees between two allocations may follow addresses
}

// requests is the sequence of a device. The last has the frees after the last
// allocation and a size of -1.
func requests(s *torch.Snapshot, d *torch.Device) (list []request) {
	var freed []int64
	take := func(size int64, stack torch.StackID) {
		slices.Sort(freed)
		list = append(list, request{size, stack, slices.Clip(freed)})
		freed = nil
	}
	events, _ := s.Events(d)
	for e := range events {
		if e.Action == torch.Alloc {
			take(e.Size, e.Stack)
		} else {
			freed = append(freed, e.Size)
		}
	}
	take(-1, torch.NoStack)
	return list
}

// parting is where two runs of a program no longer allocate alike.
type parting struct {
	device int
	number int // of the allocation, from 0
	sides  [2]side
}

// side is what one run does there.
type side struct {
	size   int64 // -1: it allocates no more
	site   string
	source *measure.Source
}

// part finds the first allocation in which two runs of one process differ; nil where
// there is none.
func part(a, b *torch.Snapshot) *parting {
	var ordinals []int
	for _, s := range []*torch.Snapshot{a, b} {
		for i := range s.Devices {
			ordinals = append(ordinals, s.Devices[i].Ordinal)
		}
	}
	slices.Sort(ordinals)
	for _, ordinal := range slices.Compact(ordinals) {
		x, y := on(a, ordinal), on(b, ordinal)
		for i := range max(len(x), len(y)) {
			p, q := at(x, i), at(y, i)
			if p.size == q.size && slices.Equal(p.freed, q.freed) {
				continue
			}
			return &parting{ordinal, i, [2]side{sideOf(a, p), sideOf(b, q)}}
		}
	}
	return nil
}

func on(s *torch.Snapshot, ordinal int) []request {
	if d := deviceOf(s, ordinal); d != nil {
		return requests(s, d)
	}
	return nil
}

func deviceOf(s *torch.Snapshot, ordinal int) *torch.Device {
	i := slices.IndexFunc(s.Devices, func(d torch.Device) bool { return d.Ordinal == ordinal })
	if i < 0 {
		return nil
	}
	return &s.Devices[i]
}

func at(list []request, i int) request {
	if i < len(list) {
		return list[i]
	}
	return request{size: -1}
}

func sideOf(s *torch.Snapshot, r request) side {
	if r.size < 0 {
		return side{size: -1}
	}
	return side{r.size, s.Site(r.stack), s.Source(r.stack)}
}

// String tells what a side does.
func (s side) String() string {
	if s.size < 0 {
		return "allocates no more"
	}
	return fmt.Sprintf("allocates %s at %s", measure.Bytes(s.size), s.site)
}
