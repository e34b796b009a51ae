package desktop

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/desktop/ctext"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// property is the value of one property of a window.
type property struct {
	kind  xproto.Atom
	width int // bits of one item: 8, 16, 32; 0 where there is no property
	value []byte
}

// readProperty parses the reply of GetProperty, from its head on: the library
// would make room for as much as the reply announces.
func readProperty(b []byte) (property, error) {
	if len(b) < 32 {
		return property{}, fmt.Errorf("a property's value has %d bytes, less than its head", len(b))
	}
	p := property{kind: xproto.Atom(binary.LittleEndian.Uint32(b[8:])), width: int(b[1])}
	switch p.width {
	case 0:
		return p, nil
	case 8, 16, 32:
	default:
		return property{}, fmt.Errorf("a property's items have %d bits", p.width)
	}
	n := uint64(binary.LittleEndian.Uint32(b[16:])) * uint64(p.width) / 8
	if n > uint64(len(b)-32) {
		return property{}, fmt.Errorf("a property's value of %d bytes is announced, %d are there", n, len(b)-32)
	}
	p.value = b[32 : 32+n]
	return p, nil
}

// askProperty asks for a property of any type, of at most max bytes.
func (d *display) askProperty(w xproto.Window, name xproto.Atom, max int) *xgb.Cookie {
	const getProperty = 20
	b := []byte{getProperty, 0, 6, 0}
	for _, v := range []uint32{uint32(w), uint32(name), xproto.GetPropertyTypeAny, 0, uint32(max+3) / 4} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return d.ask(b)
}

// take waits for a property that was asked for.
func take(c *xgb.Cookie) (property, error) {
	b, err := c.Reply()
	if err != nil {
		return property{}, err
	}
	return readProperty(b)
}

func (d *display) property(w xproto.Window, name string, max int) (property, error) {
	return take(d.askProperty(w, d.atom(name), max))
}

// numbers gives the items of a property of 32 bits each.
func (p property) numbers() []uint32 {
	if p.width != 32 {
		return nil
	}
	out := make([]uint32, len(p.value)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(p.value[4*i:])
	}
	return out
}

// maxText bounds titles, classes and what else is read as text, in bytes.
const maxText = 1024

// text reads a property as one line. What is not UTF-8 is Latin-1, as the type
// STRING says.
func (d *display) text(p property) string {
	if p.width != 8 {
		return ""
	}
	if p.kind == d.atom("COMPOUND_TEXT") {
		return line([]byte(ctext.Decode(p.value)))
	}
	return line(p.value)
}

// line makes one line of bytes from inside: UTF-8 without control characters.
func line(b []byte) string {
	if len(b) >= maxText {
		b = b[:maxText]
		// The cut may be within a character.
		for cut := range utf8.UTFMax {
			if utf8.Valid(b[:maxText-cut]) {
				b = b[:maxText-cut]
				break
			}
		}
	}
	s := string(b)
	if !utf8.Valid(b) {
		latin := make([]rune, len(b))
		for i, c := range b {
			latin[i] = rune(c)
		}
		s = string(latin)
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// queryTree is the request for a window's parent and children.
func queryTree(w xproto.Window) []byte {
	const code = 15
	return binary.LittleEndian.AppendUint32([]byte{code, 0, 2, 0}, uint32(w))
}

// SetRootText gives the root window a property of type STRING, by which a display
// tells its programs something.
func (d *display) SetRootText(ctx context.Context, name, text string) error {
	return d.do(ctx, "setting "+name, func() error {
		atoms, err := d.internAll([]string{name})
		if err != nil {
			return err
		}
		return xproto.ChangePropertyChecked(d.x, xproto.PropModeReplace, d.root, atoms[name], xproto.AtomString, 8, uint32(len(text)), []byte(text)).Check()
	})
}
