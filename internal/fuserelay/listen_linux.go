package fuserelay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"carrel/internal/fdpass"
	"carrel/internal/sandbox"
	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// ownDir has the sockets and names that programs here find the supervisor by.
const ownDir = "/run/carrel"

// dialTime bounds how long a connection to a port here may take.
const dialTime = 10 * time.Second

// listen carries the connections that programs here make to addresses, each named WHAT=ADDRESS,
// to the other end of the standard streams, with the label of the program that has connected;
// NAME@DIRECTORY is a name of this program, which is what programs start. What the other end connects
// to is a port of the loopback here. With -anew first, what an earlier one left in /run/carrel is
// removed: a machine of one run has nothing of that, but names which its backend has put there.
func listen(specs []string) error {
	mux := streams.New(os.Stdin, os.Stdout, false, dialHere)
	unix.Umask(0o022) // its user starts and connects to what is made here
	if len(specs) > 0 && specs[0] == "-anew" {
		if specs = specs[1:]; os.RemoveAll(ownDir) != nil {
			return fmt.Errorf("the names of an earlier command in %s cannot be removed", ownDir)
		}
	}
	defer os.RemoveAll(ownDir)
	for _, spec := range specs {
		if name, dir, ok := strings.Cut(spec, "@"); ok {
			if err := link(name, dir); err != nil {
				return err
			}
			continue
		}
		what, address, ok := strings.Cut(spec, "=")
		if !ok {
			return fmt.Errorf("%q is neither WHAT=ADDRESS nor NAME@DIRECTORY", spec)
		}
		l, err := listenAt(address)
		if err != nil {
			return err
		}
		defer l.Close()
		go carry(l, what, mux)
	}
	if _, err := fmt.Fprintln(os.Stderr, "ready"); err != nil {
		return err
	}
	return mux.Serve()
}

// link makes a name of this program.
func link(name, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if path.Base(name) != name || !strings.HasPrefix(path.Clean(dir), ownDir+"/") {
		return fmt.Errorf("%q in %q is no name below %s", name, dir, ownDir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Symlink(self, path.Join(dir, name))
}

// listenAt listens at an address of TCP, or at the path of a Unix socket. All users of the machine
// may connect to that: what they can ask for is what its command can.
func listenAt(address string) (net.Listener, error) {
	if !path.IsAbs(address) {
		return net.Listen("tcp", address)
	}
	if err := os.MkdirAll(path.Dir(address), 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(address, 0o666)
}

func carry(l net.Listener, what string, mux *streams.Mux) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // out of descriptors, most likely
			continue
		}
		_ = mux.Carry(c.(streams.Conn), by(c, what)) // closed where it is refused
	}
}

// by adds the label of the program that has connected to a socket of ours, where it has one: its
// number means nothing outside.
func by(c net.Conn, what string) string {
	if label := sandbox.LabelOf(fdpass.Caller(c)); label != 0 {
		return what + " " + strconv.FormatUint(label, 10)
	}
	return what
}

// dialHere connects to an address of the loopback. It is called while nothing else is carried.
func dialHere(what string) (streams.Conn, error) {
	to, err := netip.ParseAddrPort(what)
	if err != nil || !to.Addr().IsLoopback() {
		return nil, fmt.Errorf("%q is no address of the loopback", what)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}
