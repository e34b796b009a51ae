package wire

import (
	"io"
	"log"
	"sync"

	"github.com/jezek/xgb"
)

// Extension is one that package desktop speaks. Servers number events and errors
// of extensions as they like, and the library has one table of them for the
// whole process, written without a lock. So they get numbers of ours, written
// once before anything else runs: a [Conn] translates. No other code may call the Init
// functions of the library's packages.
type Extension struct {
	Name    string
	events  byte   // our number of its first event
	errors  byte   // our number of its first error
	replies []byte // its requests that have a reply, of the versions that are spoken
}

// Extensions are those that package desktop speaks.
var Extensions = []Extension{
	{"BIG-REQUESTS", 0, 0, []byte{0}},
	{"Composite", 0, 0, []byte{0, 7}},
	{"DAMAGE", 64, 128, []byte{0}},
	{"MIT-SHM", 72, 136, []byte{0, 4, 7}},
	{"RANDR", 80, 144, []byte{0, 2, 5, 6, 8, 9, 10, 11, 15, 16, 20, 21, 22, 23, 25, 27, 28, 29, 31}},
	{"XFIXES", 88, 152, []byte{0, 4, 19, 24, 25}},
	{"XTEST", 0, 0, []byte{0, 1}},
}

// room is how many events and errors an extension has at most.
const room = 8

// tables prepares what the library keeps for the whole process, before the
// first connection reads it: see [Greet].
var tables = sync.OnceFunc(func() {
	// What the library has to say goes to everybody's standard error.
	xgb.Logger = log.New(io.Discard, "", 0)
	for _, e := range Extensions {
		for n, f := range xgb.NewExtEventFuncs[e.Name] {
			xgb.NewEventFuncs[int(e.events)+n] = f
		}
		for n, f := range xgb.NewExtErrorFuncs[e.Name] {
			xgb.NewErrorFuncs[int(e.errors)+n] = f
		}
	}
})

// codes says which numbers of ours those of one server are.
type codes struct {
	mu             sync.Mutex
	events, errors map[byte]byte
	answered       map[byte][]byte // by the number of an extension's requests: which have a reply
}

// event gives our number of an event, 0 for one that is not known.
func (c *codes) event(code byte) byte {
	if code < genericEvent {
		return code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[code]
}

// error gives our number of an error. One that is not known is as good as the
// server's own failure: a caller waits for it, so it cannot be dropped.
func (c *codes) error(code byte) byte {
	const lastCore, failure = 17, 17
	if code >= 1 && code <= lastCore {
		return code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ours, ok := c.errors[code]; ok {
		return ours
	}
	return failure
}

// Number learns by which numbers the server calls an extension that it has: its requests,
// and its first event and error.
func (w *Conn) Number(e Extension, requests, firstEvent, firstError byte) {
	w.codes.add(e, requests, firstEvent, firstError)
}

func (c *codes) add(e Extension, requests, firstEvent, firstError byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[requests] = e.replies
	for n := range byte(room) {
		if xgb.NewExtEventFuncs[e.Name][int(n)] != nil && firstEvent+n > genericEvent {
			c.events[firstEvent+n] = e.events + n
		}
		if xgb.NewExtErrorFuncs[e.Name][int(n)] != nil {
			c.errors[firstError+n] = e.errors + n
		}
	}
}
