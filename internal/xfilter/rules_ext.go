package xfilter

// extension is one that programs may use. Its requests are looked at by their
// minor number: those in rules by their rule, those in rest by that, all others
// pass.
type extension struct {
	rules map[byte]*rule
	only  []byte // where it is set, other minor numbers than these and those in rules are refused
	rest  *rule  // what refuses them
}

// rule gives the rule of a request, nil if it passes.
func (e *extension) rule(minor byte) *rule {
	if l := e.rules[minor]; l != nil {
		return l
	}
	if e.only != nil {
		for _, m := range e.only {
			if m == minor {
				return nil
			}
		}
		return e.rest
	}
	return nil
}

// hidden is every request of an extension that is not in the table.
var hidden = never("a request of a hidden extension")

// upTo is the minor numbers 0 to n.
func upTo(n byte) []byte {
	var l []byte
	for i := range int(n) + 1 {
		l = append(l, byte(i))
	}
	return l
}

// extensions are what programs may use, by name; the sources are the protocol
// descriptions of X.Org (xorgproto, xcb-proto). Xvfb has more: MIT-SHM is memory
// of another IPC namespace, SECURITY makes cookies, RECORD hears everything,
// XVideo has no adaptor and knows shared memory.
var extensions = map[string]*extension{
	"BIG-REQUESTS":            {},
	"DAMAGE":                  {},
	"DOUBLE-BUFFER":           {},
	"GLX":                     {},
	"Generic Event Extension": {},
	"Present":                 {},
	"RENDER":                  {},
	"SHAPE":                   {},
	"X-Resource":              {},
	"XC-MISC":                 {},
	"XINERAMA":                {},
	// A client that waits in the server is not read from, and what it has sent
	// already would be carried out when that ends, in another mode; with the
	// server grabbed nobody could end it.
	"SYNC": {rules: map[byte]*rule{
		7:  never("SYNC Await"),
		12: nothing("SYNC SetPriority"),
		19: never("SYNC AwaitFence"),
	}},
	"Composite": {rules: map[byte]*rule{
		1: {name: "Composite RedirectWindow", least: 12, check: checkRedirect},
		2: {name: "Composite RedirectSubwindows", least: 12, check: checkRedirect},
		7: never("Composite GetOverlayWindow"),
	}},
	// Barriers keep the pointer in; the disconnect mode ends the server.
	"XFIXES":           {only: append(upTo(30), 32), rest: never("XFIXES barrier or disconnect mode")},
	"MIT-SCREEN-SAVER": {only: []byte{0, 1, 2, 5}, rest: never("MIT-SCREEN-SAVER attributes")},
	// All that asks, nothing that changes: a screen of another size, gamma or
	// monitor is another screen for the supervisor and the watcher too.
	"RANDR": {only: []byte{0, 4, 5, 6, 8, 9, 10, 11, 15, 20, 22, 23, 25, 27, 28, 31, 32, 33, 36, 37, 41, 42},
		rest: never("RANDR change")},
	"XTEST": {rules: map[byte]*rule{
		2: {name: "XTEST FakeInput", least: 36, check: checkFake},
		3: whileActive("XTEST GrabControl", refuse),
	}},
	"XKEYBOARD": {rules: map[byte]*rule{
		5:   whileActive("XKB LatchLockState", ignore),
		7:   never("XKB SetControls"),
		9:   whileActive("XKB SetMap", refuse),
		11:  whileActive("XKB SetCompatMap", refuse),
		14:  whileActive("XKB SetIndicatorMap", refuse),
		16:  whileActive("XKB SetNamedIndicator", refuse),
		18:  whileActive("XKB SetNames", refuse),
		20:  whileActive("XKB SetGeometry", refuse),
		23:  whileActive("XKB GetKbdByName", refuse),
		25:  whileActive("XKB SetDeviceInfo", refuse),
		101: never("XKB SetDebuggingFlags"),
	}},
	"XInputExtension": {rules: map[byte]*rule{
		5:  never("XInput SetDeviceMode"),
		6:  {name: "XInput SelectExtensionEvent", least: 8, check: checkListen},
		8:  never("XInput ChangeDeviceDontPropagateList"),
		10: whileActive("XInput GetDeviceMotionEvents", refuse),
		11: never("XInput ChangeKeyboardDevice"),
		12: never("XInput ChangePointerDevice"),
		13: grab("XInput GrabDevice", 4),
		15: grab("XInput GrabDeviceKey", 4),
		17: grab("XInput GrabDeviceButton", 4),
		19: {name: "XInput AllowDeviceEvents", least: 9, check: noReplay(8, 2, 0)},
		21: onOwn("XInput SetDeviceFocus", 4, refuse),
		23: whileActive("XInput ChangeFeedbackControl", refuse),
		25: whileActive("XInput ChangeDeviceKeyMapping", refuse),
		27: whileActive("XInput SetDeviceModifierMapping", refuse),
		29: whileActive("XInput SetDeviceButtonMapping", refuse),
		30: whileActive("XInput QueryDeviceState", refuse),
		31: whileActive("XInput SendExtensionEvent", refuse),
		33: never("XInput SetDeviceValuators"),
		35: never("XInput ChangeDeviceControl"),
		37: never("XInput ChangeDeviceProperty"),
		38: never("XInput DeleteDeviceProperty"),
		41: whileActive("XInput XIWarpPointer", ignore),
		43: never("XInput XIChangeHierarchy"),
		44: never("XInput XISetClientPointer"),
		46: {name: "XInput XISelectEvents", least: 12, whole: true, check: checkSelect},
		49: onOwn("XInput XISetFocus", 4, ignore),
		51: grab("XInput XIGrabDevice", 4),
		53: {name: "XInput XIAllowEvents", least: 11, check: noReplay(10, 2, 0)},
		54: grab("XInput XIPassiveGrabDevice", 8),
		57: never("XInput XIChangeProperty"),
		58: never("XInput XIDeleteProperty"),
	}},
}

// checkFake takes the delay out: the server would carry the event out then,
// whatever the mode has become.
func checkFake(c *conn, r request) verdict {
	r.put32(8, 0)
	return c.unlessActive(refuse)
}

// checkRedirect: a window that is redirected by hand is not on the screen any
// more, for nobody.
func checkRedirect(c *conn, r request) verdict {
	const manual = 1
	if r.at(8)[0] != manual || c.owns(r.u32(4)) {
		return pass
	}
	return refuse
}

// checkListen is ChangeWindowAttributes for the devices of XInput 1.
func checkListen(c *conn, r request) verdict {
	if w := r.u32(4); c.inputOf(w) || w == c.root {
		return pass
	}
	return c.hold()
}

// checkSelect is the same for XInput 2, whose masks say what is meant. Raw events
// come to the root and need no rule: they are taken out on the way back.
func checkSelect(c *conn, r request) verdict {
	const input uint32 = 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<18 | 1<<19 | 1<<20 // keys, buttons, motion, touches
	if r.size > maxHead {
		return refuse
	}
	if w := r.u32(4); c.inputOf(w) || w == c.root {
		return pass
	}
	off := 12
	for range r.u16(8) {
		if off+4 > r.size {
			return refuse
		}
		words := int(r.u16(off + 2))
		off += 4
		if off+4*words > r.size {
			return refuse
		}
		// A mask's bits are counted by bytes, whatever the byte order.
		for i := range min(4*words, 4) {
			if r.at(off + i)[0]&byte(input>>(8*i)) != 0 {
				return c.hold()
			}
		}
		off += 4 * words
	}
	return pass
}
