package xfilter

import (
	"fmt"
	"strings"
	"testing"
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
			for _, name := range []string{"MIT-SHM", "RECORD", "SECURITY", "XVideo"} {
				if !strings.Contains(out, name+"  (opcode: 0)") {
					t.Errorf("xdpyinfo sees %s: %s", name, out)
				}
			}
			w.start("xterm", "-T", "hello", "-e", "sleep", "100")
			eventually(t, "xterm's window", func() bool { return strings.Contains(w.must("xwininfo", "-root", "-tree"), "hello") })
			w.must("sh", "-c", "echo clip | xclip -in -selection clipboard >/dev/null 2>&1")
			if got := w.must("xclip", "-out", "-selection", "clipboard"); got != "clip\n" {
				t.Errorf("clipboard has %q", got)
			}
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
