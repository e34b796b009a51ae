package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/capped"
	"carrel/internal/fuserelay"
	"carrel/internal/memfile"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Options say what a sandbox is made of.
type Options struct {
	Program *os.File // carrel-gvisor
	Relay   *os.File // carrel-relay
	Plan    *sandbox.Plan
	Served  []fuserelay.Place
	Inodes  []uint64 // of what is served, in this order
	Starts  int      // how many processes will be started
}

// Sandbox is one that was started.
type Sandbox struct {
	control *os.File
	input   *os.File // of its first process
	told    *told
	heard   chan struct{}        // closed when all that it says has come
	starts  [][perStart]*os.File // our ends of the descriptors of processes that are not started yet
	pid     int
	once    sync.Once
	ends
}

// Bounds on what a sandbox may take, and say.
const (
	startTime = 20 * time.Second
	maxTold   = 8 << 10
)

// Start starts a sandbox. When it returns the view is being made, and what is served is about to be
// asked for.
func Start(o Options) (*Sandbox, error) {
	setup, err := o.setup()
	if err != nil {
		return nil, err
	}
	defer setup.Close()
	s := &Sandbox{told: new(told), heard: make(chan struct{})}
	var theirs []*os.File
	open := func(read bool) *os.File { // a pipe, of which ours is the other end
		r, w, e := os.Pipe()
		if e != nil {
			err = errors.Join(err, e)
			return nil
		}
		if !read {
			r, w = w, r
		}
		theirs = append(theirs, r)
		return w
	}
	s.input = open(true)
	null, e := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	err = errors.Join(err, e)
	theirs = append(theirs, null)
	said := open(false)
	theirs = append(theirs, setup)
	pair, e := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err = errors.Join(err, e); e == nil {
		s.control = os.NewFile(uintptr(pair[0]), "control")
		theirs = append(theirs, os.NewFile(uintptr(pair[1]), "control"))
	}
	for range o.Starts {
		s.starts = append(s.starts, [perStart]*os.File{open(true), open(false), open(false)})
	}
	if err == nil {
		err = s.start(o.Program, theirs)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		s.closeEnds()
		said.Close()
		return nil, fmt.Errorf("starting carrel-gvisor: %w", err)
	}
	go func() {
		_, _ = io.Copy(s.told, said)
		said.Close()
		close(s.heard)
	}()
	return s, nil
}

// start starts the program as the first process of namespaces, in which its user is 0. It ends with
// this process, and all in its namespaces with it.
func (s *Sandbox) start(program *os.File, files []*os.File) (err error) {
	var fds []uintptr
	for _, f := range files {
		fds = append(fds, f.Fd())
	}
	attributes := sandbox.NestedAttributes(0, 0, true)
	attributes.Setsid = true                                                  // a terminal's signals are the supervisor's
	own, err := unix.FcntlInt(program.Fd(), unix.F_DUPFD_CLOEXEC, len(files)) // those below are the program's
	if err != nil {
		return err
	}
	defer unix.Close(own)
	at := fmt.Sprintf("/proc/self/fd/%d", own)
	sandbox.OnLasting(func() {
		s.pid, err = syscall.ForkExec(at, []string{"carrel-gvisor", prepareArg},
			&syscall.ProcAttr{Dir: "/", Env: []string{}, Files: fds, Sys: attributes})
	})
	return err
}

// setup is what the program is told to prepare.
func (o *Options) setup() (*os.File, error) {
	var relay unix.Stat_t
	if err := unix.Fstat(int(o.Relay.Fd()), &relay); err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	view := viewOf(o.Plan, o.Served, sandbox.Mount{Source: o.Relay.Name(), Dev: relay.Dev, Ino: relay.Ino})
	written := writtenIn(view)
	for _, p := range o.Served {
		written = append(written, p.To)
	}
	spec, err := specOf(hostname, written, readIn(view))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(setup{Plan: view.Encode(), Served: o.Served, Inodes: o.Inodes, Spec: spec, Starts: o.Starts})
	if err != nil {
		return nil, err
	}
	return memfile.Sealed("carrel-gvisor", text)
}

// Device gives the device of FUSE by which what is served is asked for. It is the caller's.
func (s *Sandbox) Device() (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	fds, err := s.receive(oob)
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		return nil, errors.New("carrel-gvisor passes no device of FUSE on")
	}
	return os.NewFile(uintptr(fds[0]), "/dev/fuse"), nil
}

// Mounted returns when what is served is in the view.
func (s *Sandbox) Mounted() error {
	_, err := s.receive(nil)
	return err
}

func (s *Sandbox) receive(oob []byte) (fds []int, err error) {
	if err := s.control.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return nil, err
	}
	raw, err := s.control.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n, oobn int
	read := func(fd uintptr) bool {
		n, oobn, _, _, err = unix.Recvmsg(int(fd), make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		return err != unix.EAGAIN
	}
	if e := raw.Read(read); e != nil {
		err = e
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, s.Failed(err)
	}
	return sandbox.Rights(oob[:oobn]), nil
}

// Failed adds what the program has said, and ends it.
func (s *Sandbox) Failed(err error) error {
	s.Close()
	<-s.heard
	if said := s.told.last(); said != "" {
		err = errors.New(said)
	}
	return fmt.Errorf("the sandbox of gVisor did not start: %w", err)
}

// Start starts carrel-relay with arguments.
func (s *Sandbox) Start(args ...string) (*Process, error) {
	if len(s.starts) == 0 {
		return nil, errors.New("no more processes can be started in the sandbox")
	}
	line, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if _, err := s.input.Write(append(line, '\n')); err != nil {
		return nil, s.Failed(err)
	}
	own := s.starts[0]
	s.starts = s.starts[1:]
	return s.process(own), nil
}

// Close ends the sandbox with all that runs in it.
func (s *Sandbox) Close() error {
	s.once.Do(func() {
		s.closing.Store(true)
		_ = unix.Kill(s.pid, unix.SIGKILL) // it is waited for below, so that its number is its own
		sandbox.Reap(s.pid)
		s.closeEnds()
	})
	return nil
}

func (s *Sandbox) closeEnds() {
	for _, f := range []*os.File{s.input, s.control} {
		if f != nil {
			f.Close()
		}
	}
	for _, own := range s.starts {
		for _, f := range own {
			if f != nil {
				f.Close()
			}
		}
	}
}

// told keeps what the program says.
type told struct {
	mu   sync.Mutex
	kept capped.Buffer
}

func (t *told) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Most = maxTold
	return t.kept.Write(data)
}

// last gives the last line.
func (t *told) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(t.kept.Text()), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "carrel-gvisor: ")
}
