//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leased makes a file of the person's own that nobody can open for writing
// before the returned function is called.
func (w *world) leased(file string) (release func()) {
	w.t.Helper()
	w.write(file, "kept\n")
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	w.must(err)
	// A process that another test starts has the writer's descriptor until it execs.
	eventually(w.t, "a lease of "+file, func() bool {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		return err != unix.EAGAIN
	})
	w.must(err)
	return func() { unix.Close(fd) }
}

// TestLeaseOfAMoment: who opens with O_NONBLOCK gets past a lease that lasts a moment, as
// the history's own do, and is told of one that stays.
func TestLeaseOfAMoment(t *testing.T) {
	t.Parallel()
	const open = `python3 -c "import os; os.write(os.open('leased', os.O_RDWR | os.O_NONBLOCK), b'now')"`
	for name, c := range map[string]struct{ script, want string }{
		"a moment": {open, "nowt\n"},
		"longer":   {open + ` 2> told; grep -c BlockingIOError told`, "kept\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			file := w.project + "/leased"
			release := sync.OnceFunc(w.leased(file))
			defer release()
			if c.want != "kept\n" {
				broken := make(chan os.Signal, 1)
				signal.Notify(broken, unix.SIGIO)
				defer signal.Stop(broken)
				go func() {
					<-broken
					time.Sleep(30 * time.Millisecond)
					release()
				}()
			}
			w.sh(c.script)
			if got := w.read(file); got != c.want {
				t.Errorf("the file holds %q, not %q", got, c.want)
			}
		})
	}
}

// TestB21PausedCalls: a call that is held by the broker and not by the kernel
// changes nothing while the workspace is paused, though it is not stopped.
func TestB21PausedCalls(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.project + "/leased"
		release := w.leased(file)
		cmd, one := w.desk("--", "sh", "-c", "echo begun > begun; echo changed > leased")
		eventually(t, "the command to be there", func() bool { return exists(w.project + "/begun") })
		time.Sleep(200 * time.Millisecond)
		if r := w.plain(w.bin, "pause", one.ID); r.code != 0 {
			t.Fatalf("pause: %s", r)
		}
		release()
		time.Sleep(500 * time.Millisecond)
		if got := w.read(file); got != "kept\n" {
			t.Errorf("while paused the file became %q", got)
		}
		if r := w.plain(w.bin, "resume", one.ID); r.code != 0 {
			t.Errorf("resume: %s", r)
		}
		w.must(cmd.Wait())
		if got := w.read(file); got != "changed\n" {
			t.Errorf("afterwards the file is %q", got)
		}
	})
}

// reused is three programs. "victim" has a path at a fixed place of its memory
// and calls truncate(2) with it; "parent" starts one and never waits for it;
// "heir" takes a number that is free and has another path at the same place.
var reused = program("held/reused.py")

// TestB13ReusedNumber: between its call and the broker's look at its memory a
// caller dies, and its number becomes somebody else's, whose memory says another
// path. That is nobody's call. The pause makes room for it.
func TestB13ReusedNumber(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("choosing a process number takes root")
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		precious, script := w.write(w.project+"/precious", "kept\n"), w.write(w.base+"/tool/reused.py", reused)
		w.must(os.Chmod(w.base+"/tool", 0o755))
		release := w.leased(w.project + "/leased")
		cmd, one := w.desk("--read", w.base+"/tool", "--", "python3", script, "parent", w.project+"/leased")
		eventually(t, "the victim to call", func() bool { return exists(w.project + "/begun") })
		time.Sleep(200 * time.Millisecond)
		if r := w.plain(w.bin, "pause", one.ID); r.code != 0 {
			t.Fatalf("pause: %s", r)
		}
		victim := w.numberOf("victim")
		w.must(unix.Kill(victim, unix.SIGKILL))
		eventually(t, "the victim's number to be free", func() bool { return unix.Kill(victim, 0) == unix.ESRCH })
		heir := exec.Command("python3", script, "heir", precious, strconv.Itoa(victim), strconv.Itoa(p.uid))
		heir.Stderr = os.Stderr
		out, err := heir.Output()
		if want := "ready " + strconv.Itoa(victim) + "\n"; err != nil || string(out) != want {
			t.Fatalf("want %q, the heir says %q, %v", want, out, err)
		}
		if r := w.plain(w.bin, "resume", one.ID); r.code != 0 {
			t.Errorf("resume: %s", r)
		}
		time.Sleep(200 * time.Millisecond)
		_ = unix.Kill(victim, unix.SIGKILL)
		release()
		w.must(cmd.Wait())
		if got := w.read(precious); got != "kept\n" || w.record().paths[precious] {
			t.Errorf("what only the heir's memory named is now %q, recorded: %v", got, w.record().paths[precious])
		}
	})
}

// numberOf finds the one process with the world's script that was told this word.
func (w *world) numberOf(word string) (found int) {
	w.t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		if args := strings.Split(string(line), "\x00"); len(args) > 2 && strings.HasPrefix(args[1], w.base+"/") && args[2] == word {
			found, _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	if found == 0 {
		w.t.Fatalf("no process %q", word)
	}
	return found
}

// TestSignalsEndWhatIsHeld: a request to end reaches a command that waits for a
// person, exactly as it reaches one that does not; what was held never happens.
func TestSignalsEndWhatIsHeld(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				for _, guards := range []string{"", "safeguards: {removed_files: 5, then: ask}\n"} {
					w := newWorld(t, p)
					w.outsideSh(eightFiles)
					w.write(w.home+"/.config/carrel/config.yaml", guards)
					cmd, one := w.desk("--", "sh", "-c", "sleep 2005 & touch begun; "+removeAll+" || touch later; wait")
					if eventually(t, "the command to be there", func() bool { return exists(w.project + "/begun") }); guards != "" {
						w.held()
					}
					w.must(cmd.Process.Signal(sig))
					if w.ends(cmd); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != sig {
						t.Errorf("with %q the run ended with %v", guards, cmd.ProcessState)
					}
					w.nothingOf(one)
					if guards != "" {
						w.heldStill()
					}
				}
			})
		})
	}
}

// TestKeysEndWhatIsHeld: so do the keys of the terminal that it runs at.
func TestKeysEndWhatIsHeld(t *testing.T) {
	for name, c := range map[string]struct{ keys, want, config string }{
		"ctrl-c":       {"\x03", "st=130\r", ""},
		"ctrl-\\":      {"\x1c", "st=131\r", ""},
		"relayed keys": {"\x03", "st=130\r", "display: {clipboard: paste}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh(eightFiles)
				w.write(w.home+"/.config/carrel/config.yaml", c.config+"safeguards: {removed_files: 5, then: ask}\n")
				w.setenv("DISPLAY", ":1") // or nothing could be pasted, and keys were not relayed
				tm := w.shellOutside()
				tm.send(w.bin + " run -- sh -c 'sleep 2006 & " + removeAll + " || touch later; wait'\n")
				ask := w.held()
				tm.send(c.keys)
				if got := tm.status(); got != c.want {
					t.Errorf("after %q: %q", c.keys, got)
				}
				w.heldStill()
				tm.send("exit\n")
				tm.wait()
				w.nothingOf(running{ID: ask.Workspace})
			})
		})
	}
}

// TestInterruptAnswersWhatIsHeld: a command that goes on after an interrupt goes
// on, without what was held; it is asked again for what comes after.
func TestInterruptAnswersWhatIsHeld(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh(eightFiles)
		w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {always_ask: ['f*']}\n")
		cmd, _ := w.desk("--", "bash", "-c", "trap 'echo INT >> caught' INT; rm f1 || rm f2; exit 7")
		if first := w.held(); first.Subject != w.project+"/f1" {
			t.Errorf("asked: %+v", first)
		}
		w.must(cmd.Process.Signal(syscall.SIGINT))
		var second waits
		eventually(t, "the next question", func() bool { second = w.held(); return second.Subject == w.project+"/f2" })
		if r := w.plain(w.bin, "approve", second.ID); r.code == 0 {
			t.Errorf("approved without a person: %s", r)
		}
		if r := w.plain(w.bin, "deny", second.ID); r.code != 0 {
			t.Errorf("deny: %s", r)
		}
		w.ends(cmd)
		if got := cmd.ProcessState.ExitCode(); got != 7 || w.read(w.project+"/caught") != "INT\n" {
			t.Errorf("it ended with %d", got)
		}
		for _, name := range []string{"/f1", "/f2"} {
			if !exists(w.project + name) {
				t.Errorf("%s is gone", name)
			}
		}
	})
}

// TestTimeoutEndsWhatIsHeld: the clock goes on while somebody is asked.
func TestTimeoutEndsWhatIsHeld(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh(eightFiles)
		w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {removed_files: 5, then: ask}\n")
		cmd, one := w.desk("--timeout", "3s", "--", "sh", "-c", "sleep 2007 & "+removeAll+" || touch later; wait")
		w.held()
		w.ends(cmd)
		if got := cmd.ProcessState.ExitCode(); got != 124 {
			t.Errorf("it ended with %d", got)
		}
		w.nothingOf(one)
		w.heldStill()
	})
}

const (
	eightFiles = "for i in $(seq 8); do echo $i > f$i; done"
	removeAll  = "rm -f f1 f2 f3 f4 f5 f6 f7 f8"
)

// ends waits for a run to end, well before anybody would have to answer.
func (w *world) ends(cmd *exec.Cmd) {
	w.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	eventually(w.t, "the run to end", func() bool { return len(ended) > 0 })
}

// heldStill wants the change that was held, and what was to come after it, not to
// have happened.
func (w *world) heldStill() {
	w.t.Helper()
	if left := w.outsideSh("ls"); !strings.HasSuffix(left, "f6\nf7\nf8\n") || strings.Contains(left, "later") {
		w.t.Errorf("afterwards there is %q", left)
	}
}

// nothingOf wants nothing to be left of a workspace: no process, no entry, no question.
func (w *world) nothingOf(one running) {
	w.t.Helper()
	if left := w.processes(); len(left) > 0 {
		w.t.Errorf("still running: %v", left)
	}
	if left := w.ps(); len(left) > 0 {
		w.t.Errorf("still listed after %s: %+v", one.ID, left)
	}
	if r := w.plain(w.bin, "approvals", "--json"); strings.TrimSpace(r.out) != "[]" {
		w.t.Errorf("still asked: %s", r)
	}
}
