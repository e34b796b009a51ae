package desktop

import (
	"fmt"
	"image"
	"testing"

	"github.com/jezek/xgb/xproto"
)

// TestMoveWithBorder: a window comes to the pixel that was said, whatever border and gravity
// it has, under each window manager and under none; and stays there when its size changes.
func TestMoveWithBorder(t *testing.T) {
	for name, manager := range map[string]func(*server, *testing.T, *Desktop){
		"none":    func(*server, *testing.T, *Desktop) {},
		"openbox": func(s *server, t *testing.T, d *Desktop) { s.openbox(t, d) },
		"ours":    func(s *server, t *testing.T, _ *Desktop) { s.managed(t) },
	} {
		for _, before := range []bool{false, true} { // were the windows there before the manager?
			t.Run(fmt.Sprintf("%s, windows before: %v", name, before), func(t *testing.T) {
				s := xvfb(t)
				d := s.open(t)
				if !before {
					manager(s, t, d)
				}
				var windows []xproto.Window
				for _, of := range []struct {
					border  uint16
					gravity byte // north-west, centre, south-east, static
				}{{0, 1}, {1, 1}, {7, 1}, {0, 10}, {3, 5}, {3, 9}, {3, 10}} {
					w, err := xproto.NewWindowId(d.x)
					if err != nil {
						t.Fatal(err)
					}
					xproto.CreateWindow(d.x, 0, w, d.root, 400, 300, 200, 100, of.border, xproto.WindowClassInputOutput, 0, 0, nil)
					hints := make([]byte, 18*4)
					const hasGravity = 2 // in the second byte of the flags
					hints[1], hints[17*4] = hasGravity, of.gravity
					xproto.ChangeProperty(d.x, xproto.PropModeReplace, w, xproto.AtomWmNormalHints, xproto.AtomWmSizeHints, 32, 18, hints)
					if err := xproto.MapWindowChecked(d.x, w).Check(); err != nil {
						t.Fatal(err)
					}
					windows = append(windows, w)
				}
				if before {
					manager(s, t, d)
				}
				eventually(t, "the windows", func() error {
					list, err := d.Windows(t.Context(), false)
					if len(list) != len(windows) {
						return fmt.Errorf("%+v, %v", list, err)
					}
					return nil
				})
				for i, w := range windows {
					is := func(what string, want image.Rectangle) {
						t.Helper()
						eventually(t, what, func() error {
							list, err := d.Windows(t.Context(), false)
							for _, got := range list {
								if got.ID == ID(w) && got.Area == want {
									return nil
								}
							}
							return fmt.Errorf("window %d: want %v of %+v, %v", i, want, list, err)
						})
					}
					for _, to := range []image.Point{{500, 250}, {500, 250}, {612, 333}} {
						if err := d.Move(t.Context(), ID(w), to.X, to.Y); err != nil {
							t.Fatal(err)
						}
						is("moved", image.Rect(0, 0, 200, 100).Add(to))
					}
					if err := d.Resize(t.Context(), ID(w), 320, 240); err != nil {
						t.Fatal(err)
					}
					is("resized", image.Rect(612, 333, 612+320, 333+240))
					// A program that wants another border while it is managed.
					xproto.ConfigureWindow(d.x, w, xproto.ConfigWindowBorderWidth, []uint32{4})
					if err := d.Move(t.Context(), ID(w), 700, 400); err != nil {
						t.Fatal(err)
					}
					is("moved with another border", image.Rect(700, 400, 700+320, 400+240))
				}
			})
		}
	}
}
