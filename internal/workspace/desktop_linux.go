package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
	"carrel/internal/display"
	"carrel/internal/policy"
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

// desktop is the display that only a workspace has. Its number, its sockets and its
// cookies are there as long as the workspace; the server is started for the first
// who connects, ends when nobody has been connected for a while, and a new one
// takes the place of one that was lost.
type desktop struct {
	p      *Prepared
	place  *xvfb.Place
	size   policy.Size
	gl     bool
	inner  []byte // the cookie that programs inside have
	cookie []byte // the server's
	x      net.Listener
	filter *xfilter.Filter // nil where it was closed before it began
	bus    *sessionBus     // nil without
	wg     sync.WaitGroup

	ready chan struct{} // closed when the next two are known
	desk  *supervisor.Server
	walls *sandbox.Walls // the workspace's

	ending   atomic.Bool
	viewing  viewing
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

// openDesktop takes a number and makes the sockets, once: nil where the policy
// has no virtual display.
func (p *Prepared) openDesktop() error {
	if p.Policy.Display != policy.DisplayVirtual || p.desktop != nil {
		return nil
	}
	size, gl, err := p.screen()
	if err != nil {
		return err
	}
	var place *xvfb.Place
	err = errors.New("there is no directory for it: XDG_RUNTIME_DIR is not set")
	for _, dir := range supervisorDirs(p.getenv) {
		base := filepath.Join(dir, "displays")
		xvfb.Sweep(base)
		if place, err = xvfb.Claim(base); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("preparing the virtual display: %w", err)
	}
	d := &desktop{p: p, place: place, size: size, gl: gl, inner: xvfb.NewCookie(), cookie: xvfb.NewCookie(), ready: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.viewing.d = d
	fd, err := place.Listen(filepath.Join(place.InsideDir(), place.Socket()))
	if err == nil {
		d.x, err = listenerOf(fd)
	}
	if err != nil {
		d.close()
		return fmt.Errorf("preparing the virtual display: %w", err)
	}
	if installed(xvfb.Bus) {
		d.bus = &sessionBus{}
	}
	d.filterX()
	p.desktop = d
	return nil
}

// screen says how large the display is, and whether it has OpenGL: the command
// line's word before the configuration's.
func (p *Prepared) screen() (size policy.Size, gl bool, err error) {
	size = xvfb.DefaultSize
	set := p.Loaded.Settings
	switch {
	case p.req.Size != "":
		if size, err = policy.ParseSize(p.req.Size); err != nil {
			return size, false, fmt.Errorf("--size: %w", err)
		}
	case set.DisplaySize == nil && p.profile != nil && p.profile.Width > 0:
		if size, err = policy.ParseSize(fmt.Sprintf("%dx%d", p.profile.Width, p.profile.Height)); err != nil {
			return size, false, fmt.Errorf("profile %s: size: %w", p.profile.Name, err)
		}
	case set.DisplaySize != nil:
		if size, err = policy.ParseSize(set.DisplaySize.V); err != nil {
			return size, false, fmt.Errorf("%s: %w", set.DisplaySize.Source, err)
		}
	}
	return size, set.DisplayGL != nil && set.DisplayGL.V, nil
}

// answersTo tells who hears of what happens, once the walls stand. It may be called
// on nil.
func (d *desktop) answersTo(walls *sandbox.Walls, desk *supervisor.Server) {
	if d == nil {
		return
	}
	d.desk, d.walls = desk, walls
	close(d.ready)
	d.viewing.begin()
	if d.bus != nil && d.bus.socket != nil {
		env := busEnv(d.p.environ())
		d.wg.Go(func() {
			d.bus.serve(d.ctx, walls, env, func(err error) {
				if !d.ending.Load() {
					d.say(api.EventNote, "the session bus: %v", err)
				}
			})
		})
	}
}

// willEnd tells that its programs are about to be ended, which is no news then.
func (d *desktop) willEnd() {
	if d != nil {
		d.ending.Store(true)
	}
}

// takeBus takes the listening socket of the session bus over, which the stage has made.
func (d *desktop) takeBus(fd int) {
	d.bus.close() // of a start that is tried again
	d.bus.socket = os.NewFile(uintptr(fd), "session bus")
}

// say reports what has happened, once somebody listens.
func (d *desktop) say(kind, format string, args ...any) {
	select {
	case <-d.ready:
		d.desk.Emit(api.Event{Kind: kind, Text: fmt.Sprintf(format, args...)})
	case <-d.ctx.Done():
	}
}

// Display is the value of DISPLAY inside.
func (d *desktop) Display() string { return d.place.Display() }

// Cookie is the server's own cookie, for clients of the supervisor's.
func (d *desktop) Cookie() []byte { return d.cookie }

// Dial connects to the server itself, past the filter, and starts it where there is
// none. It counts as a client until it is closed.
func (d *desktop) Dial(ctx context.Context) (net.Conn, error) {
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
func (d *desktop) dialUncounted(ctx context.Context) (net.Conn, error) { return d.connect(ctx) }

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

func (d *desktop) connect(ctx context.Context) (*net.UnixConn, error) {
	s, err := d.running(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.dial()
}

// begin has the server started beside the walls of a workspace that stays: whoever
// starts one with a desktop is about to use it, and if not, it is let go of again.
func (d *desktop) begin() {
	if d != nil {
		d.wg.Go(func() { _, _ = d.running(d.ctx, false) }) // what goes wrong is told
	}
}

// running gives the server, and starts one where there is none that lives. A program
// inside waits for more than the server.
func (d *desktop) running(ctx context.Context, program bool) (*xserver, error) {
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
	s, err := d.p.startServer(ctx, d.place, d.cookie, xvfb.Options{Size: d.size, GL: d.gl})
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
func (d *desktop) mourn(s *xserver) {
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
func (d *desktop) count(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	d.releaseLater()
}

// releaseLater has a server end that nobody is connected to; mu is held.
func (d *desktop) releaseLater() {
	if d.release != nil {
		d.release.Stop()
		d.release = nil
	}
	if d.users+d.clients == 0 && d.server != nil {
		d.release = time.AfterFunc(releaseAfter, d.letGo)
	}
}

func (d *desktop) letGo() {
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

// close ends the display with everything that belongs to it. It may be called on
// nil, and again.
func (d *desktop) close() {
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
		d.p.note("the directory of display %s stays behind: %v", d.Display(), err)
	}
}

// desktopMounts are what programs inside see of the display.
func (p *Prepared) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	d := p.desktop
	if d == nil {
		return nil, nil, nil
	}
	binds = []sandbox.Mount{{Kind: sandbox.MountBind, Source: d.place.InsideDir(), Target: displaySockets, ReadOnly: true, Dir: true, Reason: "the virtual display"}}
	files = []sandbox.Mount{{Kind: sandbox.MountData, Target: p.insideAuthority(), Data: xvfb.Authority(d.place.Number, d.inner), Perm: 0o600, Reason: "the virtual display's cookie"}}
	if d.bus != nil {
		files, sockets = append(files, busFiles()...), []string{p.insideBus()}
	}
	for i := range binds {
		p.facts.forget(binds[i].Source) // it was made just now
		_, _ = p.facts.Resolve(binds[i].Source)
	}
	return binds, files, sockets
}

// desktopOptions says what variables lead programs inside to the display. A preview
// has taken no number yet.
func (p *Prepared) desktopOptions(o *display.Options) {
	if p.Policy.Display != policy.DisplayVirtual {
		return
	}
	o.Display, o.XAuthority = fmt.Sprintf(":%d", xvfb.First), p.insideAuthority()
	if d := p.desktop; d != nil {
		o.Display = d.Display()
		if d.bus != nil {
			o.Bus = "unix:path=" + p.insideBus()
		}
	}
}

// Places inside.
func (p *Prepared) insideAuthority() string { return fmt.Sprintf("/run/user/%d/Xauthority", p.uid) }
func (p *Prepared) insideBus() string       { return fmt.Sprintf("/run/user/%d/bus", p.uid) }

// withoutDesktop goes on without a virtual display, where this machine or engine
// cannot have one: never with the host's.
func (p *Prepared) withoutDesktop(why string) {
	without := *p.Policy
	without.Display, without.WatchVNC = policy.DisplayNone, false
	without.Reasons = slices.Clone(without.Reasons)
	for i := range without.Reasons {
		if r := &without.Reasons[i]; r.Dimension == policy.DimDisplay {
			r.Value, r.Note = string(policy.DisplayNone), "virtual cannot be had here: "+why
		}
	}
	p.Policy = &without
	p.noDisplay = why
}

// installed says whether there is a program.
func installed(program string) bool {
	st, err := os.Stat(program)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// displayHeld finds out whether a virtual display can be had.
func (p *Prepared) displayHeld() error {
	if p.Policy.Display != policy.DisplayVirtual {
		if p.req.Size != "" {
			return &hintError{err: fmt.Errorf("--size %s is the virtual display's, and the display is %s (%s)", p.req.Size, p.Policy.Display, p.reason(policy.DimDisplay).Source), hint: "add --display virtual"}
		}
		return nil
	}
	if p.req.Exact != nil {
		return &api.Denial{Code: api.CodeUnsupported, Operation: "start", Subject: "virtual", Rule: string(policy.DimDisplay), Source: p.reason(policy.DimDisplay).Source.String(),
			Message: "the low-level form has no virtual display", Hint: "use display none or host, or `carrel run --display virtual`"}
	}
	if _, _, err := p.screen(); err != nil {
		return err
	}
	if !installed(xvfb.Server) {
		p.withoutDesktop(fmt.Sprintf("%s is not installed (Debian's package xvfb has it)", xvfb.Server))
	}
	return nil
}
