//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// later runs a command of carrel, which is to end by itself.
func (s *stay) later(input, verb string, args ...string) <-chan result {
	out := make(chan result, 1)
	go func() { out <- s.given(input, verb, args...) }()
	return out
}

// ends wants a result soon.
func ends(t *testing.T, what string, c <-chan result) result {
	t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(15 * time.Second):
		t.Fatalf("%s does not end", what)
		return result{}
	}
}

// TestDesktopServerKilled: requests that are under way when the server dies are told so,
// and the next ones find a new one.
func TestDesktopServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	s := w.stays("killed", "--display", "virtual")
	display := strings.TrimSpace(s.sh("xdpyinfo >/dev/null; echo $DISPLAY"))
	for i, kill := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		at := strconv.Itoa(21 + i)
		wait := s.later("", "windows", "--wait", "--title", "never", "--timeout", "60s")
		batch := s.later(`[{"do":"move","at":[`+at+`,5]},{"do":"pause","millis":60000},{"do":"key","keys":"b"}]`, "input")
		eventually(t, "the batch is under way", func() bool { return strings.Contains(s.fine("screen"), "the pointer is at "+at+",5") })
		if pids := servers(display); len(pids) != 1 {
			t.Fatalf("servers of %s: %v", display, pids)
		}
		// What began as the first server died is of the next one, and ends with that.
		pending := map[string]<-chan result{"the wait": wait, "the batch": batch}
		for round := 0; len(pending) > 0 && round < 4; round++ {
			for _, pid := range servers(display) {
				_ = syscall.Kill(pid, kill)
			}
			for what, c := range pending {
				select {
				case r := <-c:
					delete(pending, what)
					if r.code != 125 || !strings.Contains(r.err, "the display is gone") {
						t.Errorf("%s: %s", what, r)
					}
				case <-time.After(15 * time.Second):
				}
			}
		}
		for what := range pending {
			t.Fatalf("%s does not end", what)
		}
		s.fine("screenshot", "-o", "after.png")
		s.fine("key", "a")
	}
	s.stopsClean()
}

// TestDesktopGrabs: a program that keeps the server, the keyboard or the pointer to
// itself keeps nobody outside from looking and acting. The server may be held for five
// seconds.
func TestDesktopGrabs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm")
	for _, what := range []string{"server", "keyboard", "pointer"} {
		t.Run(what, func(t *testing.T) {
			s := w.stays(what, "--display", "virtual", "--read", built.attack)
			s.fine("launch", "--name", "grabber", "--", built.attack, "xgrab", what)
			eventually(t, "it grabs", func() bool { return strings.Contains(s.do("logs", "grabber").out, "grabs") })
			for range 3 {
				for _, c := range [][]string{{"screenshot", "-o", what + ".png"}, {"type", "some text"}, {"click", "100", "100"}, {"windows"}, {"screen"}} {
					start := time.Now()
					if r := s.do(c[0], c[1:]...); r.code != 0 || time.Since(start) > 9*time.Second {
						t.Errorf("%q while somebody grabs the %s: %v: %s", c, what, time.Since(start), r)
					}
				}
			}
			s.fine("kill", "grabber")
			s.stopsClean()
		})
	}
}

// TestDesktopFloods: thousands of windows without titles, windows that close while they
// are looked at, and events without end.
func TestDesktopFloods(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox")
	s := w.stays("floods", "--display", "virtual", "--size", "800x600", "--read", built.attack)
	s.fine("launch", "--name", "flood", "--", built.attack, "xflood", "2000")
	eventually(t, "all windows", func() bool { return strings.Contains(s.do("logs", "flood").out, "all there") })
	s.fine("windows", "--wait", "--title", "^$", "--timeout", "120s")
	start := time.Now()
	if all := s.windows(); len(all) == 0 || len(all) > 1000 || all[0].Title != "" {
		t.Errorf("%d windows, %+v", len(all), all[:min(len(all), 1)])
	}
	s.fine("screenshot", "-o", "flood.png")
	s.fine("click", "30", "30")
	s.fine("type", "text")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("looking and acting took %v", took)
	}
	s.fine("kill", "flood")
	s.fine("windows", "--gone", "--timeout", "120s")

	s.fine("launch", "--name", "blink", "--", built.attack, "xblink")
	shots, closed := 0, 0
	for end := time.Now().Add(often(4*time.Second, time.Minute)); time.Now().Before(end); {
		var all []toldWindow
		if r := s.do("windows", "--json"); r.code != 0 || json.Unmarshal([]byte(r.out), &all) != nil {
			t.Fatalf("%s", r)
		}
		for _, v := range all {
			switch r := s.do("screenshot", "--window", v.ID, "-o", "blink.png"); {
			case r.code == 0:
				shots++
			case r.code == 125 && strings.Contains(r.err, v.ID) && !strings.Contains(r.err, "gone: its X server"):
				closed++
			default:
				t.Fatalf("a picture of a window that closes: %s", r)
			}
		}
	}
	t.Logf("%d pictures, %d windows closed before", shots, closed)
	s.fine("kill", "blink")

	s.fine("launch", "--name", "events", "--", built.attack, "xevents")
	if r := s.do("windows", "--wait", "--title", "^title .*7$", "--timeout", "120s"); r.code != 0 {
		t.Errorf("a title that comes and goes: %s", r)
	}
	if r := s.do("windows", "--wait", "--title", "never", "--timeout", "1s"); r.code != 125 {
		t.Errorf("a wait among events: %s", r)
	}
	if r := s.do("screen", "--still", "1s", "--timeout", "1500ms"); r.code != 125 {
		t.Errorf("still: %s", r)
	}
	s.fine("screenshot", "-o", "events.png")
	s.fine("key", "Return")
	s.fine("kill", "events")
	s.fine("screenshot", "-o", "after.png")
	s.stopsClean()
}

// foreign starts a display server of somebody else, above 1000.
func (w *world) foreign(name string, env []string, args func(number int) []string) (number int, cmd *exec.Cmd) {
	w.t.Helper()
	names := string(must(os.ReadFile("/proc/net/unix")))
	for number = 1000; number < 1200; number++ {
		if strings.Contains(names, fmt.Sprintf("@/tmp/.X11-unix/X%d\n", number)) || exists(fmt.Sprintf("/tmp/.X11-unix/X%d", number)) || exists(fmt.Sprintf("/tmp/.X%d-lock", number)) {
			continue
		}
		cmd = exec.Command(name, args(number)...)
		cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}, env...)
		w.must(cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		stop := func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-ended
		}
		for range 100 {
			if exec.Command("xdpyinfo", "-display", ":"+strconv.Itoa(number)).Run() == nil {
				w.t.Cleanup(stop)
				return number, cmd
			}
			time.Sleep(50 * time.Millisecond)
		}
		stop() // somebody else has taken the number meanwhile
	}
	w.t.Fatal("no number is free")
	return 0, nil
}

// TestDesktopForeignServers: displays of others above 1000 are neither taken nor touched.
func TestDesktopForeignServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "Xvnc", "Xephyr", "xdpyinfo")
	host := w.hostDisplay()
	vnc, server := w.foreign("Xvnc", nil, func(n int) []string {
		return []string{":" + strconv.Itoa(n), "-SecurityTypes", "None", "-localhost", "-rfbport", w.freePort(), "-geometry", "320x200"}
	})
	var display string
	for _, e := range w.env {
		if strings.HasPrefix(e, "DISPLAY=") {
			display = e
		}
	}
	ephyr, nested := w.foreign("Xephyr", []string{display}, func(n int) []string {
		return []string{":" + strconv.Itoa(n), "-screen", "200x200"}
	})
	numbers := []int{vnc, ephyr}
	alive := func() {
		t.Helper()
		for _, n := range numbers {
			if out, err := exec.Command("xdpyinfo", "-display", ":"+strconv.Itoa(n)).CombinedOutput(); err != nil || !exists(fmt.Sprintf("/tmp/.X%d-lock", n)) {
				t.Errorf("display %d of somebody else: %v %s", n, err, cut(string(out)))
			}
		}
		if server.Process.Signal(syscall.Signal(0)) != nil || nested.Process.Signal(syscall.Signal(0)) != nil {
			t.Error("a server of somebody else has ended")
		}
	}
	for i := range 3 {
		s := w.stays("beside"+strconv.Itoa(i), "--display", "virtual")
		got := strings.TrimSpace(s.sh("xdpyinfo >/dev/null && echo $DISPLAY"))
		for _, n := range numbers {
			if got == ":"+strconv.Itoa(n) {
				t.Errorf("the workspace has the number %s of somebody else", got)
			}
		}
		alive()
		if i == 1 { // what is left of one that is killed is swept
			w.must(syscall.Kill(s.status().PID, syscall.SIGKILL))
			eventually(t, "its server ends", func() bool { return len(servers(got)) == 0 })
			s.ns = ""
			continue
		}
		s.stopsClean()
		alive()
	}
	if tree := host(); !strings.Contains(tree, "Xephyr") {
		t.Errorf("canary: Xephyr is on the host's display: %s", tree)
	}
}

// knock connects to a display without a cookie, and says what the server does.
var knock = program("desktop_survive/knock.py")

// TestDesktopStrangers: another user of the machine reaches neither the display, nor its
// cookie, nor the supervisor, even where the way there was left open.
func TestDesktopStrangers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("holding a process of another user takes root")
	}
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	s := w.stays("mine", "--display", "virtual")
	display := strings.TrimSpace(s.sh("xdpyinfo >/dev/null; echo $DISPLAY"))
	n := strings.TrimPrefix(display, ":")
	place := w.runtime + "/carrel/displays/" + n
	other := *w
	other.who = person{"stranger", plainUID + 1, plainUID + 1}
	other.project = "/"
	sockets, _ := filepath.Glob(place + "/*/X" + n)
	if len(sockets) != 2 {
		t.Fatalf("sockets: %v", sockets)
	}
	for _, socket := range sockets {
		if r := w.plain("python3", "-c", knock, socket); r.out != "connected refused\n" {
			t.Errorf("canary: the owner connects to %s without a cookie: %s", socket, r)
		}
		if r := other.plain("python3", "-c", knock, socket); !strings.Contains(r.out, "PermissionError") {
			t.Errorf("another user connects to %s: %s", socket, r)
		}
	}
	for _, d := range []string{w.runtime, w.runtime + "/carrel", w.runtime + "/carrel/displays", place, filepath.Dir(sockets[0]), filepath.Dir(sockets[1])} {
		w.must(os.Chmod(d, 0o755))
		defer os.Chmod(d, 0o700)
	}
	for _, socket := range sockets {
		w.must(os.Chmod(socket, 0o777))
		if r := other.plain("python3", "-c", knock, socket); !strings.HasPrefix(r.out, "connected ") || strings.Contains(r.out, "let in") {
			t.Errorf("another user at the open socket %s: %s", socket, r)
		}
	}
	// The abstract name is taken, so that nobody else has it, and nobody listens there.
	if got := other.plain(built.attack, "abstract", "/tmp/.X11-unix/X"+n).out; !strings.HasPrefix(got, "ECONNREFUSED") {
		t.Errorf("by the abstract name: %s", got)
	}
	if got := other.plain(built.attack, "tcp", fmt.Sprintf("127.0.0.1:%d", 6000+must(strconv.Atoi(n)))).out; strings.HasPrefix(got, "ok") {
		t.Errorf("by TCP: %s", got)
	}
	for _, verb := range []string{"screenshot", "windows", "click", "type", "screen"} {
		args := map[string][]string{"click": {"1", "1"}, "type": {"x"}, "screenshot": {"-o", "/dev/null"}}[verb]
		if r := other.plain(w.bin, append([]string{verb, "mine"}, args...)...); r.code != 125 {
			t.Errorf("another user: %s: %s", verb, r)
		}
	}
}

// handed is a program that opens a window, hands its connection to a child and ends.
var handed = program("desktop_survive/handed.py")

// TestDesktopConnectionHandedOn: a window is its app's also when the process that connected
// has ended, whose number may be anybody's.
func TestDesktopConnectionHandedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "python3")
	s := w.stays("handed", "--display", "virtual")
	w.write(w.project+"/handed.py", handed)
	one := s.launch("one", "python3 handed.py; touch over; exec sleep 1000")
	eventually(t, "the process that connected ends", func() bool { return exists(w.project + "/over") })
	if all := s.windows("--wait", "--title", "^handed$"); len(all) != 1 || all[0].App != one {
		t.Errorf("%+v, want one of app %s", all, one)
	}
	if all := s.windows("--app", "one"); len(all) != 1 {
		t.Errorf("windows of the app: %+v", all)
	}
}
