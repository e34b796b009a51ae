package desktop

import (
	"context"
	"image"
	"slices"
	"strings"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Window is a top-level window. Title, Class, Instance and PID are the
// program's own word.
type Window struct {
	ID       ID
	Title    string // at most 1024 bytes; may be empty
	Class    string // the program's kind, as "XTerm", and its name for itself
	Instance string
	// PID is the process number that the program gives, as its own namespace
	// counts; 0 if it gives none.
	PID int
	// Area is the window without the frame of a window manager, in the screen's
	// coordinates. It may lie beyond the screen.
	Area image.Rectangle
	// Type is one of the types of EWMH in small letters without their prefix:
	// "normal", "dialog", "dropdown_menu".
	Type string

	Active     bool // has the keyboard
	Minimised  bool
	Maximised  bool // in both directions
	Fullscreen bool
	Hidden     bool // not shown for another reason, or on another workspace
	Urgent     bool // asks for attention
	Modal      bool
	// Override says that the window wants no window manager: a menu, a tooltip.
	Override bool
}

// windowList is what there is of windows on a display, and waiting for it to change.
type windowList struct{ *display }

// maxWindows bounds how many windows are looked at, the topmost ones.
const maxWindows = 1000

// Windows lists the top-level windows, the topmost first, at most 1000. With a
// window manager they are those that it manages. Override-redirect windows that
// are shown are listed too if all is set.
func (d *windowList) Windows(ctx context.Context, all bool) ([]Window, error) {
	return do(ctx, d.display, "listing windows", func() ([]Window, error) { return d.windows(all) })
}

// stack is what the root knows: windows from the lowest to the topmost.
type stack struct {
	managed  bool // there is a window manager that keeps the list
	clients  []xproto.Window
	children []xproto.Window
	active   xproto.Window
}

func (d *windowList) stack() (stack, error) {
	flush := d.wire.Hold()
	check := d.askProperty(d.root, d.atom("_NET_SUPPORTING_WM_CHECK"), 4)
	stacking := d.askProperty(d.root, d.atom("_NET_CLIENT_LIST_STACKING"), 4<<16)
	plain := d.askProperty(d.root, d.atom("_NET_CLIENT_LIST"), 4<<16)
	active := d.askProperty(d.root, d.atom("_NET_ACTIVE_WINDOW"), 4)
	focus := xproto.GetInputFocus(d.x)
	tree := d.ask(queryTree(d.root))
	flush()

	var s stack
	list, err := take(stacking)
	if err != nil {
		return s, err
	}
	list2, err := take(plain)
	if err != nil {
		return s, err
	}
	if list.width != 32 {
		list = list2
	}
	s.clients = windowsOf(list)
	act, err := take(active)
	if err != nil {
		return s, err
	}
	f, err := focus.Reply()
	if err != nil {
		return s, err
	}
	b, err := tree.Reply()
	if err != nil {
		return s, err
	}
	s.children = readChildren(b)
	c, err := take(check)
	if err != nil {
		return s, err
	}
	s.managed = list.width == 32 && d.supported(c)
	s.active = f.Focus
	if n := act.numbers(); s.managed && len(n) > 0 {
		s.active = xproto.Window(n[0])
	}
	if !s.managed {
		s.active = d.above(s.active, s.children)
	}
	return s, nil
}

// above gives the one of some windows that w is or lies in; programs often give
// the keyboard to a part of their window.
func (d *windowList) above(w xproto.Window, of []xproto.Window) xproto.Window {
	for range maxDepth {
		if w <= xproto.InputFocusPointerRoot || slices.Contains(of, w) {
			return w
		}
		b, err := d.ask(queryTree(w)).Reply()
		if err != nil {
			break
		}
		w = xproto.Window(le32(b[12:]))
	}
	return 0
}

// supported says whether the window manager that left its mark on the root is
// still there: its window has the same mark.
func (d *windowList) supported(check property) bool {
	n := check.numbers()
	if len(n) != 1 {
		return false
	}
	p, err := d.property(xproto.Window(n[0]), "_NET_SUPPORTING_WM_CHECK", 4)
	return err == nil && slices.Equal(p.numbers(), n)
}

func windowsOf(p property) []xproto.Window {
	var out []xproto.Window
	for _, n := range p.numbers() {
		out = append(out, xproto.Window(n))
	}
	return out
}

// readChildren parses the reply of QueryTree, from its head on.
func readChildren(b []byte) []xproto.Window {
	n := min(int(b[16])|int(b[17])<<8, (len(b)-32)/4)
	out := make([]xproto.Window, n)
	for i := range out {
		out[i] = xproto.Window(le32(b[32+4*i:]))
	}
	return out
}

// windows asks for everything about all windows at once: a round trip each
// would be ten for each window.
func (d *windowList) windows(all bool) ([]Window, error) {
	s, err := d.stack()
	if err != nil {
		return nil, err
	}
	ids := s.clients
	if !s.managed {
		ids = s.children
	}
	ids = ids[max(0, len(ids)-maxWindows):]
	var menus []xproto.Window
	if all && s.managed {
		menus = s.children[max(0, len(s.children)-maxWindows):]
	}
	flush := d.wire.Hold()
	asked := make([]inquiry, 0, len(ids)+len(menus))
	for _, w := range slices.Concat(ids, menus) {
		asked = append(asked, d.inquire(w))
	}
	flush()
	var out []Window
	for i, q := range asked {
		w, ok, err := q.answer(d)
		switch {
		case err != nil:
			return nil, err
		case !ok, w.Override && (!all || w.Hidden):
		case i >= len(ids) && !w.Override: // a frame, or the manager's own
		case !s.managed && w.Hidden && !w.Override: // never shown
		default:
			w.Active = s.active == xproto.Window(w.ID)
			out = append(out, w)
		}
	}
	slices.Reverse(out) // what was asked last lies on top
	return out, nil
}

// inquiry is what was asked about one window.
type inquiry struct {
	id ID

	attributes, geometry, origin *xgb.Cookie

	name, oldName, class, pid, state, oldState, hints, kind *xgb.Cookie
}

func (d *windowList) inquire(w xproto.Window) inquiry {
	return inquiry{
		id:         ID(w),
		attributes: xproto.GetWindowAttributes(d.x, w).Cookie,
		geometry:   xproto.GetGeometry(d.x, xproto.Drawable(w)).Cookie,
		origin:     xproto.TranslateCoordinates(d.x, w, d.root, 0, 0).Cookie,
		name:       d.askProperty(w, d.atom("_NET_WM_NAME"), maxText),
		oldName:    d.askProperty(w, xproto.AtomWmName, maxText),
		class:      d.askProperty(w, xproto.AtomWmClass, maxText),
		pid:        d.askProperty(w, d.atom("_NET_WM_PID"), 4),
		state:      d.askProperty(w, d.atom("_NET_WM_STATE"), 4*32),
		oldState:   d.askProperty(w, d.atom("WM_STATE"), 8),
		hints:      d.askProperty(w, xproto.AtomWmHints, 4),
		kind:       d.askProperty(w, d.atom("_NET_WM_WINDOW_TYPE"), 4*16),
	}
}

// answer reads it all. A window that has closed meanwhile is not ok.
func (q inquiry) answer(d *windowList) (w Window, ok bool, err error) {
	attributes, err1 := xproto.GetWindowAttributesCookie{Cookie: q.attributes}.Reply()
	geometry, err2 := xproto.GetGeometryCookie{Cookie: q.geometry}.Reply()
	origin, err3 := xproto.TranslateCoordinatesCookie{Cookie: q.origin}.Reply()
	errs := []error{err1, err2, err3}
	get := func(c *xgb.Cookie) property {
		p, err := take(c)
		errs = append(errs, err)
		return p
	}
	w = Window{ID: q.id, Title: d.text(get(q.name))}
	if old := get(q.oldName); w.Title == "" {
		w.Title = d.text(old)
	}
	w.Instance, w.Class = classes(get(q.class))
	if n := get(q.pid).numbers(); len(n) == 1 && n[0] < 1<<22 {
		w.PID = int(n[0])
	}
	d.states(&w, get(q.state).numbers())
	oldState, hints := get(q.oldState).numbers(), get(q.hints).numbers()
	w.Type = d.typeOf(get(q.kind).numbers())
	for _, err := range errs {
		if isX(err) {
			return w, false, nil
		} else if err != nil {
			return w, false, err
		}
	}
	const iconic, urgency = 3, 1 << 8
	if len(oldState) > 0 && oldState[0] == iconic {
		w.Minimised = true
	}
	if len(hints) > 0 && hints[0]&urgency != 0 {
		w.Urgent = true
	}
	w.Override = attributes.OverrideRedirect
	w.Hidden = attributes.MapState != xproto.MapStateViewable && !w.Minimised
	at := image.Pt(int(origin.DstX), int(origin.DstY))
	w.Area = image.Rect(0, 0, int(geometry.Width), int(geometry.Height)).Add(at)
	return w, attributes.Class == xproto.WindowClassInputOutput, nil
}

// classes splits WM_CLASS: two strings, each with a NUL at its end.
func classes(p property) (instance, class string) {
	if p.width != 8 {
		return "", ""
	}
	a, b, _ := strings.Cut(string(p.value), "\x00")
	b, _, _ = strings.Cut(b, "\x00")
	return line([]byte(a)), line([]byte(b))
}

func (d *windowList) states(w *Window, atoms []uint32) {
	var wide, high bool
	for _, a := range atoms {
		switch d.atoms.name[xproto.Atom(a)] {
		case "_NET_WM_STATE_HIDDEN":
			w.Minimised = true
		case "_NET_WM_STATE_MAXIMIZED_VERT":
			high = true
		case "_NET_WM_STATE_MAXIMIZED_HORZ":
			wide = true
		case "_NET_WM_STATE_FULLSCREEN":
			w.Fullscreen = true
		case "_NET_WM_STATE_DEMANDS_ATTENTION":
			w.Urgent = true
		case "_NET_WM_STATE_MODAL":
			w.Modal = true
		}
	}
	w.Maximised = wide && high
}

// typeOf gives the first type that is known: programs list what they would
// like best first.
func (d *windowList) typeOf(atoms []uint32) string {
	for _, a := range atoms {
		if t, ok := strings.CutPrefix(d.atoms.name[xproto.Atom(a)], "_NET_WM_WINDOW_TYPE_"); ok {
			return strings.ToLower(t)
		}
	}
	return "normal"
}
