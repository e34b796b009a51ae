package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// carried is a listener of what connects to an address in a machine.
type carried struct {
	at    net.Addr // in the machine
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// backlog is how many connections wait to be accepted at an address. More are refused at once, as
// a kernel does: the machine may not hold up what it has connected elsewhere.
const backlog = 64

// Listen accepts what programs in the machine connect to an address there: one of TCP, or the path
// of a Unix socket. It is called before the command starts, and ends with it.
func (r *Run) Listen(address string) net.Listener {
	l := &carried{at: &net.UnixAddr{Name: address, Net: "unix"}, conns: make(chan net.Conn, backlog), ended: make(chan struct{})}
	if at, err := netip.ParseAddrPort(address); err == nil {
		l.at = net.TCPAddrFromAddrPort(at)
	}
	r.listeners = append(r.listeners, l)
	return l
}

// Accept implements [net.Listener].
func (l *carried) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *carried) Close() error {
	l.once.Do(func() { close(l.ended) })
	for {
		select {
		case c := <-l.conns:
			c.Close()
		default:
			return nil
		}
	}
}

// Addr implements [net.Listener].
func (l *carried) Addr() net.Addr { return l.at }

// conn is a connection of a program in a machine. Its type is not that of a socket of this host:
// it passes no descriptors, and no process of this host is at its other end.
type conn struct {
	*net.UnixConn
	at    net.Addr
	label uint64
}

// Label is that of the command whose program has connected, as the machine says; 0 where it is not
// known. It is good for what is the machine's own business alone: where a step of its history ends.
func (c conn) Label() uint64 { return c.label }

// LocalAddr implements [net.Conn].
func (c conn) LocalAddr() net.Addr { return c.at }

// pair makes a connection: one end is for a program here, the other for what carries.
func pair(at net.Addr, label uint64) (ours conn, theirs streams.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return conn{}, nil, err
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "carried")
		c, e := net.FileConn(f)
		f.Close()
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		ends[i] = c.(*net.UnixConn)
	}
	return conn{ends[0], at, label}, ends[1], err
}

// came gives one end of a new connection to the side that accepts, and the other to what carries.
func (l *carried) came(label uint64) (streams.Conn, error) {
	ours, theirs, err := pair(l.at, label)
	if err != nil {
		return nil, err
	}
	refuse := func(why error) (streams.Conn, error) { return nil, errors.Join(why, ours.Close(), theirs.Close()) }
	select {
	case <-l.ended:
		return refuse(net.ErrClosed)
	default:
	}
	select {
	case l.conns <- ours:
		return theirs, nil
	default:
		return refuse(fmt.Errorf("%d connections to %s wait to be accepted", backlog, l.at))
	}
}

// DialInside connects to a port of the machine's own loopback. A port at which no program listens
// there ends the connection.
func (r *Run) DialInside(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	ours, theirs, err := pair(net.TCPAddrFromAddrPort(to), 0)
	if err != nil {
		return nil, err
	}
	if mux := r.mux.Load(); mux == nil {
		err = errors.Join(net.ErrClosed, theirs.Close())
	} else {
		err = mux.Carry(theirs, to.String())
	}
	if err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// listen has the machine listen at all addresses that are asked for, and at the ports of this host
// that are listed.
func (r *Run) listen(ctx context.Context, g Guest) (stop func(), err error) {
	var addresses []string
	for _, l := range r.listeners {
		addresses = append(addresses, l.at.String()+"="+l.at.String())
	}
	for _, port := range r.Ports {
		for _, host := range []string{"127.0.0.1", "::1"} {
			addresses = append(addresses, fmt.Sprintf("%d=%s", port, net.JoinHostPort(host, strconv.Itoa(int(port)))))
		}
	}
	for _, name := range r.helpers {
		addresses = append(addresses, path.Base(name)+"@"+path.Dir(name))
	}
	ending, served := make(chan struct{}), make(chan error, 1)
	end := sync.OnceFunc(func() {
		close(ending)
		for _, l := range r.listeners {
			l.Close()
		}
	})
	serve := func(in io.Reader, out io.Writer) error {
		mux := streams.New(in, out, true, func(what string) (streams.Conn, error) { return r.accept(ctx, what) })
		r.mux.Store(mux)
		err := mux.Serve()
		served <- err
		return err
	}
	relay, err := g.Listen(context.WithoutCancel(ctx), addresses, serve)
	if err != nil {
		end()
		return nil, fmt.Errorf("carrying the network of %s: %w", g.Name(), err)
	}
	go func() {
		select {
		case <-ending:
		case err := <-served:
			select {
			case <-ending: // which is why it has ended
			default:
				r.Lost(fmt.Sprintf("what carries the network of %s has ended, and programs there reach nothing: %v", g.Name(), cmp.Or(err, io.EOF)))
			}
		}
	}()
	return func() {
		end()
		if err := relay.Close(); err != nil {
			r.Note("what carries the network of %s: %v", g.Name(), err)
		}
	}, nil
}

// accept gives the other end of a connection that a program in the machine has made. The label of
// the program follows what it has connected to, where it has one.
func (r *Run) accept(ctx context.Context, what string) (streams.Conn, error) {
	what, by, _ := strings.Cut(what, " ")
	label, err := strconv.ParseUint(by, 10, 32)
	if err != nil {
		label = 0
	}
	if r.alike {
		label = r.Running()
	}
	for _, l := range r.listeners {
		if l.at.String() == what {
			return l.came(label)
		}
	}
	port, err := strconv.ParseUint(what, 10, 16)
	if err != nil {
		return nil, err
	}
	return r.Dial(ctx, uint16(port)) // which refuses what is not listed
}
