//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var a11yListener = program("desktop_control/listener.py")

// TestDesktopControlHoldsOnAccessibilityBus: a program inside that listens to keys and
// writes into another's text by AT-SPI does so while the workspace is active, and in no
// other mode; a person looks in every mode, and acts after a take-over.
func TestDesktopControlHoldsOnAccessibilityBus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "mousepad", "dbus-daemon", "dbus-send", "python3")
	s := w.stays("atspi", "--display", "virtual")
	w.write(w.project+"/pad.txt", "")
	w.write(w.project+"/listener.py", a11yListener)
	s.fine("launch", "--name", "pad", "--", "mousepad", "--disable-server", "pad.txt")
	v := s.window("--app", "pad")
	area := s.element("--role", "text", "--state", "multi line", "--state", "showing")
	at := strings.LastIndex(area, ":")
	text := func() string { return s.fine("a11y text", area) }
	s.launch("listener", `exec /usr/bin/python3 listener.py "$(dbus-send --session --print-reply=literal --dest=org.a11y.Bus \
		/org/a11y/bus org.a11y.Bus.GetAddress)" `+area[:at]+" /org/a11y/atspi/accessible/"+area[at+1:])
	heard := func(word string) int { return strings.Count(s.fine("logs", "listener"), word+"\n") }

	eventually(t, "canary: a program inside writes into another's text", func() bool { return strings.HasPrefix(text(), "@@@") })
	s.fine("window", v.ID, "focus")
	eventually(t, "canary: it hears a key", func() bool {
		s.fine("key", "F7")
		return heard("key") > 0
	})

	holds := func(mode string, acts func()) {
		t.Helper()
		before, wrote, keys, refused := text(), heard("wrote"), heard("key"), heard("refused")
		acts()
		eventually(t, mode+": the program goes on", func() bool { return heard("refused") > refused+4 })
		if now := text(); strings.Count(now, "@") != strings.Count(before, "@") || heard("wrote") != wrote {
			t.Errorf("%s: the text was %q and is %q", mode, before, now)
		}
		if n := heard("key") - keys; n != 0 {
			t.Errorf("%s: it heard %d keys", mode, n)
		}
	}
	s.fine("control", "read_only")
	time.Sleep(300 * time.Millisecond) // what was answered before is in the log by then
	holds("read_only", func() { s.fine("a11y tree") })
	s.person("control", "takeover")
	holds("takeover", func() {
		s.person("key", "F7")
		s.person("type", "hunter2")
		s.person("a11y focus", area)
	})
	if !strings.Contains(text(), "hunter2") {
		t.Errorf("what the person typed is not there: %q", text())
	}
	s.person("a11y set", area, "by a person")
	if now := text(); strings.TrimSpace(now) != "by a person" {
		t.Errorf("takeover: the person set the text, and it is %q", now)
	}
	holds("takeover, after a person's act", func() { s.person("key", "F7") })
	s.person("control", "active")
	eventually(t, "active again: it writes", func() bool { return strings.HasPrefix(text(), "@") })
	s.fine("kill", "listener")
	s.stopsClean()
}

// TestDisplayListsWhatItAnswersFor: each extension that the display lists is there when a
// client asks for it, and the authority file has an entry by the machine's name:
// python-xlib, and with it pynput and pyautogui, can do with nothing less.
func TestDisplayListsWhatItAnswersFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	s := w.stays("lists", "--display", "virtual")
	out := s.sh(`xdpyinfo -queryExtensions | grep 'opcode:'; echo; od -An -tu1 -N2 "$XAUTHORITY"; grep -ac "$(uname -n)" "$XAUTHORITY"`)
	if strings.Count(out, "opcode:") < 10 || strings.Contains(out, "opcode: 0") || !strings.Contains(out, "RENDER") {
		t.Errorf("extensions: %s", out)
	}
	if fields := strings.Fields(out); fields[len(fields)-1] == "0" {
		t.Errorf("no entry by name: %s", out)
	}
	body := w.write(w.project+"/xlib.py", program("desktop/xlib.py"))
	if out := s.sh("/usr/bin/python3 " + body); !strings.HasSuffix(out, "pointer 50 60\nkey 1\n") {
		t.Errorf("python-xlib: %s", out)
	}
	s.stopsClean()
}

// TestGLIsNamed: where a program asks for OpenGL and the display has none, the end of the run
// names the setting; with it there is OpenGL, and nothing to say.
func TestGLIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	ask := []string{"--display", "virtual", "--", "/usr/bin/python3", w.write(w.project+"/gl.py", program("desktop/gl.py"))}
	for _, gl := range []bool{false, true} {
		w.write(w.home+"/.config/carrel/config.yaml", fmt.Sprintf("display: {gl: %v}\n", gl))
		r := w.run(ask...)
		if r.out != fmt.Sprintf("GLX %v\n", gl) || (strings.Count(r.err, "display.gl: true") == 1) == gl {
			t.Errorf("gl %v: %s", gl, r)
		}
	}
}
