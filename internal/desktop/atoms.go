package desktop

import (
	"fmt"

	"github.com/jezek/xgb/xproto"
)

// atoms are the server's numbers of names, both ways. They are asked for once,
// and read by all afterwards.
type atoms struct {
	number map[string]xproto.Atom
	name   map[xproto.Atom]string
}

// atomNames are those that this package uses.
var atomNames = []string{
	"UTF8_STRING", "COMPOUND_TEXT", "WM_PROTOCOLS", "WM_DELETE_WINDOW", "_NET_WM_PING", "WM_STATE", "WM_CHANGE_STATE",
	"_NET_SUPPORTING_WM_CHECK", "_NET_SUPPORTED", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING", "_NET_ACTIVE_WINDOW",
	"_NET_WM_NAME", "_NET_WM_PID", "_NET_FRAME_EXTENTS", "_NET_REQUEST_FRAME_EXTENTS", "_NET_MOVERESIZE_WINDOW", "_NET_CLOSE_WINDOW",
	"_NET_WM_STATE", "_NET_WM_STATE_HIDDEN", "_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ",
	"_NET_WM_STATE_FULLSCREEN", "_NET_WM_STATE_DEMANDS_ATTENTION", "_NET_WM_STATE_MODAL", "_NET_WM_STATE_ABOVE",
	"_NET_WM_STATE_SKIP_TASKBAR", "_NET_WM_WINDOW_TYPE",
	"_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_TYPE_TOOLBAR", "_NET_WM_WINDOW_TYPE_MENU",
	"_NET_WM_WINDOW_TYPE_UTILITY", "_NET_WM_WINDOW_TYPE_SPLASH", "_NET_WM_WINDOW_TYPE_DIALOG", "_NET_WM_WINDOW_TYPE_DROPDOWN_MENU",
	"_NET_WM_WINDOW_TYPE_POPUP_MENU", "_NET_WM_WINDOW_TYPE_TOOLTIP", "_NET_WM_WINDOW_TYPE_NOTIFICATION",
	"_NET_WM_WINDOW_TYPE_COMBO", "_NET_WM_WINDOW_TYPE_DND", "_NET_WM_WINDOW_TYPE_NORMAL",
}

func (d *display) intern() error {
	d.atoms = atoms{make(map[string]xproto.Atom), make(map[xproto.Atom]string)}
	asked := make([]xproto.InternAtomCookie, len(atomNames))
	for i, name := range atomNames {
		asked[i] = xproto.InternAtom(d.x, false, uint16(len(name)), name)
	}
	for i, name := range atomNames {
		r, err := asked[i].Reply()
		if err != nil {
			return fmt.Errorf("asking for the atom %s: %w", name, err)
		}
		d.atoms.number[name] = r.Atom
		d.atoms.name[r.Atom] = name
	}
	return nil
}

// atom gives the number of one of atomNames.
func (d *display) atom(name string) xproto.Atom { return d.atoms.number[name] }

// internAll asks for atoms, all at once.
func (d *display) internAll(names []string) (map[string]xproto.Atom, error) {
	asked := make([]xproto.InternAtomCookie, len(names))
	for i, name := range names {
		asked[i] = xproto.InternAtom(d.x, false, uint16(len(name)), name)
	}
	out := make(map[string]xproto.Atom, len(names))
	for i, name := range names {
		r, err := asked[i].Reply()
		if err != nil {
			return nil, fmt.Errorf("asking for the atom %.60q: %w", name, err)
		}
		out[name] = r.Atom
	}
	return out, nil
}
