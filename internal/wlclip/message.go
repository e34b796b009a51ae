package wlclip

import (
	"encoding/binary"
	"fmt"
)

// order is that of the machine, as both ends are on it.
var order = binary.NativeEndian

// header is the length of a message's beginning: the object, then size and opcode.
const header = 8

// maxMessage is the size of libwayland's own buffers: no message is longer.
const maxMessage = 4096

// message is one event or request.
type message struct {
	object uint32
	opcode uint16
	args   []byte
}

// next takes one message off a buffer; ok is false where it is not whole yet.
func next(b []byte) (m message, rest []byte, ok bool, err error) {
	if len(b) < header {
		return m, b, false, nil
	}
	word := order.Uint32(b[4:])
	size := int(word >> 16)
	if size < header || size > maxMessage || size%4 != 0 {
		return m, nil, false, fmt.Errorf("the compositor sent a message of %d bytes: want a multiple of 4 from %d to %d", size, header, maxMessage)
	}
	if len(b) < size {
		return m, b, false, nil
	}
	return message{order.Uint32(b), uint16(word), b[header:size]}, b[size:], true, nil
}

// args reads arguments one after the other; err is the first mistake.
type args struct {
	b   []byte
	err error
}

func (a *args) uint() uint32 {
	if len(a.b) < 4 {
		a.fail()
		return 0
	}
	v := order.Uint32(a.b)
	a.b = a.b[4:]
	return v
}

// text reads a string: its length with the zero at its end, the bytes, and what fills
// up to a multiple of four.
func (a *args) text() string {
	n := int(a.uint())
	padded := (n + 3) &^ 3
	if a.err != nil || n == 0 || n > maxMessage || padded > len(a.b) || a.b[n-1] != 0 {
		a.fail()
		return ""
	}
	s := string(a.b[:n-1])
	a.b = a.b[padded:]
	return s
}

func (a *args) fail() {
	if a.err == nil {
		a.err = fmt.Errorf("the compositor sent a message that ends too early")
	}
	a.b = nil
}

// request builds a message of numbers and strings.
func request(object uint32, opcode uint16, values ...any) []byte {
	b := make([]byte, header, 64)
	for _, v := range values {
		switch v := v.(type) {
		case uint32:
			b = order.AppendUint32(b, v)
		case string:
			b = order.AppendUint32(b, uint32(len(v)+1))
			b = append(b, v...)
			b = append(b, make([]byte, 4-len(v)%4)...)
		}
	}
	order.PutUint32(b, object)
	order.PutUint32(b[4:], uint32(len(b))<<16|uint32(opcode))
	return b
}
