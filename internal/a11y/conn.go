package a11y

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/godbus/dbus/v5"
)

// The bus itself, as every client names it.
const (
	busName = "org.freedesktop.DBus"
	busPath = "/org/freedesktop/DBus"
)

const (
	handshakeTime = 5 * time.Second
	writeTime     = 5 * time.Second
	maxErrorText  = 300 // bytes of an error's text that are told on
)

// conn is a client of one bus. It is our own around the encoding of godbus:
// that library's connection answers calls, starts goroutines for each message
// that nobody waits for, and ends the program on some that a bus should not send.
// Here only answers to what was asked are decoded, by whom they should come from.
type conn struct {
	c      net.Conn
	name   string       // ours on the bus
	events atomic.Value // func(): called for each signal, must not wait

	writing sync.Mutex

	mu      sync.Mutex
	serial  uint32
	pending map[uint32]*call
	ended   error // set once
}

// call is one question and the place for its answer.
type call struct {
	to, path, face, member string
	args                   []any
	want, inner            string // the answer's type; of a variant also what is in it

	serial uint32
	done   chan struct{} // closed with one of the next two set
	answer *frame
	err    error
}

// connect authenticates as who the kernel says we are and takes a name. It owns c
// from here on.
func connect(ctx context.Context, c net.Conn) (*conn, error) {
	deadline := time.Now().Add(handshakeTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = c.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	r := bufio.NewReaderSize(c, 64<<10)
	err := authenticate(c, r)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("greeting the bus: %w", err)
	}
	_ = c.SetDeadline(time.Time{})
	b := &conn{c: c, pending: make(map[uint32]*call)}
	go b.read(r)
	vs, err := b.ask(ctx, &call{to: busName, path: busPath, face: busName, member: "Hello", want: "s"})
	if err != nil {
		b.close()
		return nil, fmt.Errorf("greeting the bus: %w", err)
	}
	b.name, _ = vs[0].(string)
	return b, nil
}

// authenticate says EXTERNAL without a user id: what counts is the one that the
// kernel tells the bus, which may be another number inside the walls.
func authenticate(c net.Conn, r *bufio.Reader) error {
	if _, err := c.Write([]byte("\x00AUTH EXTERNAL\r\nDATA\r\n")); err != nil {
		return err
	}
	for _, want := range []string{"DATA", "OK"} {
		line, err := r.ReadSlice('\n') // bounded by the reader's buffer
		if err != nil {
			return err
		}
		if word, _, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " "); word != want {
			return fmt.Errorf("the bus answers %q, want %s", clip(string(line), maxErrorText), want)
		}
	}
	_, err := c.Write([]byte("BEGIN\r\n"))
	return err
}

// close ends the connection and everything that waits for it.
func (b *conn) close() { b.end(net.ErrClosed) }

func (b *conn) end(err error) {
	b.mu.Lock()
	if b.ended == nil {
		b.ended = fmt.Errorf("the connection to the bus has ended: %w", err)
		for _, c := range b.pending {
			c.err = b.ended
			close(c.done)
		}
		b.pending = nil
	}
	b.mu.Unlock()
	_ = b.c.Close()
}

// read hands each answer to who waits for it, until the connection ends.
func (b *conn) read(r *bufio.Reader) {
	for {
		f, err := readFrame(r)
		if errors.Is(err, errFrame) {
			continue
		}
		if err != nil {
			b.end(err)
			return
		}
		switch f.kind {
		case dbus.TypeMethodReply, dbus.TypeError:
			b.deliver(f)
		case dbus.TypeSignal:
			if tell, ok := b.events.Load().(func()); ok && tell != nil {
				tell()
			}
		}
	}
}

// deliver takes an answer only from whom was asked: on the accessibility bus
// everybody may send everything, and serial numbers can be guessed. The bus itself
// answers for who is not there.
func (b *conn) deliver(f *frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.pending[f.reply]
	if c == nil || f.sender != c.to && f.sender != busName {
		return
	}
	delete(b.pending, f.reply)
	c.answer = f
	close(c.done)
}

// begin sends questions in one write. Each is then waited for.
func (b *conn) begin(calls ...*call) error {
	var out bytes.Buffer
	b.mu.Lock()
	for _, c := range calls {
		if b.ended != nil {
			b.mu.Unlock()
			return b.ended
		}
		for b.serial++; b.serial == 0 || b.pending[b.serial] != nil; b.serial++ {
		}
		c.serial, c.done = b.serial, make(chan struct{})
		b.pending[c.serial] = c
	}
	b.mu.Unlock()
	for _, c := range calls {
		if err := c.encode(&out); err != nil {
			b.forget(calls...)
			return err
		}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_ = b.c.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := b.c.Write(out.Bytes()); err != nil {
		b.end(err) // half a message may have gone out
		return err
	}
	return nil
}

// wait returns what a question was answered, of the types that it asked for.
func (b *conn) wait(ctx context.Context, c *call) ([]any, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		b.forget(c)
		return nil, fmt.Errorf("%s of %s: no answer: %w", c.member, c.to, ctx.Err())
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.answer.kind == dbus.TypeError {
		return nil, c.refused()
	}
	vs, err := c.answer.values(c.want, c.inner)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", c.member, c.to, err)
	}
	return vs, nil
}

// ask is begin and wait.
func (b *conn) ask(ctx context.Context, c *call) ([]any, error) {
	if err := b.begin(c); err != nil {
		return nil, err
	}
	return b.wait(ctx, c)
}

// forget drops questions whose answers nobody wants any more.
func (b *conn) forget(calls ...*call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range calls {
		if b.pending[c.serial] == c {
			delete(b.pending, c.serial)
		}
	}
}

// Refused is an error that a program or the bus answered with.
type Refused struct {
	Member string // what was asked
	From   string // bus name of who was asked
	Name   string // of the error, such as org.freedesktop.DBus.Error.UnknownObject
	Text   string // what it says, clipped; not to be trusted
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s of %s: %s: %q", r.Member, r.From, r.Name, r.Text)
}

func (c *call) refused() error {
	r := &Refused{Member: c.member, From: c.to, Name: clip(c.answer.failure, maxErrorText)}
	if vs, err := c.answer.values("s", ""); err == nil {
		s, _ := vs[0].(string)
		r.Text = clip(s, maxErrorText)
	}
	return r
}

// encode writes the message. A text with a zero or broken UTF-8 would make the bus
// hang up on us, so it is refused here.
func (c *call) encode(out *bytes.Buffer) error {
	for _, a := range c.args {
		if s, ok := a.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
			return fmt.Errorf("%s: text that is not UTF-8 or has a zero byte cannot be sent over D-Bus", c.member)
		}
	}
	m := dbus.Message{Type: dbus.TypeMethodCall, Body: c.args, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: dbus.MakeVariant(c.to),
		dbus.FieldPath:        dbus.MakeVariant(dbus.ObjectPath(c.path)),
		dbus.FieldInterface:   dbus.MakeVariant(c.face),
		dbus.FieldMember:      dbus.MakeVariant(c.member),
	}}
	if len(c.args) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(c.args...))
	}
	start := out.Len()
	if err := m.EncodeTo(out, binary.LittleEndian); err != nil {
		return fmt.Errorf("asking %s for %s: %w", c.to, c.member, err)
	}
	// Of a message that is not its own connection's, godbus leaves the serial zero.
	binary.LittleEndian.PutUint32(out.Bytes()[start+8:], c.serial)
	return nil
}

// clip cuts text to n bytes at most, between characters, and makes it UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
