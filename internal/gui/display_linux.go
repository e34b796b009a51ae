package gui

import (
	"context"
	"net"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/xvfb"
)

// display keeps an X server for who connects. The number, the directory and the cookie
// stay, and servers come and go.
type display struct {
	*workspace
	buses  *buses
	place  *xvfb.Place
	cookie []byte // the server's

	starting sync.Mutex // held while a server is started
	mu       sync.Mutex
	server   *xserver
	users    int // connections of the supervisor's own
	clients  int // programs inside
	release  *time.Timer
	closed   bool
}

// Display is the value of DISPLAY inside.
func (d *display) Display() string { return d.place.Display() }

// Cookie is the server's own cookie, for clients of the supervisor's.
func (d *display) Cookie() []byte { return d.cookie }

// dialCounted connects to the server itself. The connection counts as a client until it is
// closed.
func (d *display) dialCounted(ctx context.Context) (net.Conn, error) {
	d.count(func() { d.users++ })
	leave := func() { d.count(func() { d.users-- }) }
	conn, err := d.connect(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return &desktopConn{UnixConn: conn, done: leave}, nil
}

// dialUncounted is dialCounted for what does not keep the display from being let go of.
func (d *display) dialUncounted(ctx context.Context) (net.Conn, error) { return d.connect(ctx) }

// desktopConn is a connection that is counted.
type desktopConn struct {
	*net.UnixConn
	once sync.Once
	done func()
}

// Close implements [net.Conn].
func (c *desktopConn) Close() error {
	defer c.once.Do(c.done)
	return c.UnixConn.Close()
}

func (d *display) connect(ctx context.Context) (*net.UnixConn, error) {
	s, err := d.running(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.dial()
}

// running gives the server, and starts one where there is none that lives. A program
// inside waits for more than the server.
func (d *display) running(ctx context.Context, program bool) (*xserver, error) {
	d.starting.Lock()
	defer d.starting.Unlock()
	d.mu.Lock()
	s, closed := d.server, d.closed
	d.mu.Unlock()
	if closed {
		return nil, net.ErrClosed
	}
	if s != nil {
		select {
		case <-s.gone:
		default:
			return s, nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(d.ctx, cancel)()
	defer cancel()
	began := time.Now()
	var bus <-chan named
	if program { // else the server is what is waited for, and gets the processors
		bus = d.findBus()
	}
	s, err := d.startServer(ctx)
	if err != nil {
		d.say(api.EventNote, "the virtual display did not start: %v", err)
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		s.stop()
		return nil, net.ErrClosed
	}
	d.server = s
	d.releaseLater() // the client that it was started for may be gone
	took := time.Since(began)
	d.wg.Go(func() {
		d.say(api.EventDisplay, "display %s is ready after %d ms", d.Display(), took.Milliseconds())
		d.watchServer(s)
	})
	d.wg.Go(func() {
		if bus == nil {
			bus = d.findBus()
		}
		d.furnish(s, bus)
	})
	return s, nil
}

// watchServer waits for the end of a server, and reports an end that was not asked for.
func (d *display) watchServer(s *xserver) {
	<-s.gone
	d.mu.Lock()
	lost := d.server == s
	if lost {
		d.server = nil
	}
	d.mu.Unlock()
	s.stop()
	if lost {
		d.say(api.EventDisplayLost, "display %s was lost, and its windows with it: %s; the next program that connects gets a new one", d.Display(), s.why)
	}
}

// count changes how many are connected; after the last one the server stays for a
// while.
func (d *display) count(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	d.releaseLater()
}

// releaseLater has a server end that has no client; mu is held.
func (d *display) releaseLater() {
	if d.release != nil {
		d.release.Stop()
		d.release = nil
	}
	if d.users+d.clients == 0 && d.server != nil {
		d.release = time.AfterFunc(releaseAfter, d.letGo)
	}
}

func (d *display) letGo() {
	d.mu.Lock()
	s := d.server
	if d.users+d.clients > 0 || s == nil {
		d.mu.Unlock()
		return
	}
	d.server = nil
	d.mu.Unlock()
	s.stop()
	d.say(api.EventDisplay, "display %s ended: nobody was connected for %s", d.Display(), releaseAfter)
}

// current gives the server that runs, nil for none.
func (d *display) current() *xserver {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.server
}

// shut has no server started from now on, and gives the one that runs. first is false
// where that was done before.
func (d *display) shut() (s *xserver, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	d.closed = true
	s, d.server = d.server, nil
	if d.release != nil {
		d.release.Stop()
	}
	return s, true
}

// lossTime is how long after its last connection the end of a server is known at most.
const lossTime = time.Second

// again connects, and once more where the server has just died: connections to it end
// before its process has.
func (d *display) again(ctx context.Context, connect func() error) error {
	s := d.current()
	err := connect()
	if err == nil || s == nil {
		return err
	}
	select {
	case <-s.gone:
		return connect()
	case <-time.After(lossTime):
	case <-ctx.Done():
	}
	return err
}
