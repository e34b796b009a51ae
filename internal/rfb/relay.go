package rfb

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stallTime is how long either end may take to take what it gets.
const stallTime = 20 * time.Second

// maxHeld bounds the keys that a viewer holds down at once.
const maxHeld = 32

// relay is one viewer at its server.
type relay struct {
	viewer, server net.Conn

	allowed atomic.Bool // keys and pointer go on

	mu      sync.Mutex // held while something is sent to the server
	held    []uint32   // keysyms, in the order in which they were pressed
	last    []byte     // message about a key
	buttons byte
	at      [4]byte // where the pointer was last
}

// endTime is how long a server may take to leave after its viewer.
const endTime = time.Second

// run copies until either end goes; the error says what was wrong with what the viewer
// sent, or that one of them did not take what it got. Both are closed then.
func (r *relay) run() error {
	done := make(chan error, 1)
	go func() {
		err := r.toServer()
		// What is still held is let go of before the server sees its viewer leave. It
		// would not see it if it were closed with something unread.
		r.allowed.Store(false)
		r.letGo()
		_ = r.server.SetReadDeadline(time.Now().Add(endTime))
		if half, ok := r.server.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			r.server.Close()
		}
		r.viewer.Close()
		done <- err
	}()
	slow := r.toViewer()
	r.viewer.Close()
	err := <-done
	r.server.Close()
	if err == nil {
		err = slow
	}
	return err
}

// toViewer copies what the server sends, as long as it sends.
func (r *relay) toViewer() (slow error) {
	buf := make([]byte, 64<<10)
	for gone := false; ; {
		n, err := r.server.Read(buf)
		if n > 0 && !gone {
			_ = r.viewer.SetWriteDeadline(time.Now().Add(stallTime))
			if _, err := r.viewer.Write(buf[:n]); err != nil {
				slow, gone = stalled("the viewer", err), true
				r.viewer.Close()
			}
		}
		if err != nil {
			return slow
		}
	}
}

// toServer passes the viewer's messages on, after the one byte that it begins with:
// whether it shares the display with others, which with one viewer does not matter.
func (r *relay) toServer() error {
	in := bufio.NewReader(r.viewer)
	if _, err := in.ReadByte(); err != nil {
		return nil
	}
	if err := r.send([]byte{1}); err != nil {
		return err
	}
	for {
		m, err := readMessage(in)
		if err != nil {
			return wrong(err)
		}
		switch m.kind {
		case passes:
			err = r.send(m.data)
		case acts:
			err = r.act(m.data)
		}
		if err != nil {
			return stalled("the server", err)
		}
	}
}

// wrong tells a viewer that sends what cannot be from one that goes.
func wrong(err error) error {
	var broken net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &broken) {
		return nil
	}
	return fmt.Errorf("the viewer sent %w", err)
}

func stalled(who string, err error) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return fmt.Errorf("%s took nothing for %s", who, stallTime)
	}
	return nil
}

func (r *relay) send(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sendHeld(b)
}

// sendHeld sends; mu is held.
func (r *relay) sendHeld(b []byte) error {
	_ = r.server.SetWriteDeadline(time.Now().Add(stallTime))
	_, err := r.server.Write(b)
	return err
}

// act passes a key or the pointer on while that is allowed. Viewers repeat a key that
// is held, and so does the display: the first of them is enough.
func (r *relay) act(m []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.allowed.Load() {
		return nil
	}
	if m[0] == pointerEvent {
		r.buttons = m[1]
		copy(r.at[:], m[2:])
		return r.sendHeld(m)
	}
	if bytes.Equal(m, r.last) {
		return nil
	}
	r.last = m
	r.hold(binary.BigEndian.Uint32(m[4:]), m[1] == 1)
	return r.sendHeld(m)
}

// hold counts the keys that are down; mu is held.
func (r *relay) hold(key uint32, down bool) {
	r.held = slices.DeleteFunc(r.held, func(k uint32) bool { return k == key })
	if down {
		r.held = append(r.held, key)
		r.held = r.held[max(0, len(r.held)-maxHeld):]
	}
}

// letGo releases what is held, once that is no longer allowed.
func (r *relay) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.allowed.Load() {
		return // again
	}
	var up []byte
	for i := len(r.held) - 1; i >= 0; i-- {
		up = append(up, keyEvent, 0, 0, 0)
		up = binary.BigEndian.AppendUint32(up, r.held[i])
	}
	if r.buttons != 0 {
		up = append(append(up, pointerEvent, 0), r.at[:]...)
	}
	r.held, r.last, r.buttons = nil, nil, 0
	if len(up) > 0 && r.sendHeld(up) != nil {
		r.server.Close()
	}
}
