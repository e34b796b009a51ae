package desktop

import (
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// handle does what one event asks for. It says whether the lists of windows
// have changed.
func (m *manager) handle(e xgb.Event) bool {
	switch e := e.(type) {
	case xproto.MapRequestEvent:
		if c := m.clients[e.Window]; c == nil {
			m.take(e.Window, false)
		} else {
			m.minimise(e.Window, c, false)
			xproto.MapWindow(m.d.x, e.Window)
			m.raise(e.Window)
			m.focus(e.Window)
		}
		return true
	case xproto.UnmapNotifyEvent:
		c := m.clients[e.Window]
		if c == nil || e.Event != m.d.root {
			return false
		}
		if c.unmaps > 0 {
			c.unmaps--
			return false
		}
		m.grab(e.Window, false)
		m.set(e.Window, "WM_STATE", m.atom["WM_STATE"], withdrawn, 0)
		xproto.ChangeSaveSet(m.d.x, xproto.SetModeDelete, e.Window)
		m.forget(e.Window)
		return true
	case xproto.DestroyNotifyEvent:
		if m.clients[e.Window] == nil {
			return false
		}
		m.forget(e.Window)
		return true
	case xproto.ReparentNotifyEvent:
		if m.clients[e.Window] == nil || e.Parent == m.d.root {
			return false
		}
		m.forget(e.Window) // into another window, as a part of it
		return true
	case xproto.ConfigureRequestEvent:
		m.configure(e)
	case xproto.ConfigureNotifyEvent:
		if e.Window == m.d.root {
			m.resized(int(e.Width), int(e.Height))
		} else if c := m.clients[e.Window]; c != nil {
			c.area = area{int(e.X), int(e.Y), int(e.Width), int(e.Height)}
		}
	case xproto.ButtonPressEvent:
		if m.clients[e.Event] != nil {
			m.raise(e.Event)
			m.focus(e.Event)
		}
		// Now the program gets the click.
		xproto.AllowEvents(m.d.x, xproto.AllowReplayPointer, e.Time)
		return true
	case xproto.ClientMessageEvent:
		return m.message(e)
	}
	return false
}

// configure moves, resizes and restacks as a program wants it. One that fills
// the screen is told that it stays.
func (m *manager) configure(e xproto.ConfigureRequestEvent) {
	c := m.clients[e.Window]
	if c != nil && c.filled() {
		n := xproto.ConfigureNotifyEvent{Event: e.Window, Window: e.Window, X: int16(c.area.x), Y: int16(c.area.y), Width: uint16(c.area.w), Height: uint16(c.area.h)}
		xproto.SendEvent(m.d.x, false, e.Window, xproto.EventMaskStructureNotify, string(n.Bytes()))
		return
	}
	mask := e.ValueMask
	if c != nil {
		mask &^= xproto.ConfigWindowSibling | xproto.ConfigWindowStackMode // who is above follows the clicks
	}
	var values []uint32
	for _, v := range []struct {
		bit   uint16
		value uint32
	}{
		{xproto.ConfigWindowX, uint32(int32(e.X))}, {xproto.ConfigWindowY, uint32(int32(e.Y))}, {xproto.ConfigWindowWidth, uint32(e.Width)},
		{xproto.ConfigWindowHeight, uint32(e.Height)}, {xproto.ConfigWindowBorderWidth, uint32(e.BorderWidth)},
		{xproto.ConfigWindowSibling, uint32(e.Sibling)}, {xproto.ConfigWindowStackMode, uint32(e.StackMode)},
	} {
		if mask&v.bit != 0 {
			values = append(values, v.value)
		}
	}
	xproto.ConfigureWindow(m.d.x, e.Window, mask, values)
}

// message does what a program or a pager asks for (EWMH, root window messages).
func (m *manager) message(e xproto.ClientMessageEvent) bool {
	c := m.clients[e.Window]
	if e.Format != 32 {
		return false
	}
	data := e.Data.Data32
	switch e.Type {
	case m.atom["_NET_REQUEST_FRAME_EXTENTS"]: // before it is mapped
		m.set(e.Window, "_NET_FRAME_EXTENTS", xproto.AtomCardinal, 0, 0, 0, 0)
		return false
	}
	if c == nil {
		return false
	}
	switch e.Type {
	case m.atom["_NET_ACTIVE_WINDOW"]:
		m.minimise(e.Window, c, false)
		m.raise(e.Window)
		m.focus(e.Window)
		return true
	case m.atom["_NET_CLOSE_WINDOW"]:
		if m.speaks(e.Window, "WM_DELETE_WINDOW") {
			m.send(e.Window, "WM_DELETE_WINDOW")
		} else {
			xproto.KillClient(m.d.x, uint32(e.Window))
		}
	case m.atom["WM_CHANGE_STATE"]:
		if data[0] == iconic {
			m.minimise(e.Window, c, true)
		}
	case m.atom["_NET_WM_STATE"]:
		m.state(e.Window, c, data)
	case m.atom["_NET_MOVERESIZE_WINDOW"]:
		if !c.filled() {
			to := c.area
			for i, v := range []*int{&to.x, &to.y, &to.w, &to.h} {
				if data[0]&(1<<(8+i)) != 0 {
					*v = max(-1<<15, min(int(int32(data[1+i])), 1<<15-1))
				}
			}
			m.place(e.Window, c, to)
		}
	}
	return false
}

// state adds, removes or toggles up to two states.
func (m *manager) state(w xproto.Window, c *client, data []uint32) {
	const remove, add = 0, 1
	turn := func(was bool) bool { return data[0] == add || data[0] != remove && !was }
	fullscreen, maximised := c.fullscreen, c.maximised
	for _, a := range data[1:3] {
		switch xproto.Atom(a) {
		case m.atom["_NET_WM_STATE_FULLSCREEN"]:
			fullscreen = turn(c.fullscreen)
		case m.atom["_NET_WM_STATE_MAXIMIZED_VERT"], m.atom["_NET_WM_STATE_MAXIMIZED_HORZ"]:
			maximised = turn(c.maximised)
		}
	}
	if fullscreen != c.fullscreen || maximised != c.maximised {
		m.fill(w, c, fullscreen, maximised)
	}
}
