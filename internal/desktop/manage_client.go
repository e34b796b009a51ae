package desktop

import (
	"slices"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// What WM_STATE says of a window (ICCCM 4.1.3.1).
const (
	withdrawn = 0
	normal    = 1
	iconic    = 3
)

// maxManaged bounds how many windows are managed; more are shown and left alone. The
// list of all has to fit into one request, of at most 256 KiB. A test takes a smaller one.
var maxManaged = 5000

// take begins to manage a window, and maps it. One that was there before us is
// left alone unless it is seen.
func (m *manager) take(w xproto.Window, found bool) {
	d := m.d
	attributes, geometry := xproto.GetWindowAttributes(d.x, w), xproto.GetGeometry(d.x, xproto.Drawable(w))
	props := make([]*xgb.Cookie, 5)
	for i, a := range []xproto.Atom{xproto.AtomWmTransientFor, xproto.AtomWmNormalHints, xproto.AtomWmHints, m.atom["_NET_WM_WINDOW_TYPE"], m.atom["_NET_WM_STATE"]} {
		props[i] = d.askProperty(w, a, 128)
	}
	a, err := attributes.Reply()
	g, err2 := geometry.Reply()
	values := make([][]uint32, len(props))
	for i, c := range props {
		if p, err := take(c); err == nil {
			values[i] = p.numbers()
		}
	}
	if err != nil || err2 != nil || a.OverrideRedirect || found && a.MapState != xproto.MapStateViewable {
		return // it went away, or wants no manager
	}
	if len(m.clients) >= maxManaged {
		xproto.MapWindow(d.x, w)
		return
	}
	c := &client{area: area{int(g.X), int(g.Y), int(g.Width), int(g.Height)}}
	if len(values[0]) > 0 {
		c.transient = xproto.Window(values[0][0])
	}
	hints := values[2]
	const inputHint, stateHint = 1, 2
	c.noInput = len(hints) > 1 && hints[0]&inputHint != 0 && hints[1] == 0
	c.minimised = !found && len(hints) > 2 && hints[0]&stateHint != 0 && hints[2] == iconic
	kind := func(name string) bool { return slices.Contains(values[3], uint32(m.atom["_NET_WM_WINDOW_TYPE_"+name])) }
	m.clients[w] = c
	m.order, m.stack = append(m.order, w), append(m.stack, w)
	xproto.ChangeSaveSet(d.x, xproto.SetModeInsert, w)
	m.set(w, "_NET_FRAME_EXTENTS", xproto.AtomCardinal, 0, 0, 0, 0)
	m.grab(w, true)
	if !found {
		const position = 1 | 4 // the user's or the program's
		placed := len(values[1]) > 0 && values[1][0]&position != 0
		m.settleDown(w, c, placed, kind("DIALOG") || kind("SPLASH") || c.transient != 0)
	}
	state := func(name string) bool { return slices.Contains(values[4], uint32(m.atom["_NET_WM_STATE_"+name])) }
	if state("FULLSCREEN") || state("MAXIMIZED_VERT") && state("MAXIMIZED_HORZ") {
		m.fill(w, c, state("FULLSCREEN"), !state("FULLSCREEN"))
	}
	if c.minimised {
		m.tellState(w, c)
		return
	}
	xproto.MapWindow(d.x, w)
	m.tellState(w, c)
	if kind("DESKTOP") {
		xproto.ConfigureWindow(d.x, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeBelow})
	} else if !kind("DOCK") && !kind("NOTIFICATION") && !kind("TOOLTIP") {
		m.raise(w)
		m.focus(w)
	}
}

// settleDown finds a place for a new window: where it wants to be, over the
// window that a dialog belongs to, or a little beside the one before.
func (m *manager) settleDown(w xproto.Window, c *client, placed, dialog bool) {
	p := c.area
	if !dialog {
		p.w, p.h = min(p.w, m.screen.X), min(p.h, m.screen.Y)
	}
	switch {
	case dialog:
		over := area{0, 0, m.screen.X, m.screen.Y}
		if parent := m.clients[c.transient]; parent != nil && !parent.minimised {
			over = parent.area
		}
		p.x, p.y = over.x+(over.w-p.w)/2, over.y+(over.h-p.h)/2
	case !placed:
		const beside, rounds = 30, 8
		at := beside * ((len(m.order) - 1) % rounds)
		p.x, p.y = at, at
	}
	// Its upper left corner can be seen, and the whole if it fits.
	p.x, p.y = max(0, min(p.x, m.screen.X-p.w)), max(0, min(p.y, m.screen.Y-p.h))
	m.place(w, c, p)
}

// place moves and resizes a window.
func (m *manager) place(w xproto.Window, c *client, to area) {
	c.area = to
	xproto.ConfigureWindow(m.d.x, w, xproto.ConfigWindowX|xproto.ConfigWindowY|xproto.ConfigWindowWidth|xproto.ConfigWindowHeight|xproto.ConfigWindowBorderWidth,
		[]uint32{uint32(to.x), uint32(to.y), uint32(max(1, to.w)), uint32(max(1, to.h)), 0})
}

// fill makes a window as large as the screen, or what it was before.
func (m *manager) fill(w xproto.Window, c *client, fullscreen, maximised bool) {
	was := c.filled()
	c.fullscreen, c.maximised = fullscreen, maximised
	if c.filled() && !was {
		c.before = c.area
		m.place(w, c, area{0, 0, m.screen.X, m.screen.Y})
	} else if was && !c.filled() {
		m.place(w, c, c.before)
	}
	m.tellState(w, c)
}

// tellState writes what a window's state is.
func (m *manager) tellState(w xproto.Window, c *client) {
	var states []uint32
	for name, on := range map[string]bool{"FULLSCREEN": c.fullscreen, "MAXIMIZED_VERT": c.maximised, "MAXIMIZED_HORZ": c.maximised, "HIDDEN": c.minimised} {
		if on {
			states = append(states, uint32(m.atom["_NET_WM_STATE_"+name]))
		}
	}
	m.set(w, "_NET_WM_STATE", xproto.AtomAtom, states...)
	state := uint32(normal)
	if c.minimised {
		state = iconic
	}
	m.set(w, "WM_STATE", m.atom["WM_STATE"], state, 0)
}

// forget ends the managing of a window that is gone or withdrawn. The keyboard
// goes to the uppermost one that is left.
func (m *manager) forget(w xproto.Window) {
	c := m.clients[w]
	delete(m.clients, w)
	is := func(x xproto.Window) bool { return x == w }
	m.order, m.stack = slices.DeleteFunc(m.order, is), slices.DeleteFunc(m.stack, is)
	if m.active == w {
		m.focusNext(c.transient)
	}
}

// focusNext gives the keyboard to a window, or to the uppermost.
func (m *manager) focusNext(preferred xproto.Window) {
	m.active = 0
	for _, w := range append(slices.Clone(m.stack), preferred) {
		if c := m.clients[w]; c != nil && !c.minimised && !c.noInput {
			m.active = w
		}
	}
	if m.active != 0 {
		m.focus(m.active)
		return
	}
	m.set(m.d.root, "_NET_ACTIVE_WINDOW", xproto.AtomWindow, 0)
	xproto.SetInputFocus(m.d.x, xproto.InputFocusPointerRoot, xproto.InputFocusPointerRoot, 0)
}

// focus gives the keyboard to a window (ICCCM 4.1.7).
func (m *manager) focus(w xproto.Window) {
	c := m.clients[w]
	takes := m.speaks(w, "WM_TAKE_FOCUS")
	if c == nil || c.minimised || c.noInput && !takes {
		return
	}
	if m.active != w && m.clients[m.active] != nil {
		m.grab(m.active, true)
	}
	m.grab(w, false)
	m.active = w
	if !c.noInput {
		xproto.SetInputFocus(m.d.x, xproto.InputFocusPointerRoot, w, 0)
	}
	if takes {
		m.send(w, "WM_TAKE_FOCUS")
	}
	m.set(m.d.root, "_NET_ACTIVE_WINDOW", xproto.AtomWindow, uint32(w))
}

// raise puts a window and its dialogs above the others.
func (m *manager) raise(w xproto.Window) {
	up := []xproto.Window{w}
	for _, other := range m.stack {
		if c := m.clients[other]; other != w && c != nil && c.transient == w {
			up = append(up, other)
		}
	}
	for _, x := range up {
		m.stack = append(slices.DeleteFunc(m.stack, func(y xproto.Window) bool { return y == x }), x)
		xproto.ConfigureWindow(m.d.x, x, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove})
	}
}

// grab lets clicks into a window without the keyboard come to us first. The
// pointer stands still until AllowEvents.
func (m *manager) grab(w xproto.Window, on bool) {
	if !on {
		xproto.UngrabButton(m.d.x, xproto.ButtonIndexAny, w, xproto.ModMaskAny)
		return
	}
	xproto.GrabButton(m.d.x, false, w, xproto.EventMaskButtonPress, xproto.GrabModeSync, xproto.GrabModeAsync, 0, 0, xproto.ButtonIndexAny, xproto.ModMaskAny)
}

// speaks says whether a window's program takes part in a protocol.
func (m *manager) speaks(w xproto.Window, protocol string) bool {
	p, err := take(m.d.askProperty(w, m.atom["WM_PROTOCOLS"], 256))
	return err == nil && slices.Contains(p.numbers(), uint32(m.atom[protocol]))
}

// send tells a program something of WM_PROTOCOLS.
func (m *manager) send(w xproto.Window, protocol string) {
	e := xproto.ClientMessageEvent{Format: 32, Window: w, Type: m.atom["WM_PROTOCOLS"], Data: xproto.ClientMessageDataUnionData32New([]uint32{uint32(m.atom[protocol]), 0, 0, 0, 0})}
	xproto.SendEvent(m.d.x, false, w, 0, string(e.Bytes()))
}

// minimise takes a window off the screen, or brings it back.
func (m *manager) minimise(w xproto.Window, c *client, on bool) {
	if c.minimised == on {
		return
	}
	c.minimised = on
	m.tellState(w, c)
	if !on {
		xproto.MapWindow(m.d.x, w)
		return
	}
	c.unmaps++
	xproto.UnmapWindow(m.d.x, w)
	if m.active == w {
		m.focusNext(c.transient)
	}
}
