//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/xvfb"
)

// hostDisplay starts a display that stands for the person's own, and says how a
// look at its windows is taken.
func (w *world) hostDisplay() (windows func() string) {
	w.t.Helper()
	const dir = "/tmp/.X11-unix"
	if os.Mkdir(dir, 0o777) == nil {
		w.must(os.Chmod(dir, 0o1777))
		w.t.Cleanup(func() { os.Remove(dir) })
	}
	number := w.display()
	cmd := exec.Command("Xvfb", ":"+number, "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset", "-displayfd", "1")
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		w.t.Fatalf("the host's display: %q, %v", line, err)
	}
	w.setenv("DISPLAY", ":"+number)
	w.setenv("GDK_BACKEND", "wayland")
	return func() string {
		tree, err := exec.Command("xwininfo", "-display", ":"+number, "-root", "-tree").CombinedOutput()
		if err != nil {
			w.t.Errorf("looking at the host's display: %v: %s", err, tree)
		}
		return string(tree)
	}
}

// servers are the process ids of display servers with a number.
func servers(display string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, _ := os.ReadFile(file)
		if strings.HasPrefix(string(line), "/usr/bin/Xvfb\x00"+display+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

var noChildren = regexp.MustCompile(`\n\s+0 children\.`)

// TestVirtualDisplay: a window opens on a display that the workspace alone has, and
// never on the person's.
func TestVirtualDisplay(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("Xvfb", "xwininfo", "xterm", "openbox", "dbus-send")
		host := w.hostDisplay()
		terminal := "xterm -title hidden -e sleep 60"
		if p.uid == 0 { // where root has no other groups, root's xterm starts nothing
			terminal = "xclock -title hidden"
			w.need("xclock")
		}
		r := w.run("--display", "virtual", "--", "sh", "-c", `echo "$DISPLAY $GDK_BACKEND"; `+terminal+` 2>/dev/null & for i in $(seq 100); do xwininfo -name hidden >/dev/null 2>&1 && break; sleep 0.05; done
			for i in $(seq 100); do xprop -root _NET_SUPPORTING_WM_CHECK | grep -q '#' && break; sleep 0.05; done; xwininfo -root -tree | grep -c '"hidden"'; xprop -root _NET_SUPPORTING_WM_CHECK | grep -c '#'; ls /tmp/.X11-unix; touch /tmp/.X11-unix/x 2>/dev/null && echo written
			dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId | grep -c string
			dbus-send --session --print-reply --dest=org.a11y.Bus /org/a11y/bus org.a11y.Bus.GetAddress | grep -c /at-spi/; kill $!`)
		lines := strings.Split(r.out, "\n")
		if r.code != 0 || len(lines) != 7 {
			t.Fatalf("%s", r)
		}
		display, _, _ := strings.Cut(lines[0], " ")
		n, _ := strconv.Atoi(strings.TrimPrefix(display, ":"))
		if lines[0] != display+" x11" || n < 1000 || lines[1] != "1" || lines[2] != "1" || lines[3] != "X"+strconv.Itoa(n) || lines[4] != "1" || lines[5] != "1" {
			t.Errorf("%s", r)
		}
		if tree := host(); !noChildren.MatchString(tree) {
			t.Errorf("on the host's display: %s", tree)
		}
		eventually(t, "the display's server has ended", func() bool { return len(servers(display)) == 0 })
		if left, _ := os.ReadDir(w.runtime + "/carrel/displays"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestVirtualDisplayCookie: who does not have the cookie is not let in, and the one
// that programs have is not the server's.
func TestVirtualDisplayCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	if r := w.run("--display", "virtual", "--size", "800x600", "--", "sh", "-c", "xdpyinfo | grep dimensions"); !strings.Contains(r.out, " 800x600 pixels") {
		t.Errorf("%s", r)
	}
	for _, flags := range [][]string{{"--display", "virtual", "--size", "800"}, {"--display", "none", "--size", "800x600"}} {
		if r := w.run(append(flags, "--", "true")...); r.code != 125 || !strings.Contains(r.err, "--size") {
			t.Errorf("%q: %s", flags, r)
		}
	}
	r := w.run("--display", "virtual", "--", "sh", "-c", `xdpyinfo >/dev/null && echo in; XAUTHORITY=/dev/null xdpyinfo >/dev/null 2>&1 || echo out
		perl -0777 -pe 's/(MIT-MAGIC-COOKIE-1..)..../${1}abcd/gs' $XAUTHORITY > /tmp/a; cmp -s /tmp/a $XAUTHORITY || XAUTHORITY=/tmp/a xdpyinfo >/dev/null 2>&1 || echo out`)
	if r.out != "in\nout\nout\n" {
		t.Errorf("%s", r)
	}
}

// TestVirtualDisplayBegins: a run has a server when it uses one, a workspace that stays
// from the start; a lost server is told of and followed by another one.
func TestVirtualDisplayBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	look := `echo $DISPLAY > d; while [ ! -e %s ]; do sleep 0.01; done; %s`
	for i, use := range []string{"true", "xdpyinfo >/dev/null"} {
		seen := fmt.Sprintf("seen%d", i)
		cmd := w.command(w.bin, "run", "--display", "virtual", "--", "sh", "-c", fmt.Sprintf(use+"; "+look, seen, "rm d"))
		w.must(cmd.Start())
		eventually(t, "the run is there", func() bool { st, err := os.Stat(w.project + "/d"); return err == nil && st.Size() > 0 })
		display := strings.TrimSpace(w.read(w.project + "/d"))
		if pids := servers(display); len(pids) != i {
			t.Errorf("servers of %s after %q: %v", display, use, pids)
		}
		w.write(w.project+"/"+seen, "")
		w.must(cmd.Wait())
	}
	s := w.stays("seen", "--display", "virtual")
	display := strings.TrimSpace(s.sh("echo $DISPLAY"))
	eventually(t, "the server is there", func() bool { return kinds(s.events())["display"] == 1 && len(servers(display)) == 1 })
	w.must(os.Remove(w.bin)) // a newer one is installed meanwhile
	w.must(copyFile(built.carrel, w.bin, 0o755))
	s.sh("xdpyinfo >/dev/null")
	before := servers(display)
	if len(before) != 1 {
		t.Fatalf("servers of %s: %v", display, before)
	}
	w.must(syscall.Kill(before[0], syscall.SIGKILL))
	eventually(t, "the loss is told", func() bool { return kinds(s.events())["display_lost"] == 1 })
	s.sh("xdpyinfo >/dev/null")
	if after := servers(display); len(after) != 1 || after[0] == before[0] {
		t.Errorf("servers of %s: %v, before %v", display, after, before)
	}
	if k := kinds(s.events()); k["display"] != 2 {
		t.Errorf("events: %v", k)
	}
	s.end()
	if pids := servers(display); len(pids) > 0 {
		t.Errorf("servers after the end: %v", pids)
	}
}

// TestVirtualDisplayKeymap: the keyboard map is compiled once, programs may load others,
// and what was kept and cannot be used is compiled anew.
func TestVirtualDisplayKeymap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "setxkbmap", "xkbcomp")
	kept := w.home + "/.local/state/carrel/keymap"
	see := func() string {
		t.Helper()
		// of the map at the start, of one that a program loads, and of the first again
		r := w.run("--display", "virtual", "--", "sh", "-c", `see() { xkbcomp $DISPLAY - 2>/dev/null | grep -c 'key <AC10>.*semicolon'; xkbcomp $DISPLAY - 2>/dev/null | grep -c adiaeresis; }
			see; setxkbmap de; see; setxkbmap us; see; true`)
		if r.code != 0 {
			t.Fatalf("%s", r)
		}
		return strings.ReplaceAll(r.out, "\n", " ")
	}
	const us = "1 0 0 1 1 0 "
	if got := see(); got != us {
		t.Fatalf("compiled: %q", got)
	}
	first, err := os.ReadFile(kept)
	w.must(err)
	head, _, _ := strings.Cut(string(first), "\n")
	if got := see(); got != us {
		t.Errorf("kept: %q", got)
	}
	// That it is what was kept shows one that differs.
	german := filepath.Join(t.TempDir(), "de.xkm")
	cmd := exec.Command("xkbcomp", "-w", "0", "-xkm", "-", german)
	cmd.Stdin = strings.NewReader(strings.Replace(xvfb.Keymap, "pc+us+", "pc+de+", 1))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other, err := os.ReadFile(german)
	w.must(err)
	w.must(os.WriteFile(kept, append([]byte(head+"\n"), other...), 0o600))
	if got := see(); !strings.HasPrefix(got, "0 1 ") {
		t.Errorf("another map was kept, and is not used: %q", got)
	}
	for _, wrong := range []string{head + "\n\x0fmkx and no more", head, "carrel-keymap 1 of another machine\n" + string(other), strings.Repeat("x", 1<<20)} {
		w.must(os.WriteFile(kept, []byte(wrong), 0o600))
		if got := see(); got != us {
			t.Errorf("with %.40q kept: %q", wrong, got)
		}
	}
	see() // after one that was forgotten
	// The compiler leaves what it pads with to chance.
	if now, err := os.ReadFile(kept); err != nil || !bytes.HasPrefix(now, []byte(head+"\n\x0fmkx")) || len(now) != len(first) {
		t.Errorf("it is not kept again: %.100q, %v", now, err)
	}
}

// TestVirtualDisplayKilledSupervisor: everything ends with it, and what it leaves in
// its directory goes at the next start; what is not its own stays.
func TestVirtualDisplayKilledSupervisor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.need("Xvfb", "xdpyinfo")
	cmd := w.command(w.bin, "run", "--display", "virtual", "--", "sh", "-c", "xdpyinfo >/dev/null; echo $DISPLAY > d; sleep 60")
	w.must(cmd.Start())
	eventually(t, "the display is used", func() bool { return exists(w.project + "/d") })
	time.Sleep(50 * time.Millisecond)
	display := strings.TrimSpace(w.read(w.project + "/d"))
	if len(servers(display)) != 1 {
		t.Errorf("servers of %q: %v", display, servers(display))
	}
	foreign := w.runtime + "/carrel/displays/other"
	w.must(os.Mkdir(foreign, 0o700))
	w.own(foreign)
	kill([]*exec.Cmd{cmd})
	eventually(t, "the server ends with its supervisor", func() bool { return len(servers(display)) == 0 })
	// A lower number is one that another program has let go of meanwhile.
	r := w.run("--display", "virtual", "--", "sh", "-c", "xdpyinfo >/dev/null && echo $DISPLAY")
	if next := strings.TrimSpace(r.out); len(next) != len(display) || next > display {
		t.Errorf("the next run has a higher number than %s: %s", display, r)
	}
	if left, _ := filepath.Glob(w.runtime + "/carrel/displays/*"); len(left) != 1 || left[0] != foreign {
		t.Errorf("left: %v", left)
	}
}

// TestVirtualDisplaysAtOnce: twenty from four processes are distinct, and each is
// opened by its own cookie only.
func TestVirtualDisplaysAtOnce(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdpyinfo")
	out := w.outsideSh(`for p in 1 2 3 4; do (for i in 1 2 3 4 5; do ` + w.bin + ` run --display virtual --history off -- sh -c 'xdpyinfo | grep -c "^name of display" ; echo $DISPLAY; for i in $(seq 600); do [ -e go ] && break; sleep 0.1; done' > out.$p.$i 2>&1 & done; wait) & done
		for i in $(seq 600); do [ $(cat out.*.* 2>/dev/null | grep -c '^:') = 20 ] && break; sleep 0.1; done; touch go; wait; cat out.*.*`)
	seen := make(map[string]bool)
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if strings.HasPrefix(line, ":") {
			seen[line] = true
		}
	}
	if len(seen) != 20 || strings.Count(out, "1\n:") != 20 {
		t.Errorf("%d different displays: %s", len(seen), out)
	}
}

// siege holds the abstract names of all display numbers that are taken in order, and runs
// a command.
var siege = program("display_virtual/siege.py")

// TestVirtualDisplayBesieged: where somebody holds all numbers that are taken in order there
// still is a display, and programs of all kinds know its number.
func TestVirtualDisplayBesieged(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	w := newWorld(t, ordinary(t))
	w.need("python3", "Xvfb", "openbox", "xdpyinfo", "xprop", "xterm", "mousepad", "featherpad", "chromium")
	// Nobody else's displays are in the way in a network of the test's own.
	cmd := w.command("python3", "-c", siege, w.bin, "run", "--display", "virtual", "--history", "off", "--network", "closed", "--", "bash", "-c",
		`echo $DISPLAY; xdpyinfo | grep -c "^name of display:  *$DISPLAY"
		xterm & mousepad & featherpad & chromium --user-data-dir=/tmp/c about:blank &
		for c in XTerm Mousepad FeatherPad Chromium; do for i in $(seq 300); do
			for id in $(xprop -root _NET_CLIENT_LIST | grep -o '0x[0-9a-f]*'); do xprop -id $id WM_CLASS; done 2>/dev/null | grep -q "\"$c\"" && echo $c && break; sleep 0.1
		done; done`)
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	r := w.finish(cmd)
	number, rest, _ := strings.Cut(strings.TrimPrefix(r.out, ":"), "\n")
	if n, err := strconv.Atoi(number); err != nil || n < 2000 || rest != "1\nXTerm\nMousepad\nFeatherPad\nChromium\n" {
		t.Errorf("display %s: %s", number, r)
	}
}

// TestVirtualDisplayEngines: bubblewrap has it; with landlock the workspace has none, says
// so, and never gets the person's.
func TestVirtualDisplayEngines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.setenv("DISPLAY", ":77")
	if r := w.run("--engine", "bubblewrap", "--history", "off", "--network", "closed", "--display", "virtual", "--", "sh", "-c", "xdpyinfo | grep -c ^name"); r.out != "1\n" {
		t.Errorf("with bubblewrap: %s", r)
	}
	r := w.run("--engine", "landlock", "--history", "off", "--network", "closed", "--nested", "none", "--display", "virtual", "--", "sh", "-c", "echo d=$DISPLAY")
	if r.code != 0 || r.out != "d=\n" || !strings.Contains(r.err, "no virtual display (--display)") {
		t.Errorf("%s", r)
	}
}

// TestVirtualDisplayControl: what programs may do to each other's windows follows the
// mode of the workspace.
func TestVirtualDisplayControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xdotool")
	s := w.stays("held", "--display", "virtual")
	if got := s.sh("xdotool mousemove 10 10 mousemove 300 200; xdotool getmouselocation | cut -d' ' -f1,2"); strings.TrimSpace(got) != "x:300 y:200" {
		t.Fatalf("in an active workspace: %q", got)
	}
	s.launch("mover", "while :; do xdotool key a; sleep 0.02; done")
	time.Sleep(200 * time.Millisecond)
	if n := kinds(s.events())["display_refused"]; n > 0 {
		t.Errorf("%d refusals in an active workspace", n)
	}
	s.fine("control", "read_only")
	eventually(t, "the refusal is told", func() bool { return kinds(s.events())["display_refused"] > 0 })
}

// TestVirtualDisplayMissing: where Xvfb is not installed the workspace starts without
// a display, says so, and never gets the person's.
func TestVirtualDisplayMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.setenv("DISPLAY", ":77")
	w.without("/usr/bin/Xvfb")
	r := w.run("--display", "virtual", "--", "sh", "-c", "echo d=$DISPLAY; ls /tmp/.X11-unix")
	if !strings.HasPrefix(r.out, "d=\n") || !strings.Contains(r.err, "no virtual display (--display): /usr/bin/Xvfb is not installed") {
		t.Errorf("%s", r)
	}
	if r := w.carrel("explain", "--display", "virtual"); r.code != 0 || !strings.Contains(r.out, "virtual cannot be had here") {
		t.Errorf("%s", r)
	}
}
