//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDesktopGTK4: a program of GTK 4 is seen, found in the accessibility tree and used.
func TestDesktopGTK4(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "dbus-daemon", "gtk4-demo-application")
	s := w.stays("gtk4", "--display", "virtual")
	empty := s.picture()
	s.fine("launch", "--name", "demo", "--", "gtk4-demo-application")
	v := s.window("--app", "demo")
	s.element("--app", "gtk4", "--role", "text") // GTK 4 paints long after its window is there
	s.fine("screen", "--still", "500ms")
	s.shows(v, empty)
	s.fine("window", v.ID, "resize", "500x400")
	eventually(t, "it has another size", func() bool { return s.windows("--window", v.ID)[0].Area[2] > 400 })
	s.fine("screen", "--still", "300ms")
	v = s.windows("--window", v.ID)[0]
	s.fine("click", v.middle()...)
	s.element("--app", "gtk4", "--role", "text", "--state", "focused")
	s.fine("type", "Grüße, 你好")
	area := s.element("--app", "gtk4", "--role", "text")
	eventually(t, "it tells of its text", func() bool { return strings.TrimSpace(s.fine("a11y text", area)) == "Grüße, 你好" })
	s.fine("window", v.ID, "close")
	s.fine("windows", "--gone", "--app", "demo", "--timeout", "120s")
	s.stopsClean()
}

// TestDesktopQt6: the same of Qt 6.
func TestDesktopQt6(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "dbus-daemon")
	s := w.stays("qt6", "--display", "virtual")
	empty := s.picture()
	s.fine("launch", "--name", "maze", "--", "/usr/games/cutemaze")
	v := s.window("--app", "maze")
	s.shows(v, empty)
	if !strings.Contains(s.fine("a11y tree", "--app", "(?i)maze"), `toolkit "Qt"`) {
		t.Error("it is not in the tree as one of Qt")
	}
	s.element("--name", "elapsed$")
	s.fine("key", "Right", "Down", "Left", "Up", "--count", "5") // there is no wall on all four sides
	s.element("--name", "^[1-9][0-9]* steps? taken$")
	s.fine("a11y invoke", s.element("--role", "menu item", "--name", "^Help$"))
	s.element("--role", "menu item", "--name", "About", "--state", "showing")
	s.fine("window", v.ID, "kill")
	s.fine("windows", "--gone", "--app", "maze", "--timeout", "120s")
	s.stopsClean()
}

// TestDesktopDebugPort: the port by which a browser can be debugged is there for programs
// of the workspace, and not outside.
func TestDesktopDebugPort(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"closed", "local"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "chromium", "curl")
			s := w.stays("debug", "--display", "virtual", "--network", network)
			port := w.freePort()
			s.fine("launch", "--name", "web", "--", "chromium", "--user-data-dir=/tmp/profile", "--no-first-run", "--remote-debugging-port="+port, "about:blank")
			s.fine("windows", "--wait", "--app", "web", "--timeout", "120s")
			ask := "http://127.0.0.1:" + port + "/json/version"
			if network == "local" { // closed has no loopback
				eventually(t, "canary: it answers inside", func() bool {
					return strings.Contains(s.do("exec", "--", "curl", "-s", "-m", "5", ask).out, "webSocketDebuggerUrl")
				})
			}
			if r := w.plain("curl", "-s", "-m", "5", ask); r.code != 7 { // could not connect
				t.Errorf("outside: %s", r)
			}
			s.stopsClean()
		})
	}
}

// TestDesktopInputMethods: a program that asks for an input method, of which a workspace
// has none, opens all the same, and takes what is typed.
func TestDesktopInputMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm", "mousepad", "featherpad")
	s := w.stays("methods", "--display", "virtual")
	n := 0
	for _, method := range []string{"XMODIFIERS=@im=ibus GTK_IM_MODULE=xim QT_IM_MODULE=xim", "XMODIFIERS=@im=ibus GTK_IM_MODULE=ibus QT_IM_MODULE=ibus", "XMODIFIERS=@im=fcitx GTK_IM_MODULE=fcitx QT_IM_MODULE=fcitx"} {
		for _, program := range []string{"mousepad --disable-server", "featherpad --standalone", "xterm -e vi"} {
			n++
			app, file := "app"+strconv.Itoa(n), "typed"+strconv.Itoa(n)
			w.write(w.project+"/"+file, "")
			start := time.Now()
			s.launch(app, method+" exec "+program+" "+file)
			s.window("--app", app)
			if strings.HasPrefix(program, "xterm") {
				s.fine("type", "iGrüße, 你好")
				s.fine("key", "Escape")
				s.fine("type", ":wq\n")
			} else {
				s.fine("type", "Grüße, 你好")
				s.fine("key", "ctrl+s")
			}
			eventually(t, method+" "+program+" saves", func() bool {
				saved, _ := os.ReadFile(w.project + "/" + file) // vi takes it away for a moment
				return strings.HasPrefix(string(saved), "Grüße, 你好")
			})
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("%s %s: %v", method, program, took)
			}
			s.do("kill", app)
			s.fine("windows", "--gone", "--app", app)
		}
	}
	s.stopsClean()
}
