package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture/footprint"
)

// TestUpperEnd: which of the sum of marks and the group's peak is the upper end.
func TestUpperEnd(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		marks, files, beside, group int64
		want                        int64
	}{
		{"memory is shared: the group's", 1000, 10, 5, 405, 415},
		{"page cache: the marks", 300, 10, 900, 1190, 300},
		{"processes that no tick saw: the group's", 300, 10, 20, 700, 710},
		{"nothing was seen", 0, 0, 0, 200, 0},
	} {
		p := peaks{upper: tt.marks, files: tt.files, beside: tt.beside}
		p.bound(tt.group)
		var s footprint.Summary
		p.summary(&s)
		if got, _ := s.UpperPeak.Value(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestReapedChildOfTheWatcher(t *testing.T) {
	p := peaks{self: 100, process: 10, upper: 10}
	p.reaped(105)
	if p.process != 10 || p.upper != 10 {
		t.Errorf("the watcher's own memory counts: %+v", p)
	}
	p.reaped(400)
	if p.process != 400 || p.upper != 410 {
		t.Errorf("a child that no tick saw: %+v", p)
	}
}

// TestOtherNamespace: in a /proc of another pid namespace our number is another
// process, whose children would be followed, and ended.
func TestOtherNamespace(t *testing.T) {
	root := t.TempDir()
	if err := ownNamespace(root, 7); err != nil {
		t.Errorf("without a link: %v", err)
	}
	if err := os.Symlink("7", filepath.Join(root, "self")); err != nil {
		t.Fatal(err)
	}
	if err := ownNamespace(root, 7); err != nil {
		t.Errorf("our own: %v", err)
	}
	if err := ownNamespace(root, 1); err == nil || !strings.Contains(err.Error(), "another pid namespace") {
		t.Errorf("another's: %v", err)
	}
}

// TestAtOnce: processes that share memory are read one after the other, and their
// sum may be more than ever was.
func TestAtOnce(t *testing.T) {
	l := &linux{}
	for _, tt := range []struct{ whole, group, want int64 }{
		{84 * miB, 80 * miB, 80 * miB},
		{80 * miB, 80*miB - 4096, 80 * miB}, // the counters lag
		{80 * miB, 100 * miB, 80 * miB},     // files of tmpfs that nobody has mapped
		{80 * miB, 10 * miB, 10 * miB},
		{80 * miB, 10 * miB, 10 * miB},
		{80 * miB, 10 * miB, 80 * miB}, // it left the group
	} {
		if got := l.atOnce(tt.whole, tt.group); got != tt.want {
			t.Errorf("PSS %d, group %d: got %d, want %d", tt.whole, tt.group, got, tt.want)
		}
	}
	if !l.left {
		t.Error("the group still counts")
	}
}
