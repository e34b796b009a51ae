package egress

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"carrel/internal/policy"
)

// kind is what the first bytes of a client are.
type kind uint8

const (
	more      kind = iota // not known yet
	other                 // copied as it is
	hello                 // TLS
	plainHTTP             // HTTP/1, well formed or not
	http2                 // HTTP/2 in the clear, which would hide requests from us
)

const (
	maxOpening = 64 << 10 // that is held while it is looked at
)

const preface = "PRI * HTTP/2.0\r\n"

// look says what b begins.
func look(b []byte) kind {
	if len(b) == 0 {
		return more
	}
	// Servers may overlook a record of another kind before the ClientHello, so
	// every record is TLS.
	if b[0] >= 0x14 && b[0] <= 0x18 {
		switch {
		case len(b) == 1:
			return more
		case b[1] == 3:
			return hello
		}
		return other
	}
	return lookLine(b)
}

// lookLine tells a request line from the first lines of other protocols: a
// token, a space, something, "HTTP/". Empty lines before it are overlooked, as
// servers do. What is said of a beginning holds for all that begins so: how the
// bytes are cut into packets must not matter.
func lookLine(b []byte) kind {
	b = bytes.TrimLeft(b, "\r\n")
	token := 0
	for token < len(b) && isToken(b[token]) {
		token++
	}
	switch {
	case token == len(b):
		return more
	case token == 0 || !strings.ContainsRune(" \t\v\f", rune(b[token])):
		return other
	case strings.HasPrefix(preface, string(b[:min(len(b), len(preface))])):
		if len(b) < len(preface) {
			return more
		}
		return http2
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	switch {
	case bytes.ContainsFunc(line, func(r rune) bool { return r < '\t' || r > '\r' && r < ' ' || r == 0x7f }):
		return other
	case !whole:
		return more
	case bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")):
		return plainHTTP
	}
	return other
}

// opening is what a client said first, and what was read of it.
type opening struct {
	kind kind
	text []byte
}

var errSlow = malformed("the client began to say what it wants and did not go on in time")

// opening reads until it is known what the client speaks. Before its first byte
// it may wait for ever: the server may have to speak first.
func (c *client) opening() (opening, error) {
	o := opening{}
	for o.kind == more {
		var err error
		o.text, err = c.more(o.text)
		o.kind = look(o.text)
		if err != nil {
			if o.kind == more && errors.Is(err, io.EOF) {
				o.kind = other
				return o, nil
			}
			return o, err
		}
		if o.kind == more && len(o.text) >= maxOpening {
			o.kind = plainHTTP // a line without an end, which will be refused as such
		}
	}
	return o, nil
}

// more reads something to the end of b. What follows a first byte has to come
// in time.
func (c *client) more(b []byte) ([]byte, error) {
	if len(b) == 0 {
		c.within(0)
	} else if len(b) == 1 {
		c.within(c.e.patience)
	}
	if cap(b)-len(b) < 1<<10 {
		b = append(make([]byte, 0, max(2<<10, 2*cap(b))), b...)
	}
	from := len(b)
	n, err := c.br.Read(b[from:cap(b)])
	if from == 0 {
		c.within(c.e.patience)
	}
	if err != nil && isTimeout(err) {
		err = errSlow
	}
	return b[:from+n], err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// vetTLS reads the ClientHello that b begins and compares the name in it with
// the grant's. It returns all that was read and the length of the records.
func (c *client) vetTLS(b []byte, g grant) ([]byte, int, error) {
	start := time.Now()
	for {
		h, used, err := parseHello(b)
		switch {
		case err == nil:
			return b, used, g.names(h)
		case !errors.Is(err, errShort):
			return b, 0, malformed("the TLS ClientHello: %s", err)
		case len(b) >= maxOpening || time.Since(start) > c.e.patience:
			return b, 0, malformed("the TLS ClientHello is longer than %d bytes or came too slowly", maxOpening)
		}
		if b, err = c.more(b); err != nil {
			return b, 0, err
		}
	}
}

// names holds that a ClientHello names the target, or for an address nothing.
func (g grant) names(h clientHello) error {
	target := g.target.Host
	if h.inner {
		return &refusal{code: CodeName, host: target, reason: "the TLS ClientHello is the inner one of an encrypted pair"}
	}
	isName := !isAddress(target)
	if h.name == "" {
		if isName {
			return &refusal{code: CodeName, host: target, reason: "the TLS ClientHello names no host", hint: "the program has to send the name (SNI) of what it connects to"}
		}
		return nil
	}
	said, err := policy.NormalHost(h.name)
	if err == nil && said == target {
		return nil
	}
	if err == nil && !isName {
		t := g.target
		t.Host = said
		if g.rules.Decide(t).Allowed() {
			return nil
		}
	}
	return &refusal{code: CodeName, host: target, reason: "the connection is to " + target + ", and the TLS ClientHello names " + shorten(h.name)}
}
