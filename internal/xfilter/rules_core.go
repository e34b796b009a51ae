package xfilter

import (
	"bytes"
	"slices"
)

const internAtom = "InternAtom of a name with VNC"

// coreRules are the requests of the core protocol that are looked at; all
// others pass. Offsets are those of the protocol's encoding.
var coreRules = [128]*rule{
	1:   {name: "CreateWindow in another client's", least: 32, whole: true, check: checkCreate},
	2:   {name: "ChangeWindowAttributes", least: 12, whole: true, check: checkAttributes},
	4:   {name: "DestroyWindow", least: 8, check: checkDestroy},
	5:   fenced("DestroySubwindows"),
	7:   {name: "ReparentWindow", least: 12, check: checkReparent},
	10:  fenced("UnmapWindow"),
	11:  fenced("UnmapSubwindows"),
	16:  {name: internAtom, least: 8, whole: true, check: checkAtom},
	18:  property("ChangeProperty"),
	19:  property("DeleteProperty"),
	20:  property("GetProperty"),
	24:  {name: "ConvertSelection for a window of another client", least: 8, check: checkOwn},
	25:  {name: "SendEvent", least: 44, check: checkSend},
	26:  grab("GrabPointer", 4),
	28:  grab("GrabButton", 4),
	31:  grab("GrabKeyboard", 4),
	33:  grab("GrabKey", 4),
	35:  {name: "AllowEvents", check: noReplay(1, 2, 0, 5, 3)},
	36:  {name: "GrabServer", check: func(c *conn, _ request) verdict { return c.grabServer() }},
	37:  {name: "UngrabServer", check: func(c *conn, _ request) verdict { c.ungrabServer(); return pass }},
	39:  {name: "GetMotionEvents", least: 16, check: checkMotion},
	41:  whileActive("WarpPointer", ignore),
	42:  onOwn("SetInputFocus", 4, ignore),
	44:  {name: "QueryKeymap", check: func(*conn, request) verdict { return quieten }},
	51:  never("SetFontPath"),
	98:  {name: "QueryExtension", least: 8, whole: true, check: checkExtension},
	99:  {name: "ListExtensions", check: func(*conn, request) verdict { return shorten }},
	100: whileActive("ChangeKeyboardMapping", refuse),
	102: whileActive("ChangeKeyboardControl", ignore),
	105: whileActive("ChangePointerControl", ignore),
	107: nothing("SetScreenSaver"),
	109: never("ChangeHosts"),
	110: never("ListHosts"),
	111: never("SetAccessControl"),
	112: {name: "SetCloseDownMode", check: checkCloseDown},
	113: {name: "KillClient", least: 8, check: checkOwn},
	114: {name: "RotateProperties", least: 12, whole: true, check: checkRotate},
	115: nothing("ForceScreenSaver"),
	116: whileActive("SetPointerMapping", refuse),
	118: whileActive("SetModifierMapping", refuse),
}

var vnc, notVNC = []byte("VNC"), []byte("vnc")

// checkAtom gives another name instead of one with VNC in it, so that the client
// gets an atom that means nothing to anybody.
func checkAtom(c *conn, r request) verdict {
	n := int(r.u16(4))
	if 8+n > min(r.size, maxHead) {
		return refuse
	}
	name := r.at(8)[:n]
	found := false
	for {
		i := bytes.Index(name, vnc)
		if i < 0 {
			break
		}
		copy(name[i:], notVNC)
		found = true
	}
	if found {
		c.tell(internAtom)
	}
	return pass
}

// property holds the properties by which x11vnc is told things.
func property(name string) *rule {
	return &rule{name: name + " of a VNC property", least: 12, check: func(c *conn, r request) verdict {
		if slices.Contains(c.facts.vncAtoms, r.u32(8)) {
			return refuse
		}
		return pass
	}}
}

func checkRotate(c *conn, r request) verdict {
	n := int(r.u16(8))
	if r.size > maxHead || 12+4*n > r.size {
		return refuse
	}
	for i := range n {
		if slices.Contains(c.facts.vncAtoms, r.u32(12+4*i)) {
			return refuse
		}
	}
	return pass
}

// checkOwn is for requests about something of the client's own. Of ConvertSelection:
// the owner of a selection writes where it is told to, and it may be the supervisor,
// which no rule here holds.
func checkOwn(c *conn, r request) verdict {
	if c.owns(r.u32(4)) {
		return pass
	}
	return refuse
}

// checkSend lets messages through and holds faked input. An event that is passed
// up from a window of one's own may end in another's.
func checkSend(c *conn, r request) verdict {
	const selectionRequest = 30
	propagates, to, code := r.minor() != 0, r.u32(4), r.at(12)[0]&^sentByClient
	switch {
	case code == selectionRequest:
		return refuse // as with ConvertSelection
	case code > 1 && code <= msgKeymap, code >= firstExtEvent:
		if c.owns(to) && !propagates {
			return pass
		}
		return c.unlessActive(refuse)
	}
	return pass
}

// noReplay changes modes of AllowEvents, at an offset: those that give an event to
// somebody else after it was seen into those that go on without. Who holds the
// keyboard for a window of his own would hear all that is typed, unnoticed.
func noReplay(off int, change ...byte) func(*conn, request) verdict {
	return func(c *conn, r request) verdict {
		mode := &r.b[off]
		if off >= 4 {
			mode = &r.at(off)[0]
		}
		for i := 0; i < len(change) && !c.filter.active.Load(); i += 2 {
			if *mode == change[i] {
				*mode = change[i+1]
				break
			}
		}
		return pass
	}
}

// checkMotion asks for a time that is none instead, which every server answers
// with nothing.
func checkMotion(c *conn, r request) verdict {
	if !c.filter.active.Load() {
		r.put32(8, 2)
		r.put32(12, 1)
	}
	return pass
}

// checkExtension hides what is not in the table, by asking for something that no
// server has.
func checkExtension(c *conn, r request) verdict {
	n := int(r.u16(4))
	if 8+n > min(r.size, maxHead) {
		return refuse
	}
	name := r.at(8)[:n]
	if extensions[string(name)] == nil {
		for i := range name {
			name[i] = '-'
		}
	} else if c.facts != nil && !slices.Contains(c.facts.ext[:], extensions[string(name)]) {
		c.filter.lacks(c.client, string(name))
	}
	return pass
}

// checkCloseDown: what outlives its client could neither be held nor removed.
func checkCloseDown(_ *conn, r request) verdict {
	if r.minor() == 0 { // Destroy
		return pass
	}
	return ignore
}
