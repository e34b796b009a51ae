package a11y

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"carrel/internal/dbus"

	wire "github.com/godbus/dbus/v5"
)

// fakeBus is a bus with programs that say what a test makes them say. It plays the
// session bus, the accessibility bus and everybody on them.
type fakeBus struct {
	t *testing.T
	// answer gives what a program answers: values, or nil for nothing at all.
	answer func(to, path, member string, args []any) []any
	apps   [][]any // the registry's children
	raw    []byte  // written before each answer of :1.20
	from   string  // who answers instead of the one that was asked
	mute   string  // what nobody answers
}

func (f *fakeBus) open() *Bus {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b, err := Open(ctx, f.pipe(), func(_ context.Context, path string) (net.Conn, error) {
		if path != "/run/a11y" {
			f.t.Errorf("dialled %q", path)
		}
		return f.pipe(), nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(b.Close)
	return b
}

func (f *fakeBus) pipe() net.Conn {
	ours, theirs := net.Pipe()
	go f.serve(theirs)
	return ours
}

func (f *fakeBus) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for _, answer := range []string{"", "DATA\r\nOK 0123\r\n", ""} {
		if _, err := r.ReadBytes('\n'); err != nil {
			return
		}
		// The first two lines come in one write.
		if answer == "" {
			continue
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
	var writing sync.Mutex
	for {
		if _, err := r.Peek(1); err != nil {
			return
		}
		m, err := wire.DecodeMessage(r)
		if err != nil {
			f.t.Errorf("the client sent what cannot be read: %v", err)
			return
		}
		serial := m.Serial()
		go func() {
			sender, body := f.reply(m)
			if body == nil {
				return
			}
			writing.Lock()
			defer writing.Unlock()
			if to, _ := m.Headers[wire.FieldDestination].Value().(string); to == ":1.20" {
				_, _ = c.Write(f.raw)
			}
			_, _ = c.Write(encodeReply(sender, serial, body...))
		}()
	}
}

// reply plays the bus and the registry itself and asks the test for the rest.
func (f *fakeBus) reply(m *wire.Message) (sender string, body []any) {
	to, _ := m.Headers[wire.FieldDestination].Value().(string)
	path, _ := m.Headers[wire.FieldPath].Value().(wire.ObjectPath)
	member, _ := m.Headers[wire.FieldMember].Value().(string)
	switch {
	case member == f.mute:
		return "", nil
	case member == "Hello":
		return dbus.BusName, []any{":1.0"}
	case member == "StartServiceByName":
		return dbus.BusName, []any{uint32(2)}
	case member == "GetNameOwner":
		return dbus.BusName, []any{":1.1"}
	case member == "GetConnectionUnixProcessID":
		return dbus.BusName, []any{uint32(7)}
	case to == dbus.BusName:
		return dbus.BusName, []any{}
	case member == "GetAddress":
		return to, []any{"unix:path=/run/a11y,guid=0123"}
	case member == "Set" || member == "RegisterEvent" || member == "DeregisterEvent":
		return to, []any{}
	case to == ":1.1" && member == "GetChildren":
		return to, []any{structs(f.apps)}
	}
	if f.from != "" {
		return f.from, f.answer(to, string(path), member, m.Body)
	}
	return to, f.answer(to, string(path), member, m.Body)
}

// pair is a reference as a program sends it.
type pair struct {
	Bus  string
	Path wire.ObjectPath
}

func structs(pairs [][]any) []pair {
	out := []pair{}
	for _, p := range pairs {
		out = append(out, pair{p[0].(string), wire.ObjectPath(p[1].(string))})
	}
	return out
}

// encodeReply writes an answer.
func encodeReply(sender string, serial uint32, body ...any) []byte {
	m := wire.Message{Type: wire.TypeMethodReply, Body: body, Headers: map[wire.HeaderField]wire.Variant{
		wire.FieldSender:      wire.MakeVariant(sender),
		wire.FieldReplySerial: wire.MakeVariant(serial),
	}}
	if len(body) > 0 {
		m.Headers[wire.FieldSignature] = wire.MakeVariant(wire.SignatureOf(body...))
	}
	var b bytes.Buffer
	if err := m.EncodeTo(&b, binary.LittleEndian); err != nil {
		panic(err)
	}
	binary.LittleEndian.PutUint32(b.Bytes()[8:], 1)
	return b.Bytes()
}
