//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// hostSway starts a compositor that stands for the person's desktop.
func (w *world) hostSway() {
	w.t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sway")
	w.must(err)
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "config")
	w.must(os.WriteFile(config, []byte("xwayland disable\n"), 0o644))
	cmd := exec.Command("sway", "-c", config)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir, "WLR_BACKENDS=headless", "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman"}
	who := w.who.credential()
	if w.who.uid == 0 { // it does not want to be root's
		who = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	if who != nil {
		w.must(os.Chown(dir, int(who.Uid), int(who.Gid)))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	}
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	var found []string
	eventually(w.t, "sway to start", func() bool {
		found, _ = filepath.Glob(dir + "/wayland-*.lock")
		return len(found) == 1
	})
	w.setenv("WAYLAND_DISPLAY", strings.TrimSuffix(found[0], ".lock"))
	w.setenv("XDG_RUNTIME_DIR", dir)
	w.unsetenv("DISPLAY")
}

// outsideCopies has a program of the person's desktop copy something. What stays behind
// to hand it out must not hold the test's pipes.
func (w *world) outsideCopies(in string, args ...string) {
	w.t.Helper()
	file := w.write(w.home+"/copied", in)
	if r := w.plain("bash", append([]string{"-c", `"$@" < ` + file + ` > /dev/null 2>&1`, "bash"}, args...)...); r.code != 0 {
		w.t.Fatalf("%q: %s", args, r)
	}
}

// hostDesktops are the two kinds of a person's desktop, with what copies and pastes there.
var hostDesktops = []struct {
	name         string
	start        func(*world)
	copy, paste  []string
	copyPNG, png []string
}{
	{"x11", func(w *world) { w.hostDisplay() }, words("xclip -selection clipboard"), words("xclip -selection clipboard -o"),
		words("xclip -selection clipboard -t image/png"), words("xclip -selection clipboard -t image/png -o")},
	{"wayland", (*world).hostSway, words("wl-copy"), words("wl-paste --no-newline"), words("wl-copy --type image/png"), words("wl-paste --type image/png")},
}

func words(s string) []string { return strings.Fields(s) }

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestClipboardCarried: a person carries text and a picture to a workspace and back,
// on X11 and on Wayland; programs do not, and inside nothing of it is to be had before.
func TestClipboardCarried(t *testing.T) {
	t.Parallel()
	for _, desktop := range hostDesktops {
		t.Run(desktop.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "xclip", "sway", "wl-copy", "wl-paste")
			desktop.start(w)
			picture, _ := base64.StdEncoding.DecodeString(onePixel)
			s := w.stays("clip")
			w.outsideCopies("the person's secret", desktop.copy...)
			look := `for p in "xclip -selection clipboard -o" "xsel -bo" "wl-paste" "/usr/bin/xclip -selection clipboard -o" "/usr/bin/wl-paste"; do $p 2>&1; done; true`
			if got := s.sh(look); strings.Contains(got, "secret") {
				t.Errorf("inside, before anything was carried: %q", got)
			}
			if r := s.do("clipboard send"); r.code != 125 || !strings.Contains(r.err, "only a person") {
				t.Errorf("sent by a program: %s", r)
			}
			if r := s.do("clipboard take"); r.code != 125 || !strings.Contains(r.err, "only a person") {
				t.Errorf("taken by a program: %s", r)
			}
			s.person("clipboard send")
			if got := s.sh("xclip -selection clipboard -o; wl-paste -n; xsel -bo"); got != strings.Repeat("the person's secret", 3) {
				t.Errorf("pasted %q", got)
			}
			w.outsideCopies(string(picture), desktop.copyPNG...)
			s.person("clipboard send")
			if got := s.sh("xclip -selection clipboard -t TARGETS -o | grep -c image/png; wl-paste -l; wl-paste --type image/png"); got != "1\nimage/png\n"+string(picture) {
				t.Errorf("pasted %q", got)
			}
			s.sh("printf %s 'from inside' | xclip -selection clipboard")
			s.person("clipboard take")
			if r := w.plain(desktop.paste[0], desktop.paste[1:]...); r.out != "from inside" {
				t.Errorf("on the desktop: %s", r)
			}
			s.sh("echo " + onePixel + " | base64 -d | wl-copy")
			s.person("clipboard take", "--image")
			if r := w.plain(desktop.png[0], desktop.png[1:]...); !bytes.Equal([]byte(r.out), picture) {
				t.Errorf("on the desktop: %s", r)
			}
			w.outsideCopies("over", desktop.copy...) // who held the picture goes
			eventually(t, "the process that held the clipboard to end", func() bool { return w.calledSo("carrel-clipboard") == 0 })
			told := kinds(s.events())
			if told["clipboard_sent"] != 2 || told["clipboard_taken"] != 2 || told["clipboard_lent"] != 0 {
				t.Errorf("events: %v", told)
			}
			for _, e := range s.events() {
				if strings.Contains(e.Text, "secret") {
					t.Errorf("an event tells what was copied: %+v", e)
				}
			}
		})
	}
}

// calledSo counts the processes of the person that call themselves so.
func (w *world) calledSo(name string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, _ := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Dir(file) + "/environ")
		if strings.HasPrefix(string(line), name+"\x00") && bytes.Contains(env, []byte(w.home)) {
			n++
		}
	}
	return n
}

// TestClipboardGesture: with display.clipboard: paste a program inside has the person's
// clipboard just after their key for pasting, and at no other time, however often it asks.
func TestClipboardGesture(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"run", "exec", "attach"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "xclip")
			w.hostDisplay()
			w.configured("display: {clipboard: paste}\n")
			w.outsideCopies("SECRET", words("xclip -selection clipboard")...)
			polled := w.project + "/polled"
			script := `while :; do { xclip -selection clipboard -o || echo none; } >> polled 2>/dev/null; sleep 0.05; done & cat >/dev/null; kill %1`
			var tm *terminal
			switch way {
			case "run":
				tm = w.openTerminal(w.command(w.bin, "run", "--", "bash", "-c", script))
			case "exec":
				s := w.stays("lends")
				tm = w.openTerminal(w.command(w.bin, "exec", s.name, "--", "bash", "-c", script))
			case "attach":
				s := w.stays("lends")
				s.fine("terminal start", "--", "bash", "-c", script)
				tm = w.openTerminal(w.command(w.bin, "attach", s.name))
			}
			eventually(t, "the program to ask", func() bool { return strings.Count(w.readIf(polled), "none") > 5 })
			tm.send("v\x1b[Av")
			time.Sleep(300 * time.Millisecond)
			if strings.Contains(w.readIf(polled), "SECRET") {
				t.Fatal("without the key it has the person's clipboard")
			}
			tm.send("\x16")
			eventually(t, "the key to lend the clipboard", func() bool { return strings.Contains(w.readIf(polled), "SECRET") })
			time.Sleep(6 * time.Second)
			n := strings.Count(w.readIf(polled), "SECRET")
			time.Sleep(time.Second)
			if now := strings.Count(w.readIf(polled), "SECRET"); now != n || n > 16 {
				t.Errorf("one key lent it %d times, and a while later %d", n, now)
			}
			if way == "attach" {
				tm.send("\x1d") // lets go
			} else {
				tm.send("x\n\x04") // the key quotes what comes after it
			}
			tm.wait()
		})
	}
}

// TestClipboardOddOwner: a program of the desktop that hangs, or has more than is
// carried, costs a person some seconds and the workspace nothing.
func TestClipboardOddOwner(t *testing.T) {
	t.Parallel()
	for _, desktop := range hostDesktops {
		t.Run(desktop.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "xclip", "sway", "wl-copy", "wl-paste")
			desktop.start(w)
			s := w.stays("clip")
			s.sh("printf own | wl-copy")
			large := w.home + "/large"
			w.must(os.WriteFile(large, bytes.Repeat([]byte("0123456789abcdef"), 5<<20), 0o644)) // 80 MiB
			for name, odd := range map[string]struct {
				file string
				stop bool
				want string
			}{
				"hangs": {w.write(w.home+"/small", "text"), true, "said nothing"},
				"large": {large, false, "bytes"},
			} {
				owner := append(desktop.copy[:len(desktop.copy):len(desktop.copy)], map[string]string{"x11": "-quiet", "wayland": "--foreground"}[desktop.name])
				cmd := w.command(owner[0], owner[1:]...)
				in, err := os.Open(odd.file)
				w.must(err)
				cmd.Stdin = in
				w.must(w.start(cmd))
				in.Close()
				list := map[string]string{"x11": "xclip -selection clipboard -t TARGETS -o", "wayland": "wl-paste --list-types"}[desktop.name]
				eventually(t, "something to be copied", func() bool { return w.plain("bash", "-c", list).code == 0 })
				if odd.stop {
					w.must(cmd.Process.Signal(syscall.SIGSTOP))
				}
				begin := time.Now()
				code, said := s.atTerminal("clipboard send")
				if code != 125 || !strings.Contains(said, odd.want) || time.Since(begin) > 30*time.Second {
					t.Errorf("%s: status %d after %v, %q", name, code, time.Since(begin), said)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if got := s.sh("wl-paste -n"); got != "own" {
					t.Errorf("%s: the workspace has %q", name, got)
				}
			}
		})
	}
}

func (w *world) readIf(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

// TestClipboardRefused: neither a project nor a program outside opens it, and a ceiling
// closes it.
func TestClipboardRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xclip")
	w.hostDisplay()
	w.outsideCopies("SECRET", words("xclip -selection clipboard")...)
	w.write(w.project+"/.carrel.yaml", "display: {clipboard: paste}\n")
	tm := w.openTerminal(w.command(w.bin, "run", "--", "bash", "-c", `read -r -n1; xclip -selection clipboard -o; echo "status $?"`))
	tm.send("\x16x")
	tm.expect(`status 1`)
	tm.wait()
	if strings.Contains(tm.all(), "SECRET") || !strings.Contains(tm.all(), "ignored") {
		t.Errorf("a project file opened it: %q", tm.all())
	}
	r := w.plain(w.bin, "explain", "--", "true")
	if !strings.Contains(r.out, "clipboard") && !strings.Contains(r.err, "clipboard") {
		t.Errorf("explain says nothing of what was ignored: %s", r)
	}
}

// TestClaudePastesPicture: Claude Code reads a picture from the person's clipboard when
// they press Ctrl+V, and sends it to its model.
func TestClaudePastesPicture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xclip")
	w.installAgents()
	w.hostDisplay()
	w.configured("display: {clipboard: paste}\nnetwork: open\n")
	picture, _ := base64.StdEncoding.DecodeString(onePixel)
	w.outsideCopies(string(picture), words("xclip -selection clipboard -t image/png")...)
	m := w.model([]fakemodel.Turn{{Text: "seen"}})
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model-0123456789")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["the-model-0123456789"],"rejected":[]}}`)
	tm := w.openTerminal(w.command(w.bin, "run", "--", "claude"))
	if strings.Contains(tm.expect(`(?i)shortcuts|welcome|tips|confirm`), "onfirm") { // that the folder is trusted
		waitABit()
		tm.send("\r")
		tm.expect(`(?i)shortcuts|welcome|tips`)
	}
	time.Sleep(2 * time.Second)
	tm.send("\x16")
	tm.expect(`Image.*#1`)
	tm.send("\x03")
	waitABit()
	tm.send("\x03\x03")
	waitABit()
	tm.send("\x03")
	tm.wait()
}
