package dbus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	wire "github.com/godbus/dbus/v5"
)

// Bounds of one message, far below the 128 MiB that D-Bus allows.
const (
	MaxBody   = 4 << 20 // of what is decoded
	maxHeader = 64 << 10
)

// Fields of a message's header, by the D-Bus specification.
const (
	fieldError       = 4
	fieldReplySerial = 5
	fieldSender      = 7
	fieldSignature   = 8
)

// frame is one message as it came: its header read, its body not yet. Whose
// reply it is has to be known before anything of the body is believed, and the
// body is decoded where it is waited for, not by the one reader.
type frame struct {
	kind      wire.Type
	reply     uint32 // the serial that it answers
	sender    string
	signature string
	failure   string // of an error, its name
	raw       []byte // the whole message; nil where it was too large
}

// errFrame is a message that breaks the protocol while its end is known: it is
// passed over. All other errors of readFrame are the end of a connection.
var errFrame = errors.New("a message breaks the protocol")

// readFrame reads one message. A body above the bound is read over, so that
// only who waits for it goes without.
func readFrame(r *bufio.Reader) (*frame, error) {
	var fixed [16]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return nil, err
	}
	order, err := byteOrder(fixed[0])
	if err != nil {
		return nil, err
	}
	body, fields := int64(order.Uint32(fixed[4:])), int64(order.Uint32(fixed[12:]))
	if fields > maxHeader || body > 1<<27 {
		return nil, fmt.Errorf("a message with %d bytes of header and %d of body, want at most %d and %d", fields, body, maxHeader, 1<<27)
	}
	head := 16 + (fields+7)&^7
	size := head
	if body <= MaxBody {
		size += body
	}
	raw, err := readAll(r, fixed[:], int(size))
	if err != nil {
		return nil, err
	}
	if body > MaxBody {
		if _, err := io.CopyN(io.Discard, r, body); err != nil {
			return nil, err
		}
	}
	f := &frame{kind: wire.Type(fixed[1]), raw: raw}
	if err := f.fields(order, raw[16:16+fields]); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	if body > MaxBody {
		f.raw = nil
	}
	return f, nil
}

func byteOrder(mark byte) (binary.ByteOrder, error) {
	switch mark {
	case 'l':
		return binary.LittleEndian, nil
	case 'B':
		return binary.BigEndian, nil
	}
	return nil, fmt.Errorf("a message begins with %#02x, want 'l' or 'B'", mark)
}

// readAll reads on until there are size bytes. Memory grows with what arrives,
// not with what was announced.
func readAll(r io.Reader, begun []byte, size int) ([]byte, error) {
	var b bytes.Buffer
	b.Write(begun)
	if n, err := io.CopyN(&b, r, int64(size-len(begun))); err != nil {
		return nil, fmt.Errorf("after %d of %d bytes of a message: %w", int(n)+len(begun), size, err)
	}
	return b.Bytes(), nil
}

// fields reads the header's fields, an array of (byte, variant) in which each
// element begins at a multiple of 8. Fields that are not used are passed over.
func (f *frame) fields(order binary.ByteOrder, b []byte) error {
	p := fieldReader{order: order, b: b}
	for !p.failed && p.at < len(p.b) {
		p.align(8)
		field := p.byte()
		var text string
		var number uint32
		switch sig := p.signature(); sig {
		case "s", "o":
			text = p.text()
		case "g":
			text = p.signature()
		case "u":
			number = p.uint32()
		default:
			return fmt.Errorf("a header field of type %q", sig)
		}
		switch field {
		case fieldError:
			f.failure = text
		case fieldReplySerial:
			f.reply = number
		case fieldSender:
			f.sender = text
		case fieldSignature:
			f.signature = text
		}
	}
	if p.failed {
		return errors.New("a header field goes beyond the header")
	}
	return nil
}

// fieldReader reads values of D-Bus from bytes; what is not there sets failed.
type fieldReader struct {
	order  binary.ByteOrder
	b      []byte
	at     int
	failed bool
}

func (p *fieldReader) take(n int) []byte {
	if p.failed || n < 0 || n > len(p.b)-p.at {
		p.failed = true
		return nil
	}
	p.at += n
	return p.b[p.at-n : p.at]
}

func (p *fieldReader) align(n int) { p.take((n - p.at%n) % n) }

func (p *fieldReader) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *fieldReader) uint32() uint32 {
	p.align(4)
	if b := p.take(4); b != nil {
		return p.order.Uint32(b)
	}
	return 0
}

// text reads a string with its length in four bytes and a closing zero.
func (p *fieldReader) text() string { return p.terminated(int(p.uint32())) }

// signature reads a string with its length in one byte and a closing zero.
func (p *fieldReader) signature() string { return p.terminated(int(p.byte())) }

func (p *fieldReader) terminated(n int) string {
	b := p.take(n + 1)
	if b == nil || b[n] != 0 || !utf8.Valid(b[:n]) {
		p.failed = true
		return ""
	}
	return string(b[:n])
}

// values decodes the body if its type is what was asked for, and for a variant
// ("v") if the type inside is inner. Types that nobody asked for are not decoded
// at all: of nested variants a small message makes a large tree.
func (f *frame) values(want, inner string) (vs []any, err error) {
	if f.raw == nil {
		return nil, fmt.Errorf("the answer is larger than %d bytes", MaxBody)
	}
	if f.signature != want {
		return nil, fmt.Errorf("the answer has type %q, want %q", f.signature, want)
	}
	if want == "" {
		return nil, nil
	}
	if want == "v" {
		if got := f.variant(); got != inner {
			return nil, fmt.Errorf("the answer is a variant of type %q, want %q", got, inner)
		}
	}
	defer func() {
		// The decoder panics with what reflect says about values that it did not expect.
		if p := recover(); p != nil {
			vs, err = nil, fmt.Errorf("decoding an answer of type %q: %v", want, p)
		}
	}()
	m, err := wire.DecodeMessage(bytes.NewReader(f.raw))
	if err != nil {
		return nil, fmt.Errorf("decoding an answer of type %q: %w", want, err)
	}
	if want == "v" && len(m.Body) == 1 {
		v, _ := m.Body[0].(wire.Variant)
		return []any{v.Value()}, nil
	}
	return m.Body, nil
}

// variant returns the type inside the variant that the body is.
func (f *frame) variant() string {
	order, err := byteOrder(f.raw[0])
	if err != nil {
		return ""
	}
	body := 16 + (int(order.Uint32(f.raw[12:]))+7)&^7
	p := fieldReader{order: order, b: f.raw[body:]}
	return p.signature()
}
