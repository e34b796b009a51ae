package broker

import (
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// fifos are opens of FIFOs for reading that wait for somebody to write. None
// holds a thread: the reading end is open already, as the kernel's own waiting
// has it, and now and then somebody looks whether a writer has come.
type fifos struct {
	mu      sync.Mutex
	waiting []fifo
	running bool
	scratch [2]int // a pipe to look with
}

type fifo struct {
	call  Call
	fd    int
	flags int
}

const (
	maxFIFOs   = 512 // each holds a descriptor of ours; more answer EAGAIN
	fifoPause  = 2 * time.Millisecond
	fifoSignal = 25 // looks between two at the caller's signals
)

func (q *fifos) open() error { return unix.Pipe2(q.scratch[:], unix.O_CLOEXEC|unix.O_NONBLOCK) }

func (q *fifos) close() {
	if q.scratch != [2]int{} {
		unix.Close(q.scratch[0])
		unix.Close(q.scratch[1])
	}
}

func (r *request) readFIFO(w *worker, pin int) (int64, error) {
	fd, err := unix.Openat(w.b.self, strconv.Itoa(pin), r.flags&^(creating|unix.O_NOFOLLOW)|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	f := fifo{call: w.call, fd: fd, flags: r.flags}
	q := &w.b.fifos
	q.mu.Lock()
	defer q.mu.Unlock()
	if hasWriter(fd, q.scratch[1]) {
		f.answer(w.trap)
		return 0, errAnswered
	}
	if len(q.waiting) >= maxFIFOs || w.b.closed.Load() {
		unix.Close(fd)
		return 0, unix.EAGAIN
	}
	q.waiting = append(q.waiting, f)
	if !q.running {
		q.running = true
		w.b.workers.Add(1)
		go q.watch(w.b)
	}
	return 0, errAnswered
}

// watch answers as writers come, and ends when no caller waits any more.
func (q *fifos) watch(b *Broker) {
	defer b.workers.Done()
	for look := 1; ; look++ {
		over := false
		select {
		case <-b.turn.over:
			over = true
		case <-time.After(fifoPause):
		}
		b.gate.wait()
		if q.look(b.config.Trap, over, look%fifoSignal == 0) {
			return
		}
	}
}

// look answers whom it can and says whether nobody is left.
func (q *fifos) look(t Trap, over, signals bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.waiting[:0]
	for _, f := range q.waiting {
		switch {
		case over || !t.Valid(f.call.ID):
			unix.Close(f.fd)
		case hasWriter(f.fd, q.scratch[1]):
			f.answer(t)
		case signals && caller.Interrupted(f.call.TID):
			unix.Close(f.fd)
			_ = t.Answer(f.call.ID, 0, unix.EINTR)
		default:
			kept = append(kept, f)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	q.running = len(kept) > 0
	return !q.running
}

func (f *fifo) answer(t Trap) {
	_, err := unix.FcntlInt(uintptr(f.fd), unix.F_SETFL, f.flags&^creating)
	n := -1
	if err == nil {
		n, err = t.AddFD(f.call.ID, f.fd, f.flags&unix.O_CLOEXEC)
	}
	unix.Close(f.fd)
	if err != nil {
		_ = t.Answer(f.call.ID, 0, errno(err))
		return
	}
	_ = t.Answer(f.call.ID, int64(n), 0)
}

// hasWriter says whether somebody writes, or has: there is something to read,
// a writer came and went, or reading would wait for more. tee(2) tells the last
// without taking anything.
func hasWriter(fd, scratch int) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(polled, 0); err == nil && n > 0 {
		return true
	}
	n, err := unix.Tee(fd, scratch, 1, unix.SPLICE_F_NONBLOCK)
	return n > 0 || err == unix.EAGAIN
}
