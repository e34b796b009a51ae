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
	*display
	*ownClients
	inner   []byte // the cookie that programs inside have
	x       net.Listener
	filter  *xfilter.Filter // nil where it was closed before it began
	rules   *treeRules
	unruled error // why they could not be written at first, nil where they were
	ending  atomic.Bool
	viewing viewing
	lacksGL sync.Once // that a program asked for it is told at the end once
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
	w := &workspace{c: c, ready: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	x := &display{workspace: w, buses: &buses{workspace: w}, place: place, cookie: xvfb.NewCookie()}
	d := &Desktop{display: x, ownClients: &ownClients{display: x}, inner: xvfb.NewCookie(), viewing: viewing{d: x}}
	fd, err := place.Listen(filepath.Join(place.InsideDir(), place.Socket()))
	if err == nil {
		d.x, err = fdpass.Listener(fd)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("preparing the virtual display: %w", err)
	}
	if installed(xvfb.Bus) {
		d.buses.session = &sessionBus{}
	}
	d.rules = newTreeRules(place, d.buses)
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
	if bus := d.buses.session; bus != nil && bus.socket != nil {
		env := busEnv(d.c.Environ())
		d.wg.Go(func() {
			bus.serve(d.ctx, walls, env, func(err error) {
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
	d.buses.session.close() // of a start that is tried again
	d.buses.session.socket = os.NewFile(uintptr(fd), "session bus")
}

// Dial connects to the server itself, past the filter, and starts it where there is
// none. It counts as a client until it is closed.
func (d *Desktop) Dial(ctx context.Context) (net.Conn, error) {
	if d == nil {
		return nil, errNoDesktop
	}
	return d.dialCounted(ctx)
}

// Begin has the server started beside the walls of a workspace that stays: a person who
// starts one with a desktop is about to use it, and if not, it is let go of again.
func (d *Desktop) Begin() {
	if d != nil {
		d.wg.Go(func() { _, _ = d.running(d.ctx, false) }) // what goes wrong is told
	}
}

// Close ends the display with everything that belongs to it. It may be called on
// nil, and again.
func (d *Desktop) Close() {
	if d == nil {
		return
	}
	s, first := d.shut()
	if !first {
		return
	}
	d.cancel()
	if d.x != nil {
		d.x.Close()
	}
	d.buses.session.close()
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
	if d.buses.session != nil {
		binds = append(binds, sandbox.Mount{Kind: sandbox.MountBind, Source: d.place.BusDir(), Target: rulesPlace, ReadOnly: true, Dir: true,
			Reason: "the rules of the accessibility bus"})
		files, sockets = append(files, busFiles()...), []string{d.buses.inside()}
	}
	return binds, files, sockets
}

// Bus is the address of the session bus inside, "" where there is none.
func (d *Desktop) Bus() string { return d.buses.address() }

// Authority is where programs inside find the display's cookie, below their runtime
// directory.
func Authority(runtime string) string { return runtime + "/Xauthority" }

// installed says whether there is a program.
func installed(program string) bool {
	st, err := os.Stat(program)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// Available says whether this machine has a server for virtual displays.
func Available() bool { return installed(xvfb.Server) }
