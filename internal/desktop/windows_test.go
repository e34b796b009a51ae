package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

// managed runs a test twice: without a window manager, and under openbox.
func managed(t *testing.T, f func(t *testing.T, s *server, d *Desktop)) {
	t.Run("alone", func(t *testing.T) {
		s := xvfb(t)
		f(t, s, s.open(t))
	})
	t.Run("openbox", func(t *testing.T) {
		s := xvfb(t)
		d := s.open(t)
		s.openbox(t, d)
		f(t, s, d)
	})
}

func (s *server) openbox(t testing.TB, d *Desktop) {
	t.Helper()
	// What opens while it starts it never shows; it says when it has.
	ready := filepath.Join(t.TempDir(), "ready")
	s.start(t, "openbox", "--sm-disable", "--startup", "touch "+ready)
	eventually(t, "openbox", func() error {
		if _, err := os.Stat(ready); err != nil {
			return err
		}
		if st, err := d.stack(); err != nil || !st.managed {
			return fmt.Errorf("managed %v: %v", st.managed, err)
		}
		return nil
	})
}

func title(d *Desktop, id ID, name string) {
	xproto.ChangeProperty(d.x, xproto.PropModeReplace, xproto.Window(id), d.atom("_NET_WM_NAME"), d.atom("UTF8_STRING"), 8, uint32(len(name)), []byte(name))
	d.x.Sync()
}

func TestWindows(t *testing.T) {
	managed(t, func(t *testing.T, s *server, d *Desktop) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s.start(t, "xterm", "-T", "Zürich", "-name", "one", "-geometry", "40x10+100+100", "-e", "sleep", "100")
		w, err := d.Wait(ctx, Match{Title: regexp.MustCompile("^Zürich$"), Class: regexp.MustCompile("^XTerm$")})
		if err != nil {
			list, _ := d.Windows(t.Context(), true)
			t.Fatalf("%v: there are %+v", err, list)
		}
		if w.Instance != "one" || w.PID == 0 || w.Type != "normal" || w.Area.Empty() || w.Minimised || w.Hidden {
			t.Errorf("%+v", w)
		}
		programs := s.open(t)
		bare := window(t, programs, 0xff, image.Rect(500, 500, 600, 600))
		if w, err := d.Wait(ctx, Match{ID: bare}); err != nil || w.Title != "" || w.Class != "" || w.PID != 0 {
			t.Errorf("a window that says nothing: %+v %v", w, err)
		}
		is := func(what string, f func(Window) bool) {
			t.Helper()
			if err := d.watch(ctx, what, func(list []Window) (bool, error) {
				for _, x := range list {
					if x.ID == w.ID {
						w = x
						return f(x), nil
					}
				}
				return false, errors.New("gone")
			}); err != nil {
				t.Errorf("%v: %+v", err, w)
			}
		}
		check := func(what string, err error, f func(Window) bool) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
				return
			}
			is(what, f)
		}
		check("minimise", d.Minimise(ctx, w.ID), func(w Window) bool { return w.Minimised })
		check("show", d.Show(ctx, w.ID), func(w Window) bool { return !w.Minimised && !w.Hidden })
		check("focus", d.Focus(ctx, w.ID), func(w Window) bool { return w.Active })
		check("move", d.Move(ctx, w.ID, 300, 200), func(w Window) bool { return w.Area.Min == image.Pt(300, 200) })
		check("resize", d.Resize(ctx, bare, 222, 111), func(Window) bool { return true })
		if _, err := d.Wait(ctx, Match{ID: bare}); err != nil {
			t.Error(err)
		}
		eventually(t, "resized", func() error {
			list, err := d.Windows(ctx, false)
			for _, x := range list {
				if x.ID == bare && x.Area.Dx() == 222 && x.Area.Dy() == 111 {
					return err
				}
			}
			return fmt.Errorf("%+v %v", list, err)
		})
		if err := d.Raise(ctx, bare); err != nil {
			t.Error(err)
		}
		eventually(t, "raised", func() error {
			if list, err := d.Windows(ctx, false); err != nil || len(list) != 2 || list[0].ID != bare {
				return fmt.Errorf("%+v %v", list, err)
			}
			return nil
		})
		if err := d.CloseWindow(ctx, bare); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("closing what takes no part: %v", err)
		}
		// xterm now and then sleeps on an event that it has read already; the next wakes it.
		for tries := 1; ; tries++ {
			if err := d.CloseWindow(ctx, w.ID); err != nil {
				t.Error(err)
			}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			err := d.WaitGone(short, Match{ID: w.ID})
			stop()
			if err == nil {
				break
			}
			if tries == 3 {
				t.Fatal(err)
			}
		}
		if err := d.Kill(ctx, bare); err != nil {
			t.Error(err)
		}
		select {
		case <-programs.Done():
		case <-ctx.Done():
			t.Error("the killed program still has its connection")
		}
		for _, id := range []ID{bare, 0, ID(d.root), 0xffffffff} {
			if err := d.Focus(ctx, id); err == nil || !strings.Contains(err.Error(), "no window") {
				t.Errorf("focus of %s: %v", id, err)
			}
			if err := d.Kill(ctx, id); err == nil {
				t.Errorf("kill of %s", id)
			}
		}
	})
}

func TestWaitSeesTitlesChange(t *testing.T) {
	managed(t, func(t *testing.T, s *server, d *Desktop) {
		programs := s.open(t)
		id := window(t, programs, 0xff, image.Rect(0, 0, 100, 100))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		found := make(chan error, 1)
		go func() {
			_, err := d.Wait(ctx, Match{Title: regexp.MustCompile("loaded$")})
			found <- err
		}()
		time.Sleep(100 * time.Millisecond)
		title(programs, id, "the page is loaded")
		if err := <-found; err != nil {
			list, _ := d.Windows(t.Context(), true)
			t.Fatalf("%v: there are %+v", err, list)
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := d.Wait(short, Match{PID: 77}); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in vain: %v", err)
		}
	})
}

// TestFlood has a program open windows without end.
func TestFlood(t *testing.T) {
	s := xvfb(t)
	d, programs := s.open(t), s.open(t)
	for range 1500 {
		window(t, programs, 0, image.Rect(0, 0, 10, 10))
	}
	last := window(t, programs, 0, image.Rect(0, 0, 10, 10))
	list, err := d.Windows(t.Context(), true)
	if err != nil || len(list) != maxWindows || list[0].ID != last {
		t.Errorf("%d windows: %v", len(list), err)
	}
}

func TestServerGrabbed(t *testing.T) {
	s := xvfb(t)
	d, rude := s.open(t), s.open(t)
	if err := xproto.GrabServerChecked(rude.x).Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Windows(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// TestServerHangs has a server that is stopped: a call ends with its context,
// and others after it do too.
func TestServerHangs(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	if err := exec.Command("kill", "-STOP", fmt.Sprint(s.cmd.Process.Pid)).Run(); err != nil {
		t.Fatal(err)
	}
	for range maxTurns + 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := d.Windows(ctx, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	if err := exec.Command("kill", "-CONT", fmt.Sprint(s.cmd.Process.Pid)).Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Windows(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func TestPattern(t *testing.T) {
	if p, err := Pattern(""); p != nil || err != nil {
		t.Errorf("%v %v", p, err)
	}
	for _, bad := range []string{"(", strings.Repeat("a", 2000)} {
		if _, err := Pattern(bad); err == nil {
			t.Errorf("%.10q was taken", bad)
		}
	}
}
