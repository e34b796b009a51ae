package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds a message, in bytes: as much as the library takes.
const maxLine = 16 << 20

// lines hands on the lines that are messages, whole. The library reads values one after
// the other, so that a line which is none takes those after it along, and it hangs up on
// what is no message; here each line is answered by itself.
type lines struct {
	io.Closer
	from  *bufio.Reader
	wrong func(code int64, message string)
	rest  []byte        // of the line that is being handed on
	over  chan struct{} // closed when there are no more
	once  sync.Once
}

func newLines(in io.ReadCloser, wrong func(int64, string)) *lines {
	return &lines{Closer: in, from: bufio.NewReaderSize(in, 64<<10), wrong: wrong, over: make(chan struct{})}
}

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			l.once.Do(func() { close(l.over) })
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line gives the next one that is a message, nil for one that was answered.
func (l *lines) line() ([]byte, error) {
	line, long := []byte{}, false
	for {
		piece, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(piece) > maxLine; !long {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(line) == 0 {
			return nil, err
		}
		break // a last line may have no end
	}
	switch {
	case long:
		l.wrong(jsonrpc.CodeParseError, fmt.Sprintf("the line has more than %d bytes", maxLine))
		return nil, nil
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil
	case !json.Valid(line):
		l.wrong(jsonrpc.CodeParseError, "the line is not JSON")
		return nil, nil
	}
	list := []json.RawMessage{bytes.TrimSpace(line)}
	if list[0][0] == '[' { // several at once, as an early version has it: each is answered by itself
		list = nil
		_ = json.Unmarshal(line, &list)
	}
	var good []byte
	for _, one := range list {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			l.wrong(jsonrpc.CodeInvalidRequest, "the line is no message: "+err.Error())
			continue
		}
		good = append(append(good, one...), '\n')
	}
	if len(list) == 0 {
		l.wrong(jsonrpc.CodeInvalidRequest, "the line is a list of nothing")
	}
	return good, nil
}

// whole is a writer of whole messages, for more than one who writes.
type whole struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements [io.Writer].
func (w *whole) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(b)
}

// wrong answers what is no message: it has no id.
func (w *whole) wrong(code int64, message string) {
	text, err := json.Marshal(message)
	if err == nil {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code, text)
	}
}

// transport is a conversation in lines.
func transport(in io.ReadCloser, out io.WriteCloser) (*lines, *whole) {
	w := &whole{WriteCloser: out}
	return newLines(in, w.wrong), w
}
