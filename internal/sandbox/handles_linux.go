package sandbox

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// PID is the stage's process id; it is its own until Close has returned.
func (w *Walls) PID() int { return w.pid }

// Handles are what a broker needs of walls that were built with roots.
type Handles struct {
	Listener     int // of the seccomp filter's notifications
	Mirror, View int // root directories: roots read-write, and as commands see it
	Grants       int // root of a tree of the plan's roots alone, read-write
	MountNS      uint64
	Level        int // of the workspace's process ids below ours: 1, in a container 2
}

// TakeBroker hands the broker's descriptors out, once; the caller closes them.
func (w *Walls) TakeBroker() (Handles, error) {
	fds := w.broker
	w.broker = nil
	if len(fds) != 4 {
		return Handles{}, fmt.Errorf("the stage gave %d descriptors for the broker, want 4", len(fds))
	}
	if w.level.err != nil {
		return Handles{}, fmt.Errorf("looking at the stage: %w", w.level.err)
	}
	return Handles{fds[0], fds[1], fds[2], fds[3], w.mountNS, w.level.n}, nil
}

// level is how many process ids a process has below ours, or why that is not known.
type level struct {
	n   int
	err error
}

func levelOf(pid int) level {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return level{err: err}
	}
	return level{n: len(strings.Fields(statusLine(status, "NSpid:"))) - 1}
}

// TakeListeners hands the plan's listeners out, once, in the plan's order; -1
// stands for an optional one that could not be made. diag is a netlink socket of
// the workspace's network that tells the inode of a connection's other end, -1
// where the kernel has none. packets are packet sockets of its loopback interface, see
// package synhold; there are none where the engine cannot make them. The caller closes them
// all.
func (w *Walls) TakeListeners() (sockets []int, diag int, packets []int) {
	sockets, diag, packets = w.sockets, w.diag, w.packets
	w.sockets, w.diag, w.packets = nil, -1, nil
	return sockets, diag, packets
}

// Dial connects to an address of the workspace's own loopback, of either
// family, and returns the connected socket, which the caller closes.
func (w *Walls) Dial(to netip.AddrPort) (int, error) {
	d := w.ask(Message{Kind: MsgDial, Text: to.String()})
	return d.one()
}

// DialUnix connects to the socket that a path names inside, for whoever is inside,
// and returns the connected socket, which the caller closes. Programs inside may have
// put any other socket there that they reach themselves.
func (w *Walls) DialUnix(path string) (int, error) {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "\x00") {
		return -1, syscall.EINVAL
	}
	d := w.ask(Message{Kind: MsgDial, Text: path})
	return d.one()
}

// Listen makes one more TCP listener inside, on the loopback or in the pool, and
// returns it; the caller closes it. The errno is the kernel's own; EACCES for
// any other address.
func (w *Walls) Listen(at netip.AddrPort) (int, error) {
	d := w.ask(Message{Kind: MsgListen, Text: at.String()})
	return d.one()
}

// NewPty makes a pseudoterminal of the workspace's own and returns its two ends, for
// whoever looks and for the program; the caller closes both.
func (w *Walls) NewPty() (near, far *os.File, err error) {
	d := w.ask(Message{Kind: MsgNewPty})
	if d.err != nil {
		return nil, nil, fmt.Errorf("making a terminal inside: %w", d.err)
	}
	return os.NewFile(uintptr(d.fds[0]), "terminal"), os.NewFile(uintptr(d.fds[1]), "terminal"), nil
}

// Bind gives a Unix socket the name text, as it looks from the directory at,
// which is one of the mirror: text is resolved with the mirror's root as "/".
// The errno is bind's own; ENOSYS where this stage cannot.
func (w *Walls) Bind(socket, at int, text string, umask int) error {
	d := w.ask(Message{Kind: MsgBind, Code: umask, Text: text}, socket, at)
	if d.err == syscall.Errno(0) {
		return nil
	}
	return d.err
}

// ask sends a request and waits for its answer.
func (w *Walls) ask(m Message, fds ...int) dialed {
	c := make(chan dialed, 1)
	w.mu.Lock()
	w.nextID++
	m.ID = w.nextID
	w.dials[m.ID] = c
	w.mu.Unlock()
	if err := w.control.Tell(m, fds...); err != nil {
		return dialed{err: err}
	}
	select {
	case d := <-c:
		return d
	case <-w.gone:
		return dialed{err: ErrGone}
	}
}
