package gui

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/ports"
	"carrel/internal/rfb"
	"carrel/internal/sandbox"
	"carrel/internal/xvfb"

	"golang.org/x/sys/unix"
)

// Ports on which a display can be watched.
const (
	firstWatchPort = 5910
	lastWatchPort  = 5999
)

// vncEnd is how long the VNC server may take to leave after its viewer: it has nothing
// to save, and in its first seconds often forgets to.
const vncEnd = 500 * time.Millisecond

// viewing is how people watch a display: what listens for their viewers, while anybody
// wants to. Requests that come meanwhile share it, each with a password of its own.
type viewing struct {
	d *display

	turn sync.Mutex // held while it begins or ends
	uses int        // guarded by turn
	at   *watchPort // nil while nobody watches; guarded by turn
	view *rfb.Watch // with display.watch_vnc: of those who look,
	act  *rfb.Watch // and of those who may act; guarded by turn

	mu      sync.Mutex
	service *rfb.Service
	input   bool
	closed  bool
	told    pacer
}

// watchPort is one port that viewers come to.
type watchPort struct {
	listener *net.TCPListener
	sockets  *ports.Sockets
	service  *rfb.Service
	d        *display
}

// Watch is what the supervisor answers requests to watch with; nil without a display.
func (d *Desktop) Watch() func(context.Context, api.Watch, bool, func(api.Watching) error) error {
	if d == nil {
		return nil
	}
	return d.viewing.watch
}

func (w *viewing) watch(ctx context.Context, req api.Watch, acts bool, tell func(api.Watching) error) error {
	at, err := w.open(req.Port)
	if err != nil {
		return err
	}
	defer w.leave()
	said := api.Watching{Address: at.listener.Addr().String(), Acts: acts}
	if acts {
		said.Human = keysSeen
	}
	if stays := w.staying(acts); stays != nil {
		said.Password, said.Stays = stays.Password(), true
		return tell(said)
	}
	mine, err := at.service.Admit(acts)
	if err != nil {
		return err
	}
	defer mine.Close()
	said.Password = mine.Password()
	if err := tell(said); err != nil {
		return nil // it has gone
	}
	select {
	case <-ctx.Done():
	case <-w.d.ctx.Done():
	}
	return nil
}

// begin makes a watch that lasts as long as the workspace, where that is wanted.
func (w *viewing) begin() {
	if !w.d.c.Watch {
		return
	}
	at, err := w.open(0)
	if err == nil {
		w.turn.Lock()
		w.view, err = at.service.Admit(false)
		if err == nil {
			w.act, err = at.service.Admit(true)
		}
		w.turn.Unlock()
	}
	if err != nil {
		go w.d.say(api.EventNote, "display.watch_vnc: %v", err)
	}
}

func (w *viewing) staying(acts bool) *rfb.Watch {
	w.turn.Lock()
	defer w.turn.Unlock()
	if acts {
		return w.act
	}
	return w.view
}

// open begins to listen, for the first who wants to watch.
func (w *viewing) open(port uint16) (*watchPort, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.at != nil {
		if has := w.at.listener.Addr().(*net.TCPAddr).Port; port != 0 && int(port) != has {
			return nil, fmt.Errorf("port %d cannot be had: this display is watched at port %d", port, has)
		}
		w.uses++
		return w.at, nil
	}
	if !installed(xvfb.VNC) {
		return nil, api.Refused(api.CodeNoDesktop, api.OpWatch, xvfb.VNC, xvfb.VNC+" is not installed", "Debian's package x11vnc has it; `carrel desktop screenshot` and `carrel desktop record` work without it")
	}
	sockets, err := ports.OwnSockets()
	if err != nil {
		return nil, fmt.Errorf("the kernel does not tell whose a connection is, so nobody is let in: %w", err)
	}
	l, err := rfb.Listen(port, firstWatchPort, lastWatchPort)
	if err != nil {
		sockets.Close()
		return nil, err
	}
	at := &watchPort{listener: l, sockets: sockets, d: w.d}
	at.service = rfb.New(rfb.Config{Dial: w.d.startVNC, Mine: at.mine, Tell: w.tell, Refused: w.refused})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		l.Close()
		sockets.Close()
		return nil, net.ErrClosed
	}
	w.service = at.service
	at.service.SetInput(w.input)
	w.at, w.uses = at, 1
	go at.service.Serve(l)
	go w.d.say(api.EventWatch, "begins at %s", l.Addr())
	return at, nil
}

// mine says whether a viewer is a program of the same user, or of root, who forwards
// ports for others. The loopback is everybody's. A program of the workspace is none, which
// reaches the port where the workspace has the host's network: its wrong passwords would
// keep the person out.
func (at *watchPort) mine(conn net.Conn) bool {
	c, ok := conn.(*net.TCPConn)
	return ok && at.sockets.OwnedBy(c, uint32(os.Getuid()), 0) && !at.inside(c)
}

// insideTime bounds the search for a connection among the workspace's processes.
const insideTime = 2 * time.Second

func (at *watchPort) inside(c *net.TCPConn) bool {
	peer, err := at.sockets.Find(unix.IPPROTO_TCP, c.RemoteAddr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort())
	if err != nil {
		return true // it has gone
	}
	select {
	case <-at.d.ready:
	default:
		return false // nothing runs yet
	}
	end := time.Now().Add(insideTime)
	for _, pid := range at.d.c.Below(at.d.walls.PID()) {
		if ports.HasOpen(pid, peer, end) {
			return true
		}
	}
	return false
}

// leave ends it after the last.
func (w *viewing) leave() {
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.uses--; w.uses == 0 {
		w.end()
	}
}

// end stops listening, and ends the viewer and its server; turn is held.
func (w *viewing) end() {
	at := w.at
	if w.at = nil; at == nil {
		return
	}
	w.mu.Lock()
	w.service = nil
	w.mu.Unlock()
	at.listener.Close()
	at.service.Close()
	at.sockets.Close()
	go w.d.say(api.EventWatch, "ends")
}

// close ends it for good, before the display does.
func (w *viewing) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	w.end()
}

// setInput follows the mode of the workspace.
func (w *viewing) setInput(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input = on
	if w.service != nil {
		w.service.SetInput(on)
	}
}

// tell hands on that a viewer came or went.
func (w *viewing) tell(text string) { w.d.say(api.EventWatch, "%s", text) }

// refused hands on who was turned away, not too often.
func (w *viewing) refused(text string) {
	before, ok := w.told.may()
	if !ok {
		return
	}
	if before > 0 {
		text += fmt.Sprintf(" (and %d others before)", before)
	}
	w.tell(text)
}

// startVNC starts a VNC server for one viewer in the walls of the display, and the
// display where it does not run. The viewer counts as somebody who uses that.
func (d *display) startVNC(ctx context.Context) (net.Conn, error) {
	d.count(func() { d.users++ })
	leave := func() { d.count(func() { d.users-- }) }
	s, err := d.running(ctx, false)
	if err != nil {
		leave()
		return nil, err
	}
	conn, err := s.startVNC(d.place)
	if err != nil {
		leave()
		return nil, err
	}
	return &vncConn{UnixConn: conn.UnixConn, end: func() { conn.end(); leave() }}, nil
}

// vncConn is the connection to a server that ends with it.
type vncConn struct {
	*net.UnixConn
	once sync.Once
	end  func()
}

// Close implements [net.Conn]. It comes back when the server has ended.
func (c *vncConn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(c.end)
	return err
}

func (s *xserver) startVNC(place *xvfb.Place) (*vncConn, error) {
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		near.Close()
		return nil, err
	}
	defer null.Close()
	args := xvfb.VNCArgs(place.Display(), displayAuthority)
	id, err := s.walls.Exec(sandbox.Command{Argv: args, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + displayHome, "LANG=C.UTF-8"}, Dir: "/tmp", Path: args[0], Session: true}, [3]*os.File{far, far, null})
	if err != nil {
		near.Close()
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.walls.Wait(id)
	}()
	return &vncConn{UnixConn: near, end: func() {
		select {
		case <-ended:
			return
		case <-time.After(vncEnd):
			_ = s.walls.Signal(id, syscall.SIGKILL)
		}
		<-ended
	}}, nil
}

// socketPair makes two connected sockets, the second one for another program.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	far := os.NewFile(uintptr(fds[1]), "viewer")
	f := os.NewFile(uintptr(fds[0]), "server")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		far.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), far, nil
}
