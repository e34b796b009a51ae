package notify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	maxAddress = 4 << 10
	maxMessage = 64 << 10 // of an answer, all of which is thrown away
	maxAnswers = 64       // messages, until the one that is waited for
)

// bus is the socket of one.
type bus struct{ name string } // as package net names it: abstract ones begin with @

// parse takes the first Unix socket of a bus's address, such as
// "unix:path=/run/user/1000/bus,guid=...". Nothing is started for an address.
func parse(address string) (bus, error) {
	if len(address) > maxAddress {
		return bus{}, fmt.Errorf("a bus address of %d bytes, at most %d", len(address), maxAddress)
	}
	for one := range strings.SplitSeq(address, ";") {
		rest, ok := strings.CutPrefix(one, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(rest, ",") {
			key, value, _ := strings.Cut(pair, "=")
			at, err := url.PathUnescape(value)
			switch {
			case err != nil || strings.ContainsRune(at, 0):
				return bus{}, fmt.Errorf("bus address %q is not well-formed", address)
			case key == "path" && path.IsAbs(at):
				return bus{at}, nil
			case key == "abstract" && at != "":
				return bus{"@" + at}, nil
			}
		}
	}
	return bus{}, fmt.Errorf("bus address %q names no Unix socket", address)
}

// notify shows one notification that waits for a person.
func (b bus) notify(ctx context.Context, summary, body string) error {
	_, err := b.show(ctx, shown{summary: summary, body: body, urgency: 1, expires: -1})
	return err
}

// shown is what the notification service is told.
type shown struct {
	replaces      uint32 // the service's number of an earlier one
	summary, body string
	urgency       byte
	transient     bool
	expires       int32 // milliseconds; -1: as it likes
}

// show shows one notification and gives the service's number for it.
func (b bus) show(ctx context.Context, n shown) (uint32, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", b.name)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if err := sameUser(c.(*net.UnixConn)); err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(c, 16<<10)
	if err := greet(c, in); err != nil {
		return 0, fmt.Errorf("greeting the session bus: %w", err)
	}
	var out bytes.Buffer
	const own = "org.freedesktop.DBus"
	err = errors.Join(encode(&out, 1, own, "/org/freedesktop/DBus", own, "Hello"),
		encode(&out, 2, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify",
			"carrel", n.replaces, "", n.summary, n.body, []string{}, n.hints(), n.expires))
	if err != nil {
		return 0, err
	}
	if _, err := c.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return answered(in, 2)
}

func (n shown) hints() map[string]dbus.Variant {
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(n.urgency)}
	if n.transient {
		hints["transient"] = dbus.MakeVariant(true)
	}
	return hints
}

// greet authenticates as who the kernel says we are.
func greet(c net.Conn, in *bufio.Reader) error {
	if _, err := c.Write([]byte("\x00AUTH EXTERNAL\r\nDATA\r\n")); err != nil {
		return err
	}
	for _, want := range []string{"DATA", "OK"} {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if word, _, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " "); word != want {
			return fmt.Errorf("it answers %.60q, want %s", line, want)
		}
	}
	_, err := c.Write([]byte("BEGIN\r\n"))
	return err
}

// encode adds a call. godbus is used for that alone: its own connection decodes all
// that comes.
func encode(out *bytes.Buffer, serial uint32, to, at, face, member string, args ...any) error {
	m := dbus.Message{Type: dbus.TypeMethodCall, Body: args, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: dbus.MakeVariant(to),
		dbus.FieldPath:        dbus.MakeVariant(dbus.ObjectPath(at)),
		dbus.FieldInterface:   dbus.MakeVariant(face),
		dbus.FieldMember:      dbus.MakeVariant(member),
	}}
	if len(args) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(args...))
	}
	start := out.Len()
	if err := m.EncodeTo(out, binary.LittleEndian); err != nil {
		return fmt.Errorf("calling %s: %w", member, err)
	}
	binary.LittleEndian.PutUint32(out.Bytes()[start+8:], serial) // godbus leaves it zero
	return nil
}

// answered reads until so many answers have come, and looks at no more of a message
// than its kind and its length, and at the number that is all of the last one's body.
// That must not be an error.
func answered(in io.Reader, n int) (id uint32, err error) {
	const reply, failure = 2, 3
	for range maxAnswers {
		var head [16]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, err
		}
		var order binary.ByteOrder = binary.LittleEndian
		if head[0] == 'B' {
			order = binary.BigEndian
		}
		body, fields := uint64(order.Uint32(head[4:])), uint64(order.Uint32(head[12:]))
		rest := (fields+7)&^7 + body
		if rest > maxMessage {
			return 0, fmt.Errorf("the session bus sends a message of %d bytes, at most %d", rest, maxMessage)
		}
		if _, err := io.CopyN(io.Discard, in, int64(rest-body)); err != nil {
			return 0, err
		}
		var number [4]byte
		if body == uint64(len(number)) {
			_, err = io.ReadFull(in, number[:])
		} else {
			_, err = io.CopyN(io.Discard, in, int64(body))
		}
		if err != nil {
			return 0, err
		}
		if head[1] != reply && head[1] != failure {
			continue
		}
		if n--; n == 0 && head[1] == failure {
			return 0, errNobody
		}
		if n == 0 {
			return order.Uint32(number[:]), nil
		}
	}
	return 0, errors.New("the session bus does not answer")
}

var errNobody = errors.New("the session bus has nobody who shows notifications")

// escapeAddress writes a path as an address has it.
func escapeAddress(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_/.*", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
