//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secrets are what a person types and hands over, and what no file may hold.
var secrets = []string{"typed-5ecret-one", "typed-5ecret-two", "value-5ecret-three", "pasted-5ecret-four", "value-5ecret-five"}

// screen is a terminal of a workspace.
type screen struct {
	s  *stay
	id string
}

func (s *stay) screen(flags ...string) *screen {
	s.w.t.Helper()
	id, _, _ := strings.Cut(s.fine("terminal start", flags...), " ")
	return &screen{s, id}
}

func (c *screen) read(flags ...string) string {
	c.s.w.t.Helper()
	return c.s.fine("terminal read", append([]string{c.id}, flags...)...)
}

func (c *screen) send(words ...string) {
	c.s.w.t.Helper()
	c.s.fine("terminal send", append([]string{c.id}, words...)...)
}

// shows waits until the screen has that.
func (c *screen) shows(text string) {
	c.s.w.t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(c.read(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.s.w.t.Fatalf("the screen does not show %q:\n%s", text, c.read())
		}
	}
}

// bare is a shell without start files of its own.
var bare = []string{"--env", "PS1=IN> ", "--env", "HISTFILE=", "--", "bash", "--norc", "--noprofile"}

// TestDeskTerminal: a screen is read as text and typed into, by a program and by people
// who sit down at it; what is typed is nowhere on the disk.
func TestDeskTerminal(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("screens")
		c := s.screen(bare...)
		c.shows("IN>")
		c.send("--text", "echo one $((1+1))", "Enter")
		c.shows("one 2")
		c.send("Up", "Enter")
		eventually(t, "the line to be there twice", func() bool { return strings.Count(c.read(), "\none 2") == 2 })
		c.send("--text", "sleep 4401", "Enter")
		eventually(t, "it to sleep", func() bool { return s.runs("sleep 4401") })
		c.send("ctrl+c")
		eventually(t, "Ctrl-C to end it", func() bool { return !s.runs("sleep 4401") })
		c.send("--text", "stty size", "Enter")
		c.shows("30 100")
		c.send("--columns", "72", "--rows", "20")
		c.send("--text", "clear; stty size", "Enter")
		c.shows("20 72")
		c.send("--text", "seq 500 | sed 's/^/line /'", "Enter")
		c.shows("line 500")
		if strings.Contains(c.read(), "line 100\n") || !strings.Contains(c.read("--full"), "line 100\n") {
			t.Error("what has left the screen")
		}
		c.send("--text", "vi -u NONE made; clear", "Enter")
		c.shows("~")
		c.send("i", "t", "e", "x", "t", "Space", "b", "y", "Space", "k", "e", "y", "s", "Escape", ":", "w", "q", "Enter")
		eventually(t, "vi to write", func() bool {
			text, _ := os.ReadFile(w.project + "/made")
			return string(text) == "text by keys\n"
		})
		c.shows("IN>")
		for _, key := range []string{"nonsense", "ctrl+", "F99"} {
			if r := s.do("terminal send", c.id, key); r.code != 125 {
				t.Errorf("the key %q: %s", key, r)
			}
		}
		if r := s.do("terminal read", s.launch("plain", "sleep 4402")); r.code != 125 || !strings.Contains(r.err, "has no terminal") {
			t.Errorf("%s", r)
		}
		s.attached(c)
		c.send("--text", "exit 5", "Enter")
		if r := s.do("wait", c.id); r.code != 5 {
			t.Errorf("wait: %s", r)
		}
		if out := c.read(); !strings.Contains(out, "exit") {
			t.Errorf("the last screen: %q", out)
		}
		if r := s.do("terminal send", c.id, "Enter"); r.code != 125 {
			t.Errorf("typed into what has ended: %s", r)
		}
	})
}

// attached has two people sit down at a terminal.
func (s *stay) attached(c *screen) {
	t, w := s.w.t, s.w
	t.Helper()
	sit := func() *terminal {
		tm := w.openTerminal(w.command(w.bin, s.words("attach", c.id)...))
		tm.expect("IN> ")
		return tm
	}
	one, two := sit(), sit()
	one.send("echo from $((40+2))\r")
	one.expect("from 42")
	two.expect("from 42")
	two.send("echo back $((40+3))\r")
	one.expect("back 43")
	c.shows("back 43")
	one.resize(90, 25)
	waitABit()
	one.send("\x0c stty size\r")
	one.expect("25 90")
	one.send("\x1d")
	one.expect("let go of")
	if code := one.wait(); code != 0 {
		t.Errorf("let go with status %d", code)
	}
	two.send("echo still $((40+4))\r")
	two.expect("still 44")
	w.must(two.cmd.Process.Kill()) // gone without a word
	two.wait()
	c.send("--text", "echo after $((40+5))", "Enter")
	c.shows("after 45")
	if r := s.do("attach"); r.code != 125 || !strings.Contains(r.err, "needs a terminal") {
		t.Errorf("attach without a terminal: %s", r)
	}
}

// TestDeskSlowReader: somebody attached who reads nothing, and a program that reads
// nothing, hold nobody up.
func TestDeskSlowReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := w.stays("slow")
	c := s.screen(bare...)
	c.shows("IN>")
	master, slave := w.pty()
	defer master.Close()
	slow := w.command(w.bin, s.words("attach", c.id)...)
	slow.Stdin, slow.Stdout, slow.Stderr = slave, slave, slave
	slow.SysProcAttr.Setctty = true
	w.must(w.start(slow)) // and nobody reads its terminal
	slave.Close()
	waitABit()
	start := time.Now()
	c.send("--text", "seq 300000; echo the end", "Enter")
	c.shows("the end\n")
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("beside a slow reader it takes %v", took)
	}
	w.must(slow.Process.Kill())
	_ = slow.Wait()

	deaf := s.screen("--", "sh", "-c", "stty raw -echo; sleep 4403")
	eventually(t, "it to sleep", func() bool { return s.runs("sleep 4403") })
	for range 3 {
		cmd := w.command(w.bin, s.words("terminal send", deaf.id, "--text", "-")...)
		cmd.Stdin = strings.NewReader(strings.Repeat("x", 500<<10))
		w.must(w.start(cmd))
		waitABit()
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
	deaf.read()
	before := descriptorsOf(s.status().PID)
	for range 5 {
		cmd := w.command(w.bin, s.words("terminal send", deaf.id, "--text", "more")...)
		w.must(w.start(cmd))
		time.Sleep(100 * time.Millisecond)
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
	eventually(t, "callers that have gone to be forgotten", func() bool { return descriptorsOf(s.status().PID) <= before })
	asking := s.screen("--", "sh", "-c", "stty raw -echo; while :; do printf '\\033[c\\033[6n'; done")
	time.Sleep(time.Second)
	start = time.Now()
	if out := asking.read() + s.fine("status") + s.fine("apps"); out == "" || time.Since(start) > 3*time.Second {
		t.Errorf("beside a program that asks and does not listen, looking takes %v", time.Since(start))
	}
	start = time.Now()
	s.fine("kill", deaf.id)
	s.fine("kill", asking.id)
	s.fine("stop")
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("kill and stop take %v", took)
	}
}

// TestDeskKeepsNoSecrets: what is typed, and what variables are given, is in no file.
func TestDeskKeepsNoSecrets(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setenv("HANDED", secrets[4])
		s := w.stays("secrets")
		c := s.screen(append([]string{"--env", "IN_SCREEN=" + secrets[2]}, bare...)...)
		c.shows("IN>")
		c.send("--text", "read -rsp 'wo''rd? ' word; echo done ${#word}", "Enter")
		c.shows("word?") // before it is asked, the shell takes what is typed for a paste
		c.send("--text", secrets[0], "Enter")
		c.shows(fmt.Sprintf("done %d", len(secrets[0])))
		cmd := w.command(w.bin, s.words("terminal send", c.id, "--text", "-", "Enter")...)
		cmd.Stdin = strings.NewReader(": " + secrets[3])
		if r := w.finish(cmd); r.code != 0 {
			t.Errorf("%s", r)
		}
		tm := w.openTerminal(w.command(w.bin, s.words("attach")...))
		tm.expect("IN> ")
		tm.send(": " + secrets[1] + "\r")
		c.shows(secrets[1]) // canary: it has arrived
		if got := s.fine("exec", "--env", "GIVEN="+secrets[2], "--env", "HANDED", "--", "sh", "-c", "echo $GIVEN $HANDED"); got != secrets[2]+" "+secrets[4]+"\n" {
			t.Errorf("canary: %q", got)
		}
		s.fine("launch", "--env", "GIVEN="+secrets[2], "--wait", "exit", "--", "sh", "-c", "echo marker-of-a-log")
		tm.send("\x1d")
		tm.wait()
		look := func(when string) {
			t.Helper()
			canary := false
			for _, top := range []string{w.home + "/.local/state", w.runtime} {
				_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
					if err != nil || !d.Type().IsRegular() {
						return nil
					}
					data, _ := os.ReadFile(path)
					canary = canary || bytes.Contains(data, []byte("marker-of-a-log"))
					for _, secret := range secrets {
						if bytes.Contains(data, []byte(secret)) {
							t.Errorf("%s: %s is in %s", when, secret, path)
						}
					}
					return nil
				})
			}
			if !canary {
				t.Errorf("%s: canary: what an app has written was not found", when)
			}
			for _, verb := range []string{"status", "manifest", "events", "apps"} {
				if out := s.fine(verb, "--json"); strings.Contains(out, "5ecret") {
					t.Errorf("%s: %s tells %s", when, verb, out)
				}
			}
		}
		eventually(t, "events to tell of input", func() bool { return kinds(s.events())["terminal_input"] >= 4 })
		time.Sleep(300 * time.Millisecond) // the manifest follows
		look("running")
		s.fine("stop")
		look("stopped")
	})
}

// TestDeskShell: carrel shell NAME and exec at a terminal are a shell like any other.
func TestDeskShell(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("shell")
		w.setenv("PS1", "IN> ")
		tm := w.openTerminal(w.command(w.bin, s.words("exec", "--env", "PS1", "--", "bash", "--norc", "--noprofile", "-i")...))
		tm.expect("IN> ")
		tm.send("stty size; echo $CARREL\r")
		tm.expect("24 80\r\n1\r\n")
		tm.resize(91, 33)
		waitABit()
		tm.send("stty size\r")
		tm.expect("33 91")
		tm.send("sleep 4404\r")
		eventually(t, "it to sleep", func() bool { return s.runs("sleep 4404") })
		tm.send("\x03")
		tm.expect("IN> ")
		tm.send("sleep 4405\r")
		eventually(t, "it to sleep", func() bool { return s.runs("sleep 4405") })
		tm.send("\x1a")
		tm.expect("Stopped")
		tm.expect("IN> ")
		tm.send("fg\r")
		tm.expect("sleep 4405")
		waitABit()
		tm.send("\x03")
		tm.expect("IN> ")
		tm.send("exit 6\r")
		if code := tm.wait(); code != 6 {
			t.Errorf("status %d: %q", code, tm.all())
		}
		shell := w.openTerminal(w.command(w.bin, s.words("shell")...))
		shell.send("echo in $((50+5)); exit 4\r")
		shell.expect("in 55")
		if code := shell.wait(); code != 4 {
			t.Errorf("status %d: %q", code, shell.all())
		}
		hung := w.openTerminal(w.command(w.bin, s.words("exec", "--", "sleep", "4406")...))
		eventually(t, "it to sleep", func() bool { return s.runs("sleep 4406") })
		hung.master.Close() // the window is closed
		eventually(t, "it to end with its terminal", func() bool { return !s.runs("sleep 4406") })
		_ = hung.cmd.Wait()
	})
}
