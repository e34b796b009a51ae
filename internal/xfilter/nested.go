package xfilter

import "math/bits"

// A window that lies in another client's takes the keys that are typed there
// while the pointer is in it, and one around another's takes what that does not
// want, or all by a passive grab. So such a window is not its maker's own as far
// as input goes. Programs of several processes have them to paint into: those ask
// for no input there and are let pass.

// maxNested bounds the windows of one client that lie in those of others.
const maxNested = 1 << 10

// Bits of the values that windows are given, and of event masks.
const (
	valueEvents   = 1 << 11
	valueWithheld = 1 << 12 // do-not-propagate-mask
	keyAndPointer = 0x3fcf  // KeyPress to ButtonRelease, PointerMotion to ButtonMotion: all that says what a person does
	keymapState   = 0x4000
)

// hears says whether a list of values, whose mask is at off, asks for input or
// keeps it from others. A list that is cut short asks for nothing: the server
// refuses it.
func hears(r request, off int) bool {
	mask := r.u32(off)
	value := func(bit uint32) uint32 {
		at := off + 4 + 4*bits.OnesCount32(mask&(bit-1))
		if mask&bit == 0 || at+4 > r.size {
			return 0
		}
		return r.u32(at)
	}
	return value(valueEvents)&(keyAndPointer|keymapState) != 0 || value(valueWithheld) != 0
}

// inputOf says whether the input of a window is this client's to have.
func (c *conn) inputOf(window uint32) bool { return c.owns(window) && !c.nested[window] }

// checkCreate notes windows that are made in another client's.
func checkCreate(c *conn, r request) verdict {
	window, parent := r.u32(4), r.u32(8)
	if r.size > maxHead || !c.owns(window) {
		return refuse // at most 15 values exist; and ids of others are no client's to give
	}
	if parent == c.root || c.inputOf(parent) {
		delete(c.nested, window) // the number of one that went with what it lay in
		return pass
	}
	if len(c.nested) >= maxNested {
		return refuse
	}
	if c.nested == nil {
		c.nested = make(map[uint32]bool)
	}
	c.nested[window] = true
	if hears(r, 28) {
		return c.hold()
	}
	return pass
}

// checkReparent: what a window had asked for goes with it, and what it gets
// around it may have asked for more.
func checkReparent(c *conn, r request) verdict {
	window, parent := r.u32(4), r.u32(8)
	switch {
	case !c.owns(window) && !c.filter.inside(window):
		return refuse
	case c.inputOf(window) && (parent == c.root || c.inputOf(parent)):
		return pass
	}
	if owner := c.filter.conn(window); owner != nil && c.filter.active.Load() {
		owner.holds.Store(&othersInput) // whoever has put it there, the ear is its maker's
	}
	return c.hold()
}

// checkAttributes holds who listens to whose input. What is heard of another's
// window does not reach that: so it is more than listening. The root is last in
// that way, and window managers and everybody else may listen there; what they
// hear while the workspace is not active is taken out on the way back.
func checkAttributes(c *conn, r request) verdict {
	if r.size > maxHead {
		return refuse
	}
	if w := r.u32(4); c.inputOf(w) || w == c.root || !hears(r, 8) {
		return pass
	}
	return c.hold()
}

// checkDestroy lets a nested window's number be free again.
func checkDestroy(c *conn, r request) verdict {
	v := checkFenced(c, r)
	if v == pass {
		delete(c.nested, r.u32(4))
	}
	return v
}
