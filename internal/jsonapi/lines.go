package jsonapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// lines reads requests. A line that is too long is dropped as it comes: no more of it is
// kept than the bound.
type lines struct{ from *bufio.Reader }

func newLines(in io.Reader) *lines { return &lines{bufio.NewReaderSize(in, 64<<10)} }

var errOversized = fmt.Errorf("the line has more than %d bytes", MaxLine)

// next gives a line without its end; errOversized for one that was dropped. A last line
// may have no end.
func (l *lines) next() ([]byte, error) {
	var line []byte
	size := 0
	for {
		piece, err := l.from.ReadSlice('\n')
		if size += len(piece); size <= MaxLine {
			line = append(line, piece...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && size == 0:
			return nil, err
		case size > MaxLine:
			return nil, errOversized
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// writer writes whole lines, for many who write. Nobody waits for a client that does not
// read: what it is told waits, within bounds. Of what programs say the rest is left out
// then, which is counted; a client for whom too much else waits is given up.
type writer struct {
	to io.Writer

	mu    sync.Mutex
	some  sync.Cond
	lines [][]byte
	size  int // of them, in bytes
	over  bool
	err   error         // the first; after it nothing is written
	idle  chan struct{} // closed when all is written, and nothing more comes
	dead  chan struct{} // closed with err
}

// Bounds of what waits for a client, in bytes.
const (
	maxWaiting = 64 << 20
	maxOutput  = 8 << 20 // beyond it the output of commands is left out
)

var errNotRead = fmt.Errorf("the client does not read: more than %d bytes wait for it", maxWaiting)

func newWriter(to io.Writer) *writer {
	w := &writer{to: to, idle: make(chan struct{}), dead: make(chan struct{})}
	w.some.L = &w.mu
	go w.write()
	return w
}

// line has one value written.
func (w *writer) line(v any) {
	text := encoded(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.over {
		return
	}
	if w.size += len(text); w.size > maxWaiting {
		w.fail(errNotRead)
		return
	}
	w.lines = append(w.lines, text)
	w.some.Signal()
}

// room says whether there is some for the output of a command.
func (w *writer) room() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size < maxOutput
}

// fail gives the client up; the lock is held.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err, w.lines = err, nil
		close(w.dead)
		w.some.Signal()
	}
}

// write writes until the end was told and everything is written.
func (w *writer) write() {
	defer close(w.idle)
	for {
		w.mu.Lock()
		for len(w.lines) == 0 && !w.over && w.err == nil {
			w.some.Wait()
		}
		if w.err != nil || len(w.lines) == 0 {
			w.mu.Unlock()
			return
		}
		text := w.lines[0]
		w.lines = w.lines[1:]
		w.mu.Unlock()
		_, err := w.to.Write(text)
		w.mu.Lock()
		if w.size -= len(text); err != nil {
			w.fail(err)
		}
		w.mu.Unlock()
	}
}

// end waits until everything is written, for as long as somebody reads.
func (w *writer) end(patience time.Duration) error {
	w.mu.Lock()
	w.over = true
	w.some.Signal()
	w.mu.Unlock()
	select {
	case <-w.idle:
	case <-time.After(patience):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.Reset()
		text, _ := json.Marshal(err.Error())
		fmt.Fprintf(&b, `{"type":"event.error","payload":{"code":"encoding","message":%s}}`+"\n", text)
	}
	return b.Bytes()
}

// logger writes log lines: JSON too, for who has started the program.
type logger struct {
	mu sync.Mutex
	to io.Writer
}

type logLine struct {
	Time      time.Time       `json:"timestamp"`
	Level     string          `json:"level"`
	Component string          `json:"component"`
	ID        json.RawMessage `json:"request_id,omitempty"`
	Message   string          `json:"message"`
}

func (l *logger) say(level string, id json.RawMessage, format string, args ...any) {
	text := encoded(logLine{Time: time.Now().UTC().Truncate(time.Microsecond), Level: level, Component: "jsonapi", ID: id, Message: fmt.Sprintf(format, args...)})
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.to.Write(text) // a full disk behind it is nobody's reason to stop
}
