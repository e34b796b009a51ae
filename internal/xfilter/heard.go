package xfilter

// Events of XInput 2, by their number in a generic event.
const (
	xiKeyPress, xiMotion     = 2, 6
	xiRawFirst, xiRawLast    = 13, 17
	xiTouchBegin, xiTouchEnd = 18, 20
	xiRawTouchFirst, xiLast  = 22, 24
	xiGestureFirst           = 27
)

// Events of XKB, by their second byte.
const (
	xkbState         = 2
	xkbActionMessage = 9
	xkbAccessX       = 10
)

// heard decides what becomes of a message while the workspace is not active: a
// client hears of keys and the pointer what happens in its own windows, however
// it has asked for more: on another's window, by a grab, as raw events.
func (c *conn) heard(m []byte) fate {
	code := m[0] &^ sentByClient
	switch {
	case code >= 2 && code <= 6: // KeyPress to MotionNotify
		return c.unlessOwn(c.order.u32(m[12:]))
	case code == msgKeymap:
		clear(m[1:]) // the keys that are down; no key is
	case code == msgGeneric && m[1] == c.facts.inputOp && c.facts.inputOp != 0:
		switch kind := c.order.u16(m[8:]); {
		case kind >= xiKeyPress && kind <= xiMotion, kind >= xiTouchBegin && kind <= xiTouchEnd, kind >= xiGestureFirst:
			return c.unlessOwn(c.order.u32(m[24:]))
		case kind >= xiRawFirst && kind <= xiRawLast, kind >= xiRawTouchFirst && kind <= xiLast:
			return drop
		}
	case code >= firstExtEvent:
		return c.heardExtension(m, code)
	}
	return keep
}

func (c *conn) heardExtension(m []byte, code byte) fate {
	if first := c.facts.events["XKEYBOARD"]; first != 0 && code == first {
		switch m[1] {
		case xkbActionMessage, xkbAccessX: // name the key, if somebody has set them up
			return drop
		case xkbState:
			m[28], m[29] = 0, 0 // the key that has changed a modifier
		}
	}
	if first := c.facts.events["XInputExtension"]; first != 0 && code >= first {
		switch code - first {
		case 0, 1, 2, 3, 4, 5, 8, 9, 10, 13, 14: // of devices: valuators, keys, buttons, motion, proximity, states
			return drop
		}
	}
	return keep
}

func (c *conn) unlessOwn(window uint32) fate {
	if c.owns(window) {
		return keep
	}
	return drop
}
