//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// without has the world's program run where a file of the machine is no program.
func (w *world) without(file string) {
	w.t.Helper()
	if os.Getuid() != 0 {
		w.t.Skip("mounting a file system takes root")
	}
	w.wrap = func(cmd *exec.Cmd) {
		line := []string{"unshare", "-m", "sh", "-c", `mount --bind /dev/null "$0" && u=$1 g=$2 && shift 2 && exec setpriv --reuid $u --regid $g --clear-groups "$@"`,
			file, strconv.Itoa(w.who.uid), strconv.Itoa(w.who.gid)}
		cmd.Args = append(line, cmd.Args...)
		cmd.Path = "/usr/bin/unshare"
		cmd.SysProcAttr.Credential = nil
	}
}

// TestDesktopProgramsMissing: where a program of the desktop's is not installed doctor
// says so, the workspace starts all the same, and who wants what it does is told its name.
func TestDesktopProgramsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, debian string
		command      []string // does without, or says what is missing
		told         string   // "" where it does without
	}{
		{"/usr/bin/openbox", "openbox", []string{"window", "WINDOW", "move", "20", "30"}, ""},
		{"/usr/bin/dbus-daemon", "dbus-daemon", []string{"a11y tree"}, "/usr/bin/dbus-daemon is installed"},
		{"/usr/libexec/at-spi-bus-launcher", "at-spi2-core", []string{"a11y find", "--name", "x"}, "Debian's package at-spi2-core has it"},
		{"/usr/bin/x11vnc", "x11vnc", []string{"watch"}, "Debian's package x11vnc has it"},
		{"/usr/bin/ffmpeg", "ffmpeg", []string{"record", "--for", "1s", "-o", "v.mkv"}, "Debian's package ffmpeg has it"},
	} {
		t.Run(tt.debian, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "openbox", "dbus-daemon", "x11vnc", "ffmpeg", "xterm", "mousepad")
			w.without(tt.file)
			r := w.carrel("doctor")
			if want := "sudo apt-get install " + tt.debian + "\n"; !strings.Contains(r.out, want) {
				t.Errorf("doctor does not say %q: %s", want, r)
			}
			s := w.stays("partly", "--display", "virtual")
			s.launch("pad", "exec mousepad --disable-server")
			v := s.window("--app", "pad")
			s.fine("screenshot", "-o", "seen.png")
			for i, word := range tt.command {
				tt.command[i] = strings.ReplaceAll(word, "WINDOW", v.ID)
			}
			r = s.do(tt.command[0], tt.command[1:]...)
			if tt.told == "" && r.code != 0 || tt.told != "" && (r.code != 125 || !strings.Contains(r.err, tt.told)) {
				t.Errorf("%q: %s", tt.command, r)
			}
			if exists(w.project + "/v.mkv") {
				t.Error("a video of nothing")
			}
			s.stopsClean()
		})
	}
}

// TestDesktopNowhere: in a workspace without a desktop, in one that has ended and in one
// that never was each command says so, what to do about it, and nothing else.
func TestDesktopNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	w.stays("blind")
	ended := w.stays("ended", "--display", "virtual")
	ended.fine("stop")
	commands := []string{"screenshot NAME -o x.png", "screenshot NAME --json", "windows NAME", "windows NAME --json", "windows NAME --wait", "screen NAME", "screen NAME --json", "screen NAME 800x600",
		"screen NAME --still 1s", "clipboard get NAME", "clipboard set NAME", "record NAME -o x.mkv", "watch NAME", "watch NAME --json", "click NAME 1 1", "drag NAME 1 1 2 2", "scroll NAME down",
		"type NAME x", "key NAME a", "input NAME", "window NAME 0x40 focus", "a11y tree NAME", "a11y tree NAME --json", "a11y find NAME --name x", "a11y invoke NAME :1.1:1", "computer NAME --told",
		`computer NAME {"action":"screenshot"} --json -o x.png`}
	for name, want := range map[string]string{
		"blind":  "carrel: this workspace has no virtual display\nhint: ",
		"ended":  "carrel: workspace \"ended\" does not run\nhint: `carrel start ended` ",
		"nobody": "carrel: no workspace \"nobody\"\nhint: `carrel ps` ",
	} {
		for _, line := range commands {
			cmd := w.command(w.bin, strings.Fields(strings.ReplaceAll(line, "NAME", name))...)
			cmd.Stdin = strings.NewReader(`[{"do":"key","keys":"a"}]`)
			if r := w.finish(cmd); r.code != 125 || r.out != "" || !strings.HasPrefix(r.err, want) || strings.Count(r.err, "\n") != 2 {
				t.Errorf("%s of %q: %s", line, name, r)
			}
		}
	}
	if left := w.outsideSh("ls -A"); left != "" {
		t.Errorf("left: %s", left)
	}
}
