package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"carrel/internal/memfile"

	"golang.org/x/sys/unix"
)

// Walls is one running set of walls, seen from its supervisor.
type Walls struct {
	// Notes are what the stage had to say while building, for the user.
	Notes []string
	// Copies are the mounts of Mount.Copies, for other walls. Who takes one out closes it.
	Copies []int
	// Procfs lists the processes of the workspace's PID namespace, and no others; nil where the
	// stage has mounted none. Who takes it out closes it.
	Procfs *os.File
	// Written are the host's paths that may be written, with EngineLandlock.
	Written []string

	api     int   // listening socket of the inside API, -1 when taken
	sockets []int // of the plan's listeners, -1 where there is none
	diag    int   // -1 when there is none, or taken
	packets []int // of the loopback interface, until taken
	broker  []int
	mountNS uint64
	level   level                 // of the stage, looked at while it waits for its plan
	pid     int                   // of the stage
	child   int                   // what we have started and collect: the stage, or bubblewrap around it; 0 in a container
	pidfd   int                   // of a stage that is no child of ours, -1 otherwise
	sweep   func()                // ends what the stage has left behind; nil where its end is the end of all
	inside  func(Command) Command // a command as it has to be told to the stage; nil for as it is
	control *ControlSocket
	collect sync.Once

	leash, leashEnd *os.File // of bubblewrap's: see tie

	mu      sync.Mutex
	nextID  uint64
	exits   map[uint64]chan Exit
	starts  map[uint64]chan error
	dials   map[uint64]chan dialed // connections and bound sockets that were asked for
	stopped func(w *Walls, id uint64, sig syscall.Signal)
	inner   map[uint64]int // process ids inside
	gone    chan struct{}
}

type dialed struct {
	fds []int
	err error
}

func (d dialed) one() (int, error) {
	if d.err == nil && len(d.fds) == 1 {
		return d.fds[0], nil
	}
	return -1, d.err
}

// ErrGone is what waiting for a command gives when the walls came down around it.
var ErrGone = errors.New("the workspace has ended: a process inside ended its init, or the system did")

// Launch has the walls of a plan built and returns when they stand and the
// plan's command, if it has one, has been started; its ID is [FirstCommand].
// early is a stage that was started ahead, or nil; stdio are the first
// command's standard descriptors; group, which may be nil, is joined by the
// stage before it builds anything; standing, which may be nil, is called once
// the walls stand, before anything is started, as that may already be a trapped
// call: the broker's descriptors can be taken; stopped is told when a command stops by a
// signal, and may be nil.
//
// A *SetupError means that the walls could not be built, a *StartError that
// they stand but the command could not be started in them.
func Launch(p *Plan, exe string, early *Stage, stdio [3]*os.File, group *Cgroup, standing func(*Walls) error, stopped func(*Walls, uint64, syscall.Signal)) (*Walls, error) {
	if !early.fits(p) {
		early.Abandon()
		early = stageFor(p, exe)
	}
	if early.err != nil {
		return nil, early.err
	}
	if early.plan != nil {
		p = early.plan
	}
	w := early.walls
	w.stopped = stopped
	if err := w.build(p, stdio, group, standing); err != nil {
		w.Kill()
		return nil, err
	}
	return w, nil
}

func (w *Walls) build(p *Plan, stdio [3]*os.File, group *Cgroup, standing func(*Walls) error) error {
	plan, err := memfile.Sealed("carrel-plan", p.Encode())
	if err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	defer plan.Close()
	if group != nil {
		if err := group.Join(w.pid); err != nil {
			return err
		}
	}
	// Later a container's stage may have ended, which another reaps: its last message says why.
	w.level = levelOf(w.pid)
	fds := []int{int(plan.Fd()), int(stdio[0].Fd()), int(stdio[1].Fd()), int(stdio[2].Fd())}
	if p.Given != 0 {
		fds = append(fds, p.Given)
	}
	err = w.control.Tell(Message{Kind: MsgPlan}, fds...)
	if err != nil {
		var n syscall.Errno
		_ = errors.As(err, &n)
		return &SetupError{Step: "handing over the plan", Err: err.Error(), Code: int(n)}
	}
	if err := w.ready(standing); err != nil {
		return err
	}
	started := make(chan error, 1)
	if len(p.Command.Argv) > 0 {
		w.starts[FirstCommand] = started
		w.exits[FirstCommand] = make(chan Exit, 1)
	} else {
		started <- nil
	}
	go w.listen()
	select {
	case err = <-started:
		return err
	case <-w.gone:
	}
	select { // the answer may have been the last message
	case err = <-started:
		return err
	default:
		return ErrGone
	}
}

// ready waits for the stage's first word: walls up, or what went wrong.
func (w *Walls) ready(standing func(*Walls) error) error {
	for {
		m, fds, err := w.control.Receive()
		if err != nil {
			return &SetupError{Step: "starting the stage", Err: "it ended before the walls stood: " + err.Error()}
		}
		switch m.Kind {
		case MsgReady:
			if len(fds) != 1 && m.Code != ReadyAlone { // the kernel drops what there is no number for
				return &SetupError{Step: "taking over the inside socket", Err: syscall.EMFILE.Error(), Code: int(syscall.EMFILE)}
			}
			if len(fds) == 1 {
				w.api = fds[0]
			}
			if w.mountNS == 0 && standing != nil {
				return standing(w)
			}
			return nil
		case MsgBroker:
			w.broker, w.mountNS = fds, m.ID
			if standing == nil {
				continue
			}
			if err := standing(w); err != nil {
				return err
			}
		case MsgSocket:
			fd := -1
			if len(fds) == 1 {
				fd = fds[0]
			}
			w.sockets = append(w.sockets, fd)
		case MsgDiag:
			if len(fds) == 1 {
				w.diag = fds[0]
			}
		case MsgPackets:
			w.packets = fds
		case MsgProc:
			if len(fds) == 1 {
				w.Procfs = os.NewFile(uintptr(fds[0]), "procfs")
			}
		case MsgCopy:
			w.Copies = append(w.Copies, fds...)
		case MsgNote:
			w.Notes = append(w.Notes, m.Text)
		case MsgSetup:
			return setupError(m)
		}
	}
}

func setupError(m Message) *SetupError {
	step, text, _ := strings.Cut(m.Text, "\x00")
	return &SetupError{Step: step, Path: m.Path, Err: text, Code: m.Code}
}

// listen hands each message to whoever waits for it, until the stage ends.
func (w *Walls) listen() {
	for {
		m, fds, err := w.control.Receive()
		if err != nil {
			close(w.gone)
			return
		}
		w.dispatch(m, fds)
	}
}

func (w *Walls) dispatch(m Message, fds []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m.Kind {
	case MsgStarted:
		w.inner[m.ID] = m.Code
		if c := w.starts[m.ID]; c != nil {
			c <- nil
			delete(w.starts, m.ID)
		}
	case MsgNoStart:
		if c := w.starts[m.ID]; c != nil {
			c <- &StartError{Name: m.Path, Err: m.Text, Code: m.Code}
			delete(w.starts, m.ID)
		}
		delete(w.exits, m.ID)
	case MsgExited:
		select {
		case w.exits[m.ID] <- Exit{Code: m.Code, Signal: m.Signal}:
		default: // of no command, or said again
		}
	case MsgStopped:
		if w.stopped != nil {
			go w.stopped(w, m.ID, syscall.Signal(m.Signal))
		}
	case MsgBound:
		if c := w.dials[m.ID]; c != nil {
			c <- dialed{err: syscall.Errno(m.Code)}
			delete(w.dials, m.ID)
		}
	case MsgDialed, MsgSocket, MsgPty:
		if c := w.dials[m.ID]; c != nil {
			d := dialed{fds: fds}
			if want := map[bool]int{true: 2, false: 1}[m.Kind == MsgPty]; len(fds) != want {
				d = dialed{err: syscall.Errno(m.Code)}
				if m.Code == 0 { // the kernel drops what there is no number for
					d.err = syscall.EMFILE
				}
			} else {
				fds = nil
			}
			c <- d
			delete(w.dials, m.ID)
		}
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// Wait gives the end of a command, once; ErrGone when the walls came down first.
func (w *Walls) Wait(id uint64) (Exit, error) {
	defer w.forget(id)
	w.mu.Lock()
	c := w.exits[id]
	w.mu.Unlock()
	if c == nil {
		return Exit{}, fmt.Errorf("no command %d", id)
	}
	select {
	case e := <-c:
		return e, nil
	case <-w.gone:
	}
	select { // the exit may have been the last message
	case e := <-c:
		return e, nil
	default:
		return Exit{}, ErrGone
	}
}

// Done is closed when the stage is gone, and with it everything inside.
func (w *Walls) Done() <-chan struct{} { return w.gone }

// forget drops what is known of a command that has ended.
func (w *Walls) forget(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.exits, id)
	delete(w.inner, id)
}

// Signal sends sig to a command, or to its whole process group where it leads a session. A command that has ended is no error.
func (w *Walls) Signal(id uint64, sig syscall.Signal) error {
	return w.control.Tell(Message{Kind: MsgSignal, ID: id, Signal: int(sig)})
}

// Flush waits until the signals that were sent before have arrived, or all is gone.
func (w *Walls) Flush() { w.ask(Message{Kind: MsgFlush}) }

// IsStopped says whether a command's process is stopped at this moment.
func (w *Walls) IsStopped(id uint64) bool {
	w.mu.Lock()
	inner := w.inner[id]
	w.mu.Unlock()
	// The stage forks from its main thread only.
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", w.pid, w.pid))
	if err != nil || inner == 0 {
		return false
	}
	for pid := range strings.FieldsSeq(string(children)) {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err == nil && lastWord(status, "NSpid:") == strconv.Itoa(inner) {
			return strings.HasPrefix(statusLine(status, "State:"), "T")
		}
	}
	return false
}

// lastWord gives the last word of a line of /proc/PID/status: for NSpid, the
// number in the innermost namespace.
func lastWord(status []byte, name string) string {
	words := strings.Fields(statusLine(status, name))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func statusLine(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Exec starts another command; stdio are its standard descriptors.
func (w *Walls) Exec(c Command, stdio [3]*os.File) (uint64, error) {
	if w.inside != nil {
		c = w.inside(c)
	}
	file, err := memfile.Sealed("carrel-command", c.Encode())
	if err != nil {
		return 0, fmt.Errorf("writing the command: %w", err)
	}
	defer file.Close()
	started := make(chan error, 1)
	w.mu.Lock()
	w.nextID++
	id := w.nextID
	w.starts[id], w.exits[id] = started, make(chan Exit, 1)
	w.mu.Unlock()
	err = w.control.Tell(Message{Kind: MsgExec, ID: id}, int(file.Fd()), int(stdio[0].Fd()), int(stdio[1].Fd()), int(stdio[2].Fd()))
	if err != nil {
		return 0, err
	}
	select {
	case err = <-started:
		return id, err
	case <-w.gone:
		return 0, ErrGone
	}
}

// Kill takes the walls down with everything inside and waits for that.
func (w *Walls) Kill() {
	if w.pidfd >= 0 {
		_ = unix.PidfdSendSignal(w.pidfd, unix.SIGKILL, nil, 0)
	}
	if w.child > 0 { // not yet collected, so its number is its own
		_ = unix.Kill(w.child, unix.SIGKILL)
	}
	w.Close()
}

// Close waits for the stage, whose end ends everything inside.
func (w *Walls) Close() {
	// A reader blocked on the socket keeps the descriptor alive; only a
	// shutdown reaches it, and the stage.
	w.control.Shutdown()
	w.control.Close()
	w.collect.Do(func() {
		for w.child > 0 {
			if _, err := unix.Wait4(w.child, nil, 0, nil); err != unix.EINTR {
				break
			}
		}
		w.waitGone()
		if w.sweep != nil {
			w.sweep()
		}
		w.leash.Close() // not before: its end is a signal
		w.leashEnd.Close()
	})
	if fd := w.TakeAPI(); fd >= 0 {
		unix.Close(fd)
	}
	w.Procfs.Close()
	for _, fd := range slices.Concat(w.broker, w.sockets, w.packets, w.Copies, []int{w.diag}) {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	w.broker, w.sockets, w.packets, w.Copies, w.diag, w.Procfs = nil, nil, nil, nil, -1, nil
}

// TakeAPI hands out the listening socket of the inside API, once; the caller
// closes it.
func (w *Walls) TakeAPI() int {
	fd := w.api
	w.api = -1
	return fd
}
