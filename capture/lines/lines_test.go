package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 3*Window+7)
	l := NewReader(strings.NewReader("\ufeffa\r\n\n\ufeffb\r\r\n"+long+"\nend"), "x")
	if head, err := l.Peek(); err != nil || len(head) != Window {
		t.Fatalf("%d bytes, %v", len(head), err)
	}
	for i, want := range []struct {
		line  string
		whole bool
	}{{"a", true}, {"", true}, {"\ufeffb\r", true}, {long, true}, {"end", false}} {
		line, whole, err := l.Next()
		if err != nil || string(line) != want.line || whole != want.whole || l.N != i+1 {
			t.Fatalf("line %d: %.20q of %d bytes, whole %v, %v", l.N, line, len(line), whole, err)
		}
	}
	if _, _, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last line: %v", err)
	}
}

func TestReaderRefuses(t *testing.T) {
	l := NewReader(strings.NewReader("a\n"+strings.Repeat("x", MaxLine+Window)), "x")
	l.Next()
	if _, _, err := l.Next(); err == nil || err.Error() != "x:2:1: a line of more than 1048576 bytes: want a text of lines" {
		t.Errorf("%v", err)
	}
	bad := errors.New("unplugged")
	l = NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(bad)), "x")
	l.Next()
	if _, _, err := l.Next(); !errors.Is(err, bad) || err.Error() != "x:2: unplugged" {
		t.Errorf("%v", err)
	}
	if _, err := NewReader(iotest.ErrReader(bad), "x").Peek(); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
}
