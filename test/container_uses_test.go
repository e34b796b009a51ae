//go:build linux

package e2e

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestContainerAgent: an agent of the image has its settings and keeps what it writes, as
// without a container, from its first run on; the person's own are not changed.
func TestContainerAgent(t *testing.T) {
	t.Parallel()
	w := contained(t, namedContainers)
	w.litter = true
	own := w.write(w.home+"/.claude/settings.json", `{"theme":"dark"}`)
	script := "cat ~/.claude/settings.json; echo written >>~/.claude/inside; wc -l <~/.claude/inside"
	for run := range 2 {
		r := w.run(append(inContainer, "--", "claude", script)...)
		want := string(rune('1' + run))
		if r.code != 0 || !strings.Contains(r.out, "dark") || !strings.HasSuffix(strings.TrimSpace(r.out), want) {
			t.Errorf("run %d: %s", run, r)
		}
	}
	if exists(w.home+"/.claude/inside") || w.read(own) != `{"theme":"dark"}` {
		t.Error("the person's own settings were changed")
	}
}

// TestContainerDisplay: windows of programs in a container open on the hidden display.
// Its server is outside.
func TestContainerDisplay(t *testing.T) {
	t.Parallel()
	w := contained(t, namedContainers)
	w.need("wmctrl", "Xvfb", "openbox")
	if out := w.sh("wmctrl -m", append(inContainer, "--display", "virtual")...); !strings.Contains(out, "Name: Openbox") {
		t.Errorf("the display: %q", out)
	}
}

// TestContainerServes: a published port leads to a server in the container, a host command
// runs outside, and what is mounted for every workspace is there.
func TestContainerServes(t *testing.T) {
	t.Parallel()
	w := contained(t, namedContainers)
	w.litter = true
	w.write(w.home+"/notes/note", "a note")
	w.write(w.home+"/.config/carrel/config.yaml",
		"host_commands: [uname]\nextra_mounts: [~/notes]\nbackend: container\ncontainer:\n  image: "+smallImage+"\n")
	if out := w.sh("readlink $(command -v uname); cat ~/notes/note; echo x >~/notes/note || uname -s"); !strings.Contains(out, "a noteLinux") {
		t.Errorf("inside: %q", out)
	}
	port := w.freePort()
	serve := "echo ready; nc -lp 8080 -e echo " + greeting
	cmd := w.command(w.bin, "run", "--network", "local", "--publish", "8080:"+port, "--", "sh", "-c", serve)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	waitFor(t, out, "ready\n")
	said := ""
	for end := time.Now().Add(5 * time.Second); said == "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			all, _ := io.ReadAll(conn)
			conn.Close()
			said = string(all)
		}
	}
	if err := cmd.Wait(); err != nil || said != greeting+"\n" {
		t.Errorf("the published port: %q %v", said, err)
	}
}

// TestContainerTerminal: a command has the person's terminal by the name that programs look
// for, with its description and size, and cannot change who else may read it.
func TestContainerTerminal(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, w *world, c *containers) {
		w.setenv("TERM", "screen-256color-bce") // which the image does not describe
		script := "tty; echo $TERM $TERMINFO_DIRS; stty size; chmod 666 /proc/self/fd/0 || echo held"
		args := append(append([]string{"run", "--history", "off"}, inContainer...), "--", "sh", "-c", script)
		tm := w.inTerminal(w.command(w.bin, args...))
		said := strings.ReplaceAll(tm.all(), "\r", "")
		for _, want := range []string{"/dev/console\n", "screen-256color-bce /run/carrel/terminfo:\n", "24 80\n", "held\n"} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q: %s", want, said)
			}
		}
	})
}
