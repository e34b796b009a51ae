package egress

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// TLS, as far as a ClientHello needs it (RFC 8446 4.1.2 and 5.1, RFC 6066 3).
const (
	recordChange    = 0x14
	recordHandshake = 0x16

	maxRecord = 16 << 10

	messageHello  = 1
	extensionName = 0
	extensionECH  = 0xfe0d
)

// tlsAlert is a fatal access_denied, which clients show.
var tlsAlert = []byte{0x15, 3, 1, 0, 2, 2, 49}

var (
	errShort  = errors.New("it is not whole yet")
	errRecord = errors.New("it does not begin with a handshake record")
	errLength = errors.New("a length in it leads out of it")
	errTwice  = errors.New("it names hosts twice")
)

// clientHello is what counts of a ClientHello.
type clientHello struct {
	name  string // "" for none
	inner bool   // it says that it is the inner one of an encrypted pair
}

// parseHello reads the ClientHello at the beginning of a stream of records,
// over which it may be spread, and tells how many bytes those records have.
// errShort: more bytes are needed.
func parseHello(b []byte) (h clientHello, used int, err error) {
	var message []byte
	for {
		if len(message) >= 4 {
			if message[0] != messageHello {
				return h, 0, errRecord
			}
			if n := 4 + int(message[1])<<16 + int(message[2])<<8 + int(message[3]); n > maxOpening {
				return h, 0, errLength
			} else if len(message) >= n {
				h, err = parseHelloBody(message[4:n])
				return h, used, err
			}
		}
		fragment, n, err := record(b[used:])
		if err != nil {
			return h, 0, err
		}
		message = append(message, fragment...)
		used += n
	}
}

// record takes one handshake record off a stream.
func record(b []byte) (fragment []byte, used int, err error) {
	if len(b) > 0 && b[0] != recordHandshake || len(b) > 1 && b[1] != 3 {
		return nil, 0, errRecord
	}
	if len(b) < 5 {
		return nil, 0, errShort
	}
	n := int(binary.BigEndian.Uint16(b[3:]))
	if n == 0 || n > maxRecord {
		return nil, 0, errLength
	}
	if len(b) < 5+n {
		return nil, 0, errShort
	}
	return b[5 : 5+n], 5 + n, nil
}

func parseHelloBody(b []byte) (h clientHello, err error) {
	r := reader{rest: b}
	r.take(2 + 32)        // version, random
	r.take(r.number(1))   // session
	r.take(r.number(2))   // cipher suites
	r.take(r.number(1))   // compression methods
	if len(r.rest) == 0 { // a client from before extensions
		return h, r.err()
	}
	ext := reader{rest: r.take(r.number(2))}
	if len(r.rest) > 0 {
		return h, errLength
	}
	named := false
	for len(ext.rest) > 0 && !ext.bad {
		kind, body := ext.number(2), []byte(nil)
		body = ext.take(ext.number(2))
		switch kind {
		case extensionName:
			if named {
				return h, errTwice
			}
			named = true
			if h.name, err = parseName(body); err != nil {
				return h, err
			}
		case extensionECH:
			h.inner = h.inner || len(body) > 0 && body[0] == 1
		}
	}
	r.bad = r.bad || ext.bad
	return h, r.err()
}

// parseName reads a server_name extension: one name, of the one kind there is.
func parseName(b []byte) (string, error) {
	r := reader{rest: b}
	list := reader{rest: r.take(r.number(2))}
	kind := list.number(1)
	name := list.take(list.number(2))
	switch {
	case r.bad || list.bad || len(r.rest) > 0 || kind != 0 || len(name) == 0:
		return "", errLength
	case len(list.rest) > 0:
		return "", errTwice
	}
	return string(name), nil
}

// reader takes a message apart; what is not there is bad.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) number(bytes int) int {
	n := 0
	for _, b := range r.take(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

func (r *reader) err() error {
	if r.bad {
		return errLength
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
