package page

import "slices"

// Join makes one side of several captures of one workload, in their order, within the
// limits of one. Samples come last. What is named alike tells its capture.
func Join(parts []*Side) *Side {
	if len(parts) == 1 {
		return parts[0]
	}
	out := &Side{Views: []View{}}
	named := map[[2]string]int{}
	for _, p := range parts {
		if out.Name != "" {
			out.Name += ", "
		}
		out.Name, out.Format = out.Name+p.Name, p.Format
		for _, w := range p.Warnings {
			out.warn("%s: %s", p.Name, w)
		}
		for _, v := range p.Views {
			named[[2]string{v.Module, v.Space}]++
		}
	}
	out.Name = Clean(out.Name)
	var buffers, points, frames, left int
	for _, samples := range []bool{false, true} {
		for _, p := range parts {
			stacks := map[int]int{} // of the part → of the whole
			for _, v := range p.Views {
				if (v.Space == sampled) != samples {
					continue
				}
				buffers, points = buffers+len(v.Buffers), points+len(v.Curve.X)
				if len(out.Views) == maxViews || buffers > totalBuffers || points > totalPoints {
					left++
					continue
				}
				if named[[2]string{v.Module, v.Space}] > 1 {
					v.Module = Clean(v.Module + " · " + p.Name)
				}
				v.Buffers = slices.Clone(v.Buffers)
				for i := range v.Buffers {
					b := &v.Buffers[i]
					if b.Stack == 0 {
						continue
					}
					at, ok := stacks[b.Stack]
					if lines := p.Stacks[b.Stack-1]; !ok && frames+len(lines) <= totalFrames {
						frames += len(lines)
						out.Stacks = append(out.Stacks, lines)
						at = len(out.Stacks)
						stacks[b.Stack] = at
					}
					b.Stack = at
				}
				out.Views = append(out.Views, v)
			}
		}
	}
	if left > 0 {
		out.warn("%d of %d modules or devices are not shown", left, left+len(out.Views))
	}
	return out
}
