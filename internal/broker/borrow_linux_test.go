package broker

import (
	"encoding/binary"
	"net"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lingering gives a connection that nobody reads from, with more written than
// its other end takes: whoever closes the last descriptor waits for a minute.
func lingering(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 60})
	}
	if err != nil {
		t.Fatal(err)
	}
	for full := 0; full < 3; time.Sleep(10 * time.Millisecond) {
		for full++; ; full = 0 {
			if err := unix.Sendto(fd, make([]byte, 64<<10), unix.MSG_DONTWAIT, nil); err != nil {
				break
			}
		}
	}
	return fd
}

// TestLastOfASocket: a copy of a caller's socket that is the last one by the
// time it is closed holds nobody up, and there are not ever more of them.
func TestLastOfASocket(t *testing.T) {
	n := newBench(t)
	address := make([]byte, 110)
	binary.NativeEndian.PutUint16(address, unix.AF_UNIX)
	size := 2 + copy(address[2:], n.dir+"/sock") + 1
	bind := func(fd int) answer {
		t.Helper()
		n.trap.valid = func() bool { unix.Close(fd); return true }
		n.trap.calls <- Call{ID: 1, TID: n.tid, Nr: unix.SYS_BIND, Args: [6]uint64{uint64(fd), uint64(uintptr(unsafe.Pointer(&address[0]))), uint64(size)}}
		select {
		case a := <-n.trap.answers:
			return a
		case <-time.After(5 * time.Second):
			t.Fatal("the broker waits for the connection")
			return answer{}
		}
	}
	for i := range maxBorrowed + 1 {
		fd := lingering(t)
		a := bind(fd)
		if got := a.errno == syscall.ENOBUFS; a.errno == 0 || got != (i == maxBorrowed) {
			t.Fatalf("%d: %+v", i, a)
		}
		if i == maxBorrowed {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
			unix.Close(fd) // nobody has closed it
		}
	}
	n.trap.valid = func() bool { return true }
	if a := n.call(unix.SYS_MKDIRAT, "d", 0o755); a != (answer{}) {
		t.Errorf("mkdir: %+v", a)
	}
}
