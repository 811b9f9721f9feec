package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// hashing begins to hash a file beside its reader and gives a function that waits
// for the sum; that is empty where the file cannot be read to its end.
func hashing(path string) (sum func() string) {
	done := make(chan string, 1)
	go func() {
		defer close(done)
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err == nil {
			done <- hex.EncodeToString(h.Sum(nil))
		}
	}()
	return func() string { return <-done }
}
