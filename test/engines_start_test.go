//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledWhileBubblewrapStarts ends the supervisor when bubblewrap has forked
// and not yet told its child to go on. A debugger holds bubblewrap there, so that
// it is always this moment.
func TestKilledWhileBubblewrapStarts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("holding a process of another user takes root")
	}
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	w := newWorld(t, ordinary(t))
	hits := 0
	for try := 0; try < 40 && hits < 3; try++ {
		cmd := w.command(w.bin, "run", "--engine", "bubblewrap", "--history", "off", "--", "sleep", "300")
		w.must(cmd.Start())
		bwrap := bubblewrapOf(cmd.Process.Pid)
		child := 0
		if bwrap > 0 {
			child = heldAtFork(bwrap)
		}
		blocked := child > 0 && waitsFor(child, "anon_inode:[eventfd]")
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
		time.Sleep(20 * time.Millisecond) // what a death signal does, it has done
		if bwrap > 0 {
			_ = syscall.PtraceDetach(bwrap)
		}
		if child > 0 {
			eventually(t, "bubblewrap is gone", func() bool { return noMore(bwrap) })
			eventually(t, "what it forked is gone", func() bool { return noMore(child) })
		}
		if blocked {
			hits++
		}
		if t.Failed() {
			_ = syscall.Kill(child, syscall.SIGKILL)
			return
		}
	}
	if hits == 0 {
		t.Error("bubblewrap was never held where its child waits: nothing was tried")
	}
	eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
	w.litter = true // a killed supervisor's, swept later
}

// bubblewrapOf waits for the bubblewrap that makes a supervisor's walls.
func bubblewrapOf(supervisor int) int {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", supervisor))
		for _, task := range tasks {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", supervisor, task.Name()))
			for word := range strings.FieldsSeq(string(children)) {
				line, _ := os.ReadFile("/proc/" + word + "/cmdline")
				if pid, err := strconv.Atoi(word); err == nil && bytes.Contains(line, []byte("bwrap\x00--args\x00")) {
					return pid
				}
			}
		}
	}
	return 0
}

// heldAtFork holds a process where it forks and gives what it has forked, which
// goes on; 0 where it was too late.
func heldAtFork(pid int) int {
	if syscall.PtraceAttach(pid) != nil {
		return 0
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); err != nil || !status.Stopped() {
		return 0
	}
	if syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACEFORK|syscall.PTRACE_O_TRACECLONE) != nil {
		return 0
	}
	if forked, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)); len(forked) > 0 {
		return 0
	}
	signal := 0
	for range 100 {
		if syscall.PtraceCont(pid, signal) != nil {
			return 0
		}
		if _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); err != nil || !status.Stopped() {
			return 0
		}
		if status.TrapCause() > 0 {
			child, err := syscall.PtraceGetEventMsg(pid)
			if err != nil {
				return 0
			}
			if _, err := syscall.Wait4(int(child), &status, syscall.WALL, nil); err != nil {
				return 0
			}
			_ = syscall.PtraceDetach(int(child))
			return int(child)
		}
		if signal = int(status.StopSignal()); status.StopSignal() == syscall.SIGTRAP || status.StopSignal() == syscall.SIGSTOP {
			signal = 0
		}
	}
	return 0
}

// waitsFor says whether a process reads something of this kind, and waits.
func waitsFor(pid int, kind string) bool {
	for range 100 {
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if f := strings.Fields(string(call)); len(f) > 1 && f[0] == "0" {
			fd, _ := strconv.ParseUint(f[1], 0, 32)
			if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); to == kind {
				return true
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// noMore says whether a process is gone, or waits to be collected.
func noMore(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
