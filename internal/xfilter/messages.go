package xfilter

// What a server sends: an error, a reply, or an event, of 32 bytes each; replies
// and generic events go on for a number of words that is in them.
const (
	messageSize   = 32
	msgError      = 0
	msgReply      = 1
	msgKeymap     = 11
	msgGeneric    = 35
	sentByClient  = 0x80 // an event that came by SendEvent has this bit
	badRequest    = 1
	badAccess     = 10
	firstExtEvent = 64
)

// fate is what becomes of a message.
type fate int

const (
	keep  fate = iota
	drop       // an event: nothing counts them
	blank      // a reply whose content, from its ninth byte on, becomes zero
)

// messages cuts what the server sends, and takes out what the client must not
// have.
type messages struct {
	order order
	skip  int64 // bytes of the present message that are still to come
	rest  fate  // of these
	look  func(m []byte) fate
}

// pass works through b, which goes on where it has ended before. It moves what
// is kept to the beginning, b[:kept]; b[used:] is the beginning of a message and
// has to be given again with more.
func (m *messages) pass(b []byte) (kept, used int) {
	for {
		if m.skip > 0 {
			step := int(min(m.skip, int64(len(b)-used)))
			kept = m.move(b, kept, used, step)
			used, m.skip = used+step, m.skip-int64(step)
		}
		head := b[used:]
		if m.skip > 0 || len(head) < messageSize {
			return kept, used
		}
		head = head[:messageSize]
		if kind := head[0] &^ sentByClient; head[0] == msgReply || kind == msgGeneric {
			m.skip = 4 * int64(m.order.u32(head[4:]))
		}
		m.rest = m.look(head)
		if m.rest == blank {
			clear(head[8:])
		}
		if m.rest != drop {
			if kept != used {
				copy(b[kept:], head)
			}
			kept += messageSize
		}
		used += messageSize
	}
}

// move carries n bytes of a message's rest from used to kept.
func (m *messages) move(b []byte, kept, used, n int) int {
	switch {
	case m.rest == drop:
		return kept
	case m.rest == blank:
		clear(b[used : used+n])
	}
	if kept != used {
		copy(b[kept:], b[used:used+n])
	}
	return kept + n
}
