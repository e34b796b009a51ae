package xfilter

import (
	"errors"
	"fmt"
)

// Numbers of requests that have a meaning here.
const (
	opNone = 126 // unassigned in the core protocol: every server answers BadRequest, whatever the length
	opNoOp = 127 // NoOperation: no answer, of any length
)

// maxWords is the longest request, in words of four bytes: what X servers take
// with BIG-REQUESTS, rounded up.
const maxWords = 4 << 20

// maxHead bounds what is looked at of one request, in bytes.
const maxHead = 1 << 10

// request is the beginning of one, as far as its rule wants it.
type request struct {
	b     []byte // from its first byte on
	body  int    // where what follows the usual head of four bytes begins: 4, or 8 in a long one
	size  int    // of the usual form: without the additional length
	order order
}

func (r request) major() byte     { return r.b[0] }
func (r request) minor() byte     { return r.b[1] }
func (r request) setMajor(m byte) { r.b[0] = m }

// at is the field at an offset as the protocol's description counts it. A rule
// reads only what it has asked for.
func (r request) at(off int) []byte { return r.b[off-4+r.body:] }

func (r request) u16(off int) uint16      { return r.order.u16(r.at(off)) }
func (r request) u32(off int) uint32      { return r.order.u32(r.at(off)) }
func (r request) put32(off int, v uint32) { r.order.put32(r.at(off), v) }

// requests cuts what a client sends. Its cuts must be the server's: so what
// servers could read in two ways ends the connection.
type requests struct {
	order order
	big   bool   // BIG-REQUESTS is on
	skip  int    // bytes of the present request that are still to pass
	seq   uint16 // the number of the last request that was decided

	rule   func(major, minor byte) *rule // nil: passes
	decide func(l *rule, r request)      // changes the request where it is refused
	bigOp  byte                          // the number of BIG-REQUESTS, 0 if there is none
}

var (
	errLongForm  = errors.New("a request has the long form, which was not asked for")
	errShortLong = errors.New("a request has the long form and is too short for it")
)

// pass decides what is in b, which goes on where it has ended before, and says
// how many bytes of it may go to the server. What remains is the beginning of a
// request and has to be given again with more.
func (q *requests) pass(b []byte) (int, error) {
	done := 0
	for {
		step := min(q.skip, len(b)-done)
		done, q.skip = done+step, q.skip-step
		rest := b[done:]
		if q.skip > 0 || len(rest) < 4 {
			return done, nil
		}
		words, body := int(q.order.u16(rest[2:])), 4
		if words == 0 {
			if !q.big {
				return done, errLongForm
			}
			if len(rest) < 8 {
				return done, nil
			}
			long := q.order.u32(rest[4:])
			if long < 2 {
				return done, errShortLong
			}
			if long > maxWords {
				return done, fmt.Errorf("a request has %d words; at most %d are carried", long, maxWords)
			}
			words, body = int(long), 8
		}
		r := request{b: rest, body: body, size: 4*words - body + 4, order: q.order}
		enables := rest[0] == q.bigOp && rest[1] == 0 && words == 1 && q.bigOp != 0
		if l := q.rule(rest[0], rest[1]); l != nil {
			have := min(l.need(), r.size) - 4 + body
			if len(rest) < have {
				return done, nil
			}
			r.b = rest[:have]
			q.seq++
			q.decide(l, r)
		} else {
			q.seq++
		}
		if enables { // the server takes the long form after exactly this request
			q.big = true
		}
		q.skip = 4 * words
	}
}
