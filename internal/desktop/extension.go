package desktop

import (
	"fmt"
	"io"
	"log"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// extension is one that this package speaks. Servers number events and errors
// of extensions as they like, and the library has one table of them for the
// whole process, written without a lock. So they get numbers of ours, written
// once before anything else runs: [wire] translates. Nobody may call the Init
// functions of the library's packages.
type extension struct {
	name    string
	events  byte   // our number of its first event
	errors  byte   // our number of its first error
	replies []byte // its requests that have a reply, of the versions that are spoken
}

var extensions = []extension{
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
// first connection reads it.
var tables = sync.OnceFunc(func() {
	// What the library has to say goes to everybody's standard error.
	xgb.Logger = log.New(io.Discard, "", 0)
	for _, e := range extensions {
		for n, f := range xgb.NewExtEventFuncs[e.name] {
			xgb.NewEventFuncs[int(e.events)+n] = f
		}
		for n, f := range xgb.NewExtErrorFuncs[e.name] {
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
// server's own failure: somebody waits for it, so it cannot be dropped.
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

func (c *codes) add(e extension, requests, firstEvent, firstError byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[requests] = e.replies
	for n := range byte(room) {
		if xgb.NewExtEventFuncs[e.name][int(n)] != nil && firstEvent+n > genericEvent {
			c.events[firstEvent+n] = e.events + n
		}
		if xgb.NewExtErrorFuncs[e.name][int(n)] != nil {
			c.errors[firstError+n] = e.errors + n
		}
	}
}

// learn asks the server for all extensions at once.
func (d *Desktop) learn() error {
	d.wire.codes.mu.Lock()
	d.wire.codes.events, d.wire.codes.errors = make(map[byte]byte), make(map[byte]byte)
	d.wire.codes.answered = make(map[byte][]byte)
	d.wire.codes.mu.Unlock()
	asked := make([]xproto.QueryExtensionCookie, len(extensions))
	for i, e := range extensions {
		asked[i] = xproto.QueryExtension(d.x, uint16(len(e.name)), e.name)
	}
	for i, e := range extensions {
		r, err := asked[i].Reply()
		if err != nil {
			return fmt.Errorf("asking for the extension %s: %w", e.name, err)
		}
		if !r.Present {
			continue
		}
		d.wire.codes.add(e, r.MajorOpcode, r.FirstEvent, r.FirstError)
		d.x.ExtLock.Lock()
		d.x.Extensions[e.name] = r.MajorOpcode
		d.x.ExtLock.Unlock()
	}
	return d.introduce()
}

// introduce says which versions are spoken, where an extension serves only who
// has said so.
func (d *Desktop) introduce() error {
	var wait []func() error
	if _, err := d.opcode("XFIXES"); err == nil {
		c := xfixes.QueryVersion(d.x, 5, 0)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("DAMAGE"); err == nil {
		c := damage.QueryVersion(d.x, 1, 1)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("Composite"); err == nil {
		c := composite.QueryVersion(d.x, 0, 4)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("RANDR"); err == nil {
		c := randr.QueryVersion(d.x, 1, 3)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	for _, f := range wait {
		if err := f(); err != nil {
			return fmt.Errorf("agreeing on the version of an extension: %w", err)
		}
	}
	return nil
}

// opcode is the number of an extension's requests, and an error that names the
// extension where the server does not have it: the library would panic.
func (d *Desktop) opcode(name string) (byte, error) {
	d.x.ExtLock.RLock()
	defer d.x.ExtLock.RUnlock()
	if op, ok := d.x.Extensions[name]; ok {
		return op, nil
	}
	return 0, fmt.Errorf("this X server does not have the extension %s", name)
}
