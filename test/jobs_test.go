//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shellOutside starts an interactive bash, the shell outside, in a terminal.
func (w *world) shellOutside() *terminal {
	w.t.Helper()
	w.setenv("PS1", "OUT> ")
	w.setenv("HISTFILE", "/dev/null")
	w.setenv("INPUTRC", w.write(w.outside+"/inputrc", "set enable-bracketed-paste off\n"))
	tm := w.openTerminal(w.command("bash", "--norc", "--noprofile", "-i"))
	tm.expect("OUT> ")
	return tm
}

// status waits for the shell outside and asks for the status of the last command.
func (tm *terminal) status() string {
	tm.t.Helper()
	tm.expect("OUT> ")
	tm.send("echo st=$?\n")
	return tm.expect(`st=\d+\r`)
}

// front gives the process group that the terminal listens to.
func (tm *terminal) front() int {
	tm.t.Helper()
	group, err := unix.IoctlGetInt(int(tm.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		tm.t.Fatal(err)
	}
	return group
}

// starts has a shell start a job in front, and returns when the job's program runs and the shell
// waits for it. A key that comes before is the shell's, or stops a job of which the shell knows
// nothing yet: it tells of no such stop.
func (tm *terminal) starts(line string) {
	tm.t.Helper()
	shell := tm.front()
	tm.send(line)
	eventually(tm.t, "the job to run, and the shell to wait for it", func() bool {
		job := tm.front()
		return job != shell && comm(job) != comm(shell) && awaitsChild(shell)
	})
}

// comm is the name of a process's program, "" where it has ended.
func comm(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// awaitsChild says whether a process waits for a child.
func awaitsChild(pid int) bool {
	call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	return err == nil && strings.HasPrefix(string(call), fmt.Sprint(unix.SYS_WAIT4)+" ")
}

// TestInterruptFromTheTerminal: Ctrl-C reaches the command once, and the shell
// outside takes back the terminal.
func TestInterruptFromTheTerminal(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		tm := w.shellOutside()
		tm.send(w.bin + " run -- sh -c 'echo go; exec sleep 100'\n")
		tm.expect("\r\ngo\r\n")
		tm.send("\x03")
		if got := tm.status(); got != "st=130\r" {
			t.Errorf("after Ctrl-C: %q", got)
		}
		tm.send(w.bin + " run -- bash -c 'n=0; trap \"n=\\$((n+1)); echo int \\$n\" INT; echo go; for i in 1 2 3 4 5 6; do sleep 0.1; done; exit 5'\n")
		tm.expect("\r\ngo\r\n")
		tm.send("\x03")
		tm.expect("int 1")
		if got := tm.status(); got != "st=5\r" {
			t.Errorf("after a caught Ctrl-C: %q", got)
		}
		if strings.Contains(tm.all(), "int 2") {
			t.Error("one Ctrl-C arrived twice")
		}
		tm.send(w.bin + " run -- sh -c 'echo go; exec sleep 100'\n")
		tm.expect("\r\ngo\r\n")
		tm.send("\x1c")
		if got := tm.status(); got != "st=131\r" {
			t.Errorf("after Ctrl-\\: %q", got)
		}
		if strings.Contains(tm.all(), "goroutine") {
			t.Errorf("Ctrl-\\ shows a stack: %s", cut(tm.all()))
		}
		tm.send("exit\n")
		tm.wait()
	})
}

// TestSuspendFromTheTerminal: Ctrl-Z stops the whole run, fg goes on with it.
func TestSuspendFromTheTerminal(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		tm := w.shellOutside()
		tm.send(w.bin + " run -- bash -c 'echo 0 > tick; echo go; i=0; while [ ! -e end ]; do i=$((i+1)); echo $i > tick; sleep 0.02; done; exit 6'\n")
		tm.expect("\r\ngo\r\n")
		tm.send("\x1a")
		tm.expect("Stopped")
		tm.expect("OUT> ")
		a := w.read(w.project + "/tick")
		time.Sleep(100 * time.Millisecond)
		if b := w.read(w.project + "/tick"); a != b {
			t.Errorf("the command runs on while stopped: %q, %q", a, b)
		}
		tm.send("bg\n")
		tm.expect("OUT> ")
		eventually(t, "it goes on in the background", func() bool { return w.read(w.project+"/tick") != a })
		tm.starts("fg\n")
		tm.expect("run")
		tm.send("\x1a")
		tm.expect("Stopped")
		tm.expect("OUT> ")
		tm.send("fg\n")
		tm.expect("run")
		w.write(w.project+"/end", "")
		if got := tm.status(); got != "st=6\r" {
			t.Errorf("after fg: %q", got)
		}
		tm.send("jobs; exit\n")
		tm.wait()
	})
}

// TestCommandStopsItself: a command that stops by SIGSTOP or SIGTSTP stops the
// supervisor, as the shell outside has to see.
func TestCommandStopsItself(t *testing.T) {
	t.Parallel()
	for _, sig := range []string{"STOP", "TSTP"} {
		t.Run(sig, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			tm := w.shellOutside()
			tm.send(w.bin + " run -- bash -c 'echo go; kill -" + sig + " $$; exit 7'\n")
			tm.expect("\r\ngo\r\n")
			tm.expect("Stopped")
			tm.expect("OUT> ")
			tm.send("fg\n")
			tm.expect("run")
			if got := tm.status(); got != "st=7\r" {
				t.Errorf("after fg: %q", got)
			}
			tm.send("exit\n")
			tm.wait()
		})
	}
}

// TestSuspendOfVim: a program in raw mode gets Ctrl-Z as a key and stops its
// process group itself.
func TestSuspendOfVim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/file", "line one\n")
	tm := w.shellOutside()
	tm.send(w.bin + " run -- " + w.vim() + " -u NONE -N file\n")
	tm.expect("line one")
	time.Sleep(200 * time.Millisecond)
	tm.send("\x1a")
	tm.expect("Stopped")
	tm.expect("OUT> ")
	tm.send("echo between\n")
	tm.expect("between\r\n")
	tm.send("fg\n")
	tm.expect("line one")
	tm.send("ohello\x1b:wq\r")
	if got := tm.status(); got != "st=0\r" {
		t.Errorf("quit: %q", got)
	}
	if !strings.Contains(w.read(w.project+"/file"), "hello") {
		t.Error("vim wrote nothing")
	}
	tm.send("exit\n")
	tm.wait()
}

// vim is whichever of vim's names there is.
func (w *world) vim() string {
	w.t.Helper()
	if strings.Contains(w.find("vim"), "/") {
		return "vim"
	}
	w.need("vi")
	return "vi"
}

// TestJobControlInside: an interactive shell behind the walls has jobs of its own.
func TestJobControlInside(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		tm := w.shellOutside()
		tm.send(w.bin + " run --env PS1='IN> ' --env HISTFILE=/dev/null -- bash --norc --noprofile -i\n")
		tm.expect("IN> ")
		tm.send("bind 'set enable-bracketed-paste off'; echo flags=$-\n")
		tm.expect("flags=.*m.*\r")
		tm.starts("sleep 50\n")
		tm.send("\x1a")
		tm.expect("Stopped")
		tm.expect("IN> ")
		tm.send("jobs\n")
		tm.expect(`\[1\]\+ +Stopped +sleep 50`)
		tm.starts("fg\n")
		tm.send("\x03")
		tm.expect("IN> ")
		tm.send("echo in=$?\n")
		tm.expect("in=130\r")
		tm.starts("cat | cat\n")
		tm.send("typed\n")
		tm.expect("typed\r\ntyped\r\n")
		tm.send("\x04")
		tm.expect("IN> ")
		tm.send("sleep 50 & kill %1; wait %1 2>/dev/null; echo w=$?\n")
		tm.expect(`w=143\r`)
		tm.send("tty; stty size\n")
		tm.expect(`/dev/\S+\r\n`)
		tm.expect(`24 80\r`)
		tm.send("exit 9\n")
		if got := tm.status(); got != "st=9\r" {
			t.Errorf("after the inner shell: %q", got)
		}
		tm.send("cat\n")
		time.Sleep(150 * time.Millisecond)
		tm.send("still here\n")
		tm.expect("still here\r\nstill here")
		tm.send("\x04exit\n")
		tm.wait()
		for _, complaint := range []string{"no job control", "Inappropriate ioctl", "cannot set terminal process group"} {
			if strings.Contains(tm.all(), complaint) {
				t.Errorf("%q in %s", complaint, cut(tm.all()))
			}
		}
	})
}

// TestWindowSize: the command sees the terminal's size and each change of it.
func TestWindowSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	tm := w.openTerminal(w.command(w.bin, "run", "--", "bash", "-c", "trap 'stty size; seen=1' WINCH; stty size; echo go; for i in $(seq 400); do sleep 0.05; [ $seen ] && seen= && echo back; done"))
	tm.expect("24 80\r\ngo\r\n")
	tm.resize(132, 50)
	tm.expect("50 132\r\nback\r\n") // a signal that comes while bash is in the trap may be lost
	tm.resize(40, 10)
	tm.expect("10 40\r\nback\r\n")
	w.must(tm.cmd.Process.Signal(syscall.SIGTERM))
	tm.wait()
}

// TestHangUp: when the terminal goes, so does everything inside.
func TestHangUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	seconds := "3" + w.number()
	tm := w.openTerminal(w.command(w.bin, "run", "--", "bash", "-c", "setsid sleep "+seconds+" & sleep "+seconds+" & echo go; sleep "+seconds))
	tm.expect("go")
	eventually(t, "the sleepers run", func() bool { return len(processesWith("sleep\x00"+seconds)) == 3 })
	tm.master.Close()
	eventually(t, "the sleepers are gone", func() bool { return len(processesWith("sleep\x00"+seconds)) == 0 })
	_ = tm.cmd.Wait()
}

// TestScreenPrograms: programs that own the screen start, answer keys, follow
// a new size and quit, and leave the terminal as it was.
func TestScreenPrograms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool, command string
		seen          string // when it is up
		keys          string
		then          string
		resized       string
		quit          string
	}{
		{"vim", "vim -u NONE -N file", "line one", "ohello\x1b:set columns?\r", `columns=80`, ":set columns?\r", ":wq\r"},
		{"less", "less file", "line one", "G", "line last", "g", "q"},
		{"htop", "htop", "PID", "", "", "", "q"},
		{"top", "top", "PID", "", "", "", "q"},
		{"python3", "python3 -q", ">>>", "1+1\r", "\r\n2\r\n", "", "\x04"},
		{"bash", "bash --norc -i", `\$`, "stty -a | head -1\r", "rows 24; columns 80", "stty size\r", "exit\r"},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			if tt.tool == "vim" {
				tt.command = strings.Replace(tt.command, "vim", w.vim(), 1)
			} else {
				w.need(tt.tool)
			}
			w.write(w.project+"/file", "line one\n"+strings.Repeat("middle\n", 200)+"line last\n")
			tm := w.shellOutside()
			before := w.terminalModes(tm)
			tm.send(w.bin + " run -- " + tt.command + "\n")
			tm.expect("run -- .*\r\n")
			tm.expect(tt.seen)
			tm.send(tt.keys)
			tm.expect(tt.then)
			tm.resize(100, 30)
			time.Sleep(200 * time.Millisecond)
			tm.send(tt.resized)
			if strings.Contains(tt.resized, "columns") {
				tm.expect("columns=100")
			}
			if strings.Contains(tt.resized, "stty") {
				tm.expect("30 100")
			}
			tm.send(tt.quit)
			if got := tm.status(); got != "st=0\r" {
				t.Errorf("quit: %q", got)
			}
			tm.resize(80, 24)
			if after := w.terminalModes(tm); after != before {
				t.Errorf("the terminal was %q and is %q", before, after)
			}
			tm.send("exit\n")
			tm.wait()
			if tt.tool == "vim" && !strings.Contains(w.read(w.project+"/file"), "hello") {
				t.Error("vim wrote nothing")
			}
		})
	}
}

// terminalModes asks the shell outside for the settings of the terminal.
func (w *world) terminalModes(tm *terminal) string {
	tm.send("stty -g\n")
	return tm.expect(`[0-9a-f]+(:[0-9a-f]+){10,}`)
}
