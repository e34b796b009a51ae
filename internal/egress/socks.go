package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"

	"carrel/internal/policy"
)

// SOCKS5 (RFC 1928, RFC 1929). Credentials mean nothing: who can connect is
// inside, and what everybody inside could read would prove nothing.
const (
	socksNone     = 0x00
	socksPassword = 0x02
	socksConnect  = 0x01

	socksDone        = 0x00
	socksTrouble     = 0x01
	socksRefused     = 0x02
	socksUnreachable = 0x04
	socksNoAnswer    = 0x05
	socksNoCommand   = 0x07
	socksNoAddress   = 0x08
)

// socksError is a mistake in the conversation with the reply that tells it.
type socksError struct {
	*refusal
	reply byte
}

func (s *socksError) Unwrap() error { return s.refusal }

func (c *client) socks5() {
	t, err := readSocks(c.br, c.say)
	if err != nil {
		var s *socksError
		if errors.As(err, &s) {
			c.begin("socks5", t).end(s.refusal)
			c.farewell(socksReply(s.reply))
		}
		return
	}
	c.within(0)
	c.carry("socks5", t, voice{
		yes: func() error { return c.say(socksReply(socksDone)) },
		no:  func(err error) { c.farewell(socksReply(socksCode(err))) },
	})
}

// readSocks reads the greeting, credentials and the request, and says what has
// to be said in between.
func readSocks(r io.Reader, say func([]byte) error) (policy.Target, error) {
	var none policy.Target
	var b [256]byte
	take := func(n int) ([]byte, error) {
		_, err := io.ReadFull(r, b[:n])
		return b[:n], err
	}
	greeting, err := take(2)
	if err != nil {
		return none, err
	}
	methods, err := take(int(greeting[1]))
	if err != nil {
		return none, err
	}
	method := byte(0xff)
	for _, m := range methods {
		if m == socksNone || m == socksPassword && method == 0xff {
			method = m
		}
	}
	if method == 0xff {
		return none, errors.Join(say([]byte{5, method}), errors.New("no method of authentication that we know"))
	}
	if err := say([]byte{5, method}); err != nil {
		return none, err
	}
	if method == socksPassword {
		if err := skipPassword(take, say); err != nil {
			return none, err
		}
	}
	return readSocksRequest(take)
}

func skipPassword(take func(int) ([]byte, error), say func([]byte) error) error {
	b, err := take(2)
	if err != nil {
		return err
	}
	if b, err = take(int(b[1]) + 1); err != nil { // the name and the length of the password
		return err
	}
	if _, err = take(int(b[len(b)-1])); err != nil {
		return err
	}
	return say([]byte{1, 0})
}

func readSocksRequest(take func(int) ([]byte, error)) (policy.Target, error) {
	var t policy.Target
	b, err := take(4)
	if err != nil {
		return t, err
	}
	version, command, kind := b[0], b[1], b[3]
	length := map[byte]int{1: 4, 4: 16}[kind]
	if kind == 3 {
		if b, err = take(1); err != nil {
			return t, err
		}
		length = int(b[0])
	}
	if version != 5 || length == 0 {
		return t, &socksError{malformed("SOCKS5: version %d, address type %d", version, kind), socksNoAddress}
	}
	if b, err = take(length); err != nil {
		return t, err
	}
	t.Host = string(b)
	if kind != 3 {
		a, _ := netip.AddrFromSlice(b)
		t.Host = a.String()
	}
	if b, err = take(2); err != nil {
		return t, err
	}
	t.Port = binary.BigEndian.Uint16(b)
	switch {
	case command != socksConnect:
		return t, &socksError{notCarried("SOCKS5 BIND and UDP are not carried: only TCP connections are"), socksNoCommand}
	case t.Port == 0:
		return t, &socksError{malformed("SOCKS5: port 0"), socksTrouble}
	}
	return t, nil
}

func socksReply(code byte) []byte { return []byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0} }

// socksCode is the nearest that SOCKS5 can say.
func socksCode(err error) byte {
	var r *refusal
	var f *failure
	switch {
	case errors.As(err, &r):
		return socksRefused
	case errors.As(err, &f) && f.code == CodeDial:
		return socksNoAnswer
	case errors.As(err, &f) && (f.code == CodeResolve || f.code == CodeTimeout):
		return socksUnreachable
	}
	return socksTrouble
}
