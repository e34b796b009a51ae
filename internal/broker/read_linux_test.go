package broker

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// TestReads: which opens the kernel must never be left alone with.
func TestReads(t *testing.T) {
	for _, c := range []struct {
		flags int
		want  bool
	}{
		{unix.O_RDONLY, true}, {unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, true}, {unix.O_CREAT, true}, {unix.O_NOFOLLOW | unix.O_NONBLOCK, true}, {unix.O_EXCL, true},
		{unix.O_WRONLY, false}, {unix.O_RDWR | unix.O_CREAT, false}, {3, false}, // refused on a read-only mount
		{unix.O_TRUNC, false}, {unix.O_CREAT | unix.O_EXCL, false}, {unix.O_TMPFILE, false}, {unix.O_PATH, false},
	} {
		if r := (request{flags: c.flags}); r.reads() != c.want {
			t.Errorf("flags %o: %v, want %v", c.flags, r.reads(), c.want)
		}
	}
}

func TestInnerID(t *testing.T) {
	const status = "Name:\tx\nNStgid:\t1700\t12\nNSpid:\t1702\t14\t3\nNSsid:\t1\n"
	for level, want := range map[int]map[string]string{
		1: {"NStgid:": "12", "NSpid:": "14", "NSpgid:": ""},
		2: {"NStgid:": "12", "NSpid:": "3"}, // in a container's
	} {
		for line, want := range want {
			if got := caller.InnerID(status, line, level); got != want {
				t.Errorf("%q at level %d: %q, want %q", line, level, got, want)
			}
		}
	}
	if got := caller.InnerID("\nNSpid:\t7\n", "NSpid:", 1); got != "7" {
		t.Errorf("in the workspace's own namespace: %q", got)
	}
}

// TestHasWriter: a FIFO has one when somebody writes, has written, or came and
// went; looking takes nothing out of it.
func TestHasWriter(t *testing.T) {
	var q fifos
	if err := q.open(); err != nil {
		t.Fatal(err)
	}
	defer q.close()
	name := t.TempDir() + "/p"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(flags int) int {
		fd, err := unix.Open(name, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	r := open(unix.O_RDONLY)
	defer unix.Close(r)
	if hasWriter(r, q.scratch[1]) {
		t.Error("nobody has come yet")
	}
	w := open(unix.O_WRONLY)
	if !hasWriter(r, q.scratch[1]) {
		t.Error("a writer that has written nothing was not seen")
	}
	if _, err := unix.Write(w, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	unix.Close(w)
	var buf [9]byte
	if !hasWriter(r, q.scratch[1]) {
		t.Error("what was written was not seen")
	}
	if n, err := unix.Read(r, buf[:]); n != 3 || err != nil {
		t.Errorf("%d bytes are left, %v", n, err)
	}
	if !hasWriter(r, q.scratch[1]) {
		t.Error("a writer that came and went was not seen")
	}
}

// stubTrap answers for callers that are always there.
type stubTrap struct {
	Trap
	answered chan int64
}

func (s stubTrap) Valid(uint64) bool                   { return true }
func (s stubTrap) AddFD(uint64, int, int) (int, error) { return 7, nil }
func (s stubTrap) Answer(_ uint64, val int64, e unix.Errno) error {
	s.answered <- val - int64(e)
	return nil
}

// TestFIFOsAreBounded: callers that wait hold a descriptor each and no thread,
// up to a bound; and the broker's end lets go of all.
func TestFIFOsAreBounded(t *testing.T) {
	name := t.TempDir() + "/p"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	trap := stubTrap{answered: make(chan int64, maxFIFOs+1)}
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(self)
	b := &Broker{config: Config{Trap: trap}, turn: newTurn(), self: self}
	b.gate.init()
	if err := b.fifos.open(); err != nil {
		t.Fatal(err)
	}
	w := newWorker(b)
	pin, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pin)
	for i := range maxFIFOs + 1 {
		_, err := (&request{}).readFIFO(w, pin)
		if want := error(errAnswered); i < maxFIFOs && err != want || i == maxFIFOs && err != unix.EAGAIN {
			t.Fatalf("open %d: %v", i, err)
		}
	}
	writer, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxFIFOs {
		select {
		case got := <-trap.answered:
			if got != 7 {
				t.Fatalf("answer %d is %d", i, got)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d were answered", i, maxFIFOs)
		}
	}
	unix.Close(writer)
	if _, err := (&request{}).readFIFO(w, pin); err != errAnswered {
		t.Fatal(err)
	}
	b.closed.Store(true)
	b.turn.end()
	b.workers.Wait()
	if len(b.fifos.waiting) != 0 {
		t.Errorf("%d still wait", len(b.fifos.waiting))
	}
	b.fifos.close()
}
