//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudoterminal with a command on its other side.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	seen   strings.Builder
	mark   int // where expect goes on
	done   chan struct{}
}

// openTerminal starts a command with a new terminal of 80x24 as its own.
func (w *world) openTerminal(cmd *exec.Cmd) *terminal {
	w.t.Helper()
	master, slave := w.pty()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, true, 0
	tm := &terminal{t: w.t, master: master, cmd: cmd, done: make(chan struct{})}
	tm.resize(80, 24)
	w.must(w.start(cmd))
	slave.Close()
	go tm.collect()
	w.t.Cleanup(tm.close)
	return tm
}

// inTerminal runs a command to its end in a terminal.
func (w *world) inTerminal(cmd *exec.Cmd) *terminal {
	w.t.Helper()
	tm := w.openTerminal(cmd)
	tm.wait()
	return tm
}

func (w *world) pty() (master, slave *os.File) {
	w.t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	w.must(err)
	w.must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	w.must(err)
	name := "/dev/pts/" + strconv.Itoa(n)
	slave, err = os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	w.must(err)
	if os.Getuid() == 0 {
		w.must(os.Chown(name, w.who.uid, w.who.gid))
	}
	return os.NewFile(uintptr(fd), "terminal"), slave
}

func (tm *terminal) collect() {
	defer close(tm.done)
	buf := make([]byte, 4096)
	for {
		n, err := tm.master.Read(buf)
		tm.mu.Lock()
		tm.seen.Write(buf[:n])
		tm.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (tm *terminal) resize(columns, rows uint16) {
	tm.t.Helper()
	if err := unix.IoctlSetWinsize(int(tm.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		tm.t.Fatal(err)
	}
}

// all is everything that appeared on the screen.
func (tm *terminal) all() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.seen.String()
}

// send types.
func (tm *terminal) send(keys string) {
	tm.t.Helper()
	if _, err := tm.master.WriteString(keys); err != nil {
		tm.t.Fatal(err)
	}
}

// expect waits until the pattern appears after what was expected before.
func (tm *terminal) expect(pattern string) string {
	tm.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text := tm.all()
		if at := re.FindStringIndex(text[tm.mark:]); at != nil {
			found := text[tm.mark+at[0] : tm.mark+at[1]]
			tm.mark += at[1]
			return found
		}
		if time.Now().After(deadline) {
			tm.t.Fatalf("waited in vain for %q on the terminal; since the last match there is %q", pattern, text[tm.mark:])
		}
	}
}

// wait gives the command's exit status, -1 for a signal.
func (tm *terminal) wait() int {
	tm.t.Helper()
	_ = tm.cmd.Wait()
	select {
	case <-tm.done: // the other side is closed
	case <-time.After(2 * time.Second):
	}
	return tm.cmd.ProcessState.ExitCode()
}

func (tm *terminal) close() {
	if tm.cmd.ProcessState == nil {
		_ = tm.cmd.Process.Kill()
		_ = tm.cmd.Wait()
	}
	tm.master.Close()
}

func waitABit() { time.Sleep(300 * time.Millisecond) }
