package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	wrong func(id json.RawMessage, code int64, message string)
	rest  []byte        // of the line that is being handed on
	over  chan struct{} // closed when there are no more
	once  sync.Once
}

func newLines(in io.ReadCloser, wrong func(json.RawMessage, int64, string)) *lines {
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
		l.wrong(nil, jsonrpc.CodeParseError, fmt.Sprintf("the line has more than %d bytes", maxLine))
		return nil, nil
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil
	case !json.Valid(line):
		l.wrong(nil, jsonrpc.CodeParseError, "the line is not JSON")
		return nil, nil
	}
	list := []json.RawMessage{bytes.TrimSpace(line)}
	if list[0][0] == '[' { // several at once, as an early version has it: each is answered by itself
		list = nil
		_ = json.Unmarshal(line, &list)
	}
	var good []byte
	for _, one := range list {
		id, ok := idOf(one)
		if !ok {
			l.wrong(id, jsonrpc.CodeInvalidRequest, "an id is a whole number or a text")
			continue
		}
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			l.wrong(id, jsonrpc.CodeInvalidRequest, "the line is no message: "+err.Error())
			continue
		}
		good = append(append(good, one...), '\n')
	}
	if len(list) == 0 {
		l.wrong(nil, jsonrpc.CodeInvalidRequest, "the line is a list of nothing")
	}
	return good, nil
}

// idOf is the id of a message, nil where it has none or one that could not be told back.
// One that the library would answer under another is not ok.
func idOf(message json.RawMessage) (id json.RawMessage, ok bool) {
	var said struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &said) != nil || len(said.ID) == 0 || string(said.ID) == "null" {
		return nil, true
	}
	if said.ID[0] == '"' {
		return said.ID, true
	}
	if _, err := strconv.ParseInt(string(said.ID), 10, 64); err == nil {
		return said.ID, true
	}
	if said.ID[0] == '-' || said.ID[0] >= '0' && said.ID[0] <= '9' {
		return said.ID, false
	}
	return nil, false
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

// wrong answers what is no message, under its id where it has one.
func (w *whole) wrong(id json.RawMessage, code int64, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
	}
}

// transport is a conversation in lines.
func transport(in io.ReadCloser, out io.WriteCloser) (*lines, *whole) {
	w := &whole{WriteCloser: out}
	return newLines(in, w.wrong), w
}
