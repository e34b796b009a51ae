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
	list       // a reply to ListExtensions, which loses the names that are hidden
)

// maxList bounds the names of a list in bytes: those of a server have some 400.
const maxList = 4 << 10

// messages cuts what the server sends, and takes out what the client must not
// have.
type messages struct {
	order order
	skip  int64 // bytes of the present message that are still to come
	rest  fate  // of these
	whole bool  // the present message has been looked at, and is awaited as a whole
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
		if !m.whole {
			m.rest = m.look(head)
		}
		if m.rest == list && m.skip <= maxList {
			if m.whole = int64(len(b)-used-messageSize) < m.skip; m.whole {
				m.skip = 0
				return kept, used
			}
			head[1] = keepKnown(b[used+messageSize:][:m.skip], head[1])
			m.rest = keep
		} else if m.rest == list {
			m.rest, head[1] = blank, 0
		}
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

// keepKnown takes the names out of a list that the filter does not know: it says of them
// that they are not there, and clients rely on both answers being the same. What becomes
// free at the end is zero. It returns how many names are left.
func keepKnown(names []byte, n byte) (left byte) {
	kept, at := 0, 0
	for range n {
		if at >= len(names) || at+1+int(names[at]) > len(names) {
			break
		}
		one := names[at:][:1+int(names[at])]
		at += len(one)
		if extensions[string(one[1:])] != nil {
			kept += copy(names[kept:], one)
			left++
		}
	}
	clear(names[kept:])
	return left
}
