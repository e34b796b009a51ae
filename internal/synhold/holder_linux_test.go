package synhold

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newLoopback puts this goroutine's thread, which ends with it, into a network of its own, and
// gives packet sockets of its loopback interface as a workspace has them.
func newLoopback() (packets []int, err error) {
	runtime.LockOSThread() // never unlocked: the thread is not used again
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return nil, err
	}
	ask, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ask)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	// A /proc of a container may be read-only, and one of our own is not.
	err = errors.Join(unix.IoctlIfreq(ask, unix.SIOCSIFFLAGS, lo), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""))
	for _, setting := range []string{"accept_local", "route_localnet"} {
		err = errors.Join(err, os.WriteFile("/proc/sys/net/ipv4/conf/lo/"+setting, []byte("1"), 0))
	}
	for _, protocol := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
		protocol = protocol<<8 | protocol>>8
		fd, e := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		err = errors.Join(err, e, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: 1}))
		packets = append(packets, fd)
	}
	return packets, err
}

// connect does as a program inside does, and gives the ends as it sees them.
func connect(to netip.AddrPort) (Ends, error) {
	family, at := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())})
	if to.Addr().Is4() {
		family, at = unix.AF_INET, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Ends{}, err
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 20}),
		unix.Connect(fd, at)); err != nil {
		return Ends{}, err
	}
	own, err := unix.Getsockname(fd)
	from := netip.AddrPort{}
	switch a := own.(type) {
	case *unix.SockaddrInet4:
		from = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		from = netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return Ends{From: from, To: to}, err
}

// TestHold: the kernel itself tells a program what was answered, a listener that is not held is
// reached without a question, and each connection is asked for once.
func TestHold(t *testing.T) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		packets, err := newLoopback()
		if err != nil {
			t.Error(err)
			return
		}
		var mu sync.Mutex
		asked := make(map[Ends]int)
		say := make(map[uint16]Answer)
		h, err := Watch(packets, func(e Ends) Answer {
			mu.Lock()
			defer mu.Unlock()
			asked[e]++
			return say[e.To.Port()]
		})
		if err != nil {
			t.Error(err)
			return
		}
		defer h.Close()
		var plain net.ListenConfig
		plain.SetMultipathTCP(false) // as the stage makes them: one of MPTCP takes no filter
		for _, c := range []struct {
			at     string
			held   bool
			answer Answer
			want   error
		}{
			{"127.0.0.1:0", false, Refused, nil}, {"127.0.0.1:0", true, Accepted, nil}, {"127.0.0.1:0", true, Refused, unix.ECONNREFUSED},
			{"127.0.0.1:0", true, Unreachable, unix.EHOSTUNREACH}, {"[::1]:0", false, Refused, nil}, {"[::1]:0", true, Accepted, nil},
			{"[::1]:0", true, Refused, unix.ECONNREFUSED}, {"[::1]:0", true, Unreachable, unix.ECONNREFUSED},
		} {
			l, err := plain.Listen(t.Context(), "tcp", c.at)
			if err != nil {
				t.Error(err)
				return
			}
			at := addrPort(l.Addr())
			mu.Lock()
			say[at.Port()] = c.answer
			mu.Unlock()
			if c.held {
				if err := h.Hold(l); err != nil {
					t.Error(err)
				}
			}
			ends, err := connect(at)
			if !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Errorf("%s, held %v, answer %d: %v, want %v", at, c.held, c.answer, err, c.want)
			}
			if err == nil {
				_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
				if in, err := l.Accept(); err != nil || EndsOf(in) != ends {
					t.Errorf("%s: %v was accepted, want %v", at, err, ends)
				}
			}
			mu.Lock()
			times := 0
			for e, n := range asked {
				if e.To == at {
					times += n
				}
			}
			mu.Unlock()
			if c.held != (times == 1) {
				t.Errorf("%s, held %v: asked %d times", at, c.held, times)
			}
			l.Close()
		}
	}()
	<-ended
}

// TestWaitingIsBounded: of a flood so many connections wait, each once, and of listeners that
// are not held none.
func TestWaitingIsBounded(t *testing.T) {
	held, other := netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("127.0.0.1:81")
	h := &Holder{held: map[netip.AddrPort]bool{held: true}, waiting: make(map[Ends]bool)}
	from := func(port int) netip.AddrPort { return netip.AddrPortFrom(held.Addr(), uint16(port)) }
	if h.enter(Ends{from(1), other}) {
		t.Error("asked for a listener that is not held")
	}
	for port := range maxWaiting {
		if e := (Ends{from(port + 1), held}); !h.enter(e) || h.enter(e) {
			t.Fatalf("connection %d does not wait once", port)
		}
	}
	if h.enter(Ends{from(maxWaiting + 1), held}) {
		t.Error("more wait than there is a bound for")
	}
	delete(h.waiting, Ends{from(1), held})
	if !h.enter(Ends{from(maxWaiting + 1), held}) {
		t.Error("an answer makes no room")
	}
	if err := (*Holder)(nil).Hold(nil); err != nil {
		t.Error(err)
	}
}
