package watch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
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

// TestOutputWritesTheHeaderLater: nobody can read the lines without the first one.
func TestOutputWritesTheHeaderLater(t *testing.T) {
	disk := &full{}
	o := &output{w: disk, tell: func(string) {}}
	o.Write([]byte("header\n"))
	o.Write([]byte("one\n"))
	disk.room = 100
	o.Write([]byte("two\n"))
	o.Write([]byte("three\n"))
	if got, want := disk.String(), "header\ntwo\nthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOutputTakesBack: a file is left without the part of a line that fitted.
func TestOutputTakesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := &output{w: f}
	io.WriteString(f, "one\ntw")
	if !o.takeBack(2) {
		t.Fatal("the part stays")
	}
	o.Write([]byte("two\n"))
	if got, err := os.ReadFile(path); string(got) != "one\ntwo\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if o.w = write; o.takeBack(1) {
		t.Error("a pipe took something back")
	}
}
