package desktop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"
)

// screenModes changes the size of the screen, by RandR.
type screenModes struct{ *display }

// SetSize changes the screen to a size in pixels, at most the one that the
// server was started with. Programs are told.
func (d *screenModes) SetSize(ctx context.Context, width, height int) error {
	what := fmt.Sprintf("changing the screen to %dx%d", width, height)
	return d.do(ctx, what, func() error {
		if _, err := d.opcode("RANDR"); err != nil {
			return err
		}
		limits, err := randr.GetScreenSizeRange(d.x, d.root).Reply()
		if err != nil {
			return err
		}
		// What a mode can say is 16 bits, but servers promise more than they can.
		if width < int(limits.MinWidth) || height < int(limits.MinHeight) || width > int(limits.MaxWidth) || height > int(limits.MaxHeight) {
			return fmt.Errorf("this display has sizes from %dx%d to %dx%d", limits.MinWidth, limits.MinHeight, limits.MaxWidth, limits.MaxHeight)
		}
		return d.setSize(uint16(width), uint16(height))
	})
}

// setSize goes the way that servers want: the screen can only shrink when
// nothing of it is shown, and what is shown needs a mode of that size.
func (d *screenModes) setSize(w, h uint16) error {
	res, err := randr.GetScreenResourcesCurrent(d.x, d.root).Reply()
	if err != nil {
		return err
	}
	if len(res.Crtcs) == 0 || len(res.Outputs) == 0 {
		return errors.New("this display has no outputs whose size could change")
	}
	crtc, output := res.Crtcs[0], res.Outputs[0]
	before, err := randr.GetCrtcInfo(d.x, crtc, res.ConfigTimestamp).Reply()
	if err != nil {
		return err
	}
	size, err := xproto.GetGeometry(d.x, xproto.Drawable(d.root)).Reply()
	if err != nil {
		return err
	}
	mode, err := d.mode(res, output, w, h)
	if err != nil {
		return err
	}
	if err := d.lightUp(crtc, 0, nil); err != nil {
		return err
	}
	err = d.screenSize(w, h)
	if err == nil {
		err = d.lightUp(crtc, mode, []randr.Output{output})
	}
	if err != nil {
		// A screen that shows nothing would be worse than one of the old size.
		d.screenSize(size.Width, size.Height)
		d.lightUp(crtc, before.Mode, before.Outputs)
	}
	return err
}

// mode finds a mode of a size, or makes one.
func (d *screenModes) mode(res *randr.GetScreenResourcesCurrentReply, output randr.Output, w, h uint16) (randr.Mode, error) {
	for _, m := range res.Modes {
		if m.Width == w && m.Height == h {
			randr.AddOutputMode(d.x, output, randr.Mode(m.Id)) // it may have it
			return randr.Mode(m.Id), nil
		}
	}
	name := fmt.Sprintf("%dx%d", w, h)
	info := randr.ModeInfo{Width: w, Height: h, DotClock: 60 * uint32(w) * uint32(h), HsyncStart: w, HsyncEnd: w, Htotal: w,
		VsyncStart: h, VsyncEnd: h, Vtotal: h, NameLen: uint16(len(name))}
	made, err := randr.CreateMode(d.x, d.root, info, name).Reply()
	if err != nil {
		return 0, err
	}
	return made.Mode, randr.AddOutputModeChecked(d.x, output, made.Mode).Check()
}

func (d *screenModes) screenSize(w, h uint16) error {
	const dpi = 96
	mm := func(n uint16) uint32 { return max(1, uint32(n)*254/(dpi*10)) }
	return randr.SetScreenSizeChecked(d.x, d.root, w, h, mm(w), mm(h)).Check()
}

func (d *screenModes) lightUp(crtc randr.Crtc, mode randr.Mode, outputs []randr.Output) error {
	r, err := randr.SetCrtcConfig(d.x, crtc, 0, 0, 0, 0, mode, randr.RotationRotate0, outputs).Reply()
	if err != nil {
		return err
	}
	if r.Status != randr.SetConfigSuccess {
		return fmt.Errorf("the X server refuses, with status %d", r.Status)
	}
	return nil
}
