package xfilter

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPrograms: what people use works through the filter, in both modes where it
// is no injection.
func TestPrograms(t *testing.T) {
	for _, active := range []bool{true, false} {
		t.Run(fmt.Sprintf("active=%v", active), func(t *testing.T) {
			needs(t, "xterm", "xdotool", "xdpyinfo", "xprop", "xclip", "xinput", "xwininfo")
			w := newWorld(t)
			w.filter.SetActive(active)
			out := w.must("xdpyinfo", "-queryExtensions")
			if !strings.Contains(out, "XTEST  (opcode: 1") {
				t.Errorf("xdpyinfo is not told of XTEST: %s", out)
			}
			for _, name := range []string{"MIT-SHM", "RECORD", "SECURITY", "XVideo"} {
				if strings.Contains(out, name+"  (opcode") {
					t.Errorf("xdpyinfo is told of %s: %s", name, out)
				}
			}
			w.start("xterm", "-T", "hello", "-e", "sleep", "100")
			eventually(t, "xterm's window", func() bool { return strings.Contains(w.must("xwininfo", "-root", "-tree"), "hello") })
			w.must("sh", "-c", "echo clip | xclip -in -selection clipboard >/dev/null 2>&1")
			eventually(t, "the clipboard", func() bool { // xclip goes into the background before the server knows
				got, err := w.run("xclip", "-out", "-selection", "clipboard")
				return err == nil && got == "clip\n"
			})
			if out := w.must("xinput", "list"); !strings.Contains(out, "XTEST") {
				t.Errorf("xinput list: %s", out)
			}
			w.must("xprop", "-root", "-f", "CARREL_TEST", "8s", "-set", "CARREL_TEST", "yes")
			if got := w.property("CARREL_TEST"); !strings.Contains(got, "yes") {
				t.Errorf("xprop: %s", got)
			}
			_, err := w.run("xdotool", "key", "a")
			if (err == nil) != active {
				t.Errorf("xdotool key: %v", err)
			}
			t.Log(w.toldAll())
		})
	}
}

// TestToolkits: a window of each toolkit opens, and its menu, which grabs the
// keyboard and the pointer, is used by a person while programs may not inject.
func TestToolkits(t *testing.T) {
	const altL, keyF, keyE = 64, 41, 26 // on Xvfb's keyboard
	for _, p := range []struct {
		name, class string
		key         byte // with Alt it opens a menu
		args        []string
	}{
		{"GTK", "mousepad", keyF, []string{"mousepad", "--disable-server"}},
		{"Qt", "featherpad", keyF, []string{"featherpad", "--standalone"}},
		{"Chromium", "hromium", keyE, []string{"chromium", "--no-sandbox", "--no-first-run", "--user-data-dir=" + t.TempDir(), "about:blank"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			needs(t, p.args[0], "xwininfo")
			w := newWorld(t)
			cmd := w.start(p.args...)
			eventually(t, "its window", func() bool {
				tree, err := w.run("xwininfo", "-root", "-tree") // fails where a window goes while it looks
				if err != nil {
					return false
				}
				for _, l := range strings.Split(tree, "\n") {
					if strings.Contains(l, p.class) && wide(l) {
						return true
					}
				}
				return false
			})
			hands := w.direct()
			time.Sleep(2 * time.Second)
			before := len(overrides(hands))
			focusLargest(hands)
			for _, k := range []byte{altL, p.key} {
				hands.fake(keyPress, k, 0, 0)
			}
			for _, k := range []byte{p.key, altL} {
				hands.fake(keyRelease, k, 0, 0)
			}
			eventually(t, "its menu", func() bool { return len(overrides(hands)) > before })
			if cmd.ProcessState != nil {
				t.Error("it has ended")
			}
			w.filter.SetActive(true)
			w.filter.SetActive(false)
			if len(w.filter.Clients()) == 0 {
				t.Error("the end of the mode ended it")
			}
			for _, l := range w.toldAll() {
				t.Log(l)
			}
		})
	}
}

// wide says whether a line of xwininfo tells of a window that is no helper.
func wide(line string) bool {
	var x, y int
	for _, f := range strings.Fields(line) {
		if n, _ := fmt.Sscanf(f, "%dx%d+", &x, &y); n == 2 && x > 200 && y > 200 {
			return true
		}
	}
	return false
}

// children are the windows below the root, bottom first.
func (c *client) children() []uint32 {
	r := c.call(15, 0, c.root)
	var l []uint32
	for i := range int(c.order.u16(r[16:])) {
		l = append(l, c.order.u32(r[32+4*i:]))
	}
	return l
}

// overrides are the windows that are shown and that no window manager has to do
// with: menus.
func overrides(c *client) []uint32 {
	var l []uint32
	for _, w := range c.children() {
		if r := c.call(3, 0, w); r != nil && r[0] == msgReply && r[26] == 2 && r[27] == 1 {
			l = append(l, w)
		}
	}
	return l
}

// focusLargest gives the keyboard to the largest window, as there is no window
// manager.
func focusLargest(c *client) {
	best, most := uint32(0), 0
	for _, w := range c.children() {
		a, g := c.call(3, 0, w), c.call(14, 0, w)
		if a[0] != msgReply || g[0] != msgReply || a[26] != 2 {
			continue
		}
		if size := int(c.order.u16(g[16:])) * int(c.order.u16(g[18:])); size > most {
			best, most = w, size
		}
	}
	c.focus(best)
}
