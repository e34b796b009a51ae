package broker

import (
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// umasks remembers the callers' umasks: reading one costs more than a whole
// creation. umask(2) is trapped, so an entry is wrong only where a thread
// number was used again, which takes longer than an entry is trusted, or where
// it was read just before the kernel ran the call that changes it: so what is
// read soon after a change is not remembered.
type umasks struct {
	mu      sync.Mutex
	known   map[uint32]umaskEntry
	first   int
	never   bool // nobody has called umask(2) yet
	changed time.Time
}

type umaskEntry struct {
	mask int
	at   time.Time
}

const (
	umaskTrusted = 250 * time.Millisecond
	umaskEntries = 4096
)

func newUmasks(first int) umasks {
	return umasks{known: make(map[uint32]umaskEntry), first: first, never: true}
}

func (u *umasks) of(tid uint32) int {
	u.mu.Lock()
	if u.never {
		u.mu.Unlock()
		return u.first
	}
	e, ok := u.known[tid]
	settled := time.Since(u.changed) > umaskTrusted
	u.mu.Unlock()
	if ok && time.Since(e.at) < umaskTrusted {
		return e.mask
	}
	mask, err := strconv.ParseUint(caller.Status(tid, "Umask:"), 8, 16)
	if err != nil {
		return u.first
	}
	if settled {
		u.remember(tid, int(mask))
	}
	return int(mask)
}

func (u *umasks) remember(tid uint32, mask int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= umaskEntries {
		clear(u.known)
	}
	u.known[tid] = umaskEntry{mask, time.Now()}
}

// changing is told of a umask(2) that is about to run: the other threads of
// the process share it, so what is known of anybody else is forgotten.
func (u *umasks) changing(tid uint32, mask int) {
	u.mu.Lock()
	clear(u.known)
	u.never, u.changed = false, time.Now()
	u.mu.Unlock()
	u.remember(tid, mask&0o777)
}

func umask(w *worker, c *Call) (int64, error) {
	w.b.umasks.changing(c.TID, int(c.Args[0]))
	return 0, errNotMine
}

// withUmask runs a creation under the caller's umask. The mode is not computed:
// a default ACL makes the kernel leave the umask out.
//
// The umask stays for the next creation, unless it takes the owner's permissions away: what
// the thread makes for the history and the records is for the owner alone by its mode.
func (w *worker) withUmask(do func() error) error {
	mask := w.b.umasks.of(w.call.TID)
	w.setUmask(mask)
	if mask&unix.S_IRWXU != 0 {
		defer w.setUmask(w.ownUmask)
	}
	return do()
}

func (w *worker) setUmask(mask int) {
	if mask != w.umask {
		unix.Umask(mask)
		w.umask = mask
	}
}
