package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/fdpass"
	"carrel/internal/registry"

	"golang.org/x/sys/unix"
)

// Bounds on callers. Beyond the first number, or the second for one process, a
// connection is kept in reserve: it may only look, hold and stop the workspace, see
// urgent, and the newest pushes out the oldest of whoever has most there. So one that
// holds all connections open, or comes without end, keeps nobody else from stopping.
const (
	maxConnections = 256 // a command that is waited for has one
	maxOfOne       = 192
	maxReserve     = 16
	openTries      = 50 // when another run takes the empty directory away meanwhile
)

// door is the listening end: it knows who comes and bounds how many.
type door struct {
	pid      int
	manifest api.Manifest
	dir      *os.File
	id       string
	listener *net.UnixListener
	answer   func(context.Context, net.Conn, caller, api.Request)

	ctx     context.Context
	end     context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]int // with the caller's process
	reserve []reserved
}

type reserved struct {
	conn net.Conn
	pid  int
}

// urgent are the requests that are answered in reserve, too: none takes long.
var urgent = map[string]bool{api.OpStop: true, api.OpStatus: true, api.OpPause: true, api.OpControl: true}

// open registers the workspace in the first place that can be used, and
// listens there.
func open(c Config, answer func(context.Context, net.Conn, caller, api.Request)) (*door, error) {
	if !registry.WellFormed(c.ID) {
		return nil, fmt.Errorf("the workspace id %q is not lower-case hexadecimal", c.ID)
	}
	m, err := self()
	if err != nil {
		return nil, fmt.Errorf("looking at this process: %w", err)
	}
	m.ID, m.Name, m.Project, m.Argv, m.Persona = c.ID, c.Name, c.Project, BoundArgv(c.Argv, maxArgv), c.Persona
	m.Backend, m.Isolation, m.Started = c.Backend, c.Isolation, c.Started
	why := errors.New("no place for the supervisor's socket")
	for _, path := range c.Dirs {
		d, err := openAt(path, m)
		if err == nil {
			d.manifest, d.pid, d.answer, d.open = m, m.PID, answer, make(map[net.Conn]int)
			d.ctx, d.end = context.WithCancel(context.Background())
			_ = look(d.dir) // sweeps
			d.wg.Go(d.accept)
			return d, nil
		}
		why = fmt.Errorf("%w; %w", why, err)
	}
	return nil, why
}

func openAt(path string, m api.Manifest) (*door, error) {
	var err error
	for range openTries {
		var dir *os.File
		if dir, err = openDir(path, true); errors.Is(err, os.ErrNotExist) {
			continue // taken away by a run that ended just now
		}
		if err != nil {
			return nil, err
		}
		if err = register(dir, m); errors.Is(err, os.ErrNotExist) {
			dir.Close()
			continue
		}
		if err == nil {
			var l *net.UnixListener
			if l, err = listen(dir, m.ID); err == nil {
				return &door{dir: dir, id: m.ID, listener: l}, nil
			}
			unregister(dir, m.ID)
		}
		dir.Close()
		return nil, err
	}
	return nil, err
}

// listen makes the socket, which is its user's alone from its first moment: a
// name takes its mode from the socket. The second change is for odd umasks.
func listen(dir *os.File, id string) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var denied error
		err := c.Control(func(fd uintptr) { denied = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, denied)
	}}
	any, err := config.Listen(context.Background(), "unix", registry.SocketPath(dir, id))
	if err != nil {
		return nil, err
	}
	l := any.(*net.UnixListener)
	l.SetUnlinkOnClose(false) // by name through the directory, see unregister
	if err := unix.Fchmodat(int(dir.Fd()), id+".sock", 0o600, 0); err != nil {
		l.Close()
		return nil, &os.PathError{Op: "chmod", Path: registry.SocketPath(dir, id), Err: err}
	}
	return l, nil
}

func (d *door) place() string { return d.dir.Name() }

// close ends all conversations and takes the entry away. It does not wait for
// an operation that hangs.
func (d *door) close() {
	if d == nil {
		return
	}
	d.listener.Close()
	unregister(d.dir, d.id)
	done := make(chan struct{})
	go func() { d.wg.Wait(); close(done) }()
	select { // what is being said may be said to its end
	case <-done:
	case <-time.After(200 * time.Millisecond):
	}
	d.end()
	d.mu.Lock()
	for conn := range d.open {
		conn.Close()
	}
	for _, r := range d.reserve {
		r.conn.Close()
	}
	d.mu.Unlock()
	d.dir.Close()
}

func (d *door) accept() {
	for {
		conn, err := d.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(10 * time.Millisecond)
			continue
		}
		p, err := identify(conn)
		if err != nil {
			conn.Close()
			continue
		}
		full, ok := d.admit(conn, p)
		if !ok {
			p.close()
			conn.Close()
			continue
		}
		d.wg.Go(func() {
			defer p.close()
			defer d.leave(conn)
			d.converse(conn, p, full)
		})
	}
}

// admit finds a connection a place, of its own or in reserve. Callers from
// inside have no reserve.
func (d *door) admit(conn net.Conn, p *peer) (full, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := 0
	for _, pid := range d.open {
		if pid == p.pid {
			own++
		}
	}
	if len(d.open) < maxConnections && own < maxOfOne {
		d.open[conn] = p.pid
		return false, true
	}
	if p.inside {
		return true, false
	}
	if len(d.reserve) == maxReserve {
		i := mostOf(d.reserve)
		d.reserve[i].conn.Close()
		d.reserve = append(d.reserve[:i:i], d.reserve[i+1:]...)
	}
	d.reserve = append(d.reserve, reserved{conn, p.pid})
	return true, true
}

// mostOf finds the oldest connection of the process that has most.
func mostOf(list []reserved) (oldest int) {
	n := make(map[int]int)
	for _, r := range list {
		n[r.pid]++
	}
	most := 0
	for i, r := range list {
		if n[r.pid] > most {
			most, oldest = n[r.pid], i
		}
	}
	return oldest
}

func (d *door) leave(conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, conn)
	for i, r := range d.reserve {
		if r.conn == conn {
			d.reserve = append(d.reserve[:i:i], d.reserve[i+1:]...)
			break
		}
	}
}

// converse reads the one request of a connection and has it answered.
func (d *door) converse(conn *net.UnixConn, p *peer, full bool) {
	_ = conn.SetReadDeadline(time.Now().Add(lineDeadline))
	who := caller{inside: p.inside, pid: max(p.pid, 0), human: func(agent func(Process) string) *api.Denial { return notHuman(p, agent) }}
	var from io.Reader = io.LimitReader(conn, maxInside)
	if !p.inside {
		r := &fdpass.Reader{Conn: conn}
		from = r
		defer func() {
			for _, f := range append(who.files, r.Take()...) {
				f.Close()
			}
		}()
	}
	in := lineReader(from)
	req, err := readRequest(in)
	if err != nil {
		_ = writeLine(conn, refusal(api.CodeRequest, "", "", err.Error(), "one JSON object a line, at most 1 MiB"))
		return
	}
	if r, ok := from.(*fdpass.Reader); ok {
		who.files, who.lines = r.Take(), in
		r.Stop()
	}
	if full && !urgent[req.Op] {
		_ = writeLine(conn, refusal(api.CodeBusy, req.Op, d.id, fmt.Sprintf("%d connections are open already", maxConnections), "end a program that follows this workspace; `carrel stop` works in any case"))
		return
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	if req.Follow && deskOps[req.Op] == 0 {
		_ = conn.SetReadDeadline(time.Time{})
		go func() { // nothing more is expected: the end, or an error
			_, _ = in.ReadByte()
			cancel()
		}()
	}
	d.answer(ctx, conn, who, req)
}
