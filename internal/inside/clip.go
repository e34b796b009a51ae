package inside

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"
)

// Clip says what is copied or pasted.
type Clip struct {
	Selection string `json:"selection,omitempty"` // clipboard, primary or secondary; "" is clipboard
	Type      string `json:"type,omitempty"`      // format, as image/png; "" is text
	Size      int64  `json:"size,omitempty"`      // copy: that many bytes follow the line
	Clear     bool   `json:"clear,omitempty"`     // copy: nothing, and what was there is gone
}

// Selections, by their X11 names in lower case.
const (
	Clipboard = "clipboard"
	Primary   = "primary"
	Secondary = "secondary"
)

// Why there is nothing to paste.
const (
	ClipEmpty  = "empty"   // nothing was copied
	ClipNoType = "no-type" // it was, in other formats
)

// MaxClip bounds what is copied at once, in bytes.
const MaxClip = 64 << 20

// clipDeadline is longer than the supervisor's own, which may start a display first.
const clipDeadline = 45 * time.Second

// TextTypes are the names that a text goes by, of X11 programs and of Wayland's.
var textTypes = []string{"UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT"}

// TextTypes are the names that a text goes by: who asks for any of them gets it.
func TextTypes() []string { return slices.Clone(textTypes) }

// IsText says whether a format is one of them, or "".
func IsText(kind string) bool { return kind == "" || slices.Contains(textTypes, kind) }

// clipHelpers are the programs that copy and paste, by name.
var clipHelpers = map[string]func([]string, *streams) int{"xclip": xclip, "xsel": xsel, "wl-copy": wlCopy, "wl-paste": wlPaste}

// ClipHelpers are the names of the programs that copy and paste.
func ClipHelpers() []string { return slices.Sorted(maps.Keys(clipHelpers)) }

// streams are what a helper works with.
type streams struct {
	in       io.Reader
	out, err io.Writer
	clip     clips
	ask      func(Request) (Reply, error)
}

// clips is the clipboard as helpers see it.
type clips interface {
	types(selection string) ([]string, error)
	paste(selection, kind string, to io.Writer) error
	copy(selection, kind string, data []byte) error
	clear(selection string) error
}

// clipError is the supervisor's word why there is nothing to paste.
type clipError struct{ code, message string }

func (e *clipError) Error() string { return e.message }

func isEmpty(err error) bool {
	var e *clipError
	return errors.As(err, &e) && e.code == ClipEmpty
}

func isNoType(err error) bool {
	var e *clipError
	return errors.As(err, &e) && e.code == ClipNoType
}

// overSocket is the clipboard that the supervisor keeps.
type overSocket struct{}

func (overSocket) types(selection string) ([]string, error) {
	reply, _, done, err := clipAsk(Request{Operation: OpClipTypes, Clip: Clip{Selection: selection}}, nil)
	if err != nil {
		return nil, err
	}
	done()
	return reply.Types, nil
}

func (overSocket) paste(selection, kind string, to io.Writer) error {
	reply, from, done, err := clipAsk(Request{Operation: OpClipPaste, Clip: Clip{Selection: selection, Type: kind}}, nil)
	if err != nil {
		return err
	}
	defer done()
	if reply.Size < 0 || reply.Size > MaxClip {
		return fmt.Errorf("the supervisor announces %d bytes: at most %d", reply.Size, int64(MaxClip))
	}
	if _, err := io.CopyN(to, from, reply.Size); err != nil {
		return fmt.Errorf("hearing the supervisor: %w", err)
	}
	return nil
}

func (overSocket) copy(selection, kind string, data []byte) error {
	_, _, done, err := clipAsk(Request{Operation: OpClipCopy, Clip: Clip{Selection: selection, Type: kind, Size: int64(len(data))}}, data)
	if err == nil {
		done()
	}
	return err
}

func (overSocket) clear(selection string) error {
	_, _, done, err := clipAsk(Request{Operation: OpClipCopy, Clip: Clip{Selection: selection, Clear: true}}, nil)
	if err == nil {
		done()
	}
	return err
}

func clipAsk(req Request, data []byte) (reply Reply, rest io.Reader, done func(), err error) {
	return exchange(req, data, clipDeadline)
}

// exchange sends a request with data behind it. What follows the reply can be read until
// done is called.
func exchange(req Request, data []byte, within time.Duration) (reply Reply, rest io.Reader, done func(), err error) {
	conn, err := net.Dial("unix", Socket)
	if err != nil {
		return reply, nil, nil, fmt.Errorf("reaching the supervisor: %w", err)
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	_ = conn.SetDeadline(time.Now().Add(within))
	line, err := json.Marshal(req)
	if err != nil || len(line) >= MaxRequest {
		return reply, nil, nil, fmt.Errorf("the request is longer than %d bytes", MaxRequest)
	}
	// Refused data is not read to its end: the answer is there all the same.
	_, wrote := (&net.Buffers{append(line, '\n'), data}).WriteTo(conn)
	in := bufio.NewReaderSize(conn, MaxRequest)
	answer, err := in.ReadSlice('\n')
	if err != nil {
		return reply, nil, nil, fmt.Errorf("hearing the supervisor: %w", errors.Join(err, wrote))
	}
	if err := json.Unmarshal(bytes.TrimSpace(answer), &reply); err != nil {
		return reply, nil, nil, fmt.Errorf("hearing the supervisor: %w", err)
	}
	if !reply.OK {
		return reply, nil, nil, &clipError{reply.Code, reply.Message}
	}
	return reply, in, func() { conn.Close() }, nil
}

// readAll reads what is to be copied.
func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, MaxClip+1))
	if err == nil && len(data) > MaxClip {
		err = fmt.Errorf("more than %d bytes cannot be copied", int64(MaxClip))
	}
	return data, err
}
