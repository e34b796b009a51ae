// Package wire is a connection to an X server that is not trusted: messages have bounds before
// the protocol library sees them, and answers belong to what was asked. The numbers of
// extensions are the same for all servers.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Conn is a connection as the protocol library gets it. It has greeted the
// server itself, with a cookie that it was given and not one from the
// environment's authority file; it hands on whole messages of bounded length,
// and it gives events and errors of extensions numbers that are the same for
// all servers, because the library keeps one table for the whole process.
type Conn struct {
	net.Conn
	setup []byte // what the server said to the greeting, until it was read

	// The reading side, for the library's one reader.
	in    *bufio.Reader
	head  [32]byte
	rest  []byte // of head
	body  int    // bytes of the reply that are still to be read
	last  uint16 // the request that was answered last
	codes codes
	// End is called when reading has ended; it is set before the first read.
	End func()

	// The writing side.
	mu     sync.Mutex
	bounds map[uint16]int // of the replies that are still to come
	sent   uint16         // requests, as the protocol counts them
	wet    bool           // the library's own greeting was swallowed
	pass   *os.File       // goes with the request that attaches shared memory
	seen   func(request []byte) bool
	// Requests that are kept back, and for how many callers.
	held  []byte
	holds int
}

// Greet does the connection setup of the X11 protocol, section 8.
func Greet(c net.Conn, cookie []byte) (*Conn, error) {
	tables()
	const name = "MIT-MAGIC-COOKIE-1"
	hello := make([]byte, 12, 12+20+16)
	hello[0] = 'l' // little-endian
	binary.LittleEndian.PutUint16(hello[2:], 11)
	if cookie != nil {
		if len(cookie) != 16 {
			return nil, fmt.Errorf("the cookie of a display has 16 bytes, not %d", len(cookie))
		}
		binary.LittleEndian.PutUint16(hello[6:], uint16(len(name)))
		binary.LittleEndian.PutUint16(hello[8:], uint16(len(cookie)))
		hello = append(append(append(hello, name...), 0, 0), cookie...)
	}
	if _, err := c.Write(hello); err != nil {
		return nil, err
	}
	w := &Conn{Conn: c, in: bufio.NewReaderSize(c, 64<<10), bounds: make(map[uint16]int),
		codes: codes{events: make(map[byte]byte), errors: make(map[byte]byte), answered: make(map[byte][]byte)}}
	head := make([]byte, 8)
	if _, err := io.ReadFull(w.in, head); err != nil {
		return nil, fmt.Errorf("the X server hung up at the greeting: %w", err)
	}
	w.setup = make([]byte, 8+4*int(binary.LittleEndian.Uint16(head[6:])))
	copy(w.setup, head)
	if _, err := io.ReadFull(w.in, w.setup[8:]); err != nil {
		return nil, fmt.Errorf("the X server hung up at the greeting: %w", err)
	}
	switch head[0] {
	case 1:
	case 0:
		reason := w.setup[8:]
		return nil, fmt.Errorf("the X server refused the connection: %q", reason[:min(int(head[1]), len(reason))])
	default:
		return nil, errors.New("the X server wants another kind of authentication than a cookie")
	}
	if v := binary.LittleEndian.Uint16(head[2:]); v != 11 || len(w.setup) < 40 {
		return nil, fmt.Errorf("the X server speaks version %d of its protocol, in %d bytes, where 11 was expected", v, len(w.setup))
	}
	return w, nil
}

// Write takes one request from the library. Its first is the greeting, which
// was made already.
func (w *Conn) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.wet {
		w.wet = true
		return len(b), nil
	}
	w.sent++
	delete(w.bounds, w.sent) // of a reply that never came, 65536 ago
	if w.codes.replies(b) {
		w.bounds[w.sent] = replyBound(b)
	}
	if w.pass != nil && w.seen(b) {
		if err := w.flush(); err != nil {
			return 0, err
		}
		f := w.pass
		w.pass = nil
		return w.sendWith(b, f)
	}
	// With GetInputFocus the library waits for all that it sent before.
	const getInputFocus = 43
	w.held = append(w.held, b...)
	if w.holds > 0 && len(w.held) < maxHeld && (len(b) == 0 || b[0] != getInputFocus) {
		return len(b), nil
	}
	return len(b), w.flush()
}

// maxHeld bounds what is kept back before it is sent after all, in bytes.
const maxHeld = 16 << 10

// Hold keeps requests back until the flush that it returns is called, so that
// many go with one system call. Nobody may wait for a reply before that.
func (w *Conn) Hold() (flush func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.holds--
		if w.holds == 0 {
			w.flush() // an error ends the connection, and the next write tells it
		}
	}
}

func (w *Conn) flush() error {
	if len(w.held) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.held)
	w.held = w.held[:0]
	return err
}

// HandOver lets a descriptor go with the next request that match recognises.
func (w *Conn) HandOver(f *os.File, match func(request []byte) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass, w.seen = f, match
}

// Read gives the library the greeting of the server, and then whole messages.
func (w *Conn) Read(p []byte) (int, error) {
	if len(w.setup) > 0 {
		n := copy(p, w.setup)
		w.setup = w.setup[n:]
		return n, nil
	}
	for len(w.rest) == 0 && w.body == 0 {
		if err := w.next(); err != nil {
			w.End()
			return 0, err
		}
	}
	if len(w.rest) > 0 {
		n := copy(p, w.rest)
		w.rest = w.rest[n:]
		return n, nil
	}
	n, err := w.in.Read(p[:min(len(p), w.body)])
	w.body -= n
	if err != nil {
		w.End()
	}
	return n, err
}

// next reads the head of one message, and drops those that nobody here knows.
func (w *Conn) next() error {
	if _, err := io.ReadFull(w.in, w.head[:]); err != nil {
		return err
	}
	w.rest = w.head[:]
	var most int
	if w.head[0] <= 1 {
		var asked bool
		var err error
		if most, asked, err = w.answered(binary.LittleEndian.Uint16(w.head[2:])); err != nil {
			return err
		}
		if w.head[0] == 1 && !asked {
			// The library would look for whom it is for, without end, and not even
			// closing it would help.
			return fmt.Errorf("the X server replies to request %d, which has no reply", w.last)
		}
	}
	switch w.head[0] {
	case 0:
		w.head[1] = w.codes.error(w.head[1])
	case 1:
		size := uint64(binary.LittleEndian.Uint32(w.head[4:])) * 4
		if size > maxReply {
			return fmt.Errorf("the X server announces a reply of %d bytes; at most %d are expected", size, maxReply)
		}
		if size > uint64(most) {
			// Nobody keeps it: it becomes an error, and the next one is read.
			if _, err := io.CopyN(io.Discard, w.in, int64(size)); err != nil {
				return err
			}
			clear(w.head[4:])
			w.head[0], w.head[1] = 0, w.codes.error(0)
			return nil
		}
		w.body = int(size)
	default:
		code := w.codes.event(w.head[0] & 0x7f)
		if code == 0 {
			w.rest = nil
			if w.head[0] == genericEvent {
				// Only these have a length; nobody asked for any.
				_, err := io.CopyN(io.Discard, w.in, 4*int64(binary.LittleEndian.Uint32(w.head[4:])))
				return err
			}
			return nil
		}
		w.head[0] = w.head[0]&0x80 | code
	}
	return nil
}

const genericEvent = 35

// answered gives the bound of an answer, and whether its request has a reply. It
// holds the order of answers: each to a later request than the one before, and none
// to what was never sent. The library would wait for the request to come, and read
// no more.
func (w *Conn) answered(request uint16) (most int, asked bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Counted from the last answer on, numbers go round at 16 bits.
	if ahead := request - w.last; ahead == 0 || ahead > w.sent-w.last {
		return 0, false, fmt.Errorf("the X server answers request %d, after %d of %d", request, w.last, w.sent)
	}
	w.last = request
	most, asked = w.bounds[request]
	delete(w.bounds, request)
	return most, asked, nil
}
