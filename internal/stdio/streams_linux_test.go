package stdio

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhatCrosses: a descriptor crosses to a workspace that runs if it leads to one
// other program and nothing else.
func TestWhatCrosses(t *testing.T) {
	dir := t.TempDir()
	var pair [2]int
	var err error
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); unix.Close(pair[0]); unix.Close(pair[1]) })
	connect := func(network, address string) (there, here int) {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fd := func(c net.Conn) int {
			f, err := c.(interface{ File() (*os.File, error) }).File()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close(); c.Close(); l.Close() })
			return int(f.Fd())
		}
		return fd(c), fd(accepted)
	}
	client, server := connect("unix", filepath.Join(dir, "s"))
	tcp, _ := connect("tcp", "127.0.0.1:0")
	alone, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(alone) })
	for _, c := range []struct {
		name string
		fd   int
		good bool
	}{
		{"a pipe", int(r.Fd()), true}, {"half of a pair", pair[0], true}, {"what a service was called with", server, true}, {"TCP", tcp, true},
		{"null", open(os.DevNull, unix.O_RDWR), true}, {"zero", open("/dev/zero", unix.O_RDONLY), true},
		{"a pipe with a name", open(fifo, unix.O_RDWR), false}, {"a call of a service", client, false}, {"a socket alone", alone, false},
		{"a directory", open(dir, unix.O_RDONLY), false}, {"a file", open(filepath.Join(dir, "f"), unix.O_RDWR|unix.O_CREAT), false},
		{"a terminal", open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY), false},
	} {
		var st syscall.Stat_t
		if err := syscall.Fstat(c.fd, &st); err != nil {
			t.Fatal(err)
		}
		if why := Crosses(c.fd, &st); (why == "") != c.good {
			t.Errorf("%s: %q", c.name, why)
		}
	}
	kmsg := syscall.Stat_t{Mode: unix.S_IFCHR, Rdev: unix.Mkdev(1, 11)}
	if Crosses(-1, &kmsg) == "" {
		t.Error("the kernel's messages cross")
	}
}
