package network

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/hostfile"
	"carrel/internal/ports"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Bounds of the search for whose a connection is: it is for the log, and holds
// no connection up.
const (
	ownerTime = 50 * time.Millisecond
	maxOwners = 8  // that are looked at first, the last one before all
	maxComm   = 64 // bytes
)

// owners finds the process inside that made a connection: the kernel tells the
// socket's inode, and some process has that open.
type owners struct {
	sockets *ports.Sockets

	mu     sync.Mutex
	recent []int
	search sync.Mutex // one full search at a time; the others do without
}

// find gives 0 where it was not found in time. local is our end.
func (o *owners) find(local, remote netip.AddrPort) (pid int, name string) {
	protocol := unix.IPPROTO_TCP
	if local.Port() == sandbox.NamePort {
		protocol = unix.IPPROTO_UDP
	}
	s, err := o.sockets.Find(protocol, remote, local)
	if err != nil && protocol == unix.IPPROTO_UDP {
		s, err = o.sockets.Find(unix.IPPROTO_TCP, remote, local)
	}
	if err != nil {
		return 0, ""
	}
	end := time.Now().Add(ownerTime)
	o.mu.Lock()
	recent := slices.Clone(o.recent)
	o.mu.Unlock()
	for _, pid := range slices.Backward(recent) {
		if ports.HasOpen(pid, s, end) {
			return o.found(pid)
		}
	}
	if !o.search.TryLock() {
		return 0, ""
	}
	defer o.search.Unlock()
	for _, pid := range youngest() {
		if time.Now().After(end) {
			break
		}
		if !slices.Contains(recent, pid) && ports.HasOpen(pid, s, end) {
			return o.found(pid)
		}
	}
	return 0, ""
}

// found remembers an owner, the last one at the end.
func (o *owners) found(pid int) (int, string) {
	o.mu.Lock()
	o.recent = append(slices.DeleteFunc(o.recent, func(p int) bool { return p == pid }), pid)
	if len(o.recent) > maxOwners {
		o.recent = o.recent[1:]
	}
	o.mu.Unlock()
	name, _ := hostfile.ReadHead("/proc/"+strconv.Itoa(pid)+"/comm", maxComm)
	return pid, strings.TrimSuffix(string(name), "\n")
}

// youngest lists all processes, those with the highest numbers first: programs
// connect soon after they were started. Which of them are the workspace's need
// not be known, as a socket's inode is one on the whole machine.
func youngest() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return b - a })
	return pids
}
