package gui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"carrel/internal/a11y"
	"carrel/internal/sandbox"
	"carrel/internal/xvfb"

	"golang.org/x/sys/unix"
)

// Where the session bus finds its configuration, and by it what it may start.
const (
	busPlace      = "/run/carrel/bus"
	busConfigFile = busPlace + "/session.conf"
	rulesPlace    = "/run/carrel/a11y" // where the accessibility bus finds its rules
)

// busFiles are these files: the accessibility bus is started by the session bus, and
// little else.
func busFiles() []sandbox.Mount {
	files := []sandbox.Mount{{Kind: sandbox.MountData, Target: busConfigFile, Data: a11y.BusConfig(busPlace + "/socket"), Perm: 0o644, Reason: "the session bus's configuration"}}
	host := os.DirFS("/")
	configs := a11y.SystemConfig(host, rulesPlace+"/"+rulesFile)
	for at, data := range configs {
		files = append(files, sandbox.Mount{Kind: sandbox.MountData, Target: at, Data: data, Perm: 0o644,
			Reason: "the accessibility bus follows the control of the workspace"})
	}
	for name, data := range a11y.ServiceFiles(host) {
		if name == a11y.BusServiceFile && len(configs) == 0 {
			continue // nothing would hold it to the control of the workspace
		}
		files = append(files, sandbox.Mount{Kind: sandbox.MountData, Target: busPlace + "/" + a11y.ServicesName + "/" + name, Data: data, Perm: 0o644, Reason: "the session bus may start it"})
	}
	slices.SortFunc(files, func(a, b sandbox.Mount) int { return strings.Compare(a.Target, b.Target) })
	return files
}

// busEnv is the environment of the bus and what it starts. These need no display, and
// with one they would grab keys of it; their settings are the workspace's.
func busEnv(env []string) []string {
	env = slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "DISPLAY=") || strings.HasPrefix(e, "XAUTHORITY=")
	})
	return append(env, "GSETTINGS_BACKEND=memory", "ATSPI_DBUS_IMPLEMENTATION=dbus-daemon") // which reads our rules
}

// buses are the session bus of a workspace and, by it, the accessibility bus.
type buses struct {
	*workspace
	session *sessionBus // nil without
}

// DialBus connects to the workspace's session bus, and starts it where there is none.
func (d *Desktop) DialBus(ctx context.Context) (net.Conn, error) {
	if d == nil {
		return nil, errNoBus
	}
	return d.buses.dial(ctx)
}

// DialInside connects to a Unix socket by its path inside. The caller decides which
// paths it takes from whom.
func (d *Desktop) DialInside(ctx context.Context, path string) (net.Conn, error) {
	if d == nil {
		return nil, errNoDesktop
	}
	return d.dialInside(ctx, path)
}

func (b *buses) dial(ctx context.Context) (net.Conn, error) {
	if b.session == nil {
		return nil, errNoBus
	}
	return b.dialInside(ctx, b.inside())
}

// accessibility connects to the accessibility bus of the workspace.
func (b *buses) accessibility(ctx context.Context) (*a11y.Bus, error) {
	if b.session == nil {
		return nil, errNoBus
	}
	session, err := b.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the session bus: %w", err)
	}
	return a11y.Open(ctx, session, b.dialInside)
}

// address is the address of the session bus inside, "" where there is none.
func (b *buses) address() string {
	if b.session == nil {
		return ""
	}
	return "unix:path=" + b.inside()
}

func (b *buses) inside() string { return b.c.Runtime + "/bus" }

// errNoBus is for requests to a workspace without a session bus of its own.
var errNoBus = fmt.Errorf("this workspace has no session bus: it has one with a virtual display, where %s is installed", xvfb.Bus)

// busPause keeps a bus that ends at once from being started without end.
const busPause = time.Second

// sessionBus is the D-Bus session of a workspace with a desktop. Its socket is there
// before any program; the daemon is started inside the walls, by the first who
// connects, and inherits the socket.
type sessionBus struct {
	socket  *os.File    // listens, and is never accepted on here; nil until the walls stand
	running atomic.Bool // a daemon has the socket
}

// serve starts the daemon each time somebody connects and there is none, until ctx
// is done.
func (b *sessionBus) serve(ctx context.Context, walls *sandbox.Walls, env []string, report func(error)) {
	for {
		if b.wait() != nil || ctx.Err() != nil {
			return
		}
		if err := b.run(walls, env); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-walls.Done():
			return
		case <-time.After(busPause):
		}
	}
}

// wait returns when somebody has connected.
func (b *sessionBus) wait() error {
	raw, err := b.socket.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// run has a daemon take the socket and waits for its end.
func (b *sessionBus) run(walls *sandbox.Walls, env []string) error {
	socket, err := duplicate(b.socket)
	if err != nil {
		return err
	}
	defer socket.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	args := xvfb.BusArgs(busConfigFile)
	id, err := walls.Exec(sandbox.Command{Argv: args, Env: env, Dir: "/", Path: args[0], Session: true}, [3]*os.File{socket, null, null})
	if err != nil {
		return err
	}
	b.running.Store(true)
	defer b.running.Store(false)
	exit, err := walls.Wait(id)
	if err != nil {
		return err
	}
	return fmt.Errorf("it %s; the next program that connects gets a new one", describeEnd(exit, nil))
}

func (b *sessionBus) close() {
	if b != nil && b.socket != nil {
		b.socket.Close()
	}
}

// duplicate gives another descriptor of the same open file: handing one out as it
// is takes it from the runtime's poller.
func duplicate(f *os.File) (dup *os.File, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) {
		var n int
		if n, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			dup = os.NewFile(uintptr(n), f.Name())
		}
	})
	return dup, errors.Join(failed, err)
}
