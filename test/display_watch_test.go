//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toldWatch is what `carrel desktop watch --json` prints.
type toldWatch struct {
	Address, Password string
	Acts, Stays       bool
}

// watch starts carrel desktop watch, at a terminal or as a program does.
func (s *stay) watch(person bool, flags ...string) (told toldWatch, end func()) {
	s.w.t.Helper()
	cmd := s.w.command(s.w.bin, s.words("watch", append([]string{"--json"}, flags...)...)...)
	var read func() string
	if person {
		tm := s.w.openTerminal(cmd)
		line := tm.expect(`\{.*\}`)
		read = func() string { return line }
	} else {
		out := &strings.Builder{}
		cmd.Stderr = out
		from, err := cmd.StdoutPipe()
		s.w.must(err)
		s.w.must(s.w.start(cmd))
		buf := make([]byte, 4096)
		n, _ := from.Read(buf)
		read = func() string { return string(buf[:n]) + out.String() }
	}
	if err := json.Unmarshal([]byte(read()), &told); err != nil {
		s.w.t.Fatalf("watch: %v: %q", err, read())
	}
	return told, func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
			s.w.t.Errorf("watch, interrupted: %v %s", err, read())
		}
	}
}

// vncServers are the process ids of those of a display.
func vncServers(display string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, _ := os.ReadFile(file)
		if strings.HasPrefix(string(line), "/usr/bin/x11vnc\x00") && strings.Contains(string(line), "\x00-display\x00"+display+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// typesInto starts a terminal window that writes what is typed into a file.
func (s *stay) typesInto(name string) (typed func() string) {
	// A window that is there before the window manager is not given the keyboard.
	s.sh("for i in $(seq 300); do xprop -root _NET_SUPPORTING_WM_CHECK | grep -q '#' && break; sleep 0.05; done")
	s.launch("editor", "xterm -title editor -geometry 200x60+0+0 -e sh -c 'stty -echo; cat > "+name+"'")
	eventually(s.w.t, "the editor has the keyboard", func() bool {
		var list []struct{ Active bool }
		s.json(&list, "windows", "--title", "editor")
		return len(list) == 1 && list[0].Active && exists(s.w.project+"/"+name)
	})
	return func() string { b, _ := os.ReadFile(s.w.project + "/" + name); return string(b) }
}

// TestWatch: a person sees the desktop, types while it is taken over and at no other
// time, and nothing is left of it.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc", "xterm", "xprop", "openbox")
	s := w.stays("watched", "--display", "virtual", "--size", "800x600")
	display := strings.TrimSpace(s.sh("echo $DISPLAY"))
	typed := s.typesInto("typed")
	told, end := s.watch(true)
	if !strings.HasPrefix(told.Address, "127.0.0.1:59") || len(told.Password) != 8 || !told.Acts || told.Stays {
		t.Fatalf("%+v", told)
	}
	v, err := view(told.Address, told.Password)
	if err != nil {
		t.Fatal(err)
	}
	if v.width != 800 || v.height != 600 || !v.alive() {
		t.Errorf("a screen of %dx%d", v.width, v.height)
	}
	pids := vncServers(display)
	if len(pids) != 1 {
		t.Fatalf("VNC servers: %v", pids)
	}
	t.Logf("the first picture after %v; %s", v.first, memory(pids[0]))
	for _, name := range []string{"cmdline", "environ"} {
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/" + name); err != nil || strings.Contains(string(b), told.Password) {
			t.Errorf("the server's %s: %q %v", name, b, err)
		}
	}

	v.types("active\n")
	s.person("control", "takeover")
	v.types("taken over\n")
	eventually(t, "what the person typed", func() bool { return typed() == "taken over\n" })
	v.press('x')
	s.person("control", "active")
	v.types("active again\n")
	time.Sleep(300 * time.Millisecond)
	if !v.alive() {
		t.Error("the viewer was disconnected by a change of the mode")
	}
	// The x that was held was let go of, so that it stands there once at most.
	s.fine("key", "Return")
	eventually(t, "a key by the API", func() bool { return typed() == "taken over\nx\n" })

	s.sh(`xprop -root -f X11VNC_REMOTE 8s -set X11VNC_REMOTE cmd=stop 2>/dev/null; xprop -root -f VNC_CONNECT 8s -set VNC_CONNECT 127.0.0.1:5500 2>/dev/null; true`)
	time.Sleep(300 * time.Millisecond)
	if again := vncServers(display); len(again) != 1 || again[0] != pids[0] || !v.alive() {
		t.Errorf("the server took orders from inside: %v, before %v", again, pids)
	}
	if _, err := view(told.Address, told.Password); !isNoView(err, "somebody watches") {
		t.Errorf("a second viewer: %v", err)
	}

	end()
	if !v.ends() {
		t.Error("the viewer stays after its watch")
	}
	eventually(t, "the VNC server has ended", func() bool { return len(vncServers(display)) == 0 })
	if _, err := view(told.Address, told.Password); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the watch: %v", err)
	}
	for _, e := range s.events() {
		if strings.Contains(e.Text, told.Password) {
			t.Errorf("an event tells the password: %+v", e)
		}
	}
	if k := kinds(s.events()); k["watch"] < 4 {
		t.Errorf("events: %v", k)
	}
}

// alive says that the server still answers.
func (v *viewer) alive() bool { return v.look(false) == nil }

func isNoView(err error, why string) bool {
	var no errNoView
	return errors.As(err, &no) && strings.Contains(string(no), why)
}

// memory is what a process takes of it.
func memory(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "Pss:") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "its memory is not known"
}

// TestWatchWho: passwords hold, other users do not come as far, and programs only look.
func TestWatchWho(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc", "xterm", "xprop", "openbox")
	s := w.stays("guarded", "--display", "virtual")
	typed := s.typesInto("typed")
	s.person("control", "takeover")
	looks, endLooks := s.watch(false)
	acts, endActs := s.watch(true)
	onlyLooks, endOnly := s.watch(true, "--view-only")
	if looks.Acts || !acts.Acts || onlyLooks.Acts || looks.Address != acts.Address || looks.Password == acts.Password || acts.Password == onlyLooks.Password {
		t.Fatalf("%+v %+v %+v", looks, acts, onlyLooks)
	}
	for _, told := range []toldWatch{looks, onlyLooks, acts} {
		v, err := view(told.Address, told.Password)
		if err != nil {
			t.Fatal(err)
		}
		v.types("as " + strconv.FormatBool(told.Acts) + "\n")
		if !v.alive() {
			t.Error("the viewer has gone")
		}
		if told.Acts {
			eventually(t, "what the person typed", func() bool { return typed() == "as true\n" })
		}
		v.Close()
		eventually(t, "the place is free", func() bool { return strings.Contains(lastText(s, "watch"), "has gone") })
	}
	if os.Getuid() == 0 {
		ask := `exec 3<>/dev/tcp/` + strings.Replace(acts.Address, ":", "/", 1) + ` && timeout 5 head -c 12 <&3`
		other := *w
		other.who, other.project = person{"stranger", plainUID + 1, plainUID + 1}, "/"
		if r := other.plain("bash", "-c", ask); r.out != "" {
			t.Errorf("another user is answered: %q", r.out)
		}
		if r := w.plain("bash", "-c", ask); r.out != "RFB 003.008\n" {
			t.Errorf("the owner is answered: %q", r.out)
		}
	}
	if r := s.do("watch", "--port", "1"); r.code != 125 || !strings.Contains(r.err, "this display is watched at port") {
		t.Errorf("another port: %s", r)
	}
	for range 5 {
		if _, err := view(acts.Address, "wrongone"); !isNoView(err, "not the password") {
			t.Errorf("a wrong password: %v", err)
		}
	}
	if _, err := view(acts.Address, acts.Password); !isNoView(err, "too many") {
		t.Errorf("after five wrong passwords: %v", err)
	}
	r := s.do("exec", "--", w.bin, "watch", s.name)
	if r.code == 0 || strings.Contains(r.out, "password") {
		t.Errorf("from inside: %s", r)
	}
	endLooks()
	endActs()
	endOnly()
}

// TestWatchFromInside: programs of a workspace with the host's network reach the port, and
// are turned away before they can use up the person's wrong passwords.
func TestWatchFromInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc", "openbox")
	s := w.stays("outgoing", "--display", "virtual", "--network", "open")
	told, end := s.watch(false)
	defer end()
	ask := `for i in 1 2 3 4 5 6 7 8; do exec 3<>/dev/tcp/` + strings.Replace(told.Address, ":", "/", 1) + ` && timeout 5 head -c 12 <&3; done`
	if got := s.do("exec", "--", "bash", "-c", ask); strings.Contains(got.out, "RFB") {
		t.Errorf("a program inside is answered: %q", got.out)
	}
	v, err := view(told.Address, told.Password)
	if err != nil {
		t.Fatalf("the person: %v", err)
	}
	v.Close()
}

// lastText is what the last event of a kind says.
func lastText(s *stay, kind string) (text string) {
	for _, e := range s.events() {
		if e.Kind == kind {
			text = e.Text
		}
	}
	return text
}

// TestWatchLosses: viewers, servers and displays that are killed end each other, and the
// next one gets new ones.
func TestWatchLosses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc")
	s := w.stays("lossy", "--display", "virtual", "--size", "640x480")
	display := strings.TrimSpace(s.sh("echo $DISPLAY"))
	told, _ := s.watch(false)
	look := func(what string) *viewer {
		t.Helper()
		var v *viewer
		var err error
		eventually(t, what, func() bool { v, err = view(told.Address, told.Password); return !isNoView(err, "somebody watches") })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return v
	}
	v := look("the first viewer")
	if len(servers(display)) != 1 {
		t.Errorf("a viewer has no display: %v", servers(display))
	}
	for _, pid := range servers(display) {
		w.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	if !v.ends() {
		t.Error("the viewer stays without its display")
	}
	v = look("a viewer after the display was lost")
	for _, pid := range vncServers(display) {
		w.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	if !v.ends() {
		t.Error("the viewer stays without its server")
	}
	v = look("a viewer after the server was killed")
	v.Close()
	eventually(t, "the server ends with its viewer", func() bool { return len(vncServers(display)) == 0 })
	v = look("the last one")
	s.end()
	if !v.ends() || len(vncServers(display)) > 0 || len(servers(display)) > 0 {
		t.Errorf("after the workspace: %v %v", vncServers(display), servers(display))
	}
}

// TestWatchStays: with display.watch_vnc a desktop can be watched as long as the
// workspace runs, also of a single command.
func TestWatchStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc")
	w.configured("display:\n  mode: virtual\n  watch_vnc: true\n")
	cmd := w.command(w.bin, "run", "--", "sh", "-c", "touch here; sleep 60")
	w.must(w.start(cmd))
	eventually(t, "it runs", func() bool { return exists(w.project + "/here") })
	w.litter = true // it answers from outside a moment after the command has begun
	var list []struct{ ID string }
	eventually(t, "it is listed", func() bool {
		w.must(json.Unmarshal([]byte(w.carrel("ps", "--json").out), &list))
		return len(list) == 1
	})
	var told toldWatch
	r := w.carrel("watch", list[0].ID, "--json")
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || !told.Stays || told.Acts {
		t.Fatalf("%s, %v", r, err)
	}
	v, err := view(told.Address, told.Password)
	if err != nil {
		t.Fatal(err)
	}
	kill([]*exec.Cmd{cmd})
	if !v.ends() {
		t.Error("the viewer stays after the workspace")
	}
}

// TestWatchInAViewer: TigerVNC's viewer, on a display that stands for the person's.
func TestWatchInAViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "x11vnc", "xterm", "xprop", "openbox", "vncviewer", "xdotool", "xwininfo")
	w.hostDisplay()
	s := w.stays("shown", "--display", "virtual", "--size", "640x480")
	typed := s.typesInto("typed")
	told, end := s.watch(true)
	defer end()
	cmd := w.command("vncviewer", "-SecurityTypes", "VncAuth", "-Shared", "127.0.0.1::"+told.Address[strings.LastIndex(told.Address, ":")+1:])
	cmd.Env = append(cmd.Env, "VNC_PASSWORD="+told.Password)
	var said strings.Builder
	cmd.Stderr, cmd.Stdout = &said, &said
	w.must(w.start(cmd))
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	eventually(t, "the viewer watches", func() bool { return strings.Contains(lastText(s, "watch"), "a viewer watches") })
	eventually(t, "its window", func() bool { return w.plain("xdotool", "search", "--name", "TigerVNC").code == 0 })
	hand := func(args ...string) {
		t.Helper()
		if r := w.plain("xdotool", args...); r.code != 0 {
			t.Fatalf("xdotool %q: %s\n%s", args, r, said.String())
		}
	}
	hand("mousemove", "200", "200", "click", "1", "type", "--delay", "20", "not this")
	time.Sleep(200 * time.Millisecond)
	s.person("control", "takeover")
	hand("mousemove", "200", "200", "click", "1", "type", "--delay", "20", "Hello, Viewer 123!")
	hand("key", "Return")
	eventually(t, "what was typed in the viewer; "+said.String(), func() bool { return typed() == "Hello, Viewer 123!\n" })
	s.person("control", "active")
	hand("type", "--delay", "20", "nor this")
	s.fine("key", "Return")
	eventually(t, "a key by the API", func() bool { return typed() == "Hello, Viewer 123!\n\n" })
}

// TestWatchMissing: without x11vnc the workspace works, and who wants to watch is told.
func TestWatchMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo", "x11vnc")
	w.configured("display:\n  watch_vnc: true\n")
	w.without("/usr/bin/x11vnc")
	s := w.stays("unseen", "--display", "virtual")
	s.sh("xdpyinfo >/dev/null")
	if r := s.do("watch"); r.code != 125 || !strings.Contains(r.err, "Debian's package x11vnc has it") {
		t.Errorf("%s", r)
	}
	if text := lastText(s, "note"); !strings.Contains(text, "display.watch_vnc: ") {
		t.Errorf("the note: %q", text)
	}
	s = w.stays("dark", "--display", "none")
	if r := s.do("watch"); r.code != 125 || !strings.Contains(r.err, "no virtual display") {
		t.Errorf("%s", r)
	}
}
