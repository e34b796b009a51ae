package guestagent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"carrel/internal/guest"
	"carrel/internal/memfile"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// agent is what answers one supervisor.
type agent struct {
	user    user // of commands
	control *sandbox.ControlSocket
	inside  *processes.Namespace

	mu      sync.Mutex
	streams map[uint64]*stream
	outputs map[uint64][]*guest.End // by command, until its end is told

	sending sync.Mutex
	out     io.Writer // of records
}

// stream is one that was opened; far is the command's end, -1 once that has it.
type stream struct {
	near *guest.End
	far  int
}

// drainPeriod is how often it is looked whether what a command has written has arrived.
const drainPeriod = time.Millisecond

// serve answers over a stream of bytes; ready is called when commands can be started.
func serve(u user, args []string, in io.Reader, out io.Writer, ready func() error) error {
	pid, control, err := startFirst(u, args)
	if err != nil {
		return err
	}
	end := sync.OnceValue(func() string {
		_ = unix.Kill(pid, unix.SIGKILL) // which changes nothing of how one ends that has begun to
		return sandbox.Reap(pid)
	})
	defer end()
	m, _, err := control.Receive()
	if err == nil && m.Kind != sandbox.MsgReady {
		err = fmt.Errorf("it said %q %q", m.Text, m.Path)
	}
	if err != nil {
		return fmt.Errorf("the first process did not begin: %w", err)
	}
	conn, records, answers := guest.Messages()
	a := &agent{
		user: u, control: control, inside: processes.NewNamespace(pid, nil), out: answers,
		streams: make(map[uint64]*stream), outputs: make(map[uint64][]*guest.End),
	}
	ended := make(chan error, 3)
	go func() { ended <- streams.New(in, out, false, a.acceptor(conn)).Serve() }()
	go func() { // of these the errors come of an end that one side knows
		_ = a.obey(records)
		ended <- nil
	}()
	go func() {
		ended <- fmt.Errorf("%w: %v", errGone, a.hear())
	}()
	if err := ready(); err != nil {
		return err
	}
	if err = <-ended; errors.Is(err, errGone) {
		err = fmt.Errorf("%w, %s", err, end())
	}
	return err
}

// errGone is the end of the stage, which no side has asked for.
var errGone = errors.New("the first process of the commands has ended")

// acceptor gives what the other side opens: its records once, and the ends of commands.
func (a *agent) acceptor(records streams.Conn) func(what string) (streams.Conn, error) {
	return func(what string) (streams.Conn, error) {
		if what == guest.Control && records != nil {
			conn := records
			records = nil
			return conn, nil
		}
		number, err := strconv.ParseUint(what[min(1, len(what)):], 10, 64)
		if err != nil {
			return nil, err
		}
		s, err := a.open(what[0])
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		a.streams[number] = s
		a.mu.Unlock()
		return s.near, nil
	}
}

// open makes the two ends of a stream.
func (a *agent) open(kind byte) (*stream, error) {
	var pair [2]int
	switch kind {
	case guest.Input, guest.Output:
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
			return nil, err
		}
		if kind == guest.Output {
			return &stream{guest.NewEnd(pair[0], true, false), pair[1]}, nil
		}
		return &stream{guest.NewEnd(pair[1], false, true), pair[0]}, nil
	case guest.Socket:
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		near := guest.NewEnd(pair[0], true, true)
		near.Whole = false
		return &stream{near, pair[1]}, nil
	case guest.Terminal:
		near, far, err := sandbox.OpenPty()
		if err != nil {
			return nil, err
		}
		if !a.user.own { // programs open it by its name, too
			err = unix.Fchown(far, int(a.user.uid), -1)
		}
		if err != nil {
			unix.Close(near)
			unix.Close(far)
			return nil, err
		}
		return &stream{guest.NewEnd(near, true, true), far}, nil
	}
	return nil, fmt.Errorf("there is no kind %q of stream", kind)
}

// tell sends a record.
func (a *agent) tell(r guest.Record) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	return r.Write(a.out)
}

// obey does what the supervisor asks.
func (a *agent) obey(in io.Reader) error {
	for {
		r, err := guest.Read(in)
		if err != nil {
			return err
		}
		m := r.Message
		switch m.Kind {
		case sandbox.MsgExec:
			if err = a.exec(&r); err != nil {
				err = a.tell(guest.Record{Message: sandbox.Message{Kind: sandbox.MsgNoStart, ID: m.ID, Code: errno(err), Text: err.Error()}})
			}
		case sandbox.MsgSignal, sandbox.MsgFlush:
			err = a.control.Tell(m)
		case guest.MsgCount:
			err = a.tell(guest.Record{Message: sandbox.Message{Kind: guest.MsgCount, ID: m.ID}, Body: a.counts().Encode()})
		case guest.MsgLabel:
			a.signal(m.ID, syscall.Signal(m.Signal))
		case guest.MsgResize:
			a.resize(m.ID, m.Code)
		}
		if err != nil {
			return err
		}
	}
}

// counts gives how many processes have each label, and at 0 how many there are.
func (a *agent) counts() guest.Counts {
	all, err := a.inside.All()
	if err != nil || all == nil {
		all = make(guest.Counts)
	}
	all[0] = a.inside.Count(0)
	return all
}

// signal sends a signal to all that have a label. What it does not find in time is found again:
// something may be started meanwhile.
func (a *agent) signal(label uint64, sig syscall.Signal) {
	switch sig {
	case unix.SIGKILL:
		go func() { _ = a.inside.Kill(label) }()
	case unix.SIGSTOP:
		for range 3 {
			a.inside.Signal(label, sig)
		}
	default:
		a.inside.Signal(label, sig)
	}
}

func (a *agent) resize(number uint64, size int) {
	a.mu.Lock()
	s := a.streams[number]
	a.mu.Unlock()
	if s != nil {
		s.near.Resize(uint16(size>>16), uint16(size))
	}
}

// exec hands a command to the stage, with the ends that were made for it.
func (a *agent) exec(r *guest.Record) error {
	command, err := memfile.Sealed("carrel-command", r.Body)
	if err != nil {
		return err
	}
	defer command.Close()
	fds := []int{int(command.Fd())}
	for _, f := range r.Files {
		fd, err := a.take(r.Message.ID, f)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	err = a.control.Tell(r.Message, fds...)
	closed := make(map[int]bool)
	for _, fd := range fds[1:] {
		if !closed[fd] {
			unix.Close(fd)
		}
		closed[fd] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range r.Files {
		if s := a.streams[f.Stream]; s != nil {
			s.far = -1
			if f.Kind != guest.Terminal {
				delete(a.streams, f.Stream)
			}
		}
	}
	return err
}

// take gives the command's end of a stream.
func (a *agent) take(id uint64, f guest.Descriptor) (int, error) {
	if f.Kind == guest.Null {
		return unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.streams[f.Stream]
	if s == nil || s.far < 0 {
		return -1, unix.EBADF
	}
	if f.Kind != guest.Input {
		a.outputs[id] = append(a.outputs[id], s.near)
	}
	return s.far, nil
}

// hear passes on what the stage says.
func (a *agent) hear() error {
	for {
		m, _, err := a.control.Receive()
		if err != nil {
			return err
		}
		if m.Kind == sandbox.MsgExited || m.Kind == sandbox.MsgNoStart {
			go a.ended(m)
			continue
		}
		if err := a.tell(guest.Record{Message: m}); err != nil {
			return err
		}
	}
}

// ended tells the end of a command, when all that it has written has come to the other side.
func (a *agent) ended(m sandbox.Message) {
	a.mu.Lock()
	outputs := a.outputs[m.ID]
	delete(a.outputs, m.ID)
	a.mu.Unlock()
	for _, o := range outputs {
		for !o.Drained() {
			time.Sleep(drainPeriod)
		}
	}
	_ = a.tell(guest.Record{Message: m})
}

func errno(err error) int {
	var n syscall.Errno
	if !errors.As(err, &n) {
		n = unix.EIO
	}
	return int(n)
}
