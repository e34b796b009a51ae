package dbus

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

	wire "github.com/godbus/dbus/v5"
)

// BusName is the bus itself, as every client names it.
const BusName = "org.freedesktop.DBus"

const busPath = "/org/freedesktop/DBus"

const (
	handshakeTime = 5 * time.Second
	writeTime     = 5 * time.Second
	maxErrorText  = 300 // bytes of an error's text that are told on
)

// Conn is a client of one bus. Its methods may be used from many goroutines at once.
type Conn struct {
	c      net.Conn
	events atomic.Value // func(), of OnSignal

	writing sync.Mutex

	mu      sync.Mutex
	serial  uint32
	pending map[uint32]*Call
	ended   error // set once
}

// Call is one question and the place for its answer.
type Call struct {
	To, Path, Interface, Member string
	Args                        []any
	Want, Inner                 string // the answer's type; of a variant also what is in it

	serial uint32
	done   chan struct{} // closed with one of the next two set
	answer *frame
	err    error
}

// Connect authenticates as who the kernel says we are and takes a name. It owns c
// from here on.
func Connect(ctx context.Context, c net.Conn) (*Conn, error) {
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
	b := &Conn{c: c, pending: make(map[uint32]*Call)}
	go b.read(r)
	if _, err := b.Ask(ctx, ToBus("Hello", "s")); err != nil {
		b.Close()
		return nil, fmt.Errorf("greeting the bus: %w", err)
	}
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
			return fmt.Errorf("the bus answers %q, want %s", Clip(string(line), maxErrorText), want)
		}
	}
	_, err := c.Write([]byte("BEGIN\r\n"))
	return err
}

// Close ends the connection and everything that waits for it.
func (b *Conn) Close() { b.end(net.ErrClosed) }

func (b *Conn) end(err error) {
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

// OnSignal has a function called for each signal, by the one reader: it must not wait.
func (b *Conn) OnSignal(event func()) { b.events.Store(event) }

// read hands each answer to who waits for it, until the connection ends.
func (b *Conn) read(r *bufio.Reader) {
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
		case wire.TypeMethodReply, wire.TypeError:
			b.deliver(f)
		case wire.TypeSignal:
			if tell, ok := b.events.Load().(func()); ok && tell != nil {
				tell()
			}
		}
	}
}

// deliver takes an answer only from whom was asked: on the accessibility bus
// everybody may send everything, and serial numbers can be guessed. The bus itself
// answers for who is not there.
func (b *Conn) deliver(f *frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.pending[f.reply]
	if c == nil || f.sender != c.To && f.sender != BusName {
		return
	}
	delete(b.pending, f.reply)
	c.answer = f
	close(c.done)
}

// Begin sends questions in one write. Each is then waited for.
func (b *Conn) Begin(calls ...*Call) error {
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
			b.Forget(calls...)
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

// Wait returns what a question was answered, of the types that it asked for.
func (b *Conn) Wait(ctx context.Context, c *Call) ([]any, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		b.Forget(c)
		return nil, fmt.Errorf("%s of %s: no answer: %w", c.Member, c.To, ctx.Err())
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.answer.kind == wire.TypeError {
		return nil, c.refused()
	}
	vs, err := c.answer.values(c.Want, c.Inner)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", c.Member, c.To, err)
	}
	return vs, nil
}

// As gives the values of an answer that has come, where it has another type than the one
// that was wanted: some programs answer in an older form.
func (c *Call) As(want string) ([]any, error) {
	if c.answer == nil {
		return nil, fmt.Errorf("%s of %s: no answer", c.Member, c.To)
	}
	return c.answer.values(want, "")
}

// Ask sends one question and waits for its answer.
func (b *Conn) Ask(ctx context.Context, c *Call) ([]any, error) {
	if err := b.Begin(c); err != nil {
		return nil, err
	}
	return b.Wait(ctx, c)
}

// Forget drops questions of which the answers are not wanted any more.
func (b *Conn) Forget(calls ...*Call) {
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

func (c *Call) refused() error {
	r := &Refused{Member: c.Member, From: c.To, Name: Clip(c.answer.failure, maxErrorText)}
	if vs, err := c.answer.values("s", ""); err == nil {
		s, _ := vs[0].(string)
		r.Text = Clip(s, maxErrorText)
	}
	return r
}

// encode writes the message. A text with a zero or broken UTF-8 would make the bus
// hang up on us, so it is refused here.
func (c *Call) encode(out *bytes.Buffer) error {
	for _, a := range c.Args {
		if s, ok := a.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
			return fmt.Errorf("%s: text that is not UTF-8 or has a zero byte cannot be sent over D-Bus", c.Member)
		}
	}
	m := wire.Message{Type: wire.TypeMethodCall, Body: c.Args, Headers: map[wire.HeaderField]wire.Variant{
		wire.FieldDestination: wire.MakeVariant(c.To),
		wire.FieldPath:        wire.MakeVariant(wire.ObjectPath(c.Path)),
		wire.FieldInterface:   wire.MakeVariant(c.Interface),
		wire.FieldMember:      wire.MakeVariant(c.Member),
	}}
	if len(c.Args) > 0 {
		m.Headers[wire.FieldSignature] = wire.MakeVariant(wire.SignatureOf(c.Args...))
	}
	start := out.Len()
	if err := m.EncodeTo(out, binary.LittleEndian); err != nil {
		return fmt.Errorf("asking %s for %s: %w", c.To, c.Member, err)
	}
	// Of a message that is not its own connection's, godbus leaves the serial zero.
	binary.LittleEndian.PutUint32(out.Bytes()[start+8:], c.serial)
	return nil
}

// Clip cuts text to n bytes at most, between characters, and makes it UTF-8.
func Clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
