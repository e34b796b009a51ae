package desktop

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"slices"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Manage is a small window manager, for where no other is installed. It maps
// what wants to be mapped, gives the keyboard to what was mapped or clicked
// last, keeps dialogs over their windows, and does what programs and pagers ask
// for by EWMH: full screen, maximised, minimised, active, moved, closed. It has
// no frames, no keys and no settings.
//
// It runs until the context ends (the error is the context's) or the display
// does ([ErrGone]). Where another window manager runs it is an error at once.
// ready, if not nil, is called when it manages the display.
func Manage(ctx context.Context, dial Dial, cookie []byte, ready func()) error {
	d, err := connect(ctx, dial, cookie)
	if err != nil {
		return err
	}
	defer d.Close()
	m := &manager{d: d, clients: make(map[xproto.Window]*client), woken: make(signal, 1)}
	defer d.listen(m.note)()
	if err := d.do(ctx, "becoming the window manager", m.begin); err != nil {
		return err
	}
	if ready != nil {
		ready()
	}
	for {
		// Not within do: a request of a flood may take long, and nobody waits.
		if err := protect(m.work); err != nil && !isX(err) {
			select {
			case <-d.gone:
			default:
				return fmt.Errorf("managing windows: %w", err)
			}
		}
		select {
		case <-m.woken:
		case <-d.gone:
			return ErrGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// maxNoted events wait to be looked at. One more and all is looked at anew.
const maxNoted = 50000

// manager is used by one goroutine, but for what mu holds.
type manager struct {
	d       *display
	atom    map[string]xproto.Atom
	check   xproto.Window // says that there is a manager
	screen  image.Point
	clients map[xproto.Window]*client
	order   []xproto.Window // of mapping
	stack   []xproto.Window // the uppermost last
	active  xproto.Window

	woken signal
	mu    sync.Mutex
	noted []xgb.Event
	lost  bool // events were dropped
}

// client is a window that is managed.
type client struct {
	area       area
	before     area // as it was before it filled the screen
	transient  xproto.Window
	noInput    bool // wants no keyboard
	minimised  bool
	fullscreen bool
	maximised  bool
	unmaps     int // of ours, that are still to be told
}

// area is a window's place and size.
type area struct{ x, y, w, h int }

func (c *client) filled() bool { return c.fullscreen || c.maximised }

var managerAtoms = []string{
	"_NET_SUPPORTED", "_NET_SUPPORTING_WM_CHECK", "_NET_WM_NAME", "UTF8_STRING", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING",
	"_NET_ACTIVE_WINDOW", "_NET_CLOSE_WINDOW", "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN", "_NET_WM_STATE_MAXIMIZED_VERT",
	"_NET_WM_STATE_MAXIMIZED_HORZ", "_NET_WM_STATE_HIDDEN", "_NET_MOVERESIZE_WINDOW", "_NET_WORKAREA", "_NET_NUMBER_OF_DESKTOPS",
	"_NET_CURRENT_DESKTOP", "_NET_DESKTOP_GEOMETRY", "_NET_DESKTOP_VIEWPORT", "_NET_FRAME_EXTENTS", "_NET_REQUEST_FRAME_EXTENTS", "_NET_WM_WINDOW_TYPE",
	"_NET_WM_WINDOW_TYPE_DIALOG", "_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_TYPE_NOTIFICATION",
	"_NET_WM_WINDOW_TYPE_TOOLTIP", "_NET_WM_WINDOW_TYPE_SPLASH", "WM_STATE", "WM_CHANGE_STATE", "WM_PROTOCOLS", "WM_DELETE_WINDOW", "WM_TAKE_FOCUS",
}

// begin takes the display over.
func (m *manager) begin() (err error) {
	x, root := m.d.x, m.d.root
	const events = xproto.EventMaskSubstructureRedirect | xproto.EventMaskSubstructureNotify | xproto.EventMaskStructureNotify
	if err := xproto.ChangeWindowAttributesChecked(x, root, xproto.CwEventMask, []uint32{events}).Check(); err != nil {
		return fmt.Errorf("another one runs on this display: %w", err)
	}
	if m.atom, err = m.d.internAll(managerAtoms); err != nil {
		return err
	}
	if m.check, err = xproto.NewWindowId(x); err != nil {
		return err
	}
	xproto.CreateWindow(x, 0, m.check, root, -1, -1, 1, 1, 0, xproto.WindowClassInputOnly, 0, xproto.CwOverrideRedirect, []uint32{1})
	const name = "carrel"
	xproto.ChangeProperty(x, xproto.PropModeReplace, m.check, m.atom["_NET_WM_NAME"], m.atom["UTF8_STRING"], 8, uint32(len(name)), []byte(name))
	for _, w := range []xproto.Window{m.check, root} {
		m.set(w, "_NET_SUPPORTING_WM_CHECK", xproto.AtomWindow, uint32(m.check))
	}
	var supported []uint32
	for _, n := range managerAtoms {
		if n[0] == '_' {
			supported = append(supported, uint32(m.atom[n]))
		}
	}
	m.set(root, "_NET_SUPPORTED", xproto.AtomAtom, supported...)
	m.set(root, "_NET_NUMBER_OF_DESKTOPS", xproto.AtomCardinal, 1)
	m.set(root, "_NET_CURRENT_DESKTOP", xproto.AtomCardinal, 0)
	m.set(root, "_NET_DESKTOP_VIEWPORT", xproto.AtomCardinal, 0, 0)
	r, err := xproto.GetGeometry(x, xproto.Drawable(root)).Reply()
	if err != nil {
		return err
	}
	m.resized(int(r.Width), int(r.Height))
	xproto.SetInputFocus(x, xproto.InputFocusPointerRoot, xproto.InputFocusPointerRoot, 0)
	return m.adopt()
}

// set writes a property of 32-bit items.
func (m *manager) set(w xproto.Window, name string, kind xproto.Atom, items ...uint32) {
	var b []byte
	for _, v := range items {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	xproto.ChangeProperty(m.d.x, xproto.PropModeReplace, w, m.atom[name], kind, 32, uint32(len(items)), b)
}

// adopt looks at all windows: those that were there before, and those whose
// events were lost.
func (m *manager) adopt() error {
	r, err := xproto.QueryTree(m.d.x, m.d.root).Reply()
	if err != nil {
		return err
	}
	for _, w := range slices.Clone(m.order) {
		if !slices.Contains(r.Children, w) {
			m.forget(w)
		}
	}
	for _, w := range r.Children {
		if m.clients[w] == nil {
			m.take(w, true)
		}
	}
	m.tellLists()
	return nil
}

// resized is told of the screen's size.
func (m *manager) resized(w, h int) {
	if m.screen == (image.Point{w, h}) {
		return
	}
	m.screen = image.Point{w, h}
	m.set(m.d.root, "_NET_DESKTOP_GEOMETRY", xproto.AtomCardinal, uint32(w), uint32(h))
	m.set(m.d.root, "_NET_WORKAREA", xproto.AtomCardinal, 0, 0, uint32(w), uint32(h))
	for id, c := range m.clients {
		if c.filled() {
			m.place(id, c, area{0, 0, w, h})
		}
	}
}

// note puts an event aside; see display.listen.
func (m *manager) note(e xgb.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.noted) >= maxNoted {
		m.lost = true
	} else {
		m.noted = append(m.noted, e)
	}
	m.woken.raise()
}

// work does what the events since the last time ask for.
func (m *manager) work() error {
	for {
		m.mu.Lock()
		events, lost := m.noted, m.lost
		m.noted, m.lost = nil, false
		m.mu.Unlock()
		if len(events) == 0 && !lost {
			return nil
		}
		listed := false
		for _, e := range events {
			listed = m.handle(e) || listed
		}
		if lost {
			// A click may be among them, and the pointer waits for our word.
			xproto.AllowEvents(m.d.x, xproto.AllowAsyncPointer, 0)
			if err := m.adopt(); err != nil {
				return err
			}
		}
		if listed {
			m.tellLists()
		}
	}
}

// tellLists writes the lists of windows, once for many changes.
func (m *manager) tellLists() {
	for name, list := range map[string][]xproto.Window{"_NET_CLIENT_LIST": m.order, "_NET_CLIENT_LIST_STACKING": m.stack} {
		items := make([]uint32, len(list))
		for i, w := range list {
			items[i] = uint32(w)
		}
		m.set(m.d.root, name, xproto.AtomWindow, items...)
	}
}
