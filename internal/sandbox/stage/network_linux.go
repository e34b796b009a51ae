package stage

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// dialTime bounds how long a server inside may take to accept.
const dialTime = 10_000 // milliseconds

// network makes the interfaces of the plan.
func (b *builder) network() error {
	if !b.plan.Loopback {
		return nil
	}
	index, err := loopbackUp()
	if err != nil {
		return failed("bringing the loopback interface up", "lo", err)
	}
	if slices.ContainsFunc(b.plan.Listeners, func(l sandbox.Listener) bool { return l.Network == "tcp" }) {
		b.packets = packetSockets(index)
	}
	if !b.plan.Pool {
		return nil
	}
	return failed("making the pool of addresses local", sandbox.Pool, localRoute(netip.MustParsePrefix(sandbox.Pool), index))
}

// listeners makes the plan's listeners, and hands them out before anything is
// started: no program inside can be faster.
func (b *builder) listeners(l *link) error {
	for i, want := range b.plan.Listeners {
		fd, bound := b.bound[want.Address]
		var err error
		if !bound {
			fd, err = listen(want)
		}
		m := sandbox.Message{Kind: sandbox.MsgSocket, ID: uint64(i), Code: errno(err)}
		switch {
		case err == nil:
			l.say(m, fd)
			unix.Close(fd)
		case want.Optional:
			l.say(m)
		default:
			return failed("listening inside on", want.Address, err)
		}
	}
	for _, fd := range b.copies {
		l.say(sandbox.Message{Kind: sandbox.MsgCopy}, fd)
		unix.Close(fd)
	}
	if len(b.packets) > 0 {
		l.say(sandbox.Message{Kind: sandbox.MsgPackets}, b.packets...)
		for _, fd := range b.packets {
			unix.Close(fd)
		}
	}
	if !b.plan.Pool && len(b.plan.Listeners) == 0 {
		return nil
	}
	// Programs get no such socket (see package seccomp); without it the log
	// knows no process.
	if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG); err == nil {
		l.say(sandbox.Message{Kind: sandbox.MsgDiag}, fd)
		unix.Close(fd)
	}
	return nil
}

// listen makes one listener of a plan.
func listen(want sandbox.Listener) (int, error) {
	if want.Network == "unix" {
		return listenAt(want.Address)
	}
	at, err := netip.ParseAddrPort(want.Address)
	if err != nil {
		return -1, unix.EINVAL
	}
	if want.Network == "udp" {
		return listenOn(unix.SOCK_DGRAM, at)
	}
	return listenOn(unix.SOCK_STREAM, at)
}

// listenAt makes a Unix socket, which only its user may connect to.
func listenAt(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		err = errors.Join(unix.Chmod(path, 0o600), unix.Listen(fd, backlog))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// backlog is for bursts of parallel connections; the kernel cuts it.
const backlog = 4096

// listenOn makes a socket that is bound, and listens where it is TCP's. No
// address is shared: a second socket on it is an error, whoever comes first.
func listenOn(kind int, at netip.AddrPort) (int, error) {
	fd, err := unix.Socket(family(at), kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if at.Addr().Is6() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) // after a listener that has just gone
	}
	if err == nil {
		err = unix.Bind(fd, sockaddr(at))
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// listenAt answers a request for one more listener.
func (s *server) listenAt(m sandbox.Message) {
	at, err := netip.ParseAddrPort(m.Text)
	fd := -1
	switch {
	case err != nil || at.Port() == 0:
		err = unix.EINVAL
	case !at.Addr().IsLoopback() && !netip.MustParsePrefix(sandbox.Pool).Contains(at.Addr()):
		err = unix.EACCES
	default:
		fd, err = listenOn(unix.SOCK_STREAM, at)
	}
	s.hand(sandbox.Message{Kind: sandbox.MsgSocket, ID: m.ID}, fd, err)
}

// dial connects to a server on the workspace's own loopback and hands the
// connection out.
func (s *server) dial(m sandbox.Message) {
	at, err := netip.ParseAddrPort(m.Text)
	fd := -1
	switch {
	case strings.HasPrefix(m.Text, "/"):
		fd, err = connectPath(m.Text)
	case err != nil:
		err = unix.EINVAL
	case !at.Addr().IsLoopback():
		err = unix.EACCES
	default:
		fd, err = connect(at)
	}
	s.hand(sandbox.Message{Kind: sandbox.MsgDialed, ID: m.ID}, fd, err)
}

func (s *server) hand(m sandbox.Message, fd int, err error) {
	if err != nil {
		m.Code = errno(err)
		s.link.say(m)
		return
	}
	s.link.say(m, fd)
	unix.Close(fd)
}

// connect waits with a bound: a server whose queue is full never answers.
func connect(to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(family(to), unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, sockaddr(to)); err == unix.EINPROGRESS {
		err = connected(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// connectPath does not wait: where the queue of a Unix socket is full it is EAGAIN.
func connectPath(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func connected(fd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, dialTime)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return unix.ETIMEDOUT
		}
		code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		return err
	}
}

func family(at netip.AddrPort) int {
	if at.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(at netip.AddrPort) unix.Sockaddr {
	if at.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
}

// loopbackUp sets IFF_UP on lo and gives its index.
func loopbackUp() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return 0, err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req); err != nil {
		return 0, err
	}
	return int(req.Uint32()), nil
}

// localRoute makes every address of a prefix one of the machine's own, without
// giving an interface any: see rtnetlink(7), RTN_LOCAL.
func localRoute(prefix netip.Prefix, index int) error { return askRoute(routeRequest(prefix, index)) }

// askRoute has the kernel carry out one request, see rtnetlink(7).
func askRoute(request []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, os.Getpagesize())
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return unix.EPROTO
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// routeRequest is nlmsghdr, rtmsg, and the attributes RTA_DST and RTA_OIF.
func routeRequest(prefix netip.Prefix, index int) []byte {
	dst := prefix.Addr().As4()
	b := make([]byte, unix.SizeofNlMsghdr, 64)
	b = append(b, unix.AF_INET, byte(prefix.Bits()), 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL)
	b = binary.NativeEndian.AppendUint32(b, 0)
	for kind, value := range map[uint16][]byte{unix.RTA_DST: dst[:], unix.RTA_OIF: binary.NativeEndian.AppendUint32(nil, uint32(index))} {
		b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
		b = binary.NativeEndian.AppendUint16(b, kind)
		b = append(b, value...)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.RTM_NEWROUTE)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	return b
}
