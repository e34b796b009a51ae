package gui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/xvfb"

	"golang.org/x/sys/unix"
)

// Where things are in the walls of a display.
const (
	displayAuthority = "/run/carrel/authority"
	displayManager   = "/run/carrel/openbox.xml"
	displaySockets   = "/tmp/.X11-unix"
	displayHome      = "/var/lib/xkb" // where the server of root has its keyboard map compiled to
)

// How long the display's programs may take to be ready, and how much of what they
// say is kept for an error.
const (
	serverReadyTime = 20 * time.Second
	maxServerWords  = 2 << 10
)

// displaySystem is what of the machine is seen in a display's walls: programs,
// libraries, fonts. Home, project and the rest of the system are not there.
var displaySystem = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/etc/X11", "/etc/fonts", "/etc/ld.so.cache", "/etc/alternatives", "/var/cache/fontconfig"}

// displayPolicy is that of the walls in which a display's programs run: they parse what
// clients send, so they get a network of their own with nothing in it, and of the host's
// files one directory to write, for the server's socket.
func displayPolicy() *policy.Effective {
	pol := &policy.Effective{Scope: policy.Scope{Home: displayHome, Tmp: "/tmp"}, Network: policy.NetClosed, Display: policy.DisplayNone, Home: policy.HomeNone, Nested: policy.NestedNone, History: policy.HistoryOff}
	why := policy.Source{Layer: policy.LayerDefault, Text: "a display's programs"}
	for _, dir := range displaySystem {
		pol.Rules = append(pol.Rules, policy.Rule{Path: dir, Access: policy.Read, Source: why})
	}
	pol.Rules = append(pol.Rules, policy.Rule{Path: "/tmp", Access: policy.Write, Source: why})
	return pol
}

// raise raises these walls.
func (d *display) raise(keys keymap) (*sandbox.Walls, error) {
	binds, files, err := keys.mounts(d.place)
	if err != nil {
		return nil, fmt.Errorf("planning the walls of the display: preparing the keyboard map: %w", err)
	}
	binds = append([]sandbox.Mount{
		{Kind: sandbox.MountBind, Source: d.place.ServerDir(), Target: displaySockets, Dir: true, Reason: "the server's socket"},
	}, binds...)
	files = append([]sandbox.Mount{
		{Kind: sandbox.WriteFile, Target: displayAuthority, Data: xvfb.Authority(d.place.Number, d.cookie, ""), Perm: 0o600,
			Reason: "the server's cookie"},
		{Kind: sandbox.WriteFile, Target: displayManager, Data: []byte(xvfb.ManagerConfig), Perm: 0o644, Reason: "the window manager's configuration"},
	}, files...)
	return d.c.Raise(displayPolicy(), binds, files)
}

// xserver is a running display: the server and the window manager, in walls of
// their own.
type xserver struct {
	walls     *sandbox.Walls
	socket    int           // names the server's socket, whatever its directory holds by now
	gone      chan struct{} // closed when the server has ended
	furnished chan struct{} // closed when programs inside may come
	unmanaged chan struct{} // closed when openbox is not there, or not any more
	why       string        // then
	once      sync.Once
}

// startServer raises the walls, and waits until clients can connect.
func (d *display) startServer(ctx context.Context) (*xserver, error) {
	keys := keptKeymap(d.c.Keymaps, d.place)
	s, err := d.startWith(ctx, keys)
	if err != nil && keys.compiled != nil && ctx.Err() == nil {
		keys.forget() // it may be the fault of what was kept
		s, err = d.startWith(ctx, keymap{})
	}
	return s, err
}

func (d *display) startWith(ctx context.Context, keys keymap) (*xserver, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	_ = os.Remove(filepath.Join(d.place.ServerDir(), d.place.Socket())) // of one that was killed
	walls, err := d.raise(keys)
	if err != nil {
		return nil, err
	}
	s := &xserver{walls: walls, socket: -1, gone: make(chan struct{}), furnished: make(chan struct{}), unmanaged: make(chan struct{})}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + displayHome, "LANG=C.UTF-8"}
	keys.compile(ctx, s, env)
	if err := s.startPrograms(ctx, d.place, xvfb.Options{Size: d.c.Size, GL: d.c.GL}, env, null); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *xserver) startPrograms(ctx context.Context, place *xvfb.Place, o xvfb.Options, env []string, null *os.File) error {
	o.Number, o.Authority, o.ReadyFD = place.Number, displayAuthority, 1
	args := xvfb.ServerArgs(o)
	ready, words, id, err := s.start(args, env, null)
	if err != nil {
		return fmt.Errorf("starting %s: %w", xvfb.Server, err)
	}
	defer ready.Close()
	go func() {
		exit, err := s.walls.Wait(id)
		s.why = describeEnd(exit, err)
		close(s.gone)
	}()
	// The number and the newline are two writes, and who closes in between kills
	// the server: it is read up to the newline.
	if line, err := s.line(ctx, ready, serverReadyTime); err != nil || line != strings.TrimPrefix(place.Display(), ":") {
		return fmt.Errorf("%s did not start as display %s: %w", xvfb.Server, place.Display(), errors.Join(err, errors.New(words.text())))
	}
	if s.socket, err = openSocket(filepath.Join(place.ServerDir(), place.Socket())); err != nil {
		return fmt.Errorf("finding the socket of display %s: %w", place.Display(), err)
	}
	return s.startManager(place, env, null)
}

// startManager starts the window manager. Clients do not wait for it: it takes longer
// to start than the server, as it reads fonts and themes, and takes over windows that
// are there already. Without one the display works, and windows have no frames.
func (s *xserver) startManager(place *xvfb.Place, env []string, null *os.File) error {
	if !installed(xvfb.Manager) {
		close(s.unmanaged)
		return nil
	}
	env = append(env, "DISPLAY="+place.Display(), "XAUTHORITY="+displayAuthority)
	args := xvfb.ManagerArgs(displayManager)
	id, err := s.walls.Exec(sandbox.Command{Argv: args, Env: env, Dir: "/tmp", Path: args[0], Session: true}, [3]*os.File{null, null, null})
	if err != nil {
		return fmt.Errorf("starting %s: %w", xvfb.Manager, err)
	}
	go func() {
		_, _ = s.walls.Wait(id)
		close(s.unmanaged)
	}()
	return nil
}

// start runs a program in the walls. What it writes on its standard output can be
// read; of what it says on the other, the last is kept.
func (s *xserver) start(args, env []string, null *os.File) (out *os.File, words *serverWords, id uint64, err error) {
	out, outside, err := os.Pipe()
	if err != nil {
		return nil, nil, 0, err
	}
	defer outside.Close()
	said, saying, err := os.Pipe()
	if err != nil {
		out.Close()
		return nil, nil, 0, err
	}
	defer saying.Close()
	id, err = s.walls.Exec(sandbox.Command{Argv: args, Env: env, Dir: "/tmp", Path: args[0], Session: true}, [3]*os.File{null, outside, saying})
	if err != nil {
		out.Close()
		said.Close()
		return nil, nil, 0, err
	}
	words = &serverWords{}
	go func() {
		defer said.Close()
		_, _ = io.Copy(words, said)
	}()
	return out, words, id, nil
}

// line reads one line of a program that may end, hang or talk without end.
func (s *xserver) line(ctx context.Context, from *os.File, limit time.Duration) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = from.SetReadDeadline(time.Now()) })()
	if err := from.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(from, 64)).ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// dial connects to the server.
func (s *xserver) dial() (*net.UnixConn, error) {
	// What the directory holds can be changed from inside the display's walls, to a
	// link to a socket of the host: so the socket itself was opened once.
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d", s.socket)})
}

// stop ends the display.
func (s *xserver) stop() {
	s.once.Do(func() {
		s.walls.Kill()
		if s.socket >= 0 {
			unix.Close(s.socket)
		}
	})
}

// openSocket gives a descriptor that names a socket, and not what a link leads to.
func openSocket(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		err = fmt.Errorf("%s is no socket", path)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func describeEnd(e sandbox.Exit, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case e.Signal != 0:
		return "ended by " + unix.SignalName(unix.Signal(e.Signal))
	}
	return fmt.Sprintf("ended with status %d", e.Code)
}

// serverWords keeps the end of what is written to it.
type serverWords struct {
	mu   sync.Mutex
	kept []byte
}

func (w *serverWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, b...)
	w.kept = w.kept[max(0, len(w.kept)-maxServerWords):]
	return len(b), nil
}

func (w *serverWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("it said %q", strings.TrimSpace(string(w.kept)))
}
