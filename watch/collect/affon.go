package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"
)

const (
	// maxAnswer is the most that is read of one answer; one has some 100 metrics.
	maxAnswer = 4 << 20
	// maxAnswers is the most that is kept of a run: five hours of a large answer.
	maxAnswers = 256 << 20
	// maxLine is how much of the end of the output is kept, to find the line in.
	maxLine = 256
)

// listening is what Affon's telemetry console says of itself. Only a port of this
// machine is asked.
// https://github.com/neucine/affon/blob/main/docs/runtime/memory-debugging.md
var listening = regexp.MustCompile(`Telemetry console listening on (http://127\.0\.0\.1:\d{1,5})/`)

// affon reads the metrics of Affon's console while the workload runs.
type affon struct {
	path string

	mu    sync.Mutex
	tail  []byte
	begun bool
	stop  chan struct{} // closed to end the poll, which closes done
	done  chan struct{}
}

func newAffon(path string) *affon { return &affon{path: path} }

// printed looks for the console's address in what the workload prints.
func (a *affon) printed(p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		return
	}
	a.tail = append(a.tail, p...)
	m := listening.FindSubmatch(a.tail)
	a.tail = bytes.Clone(a.tail[max(0, len(a.tail)-maxLine):])
	if m == nil {
		return
	}
	a.begun, a.tail = true, nil
	a.stop, a.done = make(chan struct{}), make(chan struct{})
	go a.poll(string(m[1]) + "/metrics")
}

// poll appends each answer, a JSON array, to the file. One that has been asked for is
// waited for.
func (a *affon) poll(url string) {
	defer close(a.done)
	client := &http.Client{
		Timeout:       2 * time.Second,
		Transport:     &http.Transport{Proxy: nil},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	size := 0
	for {
		if answer, err := ask(client, url); err == nil && size+len(answer) <= maxAnswers {
			size += len(answer)
			a.keep(answer)
		}
		select {
		case <-a.stop:
			return
		case <-ticker.C:
		}
	}
}

func ask(client *http.Client, url string) ([]byte, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	answer = bytes.TrimSpace(answer)
	if response.StatusCode != http.StatusOK || !bytes.HasPrefix(answer, []byte("[")) || !json.Valid(answer) {
		return nil, errors.New("no metrics")
	}
	return append(answer, '\n'), nil
}

// keep appends one answer with one write. A full disk loses captures, not the run.
func (a *affon) keep(answer []byte) {
	f, err := os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(answer)
}

func (a *affon) close() {
	a.mu.Lock()
	stop, done := a.stop, a.done
	a.begun = true
	a.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}
