package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// containerTime bounds how long an engine may take until the container's first process
// answers: the first start of an image may copy it.
var containerTime = 90 * time.Second // shorter in tests

// answerTime bounds how long its first process may take after that.
const answerTime = 15 * time.Second

// startInContainer has a container started with our stage as its first process, which
// answers over a socket in a directory that both have.
func startInContainer(p *Plan) *Stage {
	s := &Stage{engine: EngineContainer, newNet: p.NewNet}
	if p.Container == nil {
		s.err = errors.New("the plan is for a container, and nothing starts one")
		return s
	}
	inside := *p
	var binds []HostBind
	inside.Mounts, binds = inContainer(p.Mounts)
	s.plan = &inside
	w, err := connectContainer(p, binds)
	if err == nil {
		w.sweep = p.Container.Remove
		if err = w.greeted(p.NewNet); err != nil {
			w.Kill()
		}
	} else {
		p.Container.Remove()
	}
	if err != nil {
		s.err = fmt.Errorf("starting the container: %w", err)
		return s
	}
	s.walls = w
	return s
}

// connectContainer starts the container and takes its one connection.
func connectContainer(p *Plan, binds []HostBind) (*Walls, error) {
	listener, err := listenPrivately(p.Container.Dir())
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	newNet := "0"
	if p.NewNet {
		newNet = "1"
	}
	first := []string{ContainerStage, ContainerArg, strconv.FormatUint(uint64(p.UID), 10), strconv.FormatUint(uint64(p.GID), 10), newNet}
	var pair [2]int
	if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	done := os.NewFile(uintptr(pair[0]), "engine")
	defer done.Close()
	said, ended := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // its end is told by the pipe, what it said by the channel
		defer close(ended)
		defer cancel()
		said <- p.Container.Start(ctx, binds, first, !p.NewNet)
		unix.Close(pair[1])
	}()
	conn, err := acceptOwn(int(listener.Fd()), int(done.Fd()), said)
	if err != nil {
		cancel() // an engine that still works on it would hold the container
		<-ended
		return nil, err
	}
	return newWalls(os.NewFile(uintptr(conn), "control")), nil
}

// listenPrivately makes the socket of the control connection, however long the name of its
// directory is.
func listenPrivately(dir string) (*os.File, error) {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, err)
	}
	defer unix.Close(at)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "container")
	const name = "control"
	_ = unix.Unlinkat(at, name, 0) // of a start that is tried again
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", at, name)}); err == nil {
		err = unix.Listen(fd, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1) // the connection's from its start
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("listening for the container: %w", err)
	}
	return f, nil
}

// acceptOwn waits for a connection of this user. done can be read once the engine has
// done its part, and said has its word then.
func acceptOwn(listener, done int, said <-chan error) (int, error) {
	fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(done), Events: unix.POLLIN}}
	for end := time.Now().Add(containerTime); ; {
		n, err := unix.Poll(fds, int(max(time.Until(end), 0)/time.Millisecond))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return -1, err
		case n == 0:
			return -1, errors.New("its first process did not answer")
		case fds[0].Revents == 0:
			if err := <-said; err != nil {
				return -1, err
			}
			end, fds = time.Now().Add(answerTime), fds[:1]
			continue
		}
		conn, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			return -1, err
		}
		peer, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil && int(peer.Uid) == os.Getuid() {
			return conn, nil
		}
		unix.Close(conn)
	}
}
