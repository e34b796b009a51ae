package gui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
	"carrel/internal/fdpass"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
	"carrel/internal/xfilter"
	"carrel/internal/xvfb"
)

// releaseAfter is how long a display goes on without anybody connected to it:
// programs that are started one after the other find it as the last one left it.
const releaseAfter = 30 * time.Second

// errNoDesktop is for requests to a workspace without a display of its own.
var errNoDesktop = errors.New("this workspace has no virtual display")

// Desktop is the display that only a workspace has. Its number, its sockets and its
// cookies are there as long as the workspace; the server is started for the first
// who connects, ends when nobody has been connected for a while, and a new one
// takes the place of one that was lost.
type Desktop struct {
	c       Config
	place   *xvfb.Place
	inner   []byte // the cookie that programs inside have
	cookie  []byte // the server's
	x       net.Listener
	filter  *xfilter.Filter // nil where it was closed before it began
	bus     *sessionBus     // nil without
	rules   *treeRules
	unruled error // why they could not be written at first, nil where they were
	wg      sync.WaitGroup

	ready chan struct{} // closed when the next two are known
	desk  *supervisor.Server
	walls *sandbox.Walls // the workspace's

	ending   atomic.Bool
	viewing  viewing
	lacksGL  sync.Once // that a program asked for it is told at the end once
	own      ownClients
	starting sync.Mutex // held while a server is started
	mu       sync.Mutex
	server   *xserver
	users    int // connections of the supervisor's own
	clients  int // programs inside
	release  *time.Timer
	closed   bool
	ctx      context.Context // done when it ends
	cancel   context.CancelFunc
}

// New takes a number and makes the sockets. No server is started yet.
func New(c Config) (*Desktop, error) {
	var place *xvfb.Place
	err := errors.New("there is no directory for it: XDG_RUNTIME_DIR is not set")
	for _, base := range c.Dirs {
		xvfb.Sweep(base)
		if place, err = xvfb.Claim(base); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the virtual display: %w", err)
	}
	d := &Desktop{c: c, place: place, inner: xvfb.NewCookie(), cookie: xvfb.NewCookie(), ready: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.viewing.d = d
	fd, err := place.Listen(filepath.Join(place.InsideDir(), place.Socket()))
	if err == nil {
		d.x, err = fdpass.Listener(fd)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("preparing the virtual display: %w", err)
	}
	if installed(xvfb.Bus) {
		d.bus = &sessionBus{}
	}
	d.rules = newTreeRules(d)
	d.unruled = d.rules.follow(d.ctx, true)
	d.filterX()
	return d, nil
}

// Attach tells who hears of what happens, once the walls stand. It may be called
// on nil.
func (d *Desktop) Attach(walls *sandbox.Walls, desk *supervisor.Server) {
	if d == nil {
		return
	}
	d.desk, d.walls = desk, walls
	close(d.ready)
	if d.unruled != nil { // a full disk: a bus does not start without the rules that it includes
		d.say(api.EventNote, "there is no accessibility bus before the next change of control: %v", d.unruled)
	}
	d.viewing.begin()
	if d.bus != nil && d.bus.socket != nil {
		env := busEnv(d.c.Environ())
		d.wg.Go(func() {
			d.bus.serve(d.ctx, walls, env, func(err error) {
				if !d.ending.Load() {
					d.say(api.EventNote, "the session bus: %v", err)
				}
			})
		})
	}
}

// WillEnd tells that its programs are about to be ended, which is no news then.
func (d *Desktop) WillEnd() {
	if d != nil {
		d.ending.Store(true)
	}
}

// TakeBus takes the listening socket of the session bus over, which the stage has made.
func (d *Desktop) TakeBus(fd int) {
	d.bus.close() // of a start that is tried again
	d.bus.socket = os.NewFile(uintptr(fd), "session bus")
}

// say reports what has happened, once somebody listens.
func (d *Desktop) say(kind, format string, args ...any) {
	select {
	case <-d.ready:
		d.desk.Emit(api.Event{Kind: kind, Text: fmt.Sprintf(format, args...)})
	case <-d.ctx.Done():
	}
}

// Display is the value of DISPLAY inside.
func (d *Desktop) Display() string { return d.place.Display() }

// Cookie is the server's own cookie, for clients of the supervisor's.
func (d *Desktop) Cookie() []byte { return d.cookie }

// Dial connects to the server itself, past the filter, and starts it where there is
// none. It counts as a client until it is closed.
func (d *Desktop) Dial(ctx context.Context) (net.Conn, error) {
	if d == nil {
		return nil, errNoDesktop
	}
	d.count(func() { d.users++ })
	leave := func() { d.count(func() { d.users-- }) }
	conn, err := d.connect(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return &desktopConn{UnixConn: conn, done: leave}, nil
}

// dialUncounted is Dial for what does not keep the display from being let go of.
func (d *Desktop) dialUncounted(ctx context.Context) (net.Conn, error) { return d.connect(ctx) }

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

func (d *Desktop) connect(ctx context.Context) (*net.UnixConn, error) {
	s, err := d.running(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.dial()
}

// Begin has the server started beside the walls of a workspace that stays: a person who
// starts one with a desktop is about to use it, and if not, it is let go of again.
func (d *Desktop) Begin() {
	if d != nil {
		d.wg.Go(func() { _, _ = d.running(d.ctx, false) }) // what goes wrong is told
	}
}

// running gives the server, and starts one where there is none that lives. A program
// inside waits for more than the server.
func (d *Desktop) running(ctx context.Context, program bool) (*xserver, error) {
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
	d.releaseLater() // whoever it was started for may be gone
	took := time.Since(began)
	d.wg.Go(func() {
		d.say(api.EventDisplay, "display %s is ready after %d ms", d.Display(), took.Milliseconds())
		d.mourn(s)
	})
	d.wg.Go(func() {
		if bus == nil {
			bus = d.findBus()
		}
		d.furnish(s, bus)
	})
	return s, nil
}

// mourn waits for the end of a server, and tells of one that nobody wanted.
func (d *Desktop) mourn(s *xserver) {
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
func (d *Desktop) count(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	d.releaseLater()
}

// releaseLater has a server end that nobody is connected to; mu is held.
func (d *Desktop) releaseLater() {
	if d.release != nil {
		d.release.Stop()
		d.release = nil
	}
	if d.users+d.clients == 0 && d.server != nil {
		d.release = time.AfterFunc(releaseAfter, d.letGo)
	}
}

func (d *Desktop) letGo() {
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

// Close ends the display with everything that belongs to it. It may be called on
// nil, and again.
func (d *Desktop) Close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	s := d.server
	d.server = nil
	if d.release != nil {
		d.release.Stop()
	}
	d.mu.Unlock()
	d.cancel()
	if d.x != nil {
		d.x.Close()
	}
	d.bus.close()
	d.viewing.close()
	if s != nil {
		s.stop() // before the clients, of which one may wait for it
	}
	d.closeClients()
	d.wg.Wait()
	if err := d.place.Close(); err != nil {
		d.c.Note("the directory of display %s stays behind: %v", d.Display(), err)
	}
}

// Mounts are what programs inside see of the display, and the sockets that the stage
// has to make for it.
func (d *Desktop) Mounts() (binds, files []sandbox.Mount, sockets []string) {
	binds = []sandbox.Mount{{Kind: sandbox.MountBind, Source: d.place.InsideDir(), Target: displaySockets, ReadOnly: true, Dir: true, Reason: "the virtual display"}}
	host, _ := os.Hostname() // also the name inside
	files = []sandbox.Mount{{Kind: sandbox.MountData, Target: Authority(d.c.Runtime), Perm: 0o600,
		Data: xvfb.Authority(d.place.Number, d.inner, host), Reason: "the virtual display's cookie"}}
	if d.bus != nil {
		binds = append(binds, sandbox.Mount{Kind: sandbox.MountBind, Source: d.place.BusDir(), Target: rulesPlace, ReadOnly: true, Dir: true,
			Reason: "the rules of the accessibility bus"})
		files, sockets = append(files, busFiles()...), []string{d.insideBus()}
	}
	return binds, files, sockets
}

// Bus is the address of the session bus inside, "" where there is none.
func (d *Desktop) Bus() string {
	if d.bus == nil {
		return ""
	}
	return "unix:path=" + d.insideBus()
}

// Authority is where programs inside find the display's cookie, below their runtime
// directory.
func Authority(runtime string) string { return runtime + "/Xauthority" }

func (d *Desktop) insideBus() string { return d.c.Runtime + "/bus" }

// installed says whether there is a program.
func installed(program string) bool {
	st, err := os.Stat(program)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// Available says whether this machine has a server for virtual displays.
func Available() bool { return installed(xvfb.Server) }
