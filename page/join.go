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
	var buffers, points, left int
	table := newFrames(out)
	for _, samples := range []bool{false, true} {
		for _, p := range parts {
			for _, v := range p.Views {
				if (v.Space == sampled) != samples {
					continue
				}
				// What comes after one that found no room has none either: those that
				// are named alike pair with the base's in their order.
				if buffers += len(v.Buffers); buffers <= totalBuffers || samples {
					points += len(v.Curve.X)
				}
				if len(out.Views) == maxViews || buffers > totalBuffers && !samples || points > totalPoints {
					left++
					continue
				}
				if named[[2]string{v.Module, v.Space}] > 1 {
					v.Module = Clean(v.Module + " · " + p.Name)
				}
				v.Buffers = slices.Clone(v.Buffers)
				for i := range v.Buffers {
					v.Buffers[i].Stack = table.keep(p.lines(v.Buffers[i].Stack))
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
