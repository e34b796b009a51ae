package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/xvfb"

	"golang.org/x/sys/unix"
)

// busConfigFile is where the session bus finds its configuration, inside.
const busConfigFile = "/run/carrel/bus.conf"

// busPause keeps a bus that ends at once from being started without end.
const busPause = time.Second

// sessionBus is the D-Bus session of a workspace with a desktop. Its socket is there
// before any program; the daemon is started inside the walls, by the first who
// connects, and inherits the socket.
type sessionBus struct {
	socket *os.File // listens, and is never accepted on here
}

// openSessionBus makes the socket; nil where dbus-daemon is not installed.
func openSessionBus(place *xvfb.Place) (*sessionBus, error) {
	if !installed(xvfb.Bus) {
		return nil, nil
	}
	fd, err := place.Listen(place.BusSocket())
	if err != nil {
		return nil, err
	}
	return &sessionBus{socket: os.NewFile(uintptr(fd), "session bus")}, nil
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
	exit, err := walls.Wait(id)
	if err != nil {
		return err
	}
	return fmt.Errorf("it %s; the next program that connects gets a new one", describeEnd(exit, nil))
}

func (b *sessionBus) close() {
	if b != nil {
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
