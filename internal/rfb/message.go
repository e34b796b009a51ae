package rfb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Types of messages from viewers: RFC 6143, 7.5, and the community's list of
// extensions (rfbproto).
const (
	setPixelFormat   = 0
	setEncodings     = 2
	updateRequest    = 3
	keyEvent         = 4
	pointerEvent     = 5
	cutText          = 6
	continuousUpdate = 150
	fence            = 248
	setDesktopSize   = 251
)

// Bounds on messages.
const (
	maxEncodings = 1024
	maxCutText   = 16 << 20 // bytes, none of which are kept
	maxFence     = 64       // bytes, as the extension has it
)

// kind says what becomes of a message.
type kind int

const (
	passes kind = iota + 1 // and changes nothing but what this viewer gets
	acts                   // presses something
	dropped
)

// message is one of a viewer's. Data is what goes on, until the next one is read.
type message struct {
	kind kind
	data []byte
}

// sizes are the lengths of messages that always have the same, in bytes.
var sizes = map[byte]int{setPixelFormat: 20, updateRequest: 10, keyEvent: 8, pointerEvent: 6, continuousUpdate: 10}

// readMessage reads the next message of a viewer. Nothing but the list of encodings is
// larger than what is in hand.
func readMessage(r *bufio.Reader) (message, error) {
	first, err := r.Peek(1)
	if err != nil {
		return message{}, err
	}
	switch t := first[0]; t {
	case setPixelFormat, updateRequest, keyEvent, pointerEvent, continuousUpdate:
		data := make([]byte, sizes[t])
		if _, err := io.ReadFull(r, data); err != nil {
			return message{}, err
		}
		return checked(data)
	case setEncodings:
		return readEncodings(r)
	case cutText:
		return message{kind: dropped}, skipCutText(r)
	case fence:
		head, err := take(r, 9)
		if err != nil {
			return message{}, err
		}
		n := int(head[8])
		if n > maxFence {
			return message{}, fmt.Errorf("a fence with %d bytes, at most %d are allowed", n, maxFence)
		}
		return message{kind: dropped}, skip(r, n)
	case setDesktopSize:
		head, err := take(r, 8)
		if err != nil {
			return message{}, err
		}
		return message{kind: dropped}, skip(r, 16*int(head[6]))
	default:
		return message{}, fmt.Errorf("a message of type %d, which is not known", t)
	}
}

// checked says what becomes of a message of fixed size, and refuses what makes no
// sense: the server has its own bounds, and this one has them too.
func checked(data []byte) (message, error) {
	switch data[0] {
	case setPixelFormat:
		return message{passes, data}, checkFormat(data[4:])
	case updateRequest:
		if data[1] > 1 {
			return message{}, fmt.Errorf("a request for an update, incremental %d", data[1])
		}
		return message{passes, data}, nil
	case keyEvent:
		if data[1] > 1 {
			return message{}, fmt.Errorf("a key that is down %d", data[1])
		}
		return message{acts, data}, nil
	case pointerEvent:
		return message{acts, data}, nil
	}
	return message{kind: dropped}, nil
}

// checkFormat wants a pixel format that can be: bits, depth, big-endian, true-colour,
// three maxima and three shifts.
func checkFormat(f []byte) error {
	bits, depth := f[0], f[1]
	if bits != 8 && bits != 16 && bits != 32 || depth == 0 || depth > bits || f[2] > 1 || f[3] > 1 {
		return fmt.Errorf("a pixel format of %d bits, depth %d, flags %d and %d", bits, depth, f[2], f[3])
	}
	if f[3] == 0 {
		return nil // the rest means nothing
	}
	for i := range 3 {
		most, shift := uint64(binary.BigEndian.Uint16(f[4+2*i:])), f[10+i]
		if most == 0 || most&(most+1) != 0 || shift >= bits || most<<shift >= 1<<bits {
			return fmt.Errorf("a pixel format of %d bits with a colour up to %d at bit %d", bits, most, shift)
		}
	}
	return nil
}

// readEncodings gives the list of encodings without those that are not known: a server
// that is not asked for an extension does not begin it.
func readEncodings(r *bufio.Reader) (message, error) {
	head, err := take(r, 4)
	if err != nil {
		return message{}, err
	}
	n := int(binary.BigEndian.Uint16(head[2:]))
	if n > maxEncodings {
		return message{}, fmt.Errorf("a list of %d encodings, at most %d are allowed", n, maxEncodings)
	}
	list := make([]byte, 4*n)
	if _, err := io.ReadFull(r, list); err != nil {
		return message{}, err
	}
	out := []byte{setEncodings, 0, 0, 0}
	for ; len(list) > 0; list = list[4:] {
		if known(int32(binary.BigEndian.Uint32(list))) {
			out = append(out, list[:4]...)
		}
	}
	binary.BigEndian.PutUint16(out[2:], uint16((len(out)-4)/4))
	return message{passes, out}, nil
}

// known are the encodings that have no messages of their own: pictures, and of the
// others the cursor's picture and place, the screen's size, and how well to compress.
func known(e int32) bool {
	switch e {
	case 0, 1, 2, 4, 5, 6, 7, 9, 16, 17: // raw, copies, rre, corre, hextile, zlib, tight, ultra, zrle, zywrle
		return true
	case -239, -240, -232, -224, -223: // cursor, its older form, its place, the last rectangle, a new size
		return true
	}
	return e >= -32 && e <= -23 || e >= -256 && e <= -247 || e >= -512 && e <= -412 || e >= -768 && e <= -763
}

// skipCutText passes over what the viewer's clipboard has. Extended ones have a
// negative length.
func skipCutText(r *bufio.Reader) error {
	head, err := take(r, 8)
	if err != nil {
		return err
	}
	n := int64(int32(binary.BigEndian.Uint32(head[4:])))
	if n = max(n, -n); n > maxCutText {
		return fmt.Errorf("%d bytes of the clipboard, at most %d are allowed", n, maxCutText)
	}
	return skip(r, int(n))
}

// take reads n bytes.
func take(r *bufio.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func skip(r *bufio.Reader, n int) error {
	_, err := r.Discard(n)
	return err
}
