package network

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"carrel/internal/ports"
)

// TestOwner: who holds the other end is found, by number and name, the same one
// again at once; a connection of nobody's has no owner.
func TestOwner(t *testing.T) {
	sockets, err := ports.OwnSockets()
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("bash", "-c", "exec 5<>/dev/tcp/127.0.0.1/"+portOf(l)+" 6<>/dev/tcp/127.0.0.1/"+portOf(l)+"; read")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &owners{sockets: sockets}
	for range 2 {
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if pid, name := found(o, c); pid != cmd.Process.Pid || name != "bash" {
			t.Errorf("found %d %q, want %d", pid, name, cmd.Process.Pid)
		}
	}
	if len(o.recent) != 1 {
		t.Errorf("remembered %v", o.recent)
	}
	in.Close()
	_ = cmd.Wait()
	mine, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pid, _ := found(o, c); pid != os.Getpid() {
		t.Errorf("found %d, want this process", pid)
	}
	mine.Close()
	if pid, name := o.find(bothEnds(c)); pid != 0 {
		t.Errorf("a socket that is closed is of %d %q", pid, name)
	}
}

// found asks again where the time of one search was not enough.
func found(o *owners, c net.Conn) (pid int, name string) {
	for range 100 {
		if pid, name = o.find(bothEnds(c)); pid != 0 {
			break
		}
	}
	return pid, name
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func bothEnds(c net.Conn) (local, remote netip.AddrPort) {
	return c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
}
