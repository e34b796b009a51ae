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

// writer writes whole lines, for many who write.
type writer struct {
	mu  sync.Mutex
	to  io.Writer
	err error // the first; after it nothing is written
}

// line writes one value. A client that does not read holds up who writes to it, and
// nobody else's work.
func (w *writer) line(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.Reset()
		text, _ := json.Marshal(err.Error())
		fmt.Fprintf(&b, `{"type":"event.error","payload":{"code":"encoding","message":%s}}`+"\n", text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.to.Write(b.Bytes())
	}
}

// logger writes log lines: JSON too, for who has started the program.
type logger struct{ writer }

type logLine struct {
	Time      time.Time       `json:"timestamp"`
	Level     string          `json:"level"`
	Component string          `json:"component"`
	ID        json.RawMessage `json:"request_id,omitempty"`
	Message   string          `json:"message"`
}

func (l *logger) say(level string, id json.RawMessage, format string, args ...any) {
	l.line(logLine{Time: time.Now().UTC().Truncate(time.Microsecond), Level: level, Component: "jsonapi", ID: id, Message: fmt.Sprintf(format, args...)})
}
