package desktop

import (
	"context"
	"slices"
	"time"

	"github.com/jezek/xgb/xproto"
)

// answerTries is how often an answer of the window manager is looked for, and
// answerPause what lies in between.
const (
	answerTries = 20
	answerPause = 2 * time.Millisecond
)

// Managed says whether a window manager is there, as EWMH has it, and does its work.
// openbox marks the display as its own a little before that, and what programs ask for in
// between is lost: windows are not shown, terminals of X wait five seconds. So one that
// can is asked how wide its frames are; asking again is up to the caller.
func (d *windowList) Managed(ctx context.Context) (bool, error) {
	return do(ctx, d.display, "looking for a window manager", func() (bool, error) {
		check, err := d.property(d.root, "_NET_SUPPORTING_WM_CHECK", 4)
		if err != nil || !d.supported(check) {
			return false, err
		}
		can, err := d.property(d.root, "_NET_SUPPORTED", 4*1024)
		if err != nil {
			return false, err
		}
		if !slices.Contains(can.numbers(), uint32(d.atom("_NET_REQUEST_FRAME_EXTENTS"))) {
			return true, nil
		}
		return d.answers()
	})
}

// answers asks the window manager for the frame that a window would have.
func (d *windowList) answers() (bool, error) {
	w, err := xproto.NewWindowId(d.x)
	if err != nil {
		return false, err
	}
	xproto.CreateWindow(d.x, 0, w, d.root, 0, 0, 1, 1, 0, xproto.WindowClassInputOutput, 0, 0, nil)
	defer xproto.DestroyWindow(d.x, w)
	if err := d.tellRoot(w, "_NET_REQUEST_FRAME_EXTENTS", 0, 0, 0, 0, 0); err != nil {
		return false, err
	}
	for range answerTries {
		if p, err := d.property(w, "_NET_FRAME_EXTENTS", 16); err != nil || p.width == 32 {
			return err == nil, err
		}
		time.Sleep(answerPause)
	}
	return false, nil
}
