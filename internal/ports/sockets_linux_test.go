package ports

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSockets: the kernel tells user and inode of the other end, by the inode it
// is one of our descriptors; a socket that was let go of is nobody's.
func TestSockets(t *testing.T) {
	s, err := OwnSockets()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer l.Close()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		conn := accepted.(*net.TCPConn)
		got, err := s.Find(unix.IPPROTO_TCP, addrPort(conn.RemoteAddr()), addrPort(conn.LocalAddr()))
		if err != nil || got.UID != uint32(os.Getuid()) || !ours(t, client, got.Inode) {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
		if !s.OwnedBy(conn, uint32(os.Getuid())) || s.OwnedBy(conn, uint32(os.Getuid())+1) || s.OwnedBy(conn) {
			t.Errorf("%s: not of this user, or of another", at)
		}
		client.Close()
		if s.OwnedBy(conn, uint32(os.Getuid()), 0) {
			t.Errorf("%s: a socket that is closed has an owner", at)
		}
	}
	if got, err := s.Find(unix.IPPROTO_TCP, addrPort(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}), addrPort(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2})); err == nil {
		t.Errorf("a socket that is not there: %+v", got)
	}
}

// TestMappedSockets: programs with one kind of socket for both families (Java's)
// are known as well.
func TestMappedSockets(t *testing.T) {
	s, err := OwnSockets()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet6{Port: int(addrPort(l.Addr()).Port()), Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !s.OwnedBy(c.(*net.TCPConn), uint32(os.Getuid())) {
		t.Error("the kernel does not tell whose it is")
	}
}

// ours says whether an inode is that of a connection of this process.
func ours(t *testing.T, c net.Conn, inode uint32) bool {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var link string
	_ = raw.Control(func(fd uintptr) { link, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd))) })
	return strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]") == strconv.Itoa(int(inode))
}

func FuzzDiagAnswer(f *testing.F) {
	f.Add(make([]byte, diagAnswerSize))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) { diagAnswer(b, 0) })
}
