package watch

import (
	"bytes"
	"errors"
	"testing"
)

// full takes so many bytes and is then full, until it is emptied.
type full struct {
	bytes.Buffer
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	f.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func TestOutputGoesOnWhenTheDiskIsFull(t *testing.T) {
	disk := &full{room: 10}
	var told []string
	o := &output{w: disk, tell: func(s string) { told = append(told, s) }}
	for _, line := range []string{"one...\n", "two...\n", "three.\n"} {
		if n, err := o.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	disk.room = 100
	o.Write([]byte("four..\n"))
	if got, want := disk.String(), "one...\ntwo\nfour..\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if o.lost != 2 || o.err == nil || len(told) != 1 {
		t.Errorf("lost %d, error %v, told %q", o.lost, o.err, told)
	}
}
