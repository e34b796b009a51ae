//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

func init() { attacks["xowner"] = attackXOwner }

// attackXOwner owns the clipboard and gives what it has in parts (ICCCM 2.7.2), in a way
// that does not end: "drips" gives a byte now and then, "pours" as much as is taken,
// "promises" says how much there is and gives nothing. "piles" gives three million bytes,
// all at once.
func attackXOwner(args []string) (string, error) {
	x, err := xgb.NewConn()
	if err != nil {
		return "", err
	}
	root := xproto.Setup(x).DefaultScreen(x).Root
	w := newWindow(x, root, 0)
	atom := func(name string) xproto.Atom {
		r, err := xproto.InternAtom(x, false, uint16(len(name)), name).Reply()
		if err != nil {
			panic(err)
		}
		return r.Atom
	}
	clipboard, targets, text, incr := atom("CLIPBOARD"), atom("TARGETS"), atom("UTF8_STRING"), atom("INCR")
	xproto.SetSelectionOwner(x, w, clipboard, 0)
	if r, err := xproto.GetSelectionOwner(x, clipboard).Reply(); err != nil || r.Owner != w {
		return "", errors.New("the selection is somebody else's")
	}
	fmt.Println("owns")
	part, pause := make([]byte, 200<<10), time.Duration(0)
	if args[0] == "drips" {
		part, pause = []byte{'a'}, time.Second
	}
	to := make(map[xproto.Window]xproto.Atom) // who gets parts, in which property
	for {
		e, xerr := x.WaitForEvent()
		if e == nil && xerr == nil {
			return "", nil
		}
		switch e := e.(type) {
		case xproto.SelectionRequestEvent:
			if args[0] == "piles" && e.Target == text {
				for i := range byte(16) {
					part := bytes.Repeat([]byte{'a' + i}, 200_001)
					xproto.ChangeProperty(x, xproto.PropModeAppend, e.Requestor, e.Property, text, 8, uint32(len(part)), part)
				}
			} else if e.Target == targets {
				xproto.ChangeProperty(x, xproto.PropModeReplace, e.Requestor, e.Property, xproto.AtomAtom, 32, 1, number(uint32(text)))
			} else {
				to[e.Requestor] = e.Property
				xproto.ChangeWindowAttributes(x, e.Requestor, xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange})
				xproto.ChangeProperty(x, xproto.PropModeReplace, e.Requestor, e.Property, incr, 32, 1, number(0xffffffff))
			}
			done := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
			xproto.SendEvent(x, false, e.Requestor, 0, string(done.Bytes()))
		case xproto.PropertyNotifyEvent:
			if to[e.Window] == e.Atom && e.State == xproto.PropertyDelete && args[0] != "promises" {
				time.Sleep(pause)
				xproto.ChangeProperty(x, xproto.PropModeAppend, e.Window, e.Atom, text, 8, uint32(len(part)), part)
			}
		}
	}
}

func number(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }
