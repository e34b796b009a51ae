package caller

import (
	"strconv"
	"sync"
	"time"
)

// Umasks remembers the callers' umasks: reading one costs more than a whole
// creation. umask(2) is trapped, so an entry is wrong only where a thread
// number was used again, which takes longer than an entry is trusted, or where
// it was read just before the kernel ran the call that changes it: so what is
// read soon after a change is not remembered.
type Umasks struct {
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

// NewUmasks starts with the umask of the first command.
func NewUmasks(first int) Umasks {
	return Umasks{known: make(map[uint32]umaskEntry), first: first, never: true}
}

// Of gives a caller's umask.
func (u *Umasks) Of(tid uint32) int {
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
	mask, err := strconv.ParseUint(Status(tid, "Umask:"), 8, 16)
	if err != nil {
		return u.first
	}
	if settled {
		u.remember(tid, int(mask))
	}
	return int(mask)
}

func (u *Umasks) remember(tid uint32, mask int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= umaskEntries {
		clear(u.known)
	}
	u.known[tid] = umaskEntry{mask, time.Now()}
}

// Changing is told of a umask(2) that is about to run: the other threads of
// the process share it, so what is known of anybody else is forgotten.
func (u *Umasks) Changing(tid uint32, mask int) {
	u.mu.Lock()
	clear(u.known)
	u.never, u.changed = false, time.Now()
	u.mu.Unlock()
	u.remember(tid, mask&0o777)
}
