package supervisor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"carrel/internal/api"
	"carrel/internal/fdpass"
	"carrel/internal/registry"
	"carrel/internal/strictjson"
)

// Bounds of a conversation.
const (
	maxLine      = registry.MaxLine
	lineBuffer   = 16 << 10
	maxInside    = 64 << 10          // of a caller behind walls, in all
	lineDeadline = registry.SendTime // for a caller to send its request, and to take a line
	workDeadline = 15 * time.Second  // for the supervisor to carry one out
)

// readRequest reads a caller's line. Unknown fields are an error: a caller that
// means more than is understood must not believe that it was obeyed.
func readRequest(in *bufio.Reader) (api.Request, error) {
	var r api.Request
	line, err := readLine(in)
	if err != nil {
		return r, err
	}
	if err := strictjson.Decode(line, &r); err != nil {
		return r, fmt.Errorf("a line that is not understood: %w", err)
	}
	return r, nil
}

// readReply reads a supervisor's line; one of a later version may say more.
func readReply(in *bufio.Reader) (api.Reply, error) {
	var r api.Reply
	line, err := readLine(in)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	return r, err
}

// readLine reads one line; it is valid until the next.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) { // a long command
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine {
			line, err = in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
		return nil, registry.ErrLine
	case err == io.EOF && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	}
	return line, err
}

func lineReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, lineBuffer) }

var errEnd = io.EOF

var noDeadline time.Time

// writeLine sends one value, with descriptors beside it; the other end has to take it
// in time.
func writeLine(conn net.Conn, v any, files ...*os.File) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line) // ends it with a newline
	e.SetEscapeHTML(false)      // six bytes for one, for browsers that are none
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	if line.Len() > maxLine {
		return registry.ErrLine
	}
	_ = conn.SetWriteDeadline(time.Now().Add(lineDeadline))
	return fdpass.Send(conn, line.Bytes(), files...)
}

// refusal makes an answer that says no.
func refusal(code, op, subject, message, hint string) api.Reply {
	return api.Reply{Error: &api.Denial{Code: code, Operation: op, Subject: subject, Message: message, Rule: "supervisor", Source: "built in", Hint: hint}}
}
