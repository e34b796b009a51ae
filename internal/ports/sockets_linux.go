package ports

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inUse says that an error of ListenLoopback means a port that is taken.
func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// Sockets asks one network namespace about its sockets, see sock_diag(7).
type Sockets struct {
	mu  sync.Mutex
	fd  int
	seq uint32
}

// Socket is what the kernel tells of one.
type Socket struct {
	UID   uint32
	Inode uint32
}

// ErrNoSocket means that there is none, that it cannot be asked about, or that its
// process has let go of it: the kernel then says that it is root's.
var ErrNoSocket = errors.New("the kernel knows no such socket")

// OwnSockets asks the network namespace of this process.
func OwnSockets() (*Sockets, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	return SocketsOf(fd), nil
}

// SocketsOf asks the network namespace that a netlink socket was made in, and
// takes it over.
func SocketsOf(fd int) *Sockets {
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	return &Sockets{fd: fd}
}

// Close lets go of it; it may be nil.
func (s *Sockets) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 {
		unix.Close(s.fd)
	}
	s.fd = -1
}

// Sizes and constants of linux/inet_diag.h and linux/sock_diag.h.
const (
	sockDiagByFamily = 20
	diagRequestSize  = unix.SizeofNlMsghdr + 8 + 48
	diagAnswerSize   = unix.SizeofNlMsghdr + 4 + 48 + 20
	diagUID          = unix.SizeofNlMsghdr + 4 + 48 + 12
	noCookie         = ^uint32(0)
)

// Find looks for the socket that has these two ends, from its own side: local is
// its own. protocol is unix.IPPROTO_TCP or unix.IPPROTO_UDP.
func (s *Sockets) Find(protocol int, local, remote netip.AddrPort) (Socket, error) {
	if s == nil || !local.IsValid() || !remote.IsValid() {
		return Socket{}, ErrNoSocket
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return Socket{}, ErrNoSocket
	}
	s.seq++
	if err := unix.Sendto(s.fd, diagRequest(s.seq, protocol, local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return Socket{}, err
	}
	buf := make([]byte, 4<<10)
	for {
		n, _, err := unix.Recvfrom(s.fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Socket{}, err
		}
		if got, mine := diagAnswer(buf[:n], s.seq); mine {
			if got.Inode == 0 {
				return Socket{}, ErrNoSocket
			}
			return got, nil
		}
	}
}

func diagRequest(seq uint32, protocol int, local, remote netip.AddrPort) []byte {
	family := unix.AF_INET
	if local.Addr().Unmap().Is6() {
		family = unix.AF_INET6
	}
	b := make([]byte, 0, diagRequestSize)
	b = binary.NativeEndian.AppendUint32(b, diagRequestSize)
	b = binary.NativeEndian.AppendUint16(b, sockDiagByFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = append(b, byte(family), byte(protocol), 0, 0)
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // in any state
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		var raw [16]byte
		copy(raw[:], a.Unmap().AsSlice())
		b = append(b, raw[:]...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0) // any interface
	b = binary.NativeEndian.AppendUint32(b, noCookie)
	return binary.NativeEndian.AppendUint32(b, noCookie)
}

// diagAnswer reads one message; mine says whether it answers the request. A
// socket without an inode stands for an error.
func diagAnswer(b []byte, seq uint32) (s Socket, mine bool) {
	if len(b) < unix.SizeofNlMsghdr || binary.NativeEndian.Uint32(b[8:]) != seq {
		return s, false
	}
	if binary.NativeEndian.Uint16(b[4:]) == sockDiagByFamily && len(b) >= diagAnswerSize {
		s = Socket{UID: binary.NativeEndian.Uint32(b[diagUID:]), Inode: binary.NativeEndian.Uint32(b[diagUID+4:])}
	}
	return s, true
}

// OwnedBy says whether the other end of an accepted connection is a socket that
// a process of one of these users holds open. One that is closed already tells
// nothing, and is nobody's.
func (s *Sockets) OwnedBy(c *net.TCPConn, users ...uint32) bool {
	peer, err := s.Find(unix.IPPROTO_TCP, addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
	if err != nil {
		return false
	}
	for _, u := range users {
		if peer.UID == u {
			return true
		}
	}
	return false
}
