package seccomp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// told is what a trapped row is answered; no call returns it by itself.
const told = 424242

// The rows of the interpreter's table, on the kernel: what is held comes here,
// with its arguments, and everything else does not.
func TestBrokerRowsHoldInTheKernel(t *testing.T) {
	c := startTrapped(t, "", "rows")
	seen := map[string]bool{}
	done := c.serve(t, func(n *Notification) {
		seen[rowName(conditionRow{call: nameOf(t, n.Nr), args: n.Args})] = true
		if err := c.Answer(n.ID, told, 0); err != nil {
			t.Error(err)
		}
	})
	found := c.found(t)
	wait(t, done)
	if len(found) < 90 {
		t.Errorf("%d rows were tried, want 90 or more", len(found))
	}
	for _, row := range brokerRows {
		name := rowName(row)
		got, tried := found[name]
		switch {
		case !tried:
		case row.userns == held && (got != told || !seen[name]):
			t.Errorf("%s gave %d, seen %v; want it trapped", name, got, seen[name])
		case row.userns != held && (got == told || seen[name]):
			t.Errorf("%s was trapped", name)
		case row.userns != held && row.userns != 0 && got != -int(row.userns):
			t.Errorf("%s gave %d, want errno %d", name, got, row.userns)
		}
	}
}

func TestAnsweredContinuedAndGivenDescriptors(t *testing.T) {
	c := startTrapped(t, "", "open")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var number int
	done := c.serve(t, func(n *Notification) {
		if nameOf(t, n.Nr) == "mkdirat" || nameOf(t, n.Nr) == "mkdir" {
			if err := c.Continue(n.ID); err != nil {
				t.Error(err)
			}
			return
		}
		if !c.Valid(n.ID) || c.Valid(n.ID+1) {
			t.Errorf("Valid of the call and of another: %v, %v", c.Valid(n.ID), c.Valid(n.ID+1))
		}
		var err error
		if number, err = c.AddFD(n.ID, int(w.Fd()), unix.O_CLOEXEC); err != nil {
			t.Error(err)
		}
		if _, err := c.AddFD(n.ID, 9999, 0); err != unix.EBADF {
			t.Errorf("giving a descriptor that is none: %v, want EBADF", err)
		}
		w.Close()
		if err := c.Answer(n.ID, int64(number), 0); err != nil {
			t.Error(err)
		}
		if c.Valid(n.ID) {
			t.Error("an answered call is still valid")
		}
		if err := c.Answer(n.ID, 0, 0); err == nil {
			t.Error("a call was answered twice")
		}
	})
	found := c.found(t)
	wait(t, done)
	want := map[string]int{"fd": number, "written": 7, "flags": unix.FD_CLOEXEC, "mkdir": 0, "open": 0}
	for name, value := range want {
		if found[name] != value {
			t.Errorf("%s is %d, want %d", name, found[name], value)
		}
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != "granted" {
		t.Errorf("the descriptor carried %q, %v", text, err)
	}
	if _, err := os.Stat(c.cmd.Dir + "/made"); err != nil {
		t.Errorf("a continued call was not carried out: %v", err)
	}
}

func TestErrnosReachTheCaller(t *testing.T) {
	c := startTrapped(t, "", "mkdir")
	c.serve(t, func(n *Notification) { _ = c.Answer(n.ID, 5, unix.EDQUOT) })
	if found := c.found(t); found["mkdir"] != -int(unix.EDQUOT) {
		t.Errorf("got %d, want EDQUOT", found["mkdir"])
	}
}

func TestOpensForReadingAreTrappedOnDemand(t *testing.T) {
	c := startTrapped(t, "+opens", "open")
	reads := 0
	done := c.serve(t, func(n *Notification) {
		if nameOf(t, n.Nr) == "openat" && n.Args[2]&openChanges == 0 {
			reads++
		}
		_ = c.Continue(n.ID)
	})
	if found := c.found(t); found["fd"] != -int(unix.ENOENT) {
		t.Errorf("the continued open gave %d, want ENOENT", found["fd"])
	}
	wait(t, done)
	if reads == 0 {
		t.Error("no open for reading came, not even the runtime's")
	}
}

func TestCallerKilledWhileTrapped(t *testing.T) {
	c := startTrapped(t, "", "mkdir")
	var n Notification
	if err := c.Receive(&n); err != nil {
		t.Fatal(err)
	}
	if n.TID == 0 || nameOf(t, n.Nr) != "mkdirat" || n.Arch == 0 || n.IP == 0 || !c.Valid(n.ID) {
		t.Fatalf("got %+v, valid %v", n, c.Valid(n.ID))
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // would hang if the call could not be killed
	if c.Valid(n.ID) {
		t.Error("the call of a dead caller is valid")
	}
	if err := c.Answer(n.ID, 0, 0); err != unix.ENOENT {
		t.Errorf("answering: %v, want ENOENT", err)
	}
	if err := c.Continue(n.ID); err != unix.ENOENT {
		t.Errorf("continuing: %v, want ENOENT", err)
	}
	if fd, err := c.AddFD(n.ID, 0, 0); fd != -1 || err != unix.ENOENT {
		t.Errorf("giving a descriptor: %d, %v, want ENOENT", fd, err)
	}
	if err := c.Receive(&n); err != ErrClosed {
		t.Errorf("receiving: %v, want ErrClosed", err)
	}
}

// Killed before anybody received the call: it never comes.
func TestCallerKilledBeforeReceived(t *testing.T) {
	c := startTrapped(t, "", "mkdir")
	polled := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(polled, 10_000); err == nil && n == 1 {
			break
		} else if err != unix.EINTR {
			t.Fatal("no call came", err)
		}
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	var n Notification
	if err := c.Receive(&n); err != ErrClosed {
		t.Errorf("receiving: %v, %+v, want ErrClosed", err, n)
	}
}

func TestHundredThreadsTrappedAtOnce(t *testing.T) {
	c := startTrapped(t, "", "many")
	calls := make([]Notification, 100)
	threads, ids := map[uint32]bool{}, map[uint64]bool{}
	for i := range calls {
		if err := c.Receive(&calls[i]); err != nil {
			t.Fatal(err)
		}
		threads[calls[i].TID], ids[calls[i].ID] = true, true
	}
	if len(threads) != 100 || len(ids) != 100 {
		t.Errorf("%d threads, %d calls, want 100 of each", len(threads), len(ids))
	}
	var group sync.WaitGroup
	for _, n := range calls {
		group.Go(func() {
			if err := c.Answer(n.ID, int64(n.Args[2])+1000, 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	found := c.found(t)
	for i := range 100 {
		if got := found[fmt.Sprint(i)]; got != i+1000 {
			t.Errorf("thread %d got %d, want %d", i, got, i+1000)
		}
	}
}

// A received call is neither interrupted nor started again by signals.
func TestSignalsDoNotRepeatCalls(t *testing.T) {
	c := startTrapped(t, "", "signals")
	var order []uint64
	done := c.serve(t, func(n *Notification) {
		order = append(order, n.Args[2])
		time.Sleep(3 * time.Millisecond)
		if err := c.Answer(n.ID, int64(n.Args[2]), 0); err != nil {
			t.Error(err)
		}
	})
	found := c.found(t)
	wait(t, done)
	for i := range 20 {
		if found[fmt.Sprint(i)] != i || len(order) <= i || order[i] != uint64(i) {
			t.Fatalf("found %v, order %v", found, order)
		}
	}
	if len(order) != 20 {
		t.Errorf("20 calls came %d times: %v", len(order), order)
	}
}

func TestCloseWakesReceivers(t *testing.T) {
	for range 20 {
		c := startTrapped(t, "", "idle")
		before := openFiles(t)
		done := make([]chan struct{}, 16)
		for i := range done {
			done[i] = c.serve(t, func(n *Notification) { _ = c.Continue(n.ID) })
		}
		start := time.Now()
		c.Close()
		for _, d := range done {
			wait(t, d)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("closing took %v", took)
		}
		c.Close()
		var n Notification
		if err := c.Receive(&n); err != ErrClosed {
			t.Errorf("receiving after Close: %v", err)
		}
		if err := c.Answer(1, 0, 0); err != unix.ENOENT {
			t.Errorf("answering after Close: %v", err)
		}
		if fd, err := c.AddFD(1, 0, 0); fd != -1 || err != unix.ENOENT {
			t.Errorf("giving a descriptor after Close: %d, %v", fd, err)
		}
		if after := openFiles(t); after != before-2 { // the listener and its eventfd
			t.Errorf("%d descriptors before, %d after Close, want 2 fewer", before, after)
		}
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		c.stdin.Close()
		c.stdout.Close()
	}
}

func TestCloseFreesCallersWithENOSYS(t *testing.T) {
	c := startTrapped(t, "", "mkdir")
	var n Notification
	if err := c.Receive(&n); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if found := c.found(t); found["mkdir"] != -int(unix.ENOSYS) {
		t.Errorf("got %d, want ENOSYS", found["mkdir"])
	}
}

// Close at any moment of a busy listener, by several at once.
func TestCloseWhileBusy(t *testing.T) {
	for i := range 20 {
		c := startTrapped(t, "", "endless")
		var done []chan struct{}
		for range 3 {
			done = append(done, c.serve(t, func(n *Notification) {
				_ = c.Valid(n.ID)
				_ = c.Answer(n.ID, 0, 0)
			}))
		}
		time.Sleep(time.Duration(i) * 500 * time.Microsecond)
		var group sync.WaitGroup
		for range 3 {
			group.Go(c.Close)
		}
		group.Wait()
		for _, d := range done {
			wait(t, d)
		}
	}
}

// Receivers end by themselves with the last filtered process.
func TestReceiversEndWithTheLastProcess(t *testing.T) {
	c := startTrapped(t, "", "idle")
	var done []chan struct{}
	for range 4 {
		done = append(done, c.serve(t, func(n *Notification) { _ = c.Continue(n.ID) }))
	}
	time.Sleep(20 * time.Millisecond)
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	for _, d := range done {
		wait(t, d)
	}
}

func TestNoAllocationPerCall(t *testing.T) {
	c := startTrapped(t, "", "endless")
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var n Notification
	allocs := testing.AllocsPerRun(100, func() {
		if c.Receive(&n) != nil || !c.Valid(n.ID) {
			t.Error("no call")
		}
		if _, err := c.AddFD(n.ID, fd, 0); err != nil {
			t.Error(err)
		}
		if c.Answer(n.ID, 0, 0) != nil {
			t.Error("no answer")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per call, want none", allocs)
	}
}

func TestNewListenerRefusesOtherFiles(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := NewListener(fd); err == nil || l != nil || !strings.Contains(err.Error(), fmt.Sprint(fd)) {
		t.Errorf("a listener of /dev/null: %v, %v", l, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the descriptor was not taken over: %v", err)
	}
	if l, err := NewListener(-1); !errors.Is(err, unix.EBADF) || l != nil {
		t.Errorf("a listener of -1: %v, %v", l, err)
	}
}

func TestSecondListenerIsBusy(t *testing.T) {
	if err := askForListener(); err != nil {
		t.Skipf("this kernel cannot trap: %v", err)
	}
	want := map[string]int{"plain then listener": 0, "second": int(unix.EBUSY), "check": int(unix.EBUSY)}
	for name, errno := range probe(t, "", "listeners") {
		if errno != want[name] {
			t.Errorf("%s answered %d, want %d", name, errno, want[name])
		}
	}
}

// TestB24NoListenerAfterOurs: the kernel refuses a second listener only for as
// long as there is a first. Without ours, who has one of its own could continue
// what was to be held, from the moment when the supervisor dies.
func TestB24NoListenerAfterOurs(t *testing.T) {
	c := startTrapped(t, "", "late")
	var n Notification
	if err := c.Receive(&n); err != nil {
		t.Fatal(err)
	}
	c.Close()
	want := map[string]int{"mkdir": -int(unix.ENOSYS), "plain": 0, "listener": -int(unix.EBUSY), "for all threads": -int(unix.EBUSY)}
	for name, got := range c.found(t) {
		if got != want[name] {
			t.Errorf("%s gave %d, want %d", name, got, want[name])
		}
	}
}

func wait(t testing.TB, done chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a receiver still waits after 20 seconds")
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
