package xfilter

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
)

// The connection setup: X Window System Protocol, version 11, chapter 8.
const (
	cookieName   = "MIT-MAGIC-COOKIE-1"
	maxAuthName  = 64
	maxAuthData  = 256
	maxSetup     = 256 << 10 // of the server's answer
	setupHead    = 12        // of the request
	setupReply   = 8         // the head of the answer
	setupFixed   = 32        // what follows the head of an answer that lets in, before the vendor's name
	maxReason    = 200       // bytes of a refusal
	setupFailed  = 0
	setupSuccess = 1
)

// offer is what a client says first.
type offer struct {
	order order
	name  string
	data  []byte
}

// errOffer tells that these bytes are no X client's.
var errOffer = errors.New("what was sent first is no X11 setup request: want 'l' or 'B', version 11, and a bounded authorization")

// readOffer reads the setup request. After an error the order is still the
// client's where it could be read, so that a refusal can be written.
func readOffer(r io.Reader) (offer, error) {
	var head [setupHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return offer{}, fmt.Errorf("read the setup request: %w", err)
	}
	var o offer
	switch head[0] {
	case 'l':
	case 'B':
		o.order = true
	default:
		return o, errOffer
	}
	major, names, data := o.order.u16(head[2:]), int(o.order.u16(head[6:])), int(o.order.u16(head[8:]))
	if major != 11 || names > maxAuthName || data > maxAuthData {
		return o, errOffer
	}
	rest := make([]byte, padded(names)+padded(data))
	if _, err := io.ReadFull(r, rest); err != nil {
		return o, fmt.Errorf("read the authorization of the setup request: %w", err)
	}
	o.name, o.data = string(rest[:names]), rest[padded(names):][:data]
	return o, nil
}

// shows says whether the offer carries the cookie. It takes the same time
// wherever they differ. Without a cookie nobody is let in.
func (o offer) shows(cookie []byte) bool {
	return len(cookie) > 0 && o.name == cookieName && subtle.ConstantTimeCompare(o.data, cookie) == 1
}

// request writes the offer as a client sends it.
func (o offer) request() []byte {
	b := make([]byte, setupHead, setupHead+padded(len(o.name))+padded(len(o.data)))
	b[0] = 'l'
	if o.order {
		b[0] = 'B'
	}
	o.order.put16(b[2:], 11)
	o.order.put16(b[6:], uint16(len(o.name)))
	o.order.put16(b[8:], uint16(len(o.data)))
	b = append(b, o.name...)
	b = append(b, make([]byte, padded(len(b))-len(b))...)
	b = append(b, o.data...)
	return append(b, make([]byte, padded(len(b))-len(b))...)
}

// refusal is the answer that keeps a client out. Xlib prints its reason.
func refusal(o order, reason string) []byte {
	reason = reason[:min(len(reason), maxReason)]
	b := make([]byte, setupReply+padded(len(reason)))
	b[0], b[1] = setupFailed, byte(len(reason))
	o.put16(b[2:], 11)
	o.put16(b[6:], uint16(padded(len(reason))/4))
	copy(b[setupReply:], reason)
	return b
}

// welcome is what has to be known of a server's answer: the ids that are this
// client's, and the root of the first screen.
type welcome struct {
	base, mask, root uint32
}

// readWelcome reads the server's answer and gives it back as it was, to be
// passed on.
func readWelcome(r io.Reader, o order) (welcome, []byte, error) {
	head := make([]byte, setupReply)
	if _, err := io.ReadFull(r, head); err != nil {
		return welcome{}, nil, fmt.Errorf("read the server's answer to the setup request: %w", err)
	}
	size := 4 * int(o.u16(head[6:]))
	if size > maxSetup {
		return welcome{}, nil, fmt.Errorf("the server's answer to the setup request has %d bytes; at most %d are read", size, maxSetup)
	}
	all := append(head, make([]byte, size)...)
	if _, err := io.ReadFull(r, all[setupReply:]); err != nil {
		return welcome{}, nil, fmt.Errorf("read the server's answer to the setup request: %w", err)
	}
	w, err := parseWelcome(all, o)
	return w, all, err
}

// parseWelcome takes a whole answer.
func parseWelcome(all []byte, o order) (welcome, error) {
	if len(all) < setupReply {
		return welcome{}, errors.New("the server's answer to the setup request is shorter than its head")
	}
	body := all[setupReply:]
	if all[0] != setupSuccess {
		reason := bytes.TrimRight(body[:min(len(body), int(all[1]))], "\x00\n")
		return welcome{}, fmt.Errorf("the X server lets nobody in: %q", reason)
	}
	if len(body) < setupFixed {
		return welcome{}, fmt.Errorf("the server's answer to the setup request has %d bytes; at least %d are needed", len(body), setupFixed)
	}
	w := welcome{base: o.u32(body[4:]), mask: o.u32(body[8:])}
	screens := setupFixed + padded(int(o.u16(body[16:]))) + 8*int(body[21])
	if body[20] == 0 || len(body) < screens+4 {
		return welcome{}, errors.New("the server's answer to the setup request has no screen")
	}
	w.root = o.u32(body[screens:])
	if w.mask == 0 || w.base == 0 || w.base&w.mask != 0 || w.mask&w.root == w.root && w.base == w.root&^w.mask {
		return welcome{}, fmt.Errorf("the server gave the ids %#x with mask %#x and the root %#x, which cannot be", w.base, w.mask, w.root)
	}
	return w, nil
}
