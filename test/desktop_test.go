//go:build linux

package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toldWindow is a window as `carrel desktop windows --json` tells it.
type toldWindow struct {
	ID, Title, Class, Instance, App, Type            string
	PID                                              int
	Area                                             [4]int
	Active, Minimised, Maximised, Fullscreen, Hidden bool
	Override                                         bool
}

// middle is a point in a window.
func (v toldWindow) middle() []string {
	return []string{strconv.Itoa(v.Area[0] + v.Area[2]/2), strconv.Itoa(v.Area[1] + v.Area[3]/2)}
}

// windows lists those that fit.
func (s *stay) windows(flags ...string) (all []toldWindow) {
	s.w.t.Helper()
	s.json(&all, "windows", flags...)
	return all
}

// window waits for one, and until it has the keyboard.
func (s *stay) window(flags ...string) toldWindow {
	s.w.t.Helper()
	all := s.windows(append([]string{"--wait", "--timeout", "120s"}, flags...)...)
	if len(all) == 0 {
		s.w.t.Fatalf("no window %q", flags)
	}
	s.fine("window", all[0].ID, "focus")
	s.fine("screen", "--still", "100ms")
	return s.windows("--window", all[0].ID)[0]
}

// picture is what the desktop shows.
func (s *stay) picture(flags ...string) image.Image {
	s.w.t.Helper()
	data := s.fine("screenshot", flags...)
	img, _, err := image.Decode(strings.NewReader(data))
	if err != nil {
		s.w.t.Fatalf("a picture of %d bytes: %v", len(data), err)
	}
	return img
}

// shows wants a part of the screen to differ from the empty desktop.
func (s *stay) shows(v toldWindow, empty image.Image) {
	s.w.t.Helper()
	now := s.picture()
	area := image.Rect(v.Area[0], v.Area[1], v.Area[0]+v.Area[2], v.Area[1]+v.Area[3]).Intersect(empty.Bounds())
	n := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if now.At(x, y) != empty.At(x, y) {
				n++
			}
		}
	}
	if n < area.Dx()*area.Dy()/2 || n == 0 {
		s.w.t.Errorf("of window %+v %d pixels of %d are not those of the empty desktop", v, n, area.Dx()*area.Dy())
	}
}

// colour counts the pixels of one colour.
func colour(img image.Image, r, g, b uint32) (n int) {
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			if cr, cg, cb, _ := img.At(x, y).RGBA(); cr>>8 == r && cg>>8 == g && cb>>8 == b {
				n++
			}
		}
	}
	return n
}

// element waits for an element of the accessibility tree, and gives its reference.
func (s *stay) element(flags ...string) string {
	s.w.t.Helper()
	out := s.fine("a11y find", append([]string{"--wait", "--timeout", "120s"}, flags...)...)
	ref, _, _ := strings.Cut(strings.TrimSpace(out), " ")
	return ref
}

// saved wants a file to have a content, and the history to say that this app wrote it.
func (s *stay) saved(app, file, want string) {
	s.w.t.Helper()
	eventually(s.w.t, app+" saves "+file, func() bool {
		data, _ := os.ReadFile(filepath.Join(s.w.project, file))
		return strings.Contains(string(data), want)
	})
	eventually(s.w.t, "the history has the step of "+app, func() bool {
		// On a slow machine it has more than one: a step ends when nothing has come for a while.
		steps, its := s.w.steps("--path", file), s.app(app).Steps
		return len(steps) > 0 && !slices.ContainsFunc(steps, func(one toldStep) bool { return !slices.Contains(its, one.Step) })
	})
}

// hostCompositor starts a Wayland compositor that stands for the person's own, and says
// how many requests clients have made of it.
func (w *world) hostCompositor() func() int {
	w.t.Helper()
	const name = "wayland-e2e"
	log := w.base + "/compositor.log"
	out, err := os.Create(log)
	w.must(err)
	defer out.Close()
	cmd := exec.Command("weston", "--backend=headless-backend.so", "--socket="+name, "--idle-time=0", "--no-config")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "XDG_RUNTIME_DIR=" + w.runtime, "WAYLAND_DEBUG=server"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.who.credential()}
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, "/"
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	socket := filepath.Join(w.runtime, name)
	// Its own shell is a client as well: it is told apart by what it asks for first.
	requests := func() int { return bytes.Count(must(os.ReadFile(log)), []byte("wl_display@1.get_registry(")) }
	count := func() int {
		before := -1
		for now := requests(); now != before; now = requests() {
			before = now
			time.Sleep(200 * time.Millisecond)
		}
		return before
	}
	eventually(w.t, "the compositor listens", func() bool { return exists(socket) })
	eventually(w.t, "the compositor's own clients are there", func() bool { return requests() > 0 })
	own := count()
	if err := registry(socket); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "canary: a client is seen", func() bool { return requests() == own+1 })
	w.setenv("WAYLAND_DISPLAY", name)
	return func() int { return count() - own - 1 }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// registry asks a compositor for what it has, as every client does first.
func registry(socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	request := binary.NativeEndian.AppendUint32(nil, 1) // wl_display
	request = binary.NativeEndian.AppendUint32(request, 12<<16|1)
	request = binary.NativeEndian.AppendUint32(request, 2)
	if _, err = c.Write(request); err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	return err
}

// page is what the browsers show: a green page with a field and a button.
const page = `<!DOCTYPE html><meta charset=utf-8><title>before</title><body style="margin:0;background:#00ff00">
<textarea aria-label="Letter" style="width:60vw;height:30vh"></textarea><button onclick="document.title = 'sent ' + document.querySelector('textarea').value">Send</button>`

// play is a test with Playwright that waits for what is typed by somebody else.
var play = program("desktop/play.js")

// playwright puts the package into the project.
func (w *world) playwright() {
	w.t.Helper()
	from := agentPrograms(w.t) + "/node_modules/playwright-core"
	if !exists(from) {
		w.t.Fatalf("no %s; make test installs it", from)
	}
	w.mkdir(w.project+"/node_modules", 0o700)
	if out, err := exec.Command("cp", "-rL", from, w.project+"/node_modules/").CombinedOutput(); err != nil {
		w.t.Fatalf("%s", out)
	}
	w.giveTo(w.project + "/node_modules")
	w.write(w.project+"/play.js", play)
}

// giveTo gives a tree to the person.
func (w *world) giveTo(dir string) {
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", w.who.uid, w.who.gid), dir).CombinedOutput(); err != nil {
			w.t.Fatalf("%s", out)
		}
	}
}

// TestDesktopPrograms: programs with windows of every kind open on the hidden display,
// are seen in a picture, used by click, keys and accessibility, and save files that the
// history knows; none of it is ever on the person's displays, while other workspaces
// with displays run.
func TestDesktopPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm", "mousepad", "featherpad", "chromium", "weston", "xclock", "dbus-daemon")
	w.litter = true // sockets of the compositor come and go
	w.playwright()
	w.write(w.project+"/page.html", page)
	host, compositor := w.hostDisplay(), w.hostCompositor()
	for i := range often(3, 20) {
		other := w.stays("other"+strconv.Itoa(i), "--display", "virtual")
		other.launch("clock", "exec xclock -update 1")
	}
	s := w.stays("desk", "--display", "virtual")
	empty := s.picture()

	s.fine("launch", "--name", "terminal", "--", "xterm", "-title", "hidden terminal")
	v := s.window("--title", "^hidden terminal$", "--app", "terminal")
	s.shows(v, empty)
	s.fine("click", v.middle()...)
	s.fine("type", "echo from the terminal > xterm.txt\n")
	s.saved("terminal", "xterm.txt", "from the terminal\n")

	s.editor("gtk", "mousepad", "--disable-server", empty)
	s.editor("qt", "featherpad", "--standalone", empty)
	s.browser(empty)

	s.fine("launch", "--name", "played", "--", "node", "play.js")
	v = s.window("--title", "^played", "--app", "played")
	s.shows(v, empty)
	eventually(t, "the page is seen", func() bool { return colour(s.picture("--window", v.ID), 0, 0, 255) > 50000 })
	s.fine("click", strconv.Itoa(v.Area[0]+100), strconv.Itoa(v.Area[1]+200))
	s.fine("windows", "--wait", "--title", "^focused", "--timeout", "120s")
	s.fine("type", "typed from outside!")
	s.saved("played", "played.txt", "typed from outside!")
	if r := s.do("wait", "played", "--timeout", "120s"); r.code != 0 {
		t.Errorf("the test with Playwright: %s\n%s", r, s.do("logs", "played"))
	}

	if tree := host(); !noChildren.MatchString(tree) {
		t.Errorf("on the host's display: %s", tree)
	}
	if n := compositor(); n != 0 {
		t.Errorf("%d clients have come to the host's compositor", n)
	}
	clock := w.command("xclock")
	w.must(clock.Start())
	eventually(t, "canary: a window on the host's display is seen", func() bool { return strings.Contains(host(), "xclock") })
	kill([]*exec.Cmd{clock})
	s.stopsClean()
}

// editor uses a text editor: keys, then what it tells of itself.
func (s *stay) editor(app, program, flag string, empty image.Image) {
	t, file := s.w.t, app+".txt"
	t.Helper()
	s.w.write(s.w.project+"/"+file, "")
	s.fine("launch", "--name", app, "--", program, flag, file)
	v := s.window("--title", file, "--app", app)
	s.shows(v, empty)
	s.fine("click", v.middle()...)
	s.fine("type", "Grüße, 你好\n--help")
	s.fine("key", "ctrl+s")
	s.saved(app, file, "Grüße, 你好\n--help")
	area := s.element("--app", "(?i)"+program, "--role", "text", "--state", "multi line", "--state", "showing")
	if text := s.fine("a11y text", area); strings.TrimSpace(text) != "Grüße, 你好\n--help" {
		t.Errorf("%s tells of its text %q", program, text)
	}
	s.fine("a11y set", area, "set by accessibility")
	s.fine("window", v.ID, "focus")
	s.fine("a11y invoke", s.element("--app", "(?i)"+program, "--name", "^File$"))
	s.fine("a11y invoke", s.element("--app", "(?i)"+program, "--role", "menu item", "--name", "^Save$", "--state", "showing"))
	s.saved(app, file, "set by accessibility")
}

// browser uses Chromium with its own sandbox.
func (s *stay) browser(empty image.Image) {
	t := s.w.t
	t.Helper()
	s.fine("launch", "--name", "web", "--", "chromium", "--user-data-dir=/tmp/profile", "--force-renderer-accessibility", "--no-first-run",
		"--window-size=900,600", "--window-position=50,50", "file://"+s.w.project+"/page.html")
	v := s.window("--title", "^before", "--app", "web")
	eventually(t, "the page is seen", func() bool { return colour(s.picture("--window", v.ID), 0, 255, 0) > 50000 })
	s.shows(v, empty)
	if n := s.sandboxed(); n == 0 {
		t.Error("no renderer is in a sandbox of Chromium's own")
	}
	s.element("--name", "^Letter$")
	s.fine("click", strconv.Itoa(v.Area[0]+150), strconv.Itoa(v.Area[1]+180))
	s.element("--name", "^Letter$", "--state", "focused")
	s.fine("type", "ünïcödé")
	s.fine("a11y invoke", s.element("--role", "push button", "--name", "^Send$"))
	s.window("--title", "^sent ünïcödé")
	s.fine("key", "ctrl+s")
	dialog := s.window("--title", "^Save", "--app", "web")
	s.fine("key", "ctrl+a")
	s.fine("type", s.w.project+"/web.html")
	s.fine("screen", "--still", "200ms")
	s.fine("click", strconv.Itoa(dialog.Area[0]+dialog.Area[2]-50), strconv.Itoa(dialog.Area[1]+dialog.Area[3]-24))
	s.saved("web", "web.html", "<textarea")
}

// sandboxed counts renderers of a browser inside that are in another user namespace than
// everything else in the workspace: the sandbox of the browser's own.
func (s *stay) sandboxed() (n int) {
	walls := strings.TrimSpace(s.sh("readlink /proc/self/ns/user"))
	for _, dir := range must(filepath.Glob("/proc/[0-9]*")) {
		line, _ := os.ReadFile(dir + "/cmdline")
		user, _ := os.Readlink(dir + "/ns/user")
		if bytes.Contains(line, []byte("--type=renderer")) && user != "" && user != walls && s.below(dir) {
			n++
		}
	}
	return n
}

// below says whether a process comes from one of the workspace.
func (s *stay) below(dir string) bool {
	for range 10 {
		if ns, _ := os.Readlink(dir + "/ns/pid"); ns == s.ns {
			return true
		}
		stat, _ := os.ReadFile(dir + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		words := strings.Fields(rest)
		if len(words) < 2 || words[1] == "1" {
			return false
		}
		dir = "/proc/" + words[1]
	}
	return false
}

// stopsClean stops a workspace with a display, and looks for what is left of it.
func (s *stay) stopsClean() {
	t := s.w.t
	t.Helper()
	display := strings.TrimSpace(s.do("exec", "--", "sh", "-c", "echo $DISPLAY").out)
	if display == "" {
		t.Fatal("no display to look for")
	}
	n := strings.TrimPrefix(display, ":")
	running, sockets := servers(display), socketsOf(n)
	if len(sockets) == 0 {
		t.Errorf("canary: display %s has no socket while it is there", display)
	}
	s.fine("stop")
	for _, pid := range servers(display) {
		if slices.Contains(running, pid) {
			t.Errorf("the server of %s goes on: %d", display, pid)
		}
	}
	eventually(t, "nothing to be left inside", func() bool { return len(s.inside()) == 0 })
	for inode, line := range socketsOf(n) {
		if sockets[inode] != "" {
			t.Errorf("a socket: %s", line)
		}
	}
	if left, _ := filepath.Glob(s.w.runtime + "/carrel/displays/" + n + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if exists("/tmp/.X11-unix/X"+n) || exists("/tmp/.X"+n+"-lock") {
		t.Errorf("display %s has left its socket or its lock", display)
	}
}

// socketsOf are the sockets of a display, by their numbers.
func socketsOf(n string) map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(string(must(os.ReadFile("/proc/net/unix")))) {
		if f := strings.Fields(line); strings.HasSuffix(strings.TrimSpace(line), "/X"+n) && len(f) > 6 {
			out[f[6]] = strings.TrimSpace(line)
		}
	}
	return out
}
