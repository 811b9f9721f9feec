package page

import "fmt"

// frameTable keeps the stacks of a side, each stack and each frame once.
type frameTable struct {
	side   *Side
	frames map[string]int
	stacks map[string]int // the indexes of its frames, written out → its index plus one
	total  int
}

func newFrames(s *Side) *frameTable {
	return &frameTable{side: s, frames: map[string]int{}, stacks: map[string]int{}}
}

// keep gives the index of a stack plus one; 0 for none, and for one that finds no room.
func (t *frameTable) keep(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	stack := make([]int, len(lines))
	for i, line := range lines {
		at, ok := t.frames[line]
		if !ok {
			if len(t.side.Frames) == totalFrames {
				return 0
			}
			at = len(t.side.Frames)
			t.frames[line] = at
			t.side.Frames = append(t.side.Frames, line)
		}
		stack[i] = at
	}
	key := fmt.Sprint(stack)
	if i, ok := t.stacks[key]; ok {
		return i
	}
	if t.total+len(stack) > totalStacks {
		return 0
	}
	t.total += len(stack)
	t.side.Stacks = append(t.side.Stacks, stack)
	t.stacks[key] = len(t.side.Stacks)
	return len(t.side.Stacks)
}

// lines gives the text of a stack by its index plus one.
func (s *Side) lines(stack int) []string {
	if stack == 0 {
		return nil
	}
	var out []string
	for _, f := range s.Stacks[stack-1] {
		out = append(out, s.Frames[f])
	}
	return out
}
