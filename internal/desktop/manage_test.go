package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

// managed starts the manager on a display.
func (s *server) managed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- Manage(ctx, s.dial, s.cookie, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the manager ended: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
}

func TestManageRealPrograms(t *testing.T) {
	s := xvfb(t)
	s.managed(t)
	d := s.open(t)
	s.start(t, "xterm", "-T", "first", "-e", "sleep", "100")
	s.start(t, "mousepad")
	wait := func(title string, ok func(Window) bool) Window {
		t.Helper()
		var found Window
		eventually(t, title, func() error {
			list, err := d.Windows(t.Context(), false)
			for _, w := range list {
				if found = w; strings.Contains(w.Title, title) && ok(w) {
					return nil
				}
			}
			return fmt.Errorf("%+v, %v", list, err)
		})
		return found
	}
	any := func(Window) bool { return true }
	term, editor := wait("first", any), wait("Mousepad", any)
	for _, w := range []Window{term, editor} {
		if err := d.Focus(t.Context(), w.ID); err != nil {
			t.Error(err)
		}
		wait(w.Title, func(w Window) bool { return w.Active })
	}
	if err := d.Minimise(t.Context(), editor.ID); err != nil {
		t.Error(err)
	}
	wait("Mousepad", func(w Window) bool { return w.Minimised })
	wait("first", func(w Window) bool { return w.Active })
	if err := d.Show(t.Context(), editor.ID); err != nil {
		t.Error(err)
	}
	wait("Mousepad", func(w Window) bool { return !w.Minimised })
	if err := d.Move(t.Context(), term.ID, 300, 200); err != nil {
		t.Error(err)
	}
	at := wait("first", func(w Window) bool { return w.Area.Min == image.Pt(300, 200) }).Area
	// A click gives the keyboard, and goes to the program too.
	if err := d.Focus(t.Context(), editor.ID); err != nil {
		t.Error(err)
	}
	point := image.Point{at.Max.X - 5, at.Max.Y - 5}
	if err := d.Input(t.Context(), Click{At: &point, Button: Left}); err != nil {
		t.Error(err)
	}
	wait("first", func(w Window) bool { return w.Active })
	s.tool(t, "wmctrl", "-r", "first", "-b", "add,fullscreen")
	wait("first", func(w Window) bool { return w.Fullscreen && w.Area == image.Rect(0, 0, 1920, 1080) })
	s.tool(t, "wmctrl", "-r", "first", "-b", "remove,fullscreen")
	wait("first", func(w Window) bool { return !w.Fullscreen && w.Area == at })
	// A dialog, in the middle of its window.
	if err := d.Focus(t.Context(), editor.ID); err != nil {
		t.Error(err)
	}
	if err := d.Input(t.Context(), Keys{Keys: "ctrl+f"}, Keys{Keys: "Escape"}, Keys{Keys: "ctrl+o"}); err != nil {
		t.Error(err)
	}
	dialog := wait("Open", func(w Window) bool { return w.Active && w.Type == "dialog" })
	if err := d.CloseWindow(t.Context(), dialog.ID); err != nil {
		t.Error(err)
	}
	wait("Mousepad", func(w Window) bool { return w.Active })
	if err := d.CloseWindow(t.Context(), editor.ID); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.WaitGone(ctx, Match{Title: regexp.MustCompile("Mousepad")}); err != nil {
		t.Error(err)
	}
	wait("first", func(w Window) bool { return w.Active })
}

func TestManageOnce(t *testing.T) {
	s := xvfb(t)
	s.managed(t)
	err := Manage(t.Context(), s.dial, s.cookie, nil)
	if err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a second manager: %v", err)
	}
}

// plain makes windows and maps them, as a simple program would.
func plain(t *testing.T, d *Desktop, n int) []xproto.Window {
	t.Helper()
	out := make([]xproto.Window, n)
	for i := range out {
		w, err := xproto.NewWindowId(d.x)
		if err != nil {
			t.Fatal(err)
		}
		xproto.CreateWindow(d.x, 0, w, d.root, 0, 0, 300, 200, 0, xproto.WindowClassInputOutput, 0, 0, nil)
		xproto.MapWindow(d.x, w)
		out[i] = w
	}
	return out
}

// TestManageNoMoreThan: windows beyond the bound are shown, and not in the list.
func TestManageNoMoreThan(t *testing.T) {
	before := maxManaged
	t.Cleanup(func() { maxManaged = before })
	maxManaged = 20
	s := xvfb(t)
	s.managed(t)
	d := s.open(t)
	many := plain(t, d, 30)
	eventually(t, "all are shown", func() error {
		for _, w := range many {
			if a, err := xproto.GetWindowAttributes(d.x, w).Reply(); err != nil || a.MapState != xproto.MapStateViewable {
				return fmt.Errorf("%#x: %v", w, err)
			}
		}
		list, err := d.property(d.root, "_NET_CLIENT_LIST", 4<<16)
		if n := len(list.numbers()); err == nil && n != maxManaged {
			err = fmt.Errorf("%d are managed", n)
		}
		return err
	})
}

// TestManageFlood has hundreds of windows, and a program that asks without end
// while another one opens a window and wants the keyboard.
func TestManageFlood(t *testing.T) {
	s := xvfb(t)
	s.managed(t)
	d, rude := s.open(t), s.open(t)
	many := plain(t, rude, 400)
	eventually(t, "400 windows", func() error {
		list, err := d.Windows(t.Context(), false)
		if err == nil && len(list) != len(many) {
			err = fmt.Errorf("%d windows", len(list))
		}
		return err
	})
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { stopped <- n }()
		for ; ; n++ {
			select {
			case <-stop:
				return
			case <-rude.gone:
				return
			default:
				xproto.ConfigureWindow(rude.x, many[n%400], xproto.ConfigWindowX, []uint32{uint32(n % 1000)})
			}
		}
	}()
	time.Sleep(500 * time.Millisecond)
	began := time.Now()
	mine := plain(t, s.open(t), 1)[0]
	eventually(t, "the keyboard", func() error {
		list, err := d.Windows(t.Context(), false)
		for _, w := range list {
			if xproto.Window(w.ID) == mine && w.Active {
				return nil
			}
		}
		return fmt.Errorf("%d windows, %v", len(list), err)
	})
	took := time.Since(began)
	close(stop)
	t.Logf("%v after it was mapped, beside %d requests", took, <-stopped)
}

func TestManageEndsWithDisplay(t *testing.T) {
	s := xvfb(t)
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- Manage(t.Context(), s.dial, s.cookie, func() { close(ready) }) }()
	<-ready
	s.cmd.Process.Kill()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrGone) {
			t.Errorf("the server died: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the manager outlives its display")
	}
}
