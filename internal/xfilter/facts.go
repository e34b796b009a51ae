package xfilter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// forbiddenAtoms are the properties of the root by which x11vnc takes orders
// (its manual: -remote, -vncconnect, -appshare; the names in its program). No
// client may write them, not even by a number that it has guessed.
var forbiddenAtoms = []string{"X11VNC_REMOTE", "VNC_CONNECT", "X11VNC_TICKER", "X11VNC_APPSHARE_COMMAND", "X11VNC_APPSHARE_TICKER"}

// facts are what one running server has: the numbers of its extensions and of
// atoms. They hold as long as it runs.
type facts struct {
	ext      [128]*extension // by the number of the request less 128
	events   map[string]byte // first event of an extension
	bigOp    byte
	inputOp  byte // XInputExtension: its number is also in its generic events
	vncAtoms []uint32
}

// probe is a connection of the filter's own, by which it has learned the facts
// and learns whether they still hold.
type probe struct {
	conn    net.Conn
	replies chan [messageSize]byte
	facts   *facts
}

// patience is what the server may take for one answer: longer than a client may
// hold it.
const patience = 3 * maxGrab

var errProbe = errors.New("the X server does not answer the filter")

// newProbe asks a server over conn, which it takes over.
func newProbe(ctx context.Context, conn net.Conn, cookie []byte) (*probe, error) {
	p := &probe{conn: conn, replies: make(chan [messageSize]byte, 8)}
	conn.SetDeadline(time.Now().Add(patience))
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err := p.learn(cookie)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the X server for its extensions: %w", err)
	}
	conn.SetDeadline(time.Time{})
	return p, nil
}

func (p *probe) learn(cookie []byte) error {
	o := offer{name: cookieName, data: cookie}
	if _, err := p.conn.Write(o.request()); err != nil {
		return err
	}
	if _, _, err := readWelcome(p.conn, o.order); err != nil {
		return err
	}
	go p.read()
	f := &facts{events: make(map[string]byte)}
	p.facts = f
	for name, e := range extensions {
		r, err := p.ask(named(98, name))
		if err != nil {
			return err
		}
		if present, major := r[8] != 0, r[9]; present && major >= 128 {
			f.ext[major-128] = e
			f.events[name] = r[10]
		}
		switch {
		case r[8] == 0:
		case name == "BIG-REQUESTS":
			f.bigOp = r[9]
		case name == "XInputExtension":
			f.inputOp = r[9]
		}
	}
	for _, name := range forbiddenAtoms {
		r, err := p.ask(named(16, name))
		if err != nil {
			return err
		}
		f.vncAtoms = append(f.vncAtoms, order(false).u32(r[8:]))
	}
	return nil
}

// named is a request that has a name and nothing else: QueryExtension or
// InternAtom, which makes the atom where it is not there yet.
func named(op byte, name string) []byte {
	b := make([]byte, 8+padded(len(name)))
	b[0] = op
	order(false).put16(b[2:], uint16(len(b)/4))
	order(false).put16(b[4:], uint16(len(name)))
	copy(b[8:], name)
	return b
}

// read takes all that the server sends, so that it never has to keep it for us,
// until the end.
func (p *probe) read() {
	defer close(p.replies)
	var m [messageSize]byte
	for {
		if _, err := io.ReadFull(p.conn, m[:]); err != nil {
			return
		}
		if m[0] != msgReply && m[0] != msgError {
			continue
		}
		if m[0] == msgReply && order(false).u32(m[4:]) != 0 {
			return // nothing that was asked has such an answer
		}
		select {
		case p.replies <- m:
		default:
			return
		}
	}
}

// ask sends one request that has a short answer.
func (p *probe) ask(b []byte) ([messageSize]byte, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	if _, err := p.conn.Write(b); err != nil {
		return [messageSize]byte{}, err
	}
	select {
	case r, ok := <-p.replies:
		if !ok || r[0] != msgReply {
			return r, errProbe
		}
		return r, nil
	case <-late.C:
		return [messageSize]byte{}, errProbe
	}
}

// alive says whether the server still answers.
func (p *probe) alive() bool {
	p.conn.SetDeadline(time.Now().Add(patience))
	_, err := p.ask([]byte{43, 0, 1, 0}) // GetInputFocus
	p.conn.SetDeadline(time.Time{})
	return err == nil
}
