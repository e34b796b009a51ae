package dbus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	wire "github.com/godbus/dbus/v5"
)

// question is what a bus was asked.
type question struct {
	serial     uint32
	to, member string
	args       []any
}

// greeted is the bus's side of a connection after the client's name was given.
type greeted struct {
	net.Conn
	in *bufio.Reader
}

// next reads one question.
func (g *greeted) next() (question, error) {
	f, err := readFrame(g.in)
	if err != nil {
		return question{}, err
	}
	m, err := wire.DecodeMessage(bytes.NewReader(f.raw))
	if err != nil {
		return question{}, err
	}
	text := func(field wire.HeaderField) string { s, _ := m.Headers[field].Value().(string); return s }
	return question{binary.LittleEndian.Uint32(f.raw[8:]), text(wire.FieldDestination), text(wire.FieldMember), m.Body}, nil
}

// answer reads questions and says what a function makes of each, until the client is gone.
func (g *greeted) answer(says func(question) []byte) {
	for {
		q, err := g.next()
		if err != nil {
			return
		}
		if _, err := g.Write(says(q)); err != nil {
			return
		}
	}
}

// accept does the greeting, as a bus does.
func accept(c net.Conn) (*greeted, error) {
	g := &greeted{c, bufio.NewReader(c)}
	for _, one := range [][2]string{{"\x00AUTH EXTERNAL\r\n", ""}, {"DATA\r\n", "DATA\r\nOK 1234\r\n"}, {"BEGIN\r\n", ""}} {
		line, err := g.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line != one[0] {
			return nil, errors.New("the client says " + line)
		}
		if _, err := io.WriteString(c, one[1]); err != nil {
			return nil, err
		}
	}
	q, err := g.next()
	if err == nil && (q.to != BusName || q.member != "Hello") {
		err = errors.New("the client asks " + q.to + " for " + q.member)
	}
	if err == nil {
		_, err = c.Write(reply(BusName, q.serial, ":1.5"))
	}
	return g, err
}

// connected gives a client, and its bus.
func connected(t *testing.T) (*Conn, *greeted) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	buses := make(chan *greeted, 1)
	go func() {
		g, err := accept(far)
		if err != nil {
			t.Error(err)
		}
		buses <- g
	}()
	b, err := Connect(t.Context(), near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, <-buses
}

// failure writes an error as a bus sends it.
func failure(sender string, serial uint32, name, text string) []byte {
	m := wire.Message{Type: wire.TypeError, Body: []any{text}, Headers: map[wire.HeaderField]wire.Variant{
		wire.FieldSender: wire.MakeVariant(sender), wire.FieldReplySerial: wire.MakeVariant(serial),
		wire.FieldErrorName: wire.MakeVariant(name), wire.FieldSignature: wire.MakeVariant(wire.SignatureOf(text)),
	}}
	var b bytes.Buffer
	if err := m.EncodeTo(&b, binary.LittleEndian); err != nil {
		panic(err)
	}
	binary.LittleEndian.PutUint32(b.Bytes()[8:], 1)
	return b.Bytes()
}

func ask(member string) *Call {
	return &Call{To: ":1.7", Path: "/a", Interface: "a.b", Member: member, Args: []any{"x"}, Want: "s"}
}

// TestAnswers: each question gets the answer of the program that was asked, whatever else
// comes before it and in whatever order.
func TestAnswers(t *testing.T) {
	b, bus := connected(t)
	signals := make(chan bool, 1)
	b.OnSignal(func() { signals <- true })
	first, second := ask("First"), ask("Second")
	said := make(chan bool)
	go func() {
		defer close(said)
		one, _ := bus.next()
		two, err := bus.next()
		if err != nil || one.member != "First" || two.to != ":1.7" || !slices.Equal(two.args, []any{"x"}) {
			t.Errorf("asked %+v, %+v, %v", one, two, err)
		}
		signal := reply(":1.9", 0)
		signal[1] = byte(wire.TypeSignal)
		broken := reply(":1.7", one.serial, "broken")
		broken[16] = 0xff // a field's number, and its type
		broken[18] = 'z'
		large := reply(":1.7", one.serial+1000, strings.Repeat("x", MaxBody))
		for _, m := range [][]byte{signal, broken, large, reply(":1.8", one.serial, "a liar"), reply(":1.7", one.serial+1000, "a guess"),
			reply(":1.7", two.serial, "two"), reply(":1.7", one.serial, "one"), reply(":1.7", one.serial, "again")} {
			if _, err := bus.Write(m); err != nil {
				t.Error(err)
			}
		}
	}()
	if err := b.Begin(first, second); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]*Call{"one": first, "two": second} {
		if vs, err := b.Wait(t.Context(), c); err != nil || !slices.Equal(vs, []any{want}) {
			t.Errorf("%s: %q, %v", c.Member, vs, err)
		}
	}
	<-signals
	<-said
}

// TestAnswersThatDoNotCount: one of another type, one that is too large, and an error, of
// which the text is bounded.
func TestAnswersThatDoNotCount(t *testing.T) {
	b, bus := connected(t)
	go bus.answer(func(q question) []byte {
		switch q.member {
		case "Number":
			return reply(":1.7", q.serial, uint32(7))
		case "Large":
			return reply(":1.7", q.serial, strings.Repeat("x", MaxBody))
		case "Fails":
			return failure(":1.7", q.serial, "a.b.Error", strings.Repeat("\u00e4", 1000))
		case "Gone":
			return failure(BusName, q.serial, "org.freedesktop.DBus.Error.ServiceUnknown", "it is gone")
		}
		return reply(":1.7", q.serial, "text")
	})
	for member, want := range map[string]string{
		"Number": `Number of :1.7: the answer has type "u", want "s"`,
		"Large":  "Large of :1.7: the answer is larger than 4194304 bytes",
		"Fails":  `Fails of :1.7: a.b.Error: "`,
		"Gone":   `Gone of :1.7: org.freedesktop.DBus.Error.ServiceUnknown: "it is gone"`,
	} {
		c := ask(member)
		_, err := b.Ask(t.Context(), c)
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", member, err)
		}
		var refused *Refused
		if isError := member == "Fails" || member == "Gone"; errors.As(err, &refused) != isError {
			t.Errorf("%s: %#v", member, err)
		}
		if older, err := c.As("u"); (err == nil) != (member == "Number") {
			t.Errorf("%s as a number: %v, %v", member, older, err)
		}
	}
	for _, text := range []string{"a\x00b", "\xff"} { // the bus would hang up
		c := ask("Text")
		c.Args = []any{text}
		if _, err := b.Ask(t.Context(), c); err == nil || !strings.Contains(err.Error(), "not UTF-8 or has a zero byte") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if vs, err := b.Ask(t.Context(), ask("Text")); err != nil || vs[0] != "text" || len(b.pending) > 0 {
		t.Errorf("%v, %v, %d questions are kept", vs, err, len(b.pending))
	}
}

// TestEnds: a question that was given up is forgotten; when the bus goes, all that wait hear
// of it, and nothing is asked any more.
func TestEnds(t *testing.T) {
	b, bus := connected(t)
	go io.Copy(io.Discard, bus)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Ask(ctx, ask("Slow")); !errors.Is(err, context.Canceled) || len(b.pending) > 0 {
		t.Errorf("%v, %d questions are kept", err, len(b.pending))
	}
	c := ask("Never")
	if err := b.Begin(c); err != nil {
		t.Fatal(err)
	}
	bus.Close()
	if _, err := b.Wait(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the connection to the bus has ended") {
		t.Errorf("%v", err)
	}
	if err := b.Begin(ask("Late")); err == nil {
		t.Error("a question is taken after the end")
	}
}

// TestGreetingsThatFail: what is no bus is told by what it said.
func TestGreetingsThatFail(t *testing.T) {
	for says, want := range map[string]string{
		"REJECTED EXTERNAL\r\n":             `the bus answers "REJECTED EXTERNAL\r\n", want DATA`,
		"DATA\r\nERROR\r\n":                 "want OK",
		"DATA":                              "EOF",
		strings.Repeat("x", 64<<10):         "buffer full",
		"DATA\r\nOK\r\nnothing of the kind": "", // reading ends, perhaps before the first question
	} {
		near, far := net.Pipe()
		go func() {
			go io.Copy(io.Discard, far)
			io.WriteString(far, says)
			if !strings.Contains(says, "OK") { // it hears the rest
				far.Close()
			}
		}()
		if b, err := Connect(t.Context(), near); err == nil || !strings.HasPrefix(err.Error(), "greeting the bus: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %q", says, b, err, want)
		}
	}
	near, far := net.Pipe()
	defer far.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, near); err == nil {
		t.Error("a bus that says nothing")
	}
}

// TestOwner: a service is started or runs already, and its name counts only in the form that
// the bus gives.
func TestOwner(t *testing.T) {
	for _, c := range []struct{ starts, owner, want, fails string }{
		{"", ":1.7", ":1.7", ""},
		{"no file for it", ":1.7", ":1.7", ""},
		{"no file for it", "", "", "no file for it"},
		{"", "", "", "NameHasNoOwner"},
		{"", "a.b", "", `belongs to "a.b", want a unique name`},
	} {
		b, bus := connected(t)
		go bus.answer(func(q question) []byte {
			switch {
			case q.member == "StartServiceByName" && c.starts == "":
				return reply(BusName, q.serial, uint32(1))
			case q.member == "StartServiceByName":
				return failure(BusName, q.serial, "org.freedesktop.DBus.Error.ServiceUnknown", c.starts)
			case c.owner == "":
				return failure(BusName, q.serial, "org.freedesktop.DBus.Error.NameHasNoOwner", "nobody")
			}
			return reply(BusName, q.serial, c.owner)
		})
		got, err := b.Owner(t.Context(), "a.b")
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for name, want := range map[string]bool{
		":1.7": true, ":1.7.8": true, ":17": false, "1.7": false, ":1.": false, ":.1": false, ":1.a": false, "": false, ":1.\n7": false,
		":1." + strings.Repeat("7", maxName): false,
	} {
		if Unique(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}

// TestDial: the bus of this user is greeted over its socket.
func TestDial(t *testing.T) {
	at := filepath.Join(t.TempDir(), "a bus")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = accept(c)
		}
	}()
	socket, err := Socket("tcp:host=a;unix:guid=1,path="+EscapeAddress(at), false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := b.Ask(t.Context(), ask("Late")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := Dial(t.Context(), at+"2"); err == nil {
		t.Error("a socket that is not there")
	}
}
