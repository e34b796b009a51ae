package wire

import (
	"bytes"
	"encoding/binary"
)

// MaxProperty bounds the value of a property, in bytes. What was copied on the clipboard
// comes as one, and is the largest thing that a server may send; see [replyBound].
const MaxProperty = 64 << 20

const maxReply = MaxProperty + 32

// MaxImage bounds what comes over the socket for one request of pixels, in bytes, so that
// nothing else waits long behind it. The longest row of a screen has half of it.
const MaxImage = 256 << 10

// usualReply is enough for most replies, in bytes after their head.
const usualReply = 64 << 10

// replyBound is what may follow the head of the reply to a request, in bytes. Of a
// list of windows there are thousands of replies at once.
func replyBound(request []byte) int {
	const queryTree, getProperty, getImage, getKeyboardMapping = 15, 20, 73, 101
	switch op := request[0]; {
	case op == queryTree, op == getKeyboardMapping:
		return 1 << 20
	case op == getProperty && len(request) >= 24:
		return int(min(4*uint64(binary.LittleEndian.Uint32(request[20:])), maxReply))
	case op == getImage:
		return MaxImage
	case op >= 128: // of an extension: the picture of the pointer, that any program sets
		return 4 << 20
	}
	return usualReply
}

// coreReplies are the requests of the core protocol that have a reply (X Window System
// Protocol, appendix B).
var coreReplies = func() (has [128]bool) {
	for _, op := range []byte{3, 14, 15, 16, 17, 20, 21, 23, 26, 31, 38, 39, 40, 43, 44, 47, 48, 49, 50, 52, 73, 83, 84, 85, 86, 87,
		91, 92, 97, 98, 99, 101, 103, 106, 108, 110, 116, 117, 118, 119} {
		has[op] = true
	}
	return has
}()

// replies says whether a request has a reply.
func (c *codes) replies(request []byte) bool {
	switch {
	case len(request) < 2:
		return false
	case request[0] < 128:
		return coreReplies[request[0]]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.IndexByte(c.answered[request[0]], request[1]) >= 0
}
