package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// bombFloor is the size from which bombRatio counts, in bytes. A test lowers it.
var bombFloor int64 = 1 << 30

// Limits of compressed captures.
const (
	// zstdWindow is the largest window that is accepted, in bytes: what zstd
	// itself takes without --long (ZSTD_WINDOWLOG_LIMIT_DEFAULT in lib/zstd.h).
	zstdWindow = 128 << 20
	// A snapshot shrinks some 20 to 100 times, the JSON of one up to 1,500 times.
	// What grows more than bombRatio times, and beyond bombFloor, is no capture.
	bombRatio = 4_000
)

func isGzip(head []byte) bool { return len(head) > 2 && head[0] == 0x1f && head[1] == 0x8b }

// isZstd tells a frame of zstd, or a skippable one before it (RFC 8878, 3.1).
func isZstd(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	magic := binary.LittleEndian.Uint32(head)
	return magic == 0xfd2fb528 || magic&^0xf == 0x184d2a50
}

// packed tells the compression of a file, "" without one.
func packed(head []byte) string {
	switch {
	case isGzip(head):
		return "gzip"
	case isZstd(head):
		return "zstd"
	}
	return ""
}

// unpack undoes the compression that packed tells. Only one layer is undone.
func unpack(form string, r io.Reader) (io.Reader, error) {
	in := &bytesRead{r: r}
	switch form {
	case "gzip":
		zipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("offset 0x0: damaged gzip header: %w", err)
		}
		return &unpacked{form: form, r: zipped, in: in}, nil
	case "zstd":
		// Decoded where it is read: no goroutine is left to be closed.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, fmt.Errorf("offset 0x0: damaged zstd header: %w", err)
		}
		return &unpacked{form: form, r: z, in: in}, nil
	}
	return r, nil
}

// unpacked says that a failure came from the compression, not from the format.
type unpacked struct {
	form string
	r    io.Reader
	in   *bytesRead
	done int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.done += int64(n)
	switch {
	case err == nil && u.done > bombFloor && u.done/bombRatio > u.in.n:
		err = fmt.Errorf("%d bytes of %s data give more than %d: a compression bomb, not a capture", u.in.n, u.form, u.done)
	case err == nil || err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s data ends early: the file is cut off", u.form)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		err = fmt.Errorf("zstd data with a window of more than %d MiB; compress it without --long or --ultra", zstdWindow>>20)
	default:
		err = fmt.Errorf("damaged %s data: %w", u.form, err)
	}
	return n, err
}

// bytesRead counts what a decoder took.
type bytesRead struct {
	r io.Reader
	n int64
}

func (b *bytesRead) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	return n, err
}

// packing names a compression that is told but not undone.
func packing(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "xz"
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2"
	case bytes.HasPrefix(head, []byte("\x04\x22\x4d\x18")):
		return "lz4"
	}
	return ""
}
