package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peer is the process at the other end of a connection, held by a pidfd: as
// long as that has not ended, its number is its own.
type peer struct {
	pid    int // 0 when it cannot be seen from here
	pidfd  int // -1 when there is none
	inside bool
}

func (p *peer) close() {
	if p.pidfd >= 0 {
		unix.Close(p.pidfd)
	}
}

// errForeign is a caller that gets no answer at all.
var errForeign = errors.New("the caller is another user")

// identify finds out who connected. Another user is an error. Whoever is not
// known to be outside, in our own namespaces and alive, is inside.
func identify(conn *net.UnixConn) (*peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	pidfd := -1
	var credErr error
	err = raw.Control(func(fd uintptr) {
		if cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); credErr != nil {
			return
		}
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			pidfd = n
			unix.CloseOnExec(n)
		} else if err == unix.ENOPROTOOPT && cred.Pid > 0 {
			// Before Linux 6.5. The number may have gone to another process by
			// now, but only to one that connected and ended, or was made to.
			if n, err := unix.PidfdOpen(int(cred.Pid), 0); err == nil {
				pidfd = n
			}
		}
	})
	if err = errors.Join(err, credErr); err != nil {
		return nil, fmt.Errorf("asking for the peer's identity: %w", err)
	}
	p := &peer{pidfd: pidfd, inside: true}
	if int(cred.Uid) != os.Geteuid() {
		p.close()
		return nil, errForeign
	}
	if pidfd < 0 {
		return p, nil
	}
	p.pid = pidOf(pidfd)
	if p.pid > 0 {
		p.inside = !outside(p)
	}
	return p, nil
}

// outside compares namespaces. The process is looked at by its number, and
// that it is alive afterwards shows that the number was its own.
func outside(p *peer) bool {
	ours, err := namespacesOf("self")
	if err != nil {
		return false
	}
	theirs, err := namespacesOf(strconv.Itoa(p.pid))
	return err == nil && theirs == ours && !ended(p.pidfd)
}

// pidOf gives the number of a pidfd's process in our pid namespace, 0 where it
// has none and -1 when it has ended.
func pidOf(pidfd int) int {
	info, err := readProc("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "Pid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}
