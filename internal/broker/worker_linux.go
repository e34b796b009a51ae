package broker

import (
	"runtime"
	"sync/atomic"
	"time"

	"carrel/internal/broker/caller"
	"carrel/internal/broker/ownfs"
)

// thread is what one thread knows of the call that it answers and of who makes it, and what
// it opens and hands over.
type thread struct {
	b     *Broker
	trap  Trap
	call  Call // the one that it is answering
	away  bool // the caller has a root or mounts of its own
	fs    *ownfs.Context
	procs caller.Threads
	link  [caller.PathMax]byte
}

// arguments are what a call points to in the memory of its caller.
type arguments struct {
	memory caller.Memory
}

// deciding has changes decided and recorded before they are made.
type deciding struct {
	thread

	wait    func(func()) // see Change.Wait
	decides bool         // no other worker acts meanwhile, as was asked for: see Verdict.Alone
}

// pinner opens places of the mirror, and keeps the directories on the way pinned.
type pinner struct {
	deciding

	dirs directories
}

// resolver finds what the paths of a caller mean.
type resolver struct {
	pinner
	arguments
}

// finder finds the objects that calls are about, and keeps the last one for the next call.
type finder struct {
	resolver

	granted granted                // see quick
	recent  *recent                // of the call that it is answering
	kept    atomic.Pointer[recent] // between calls
}

// worker is one that answers calls. It is made of parts, each of which has the ones before
// it: no part can ask for what a later one knows.
type worker struct {
	finder

	late   bool // retrying, see Broker.later
	single bool // no other worker acts meanwhile
	rested time.Time
	state  atomic.Int32
	calls  atomic.Uint64
}

func newWorker(b *Broker) *worker {
	w := new(worker)
	w.b, w.trap = b, b.config.Trap
	return w
}

// drop lets go of what the worker has pinned.
func (w *finder) drop() {
	w.release()
	w.dirs.drop()
	w.procs.Drop()
	if w.fs != nil {
		w.fs.Close()
	}
}

// restEvery is less than the 10 ms after which the monitor of the Go scheduler takes the
// processor from a goroutine that has not been scheduled anew. A worker is not, by
// its system calls alone. The monitor then interrupts the thread, and goes on to look
// every 20 us for whom else to interrupt: more than a twentieth of all time.
const restEvery = 5 * time.Millisecond

func (w *worker) rest() {
	if now := time.Now(); now.Sub(w.rested) > restEvery {
		w.rested = now
		runtime.Gosched()
	}
}
