//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests' internet is a network namespace in which every address is there:
// a connection to any of them meets the same servers, which say which address
// and which name it was to. Beside it stands a host: a second namespace, joined
// by one cable that is watched, with a file of name servers and certificates of
// its own. Nothing of it has a name on the machine; it ends with the test.

// place is a network and a mount namespace, held by one thread of the tests.
type place struct {
	calls chan func()
	tid   int // of the thread
}

// newPlace makes a place whose mounts are its own.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{calls: make(chan func())}
	made := make(chan error)
	onThread(func() {
		p.tid = unix.Gettid()
		err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS)
		if err == nil {
			err = ownMounts()
		}
		made <- err
		for f := range p.calls {
			f()
		}
	})
	if err := <-made; err != nil {
		t.Fatalf("making a network namespace: %v", err)
	}
	t.Cleanup(func() { close(p.calls) })
	return p
}

// ownMounts cuts the calling thread's mounts off from the machine's. What other
// tests have mounted must not be held here when they take it away.
func ownMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	for point := range mountPoints() {
		if strings.HasPrefix(point, os.TempDir()+"/") {
			_ = unix.Unmount(point, unix.MNT_DETACH)
		}
	}
	return nil
}

// onThread runs a function on a thread that ends with it. The first thread of a
// process can not end, and its namespaces are shown as the process's.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		done := make(chan struct{})
		onThread(func() { defer close(done); f() })
		<-done
		runtime.UnlockOSThread()
	}()
}

// do runs a function in the place: sockets that it makes and processes that it
// starts belong there.
func (p *place) do(f func() error) error {
	result := make(chan error)
	p.calls <- func() { result <- f() }
	return <-result
}

// internet is one test's network.
type internet struct {
	t       *testing.T
	outside *place // every address, all servers
	host    *place // where carrel runs
	dir     string // readable for everybody
	names   *nameServer
	ca      *authority
	cable   *capture
	visits  visits
	own     sync.Map // handlers of names that a test serves itself
}

// The addresses of the cable's two ends, and of the name server outside.
const (
	hostAddress  = "10.200.0.2"
	hostAddress6 = "fd00:9::2"
	gateway      = "10.200.0.1"
	gateway6     = "fd00:9::1"
	nameServerAt = "93.184.216.53"
)

// everywhere are the networks of which each address is there outside: what
// policies call public, and what they call special.
var everywhere = []string{
	"93.184.216.0/24", "1.1.1.0/24", "10.0.0.0/9", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
	"198.18.0.0/15", "203.0.113.0/24", "2606:2800:220::/48", "fd00:1::/32", "64:ff9b::/96", "2002::/16",
}

// newInternet makes a network with its servers.
func newInternet(t *testing.T) *internet {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	dir, err := os.MkdirTemp(built.base, "internet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &internet{t: t, dir: dir, outside: newPlace(t), host: newPlace(t)}
	n.must(os.Chmod(dir, 0o755))
	n.join()
	n.cable = newCapture(n)
	n.ca = newAuthority(t)
	n.must(os.WriteFile(dir+"/resolv.conf", []byte("nameserver "+nameServerAt+"\n"), 0o644))
	n.must(os.WriteFile(dir+"/hosts", []byte("127.0.0.1 localhost\n::1 localhost\n"), 0o644))
	n.must(os.WriteFile(dir+"/ca.pem", n.ca.pem(), 0o644))
	n.must(os.WriteFile(dir+"/cacerts", n.ca.javaStore(), 0o644))
	n.must(n.host.do(func() error {
		return n.replace("resolv.conf", "hosts", "ssl/certs/ca-certificates.crt=ca.pem", "ssl/certs/java/cacerts")
	}))
	n.names = newNameServer(n)
	n.serve()
	return n
}

func (n *internet) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// join lays the cable and gives each end its addresses. Neighbours are known
// from the start, so that nobody asks for them.
func (n *internet) join() {
	const hostMAC, outsideMAC = "02:00:00:00:00:02", "02:00:00:00:00:01"
	var out, in strings.Builder
	fmt.Fprintf(&out, "link set lo up\nlink add net0 address %s type veth peer name eth0 address %s netns /proc/%d/task/%d/ns/net\n",
		outsideMAC, hostMAC, os.Getpid(), n.host.tid)
	fmt.Fprintf(&out, "link set net0 addrgenmode none\naddr add %s/24 dev net0\naddr add %s/64 dev net0 nodad\nlink set net0 up\n", gateway, gateway6)
	fmt.Fprintf(&out, "neigh replace %s lladdr %s dev net0\nneigh replace %s lladdr %s dev net0\n", hostAddress, hostMAC, hostAddress6, hostMAC)
	for _, net := range everywhere {
		fmt.Fprintf(&out, "route add local %s dev lo\n", net)
	}
	fmt.Fprintf(&in, "link set lo up\nlink set eth0 addrgenmode none\naddr add %s/24 dev eth0\naddr add %s/64 dev eth0 nodad\nlink set eth0 up\n", hostAddress, hostAddress6)
	fmt.Fprintf(&in, "neigh replace %s lladdr %s dev eth0\nneigh replace %s lladdr %s dev eth0\n", gateway, outsideMAC, gateway6, outsideMAC)
	fmt.Fprintf(&in, "route add default via %s\nroute add default via %s\n", gateway, gateway6)
	n.ip(n.outside, out.String())
	n.ip(n.host, in.String())
	n.must(n.host.do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0) }))
	n.must(n.outside.do(func() error { return os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0) }))
}

// ip runs commands of ip(8) in a place.
func (n *internet) ip(p *place, commands string) {
	n.t.Helper()
	cmd := exec.Command("/sbin/ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(commands)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	n.must(p.do(cmd.Start))
	if err := cmd.Wait(); err != nil {
		n.t.Fatalf("ip: %v: %s\n%s", err, said.String(), commands)
	}
}

// replace puts files of the network's directory over those of /etc, in the
// calling thread's mount namespace. NAME=FILE has the file's own name.
func (n *internet) replace(names ...string) error {
	for _, name := range names {
		at, file, renamed := strings.Cut(name, "=")
		if !renamed {
			file = filepath.Base(at)
		}
		path, err := filepath.EvalSymlinks("/etc/" + at)
		if err != nil {
			return err
		}
		if err := unix.Mount(n.dir+"/"+file, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("over %s: %w", path, err)
		}
	}
	return nil
}

// listen opens a listener in a place.
func (n *internet) listen(p *place, network, address string) net.Listener {
	n.t.Helper()
	var l net.Listener
	n.must(p.do(func() (err error) { l, err = net.Listen(network, address); return err }))
	n.t.Cleanup(func() { l.Close() })
	return l
}

// packets opens a socket for datagrams in a place.
func (n *internet) packets(p *place, address string) net.PacketConn {
	n.t.Helper()
	var c net.PacketConn
	n.must(p.do(func() (err error) { c, err = net.ListenPacket("udp", address); return err }))
	n.t.Cleanup(func() { c.Close() })
	return c
}

// daemon starts a program in a place and ends it with the test.
func (n *internet) daemon(p *place, argv ...string) *bytes.Buffer {
	n.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	n.must(p.do(cmd.Start))
	n.t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	return &said
}

// world is a person's place on the host of this network.
func (n *internet) world(p person) *world {
	n.t.Helper()
	w := newWorld(n.t, p)
	w.at = n.host
	w.setenv("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/ca-certificates.crt")
	return w
}

// name gives a name an address of its own that looks public.
func (n *internet) name(names ...string) {
	n.t.Helper()
	for _, name := range names {
		n.names.set(name, n.address(name))
	}
}

// address is the address that a name gets: the same each time it is asked for.
func (n *internet) address(name string) netip.Addr {
	sum := 0
	for i, c := range []byte(name) {
		sum = (sum*31 + int(c) + i) % 150
	}
	return netip.AddrFrom4([4]byte{93, 184, 216, byte(100 + sum)})
}
