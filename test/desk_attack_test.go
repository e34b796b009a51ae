//go:build linux

package e2e

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDeskHoldsNothingOfItsStarter: what the shell that starts a workspace has open
// beyond the standard descriptors, a pipe that somebody reads to its end or a lock, is
// not open in the workspace's supervisor.
func TestDeskHoldsNothingOfItsStarter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	r, held, err := os.Pipe()
	w.must(err)
	defer r.Close()
	cmd := w.command(w.bin, "start", "free")
	cmd.ExtraFiles = []*os.File{held, held, held, held}
	w.must(w.start(cmd))
	held.Close()
	w.must(cmd.Wait())
	t.Cleanup(func() { w.plain(w.bin, "stop", "free") })
	over := make(chan error, 1)
	go func() { _, err := io.ReadAll(r); over <- err }()
	select {
	case err := <-over:
		w.must(err)
	case <-time.After(10 * time.Second):
		t.Error("the pipe of the starter is still open")
	}
	if r := w.plain(w.bin, "exec", "free", "--", "true"); r.code != 0 {
		t.Errorf("canary: %s", r)
	}
}

// TestDeskAttachWithoutKeys: attach where the screen is a terminal and the keys are not
// is refused in words.
func TestDeskAttachWithoutKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.plain(w.bin, "start", "keys"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { w.plain(w.bin, "stop", "keys") })
	if r := w.plain(w.bin, "terminal", "start", "keys", "--name", "t", "--", "cat"); r.code != 0 {
		t.Fatal(r)
	}
	tm := w.inTerminal(w.command("/bin/sh", "-c", w.bin+" attach keys t </dev/null"))
	if said := tm.all(); !strings.Contains(said, "attach needs a terminal") || strings.Contains(said, "goroutine") {
		t.Errorf("%q", said)
	}
}

// TestDeskOfAnotherEngine: a workspace within walls that are made otherwise is not the
// one that was asked for.
func TestDeskOfAnotherEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("bwrap")
	if r := w.plain(w.bin, "start", "walls", "--history", "off"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { w.plain(w.bin, "stop", "walls") })
	if r := w.plain(w.bin, "start", "walls", "--history", "off"); r.code != 0 {
		t.Errorf("canary: %s", r)
	}
	if r := w.plain(w.bin, "start", "walls", "--history", "off", "--engine", "bubblewrap"); r.code == 0 || !strings.Contains(r.err, "engine: namespaces") {
		t.Error(r)
	}
}

// TestDeskLeftBehind: many commands that leave something behind cost a look at the
// processes now and then, and not one for each.
func TestDeskLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.plain(w.bin, "start", "left"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { w.plain(w.bin, "stop", "left") })
	const many = 120
	for range many {
		if r := w.plain(w.bin, "exec", "left", "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 </dev/null &"); r.code != 0 {
			t.Fatal(r)
		}
	}
	var pid int
	for _, one := range w.ps() {
		pid = one.PID
	}
	if r := w.plain(w.bin, "apps", "left"); strings.Count(r.out, "exit 0") != many || strings.Count(r.out, "exit 0  1 ") != many {
		t.Errorf("canary: %s", r)
	}
	before := w.used(pid)
	time.Sleep(2 * time.Second)
	if used := w.used(pid) - before; used > 300*time.Millisecond {
		t.Errorf("it computes for %s in two seconds", used)
	}
}

// TestDeskRests: a workspace that was used lets go of what that took, when it is used no
// more for a while.
func TestDeskRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.plain(w.bin, "start", "rests"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { w.plain(w.bin, "stop", "rests") })
	time.Sleep(time.Second) // it lets go of its start
	for range 30 {
		if r := w.plain(w.bin, "exec", "rests", "--", "true"); r.code != 0 {
			t.Fatal(r)
		}
	}
	var pid int
	for _, one := range w.ps() {
		pid = one.PID
	}
	at := "/proc/" + strconv.Itoa(pid) + "/statm"
	resident := func() (pages int) {
		text, err := os.ReadFile(at)
		w.must(err)
		pages, err = strconv.Atoi(strings.Fields(string(text))[1])
		w.must(err)
		return pages
	}
	before, now := resident(), 0
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if now = resident(); now < before*3/4 {
			return
		}
	}
	t.Errorf("%d pages are resident, and %d long after", before, now)
}

// used is how long a process has computed.
func (w *world) used(pid int) time.Duration {
	w.t.Helper()
	var clock unix.Timespec
	w.must(unix.ClockGettime(int32(^pid<<3|2), &clock)) // see clock_getcpuclockid(3)
	return time.Duration(clock.Nano())
}
