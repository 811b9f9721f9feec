package torch

import "fmt"

// sum adds up the segments of a device.
func (d *Device) sum() error {
	st := &d.State
	st.PoolsKnown = true
	for i, g := range d.Segments {
		if i > 0 {
			if last := d.Segments[i-1]; g.Address-last.Address < uint64(last.TotalSize) {
				return fmt.Errorf("damaged file: the segments at %#x and %#x overlap", last.Address, g.Address)
			}
		}
		st.Reserved += g.TotalSize
		private := g.Pool != PoolID{}
		st.PoolsKnown = st.PoolsKnown && g.PoolKnown
		if private {
			st.Private += g.TotalSize
		}
		for _, b := range g.Blocks {
			switch b.State {
			case Allocated:
				st.Allocated += b.Size
				st.RequestedAllocated += b.Requested
				st.RoundedRequested += round(b.Requested)
			case PendingFree:
				st.PendingFree += b.Size
				st.RequestedPendingFree += b.Requested
				st.RoundedRequested += round(b.Requested)
				st.PendingBlocks++
			case Inactive:
				st.Inactive += b.Size
				st.LargestInactive = max(st.LargestInactive, b.Size)
				if !private {
					st.LargestUsable = max(st.LargestUsable, b.Size)
				}
			default:
				st.Unknown += b.Size
			}
			if st.RequestedAllocated > sumLimit || st.RequestedPendingFree > sumLimit || st.Inactive > sumLimit || st.Unknown > sumLimit || st.RoundedRequested > sumLimit {
				return errSum
			}
		}
		if st.Reserved > sumLimit {
			return errSum
		}
	}
	return nil
}

// Validate tells whether the parts of a snapshot agree; one that Read returned
// always does.
func (s *Snapshot) Validate() error {
	stackOK := func(id StackID) bool { return id >= StackUnknown && int(id) < len(s.Stacks)+int(firstStack) }
	for i, st := range s.Stacks {
		for _, f := range st {
			if int(f) >= len(s.Frames) {
				return fmt.Errorf("stack %d: frame %d of %d", i, f, len(s.Frames))
			}
		}
	}
	last := -1
	for _, d := range s.Devices {
		if d.Ordinal <= last {
			return fmt.Errorf("device %d after device %d", d.Ordinal, last)
		}
		last = d.Ordinal
		for _, g := range d.Segments {
			if g.Device != d.Ordinal || g.TotalSize < 0 {
				return fmt.Errorf("device %d: segment %#x of device %d with %d bytes", d.Ordinal, g.Address, g.Device, g.TotalSize)
			}
			for _, b := range g.Blocks {
				if b.Size < 0 || b.Requested < 0 || !stackOK(b.Stack) {
					return fmt.Errorf("device %d: block %#x: size %d, requested %d, stack %d", d.Ordinal, b.Address, b.Size, b.Requested, b.Stack)
				}
			}
		}
		for _, set := range [...]struct {
			name  string
			live  []Holding
			total int64
		}{{"peak", d.Peak, d.History.Peak}, {"end", d.End, d.State.Requested()}} {
			if set.live == nil {
				continue
			}
			sum := int64(0)
			for _, h := range set.live {
				if !stackOK(h.Stack) || h.Bytes < 0 || h.Count <= 0 {
					return fmt.Errorf("device %d: %s: stack %d holds %d bytes in %d blocks", d.Ordinal, set.name, h.Stack, h.Bytes, h.Count)
				}
				sum += h.Bytes
			}
			if sum != set.total {
				return fmt.Errorf("device %d: the live set at the %s adds up to %d bytes, want %d", d.Ordinal, set.name, sum, set.total)
			}
		}
		if d.History.NoPeak == "" && (d.History.Baseline < 0 || d.History.Peak < d.History.Baseline || d.History.Peak < d.State.Requested()) {
			return fmt.Errorf("device %d: peak %d, baseline %d, end %d", d.Ordinal, d.History.Peak, d.History.Baseline, d.State.Requested())
		}
	}
	return nil
}
