package stage_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// networkRoom is a room with the pool, and a command that stays.
func networkRoom(t *testing.T, listeners ...sandbox.Listener) (*sandbox.Walls, []int) {
	t.Helper()
	p, _ := room(t)
	p.Pool, p.Listeners = true, listeners
	p.Command = shell("exec sleep 60")
	w, err := launch(t, p)
	if err != nil {
		t.Fatal(err)
	}
	sockets, diag, packets := w.TakeListeners()
	if diag < 0 {
		t.Error("there is no socket that tells whose a connection is")
	}
	if len(listeners) > 0 && len(packets) != 2 {
		t.Errorf("%d packet sockets, want one for each family", len(packets))
	}
	t.Cleanup(func() {
		unix.Close(diag)
		for _, fd := range packets {
			unix.Close(fd)
		}
	})
	if len(sockets) != len(listeners) {
		t.Fatalf("%d of %d listeners", len(sockets), len(listeners))
	}
	return w, sockets
}

func fileOf(t *testing.T, fd int) *os.File {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	t.Cleanup(func() { f.Close() })
	return f
}

func listenerOf(t *testing.T, fd int) net.Listener {
	t.Helper()
	l, err := net.FileListener(fileOf(t, fd))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// inside runs a script of bash, which connects by /dev/tcp and /dev/udp, and
// gives its status.
func inside(t *testing.T, w *sandbox.Walls, script string) int {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c := shell(script)
	c.Argv[0] = "bash"
	id, err := w.Exec(c, [3]*os.File{null, null, null})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.Wait(id)
	if err != nil {
		t.Fatal(err)
	}
	return e.Code
}

// heard takes one connection and gives what it says.
func heard(t *testing.T, l net.Listener) (said string, local net.Addr) {
	t.Helper()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), c.LocalAddr()
}

// TestListenersOfThePlan: they are there before any program, and are accepted on
// from outside.
func TestListenersOfThePlan(t *testing.T) {
	w, sockets := networkRoom(t,
		sandbox.Listener{Network: "tcp", Address: "198.18.0.1:3128"},
		sandbox.Listener{Network: "udp", Address: "198.18.0.1:53"},
		sandbox.Listener{Network: "tcp", Address: "198.18.0.1:53"},
		sandbox.Listener{Network: "tcp", Address: "127.0.0.1:631"},
		sandbox.Listener{Network: "tcp", Address: "[::1]:631", Optional: true})
	for i, at := range map[int]string{0: "198.18.0.1/3128", 2: "198.18.0.1/53", 3: "127.0.0.1/631", 4: "::1/631"} {
		if sockets[i] < 0 {
			t.Fatalf("no listener for %s", at)
		}
		l := listenerOf(t, sockets[i])
		if code := inside(t, w, "echo -n hello >/dev/tcp/"+at); code != 0 {
			t.Fatalf("%s cannot be reached: %d", at, code)
		}
		if said, _ := heard(t, l); said != "hello" {
			t.Errorf("%s heard %q", at, said)
		}
	}
	udp, err := net.FilePacketConn(fileOf(t, sockets[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if code := inside(t, w, "echo -n name >/dev/udp/198.18.0.1/53"); code != 0 {
		t.Fatal("UDP cannot be sent")
	}
	buf := make([]byte, 16)
	_ = udp.SetDeadline(time.Now().Add(10 * time.Second))
	if n, _, err := udp.ReadFrom(buf); err != nil || string(buf[:n]) != "name" {
		t.Errorf("UDP heard %q, %v", buf[:n], err)
	}
}

// TestLaterListeners: an address of the pool is connected to where somebody
// listens and refused at once elsewhere; the local address says which it was.
func TestLaterListeners(t *testing.T) {
	w, _ := networkRoom(t, sandbox.Listener{Network: "tcp", Address: "198.18.0.1:3128"})
	fd, err := w.Listen(netip.MustParseAddrPort("198.18.3.4:443"))
	if err != nil {
		t.Fatal(err)
	}
	l := listenerOf(t, fd)
	if code := inside(t, w, "echo -n hello >/dev/tcp/198.18.3.4/443"); code != 0 {
		t.Fatal("it cannot be reached")
	}
	if said, local := heard(t, l); said != "hello" || local.String() != "198.18.3.4:443" {
		t.Errorf("heard %q at %v", said, local)
	}
	for _, at := range []string{"198.18.3.4/444", "198.18.3.5/443", "198.19.255.255/443", "198.20.0.1/443", "192.0.2.1/443"} {
		if code := inside(t, w, "timeout 5 bash -c 'echo >/dev/tcp/"+at+"'"); code != 1 {
			t.Errorf("%s is not refused at once: %d", at, code)
		}
	}
	for at, want := range map[string]error{
		"198.18.0.1:3128":       syscall.EADDRINUSE,
		"198.18.3.4:443":        syscall.EADDRINUSE,
		"10.0.0.1:80":           syscall.EACCES,
		"198.20.0.1:80":         syscall.EACCES,
		"0.0.0.0:80":            syscall.EACCES,
		"[::]:80":               syscall.EACCES,
		"[::ffff:192.0.2.1]:80": syscall.EACCES,
		"127.0.0.1:0":           syscall.EINVAL,
	} {
		if fd, err := w.Listen(netip.MustParseAddrPort(at)); err != want || fd >= 0 {
			t.Errorf("listening on %s: %d, %v, want %v", at, fd, err, want)
		}
	}
}

// TestDialOwnLoopback: both families are reached, and nothing else.
func TestDialOwnLoopback(t *testing.T) {
	w, _ := networkRoom(t)
	for _, at := range []string{"127.0.0.1:80", "[::1]:80"} {
		to := netip.MustParseAddrPort(at)
		if fd, err := w.Dial(to); err != syscall.ECONNREFUSED {
			t.Errorf("nobody listens on %s: %d, %v", at, fd, err)
		}
		server, err := w.Listen(to)
		if err != nil {
			t.Fatal(err)
		}
		l := listenerOf(t, server)
		fd, err := w.Dial(to)
		if err != nil {
			t.Fatalf("dialling %s: %v", at, err)
		}
		c, err := net.FileConn(fileOf(t, fd))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "hello")
		_ = c.(*net.TCPConn).CloseWrite()
		if said, _ := heard(t, l); said != "hello" {
			t.Errorf("%s heard %q", at, said)
		}
		c.Close()
	}
	for _, at := range []string{"198.18.0.1:3128", "192.0.2.1:80", "0.0.0.0:80", "[::]:80"} {
		if fd, err := w.Dial(netip.MustParseAddrPort(at)); err != syscall.EACCES {
			t.Errorf("dialling %s: %d, %v", at, fd, err)
		}
	}
}

// TestNoPool: without it the addresses are nowhere.
func TestNoPool(t *testing.T) {
	p, _ := room(t)
	p.Command = shell("exec sleep 60")
	w, err := launch(t, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Listen(netip.MustParseAddrPort("198.18.3.4:443")); err != syscall.EADDRNOTAVAIL {
		t.Errorf("listening in the pool: %v", err)
	}
	p.Listeners = []sandbox.Listener{{Network: "tcp", Address: "198.18.0.1:3128"}}
	if _, err := launch(t, p); err == nil {
		t.Error("the walls stand without a listener that they need")
	}
}
