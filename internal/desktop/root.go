package desktop

import (
	"context"

	"github.com/jezek/xgb/xproto"
)

// SetRootText gives the root window a property of type STRING, by which a display
// tells its programs something.
func (d *Desktop) SetRootText(ctx context.Context, name, text string) error {
	return d.do(ctx, "setting "+name, func() error {
		atoms, err := d.internAll([]string{name})
		if err != nil {
			return err
		}
		return xproto.ChangePropertyChecked(d.x, xproto.PropModeReplace, d.root, atoms[name], xproto.AtomString, 8, uint32(len(text)), []byte(text)).Check()
	})
}

// Managed says whether a window manager is there, as EWMH has it, and has begun its
// work: openbox marks the display as its own a little before that, and what programs ask
// for in between is lost (terminals of X wait five seconds for an answer).
func (d *Desktop) Managed(ctx context.Context) (bool, error) {
	return do(ctx, d, "looking for a window manager", func() (bool, error) {
		check, err := d.property(d.root, "_NET_SUPPORTING_WM_CHECK", 4)
		if err != nil || !d.supported(check) {
			return false, err
		}
		list, err := d.property(d.root, "_NET_CLIENT_LIST", 4)
		return err == nil && list.width == 32, err
	})
}
