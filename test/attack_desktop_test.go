//go:build linux

package e2e

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

func init() {
	attacks["xgrab"], attacks["xflood"], attacks["xblink"], attacks["xevents"] = attackXGrab, attackXFlood, attackXBlink, attackXEvents
}

// newWindow makes a window without a title and without anything else.
func newWindow(x *xgb.Conn, root xproto.Window, i int) xproto.Window {
	return newWindowOr(x, root, i, 0)
}

// newWindowOr makes a menu where override is 1, which no window manager takes first.
func newWindowOr(x *xgb.Conn, root xproto.Window, i int, override uint32) xproto.Window {
	w, err := xproto.NewWindowId(x)
	if err != nil {
		panic(err)
	}
	xproto.CreateWindow(x, 0, w, root, int16(i%300), int16(i/10%300), 100, 80, 0, xproto.WindowClassInputOutput, 0, xproto.CwBackPixel|xproto.CwOverrideRedirect, []uint32{uint32(0xff0000 + i), override})
	xproto.MapWindow(x, w)
	return w
}

// attackXGrab grabs the server, the keyboard or the pointer of the display, again and
// again for some seconds.
func attackXGrab(args []string) (string, error) {
	x, err := xgb.NewConn()
	if err != nil {
		return "", err
	}
	defer x.Close()
	root := xproto.Setup(x).DefaultScreen(x).Root
	newWindow(x, root, 7)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		switch args[0] {
		case "server":
			xproto.GrabServer(x)
		case "keyboard":
			_, err = xproto.GrabKeyboard(x, true, root, 0, xproto.GrabModeSync, xproto.GrabModeSync).Reply()
		case "pointer":
			_, err = xproto.GrabPointer(x, true, root, 0, xproto.GrabModeSync, xproto.GrabModeSync, 0, 0, 0).Reply()
		}
		if err == nil {
			_, err = xproto.GetInputFocus(x).Reply()
		}
		if err != nil {
			return "", err
		}
		fmt.Println("grabs", args[0])
	}
	return "held", nil
}

// attackXFlood opens windows without titles, or menus, and leaves them there.
func attackXFlood(args []string) (string, error) {
	x, err := xgb.NewConn()
	if err != nil {
		return "", err
	}
	root := xproto.Setup(x).DefaultScreen(x).Root
	n, _ := strconv.Atoi(args[0])
	var override uint32
	if len(args) > 1 && args[1] == "menus" {
		override = 1
	}
	for i := range n {
		newWindowOr(x, root, i, override)
	}
	if _, err := xproto.GetInputFocus(x).Reply(); err != nil {
		return "", err
	}
	fmt.Println("all there")
	time.Sleep(5 * time.Minute)
	return "", nil
}

// attackXBlink opens windows and closes them at once, without end.
func attackXBlink([]string) (string, error) {
	x, err := xgb.NewConn()
	if err != nil {
		return "", err
	}
	root := xproto.Setup(x).DefaultScreen(x).Root
	for i := 0; ; i++ {
		w := newWindow(x, root, i)
		_, _ = xproto.GetInputFocus(x).Reply()
		time.Sleep(time.Duration(i%7) * 3 * time.Millisecond)
		xproto.DestroyWindow(x, w)
	}
}

// attackXEvents changes the title of a window, its place and its content as fast as it can.
func attackXEvents([]string) (string, error) {
	x, err := xgb.NewConn()
	if err != nil {
		return "", err
	}
	root := xproto.Setup(x).DefaultScreen(x).Root
	w := newWindow(x, root, 0)
	for i := 0; ; i++ {
		title := "title " + strconv.Itoa(i)
		xproto.ChangeProperty(x, xproto.PropModeReplace, w, xproto.AtomWmName, xproto.AtomString, 8, uint32(len(title)), []byte(title))
		xproto.ConfigureWindow(x, w, xproto.ConfigWindowX, []uint32{uint32(i % 300)})
		xproto.ClearArea(x, true, w, 0, 0, 0, 0)
		if i%100 == 0 {
			_, _ = xproto.GetInputFocus(x).Reply()
		}
	}
}
