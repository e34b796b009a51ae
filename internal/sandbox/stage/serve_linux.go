package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// server starts commands and reports how they end. All starts happen on the
// main thread (see Main); one other goroutine reaps, one listens.
type server struct {
	link    *link
	mu      sync.Mutex // held around fork, so that no child ends before it is known
	running map[int]uint64
	pids    map[uint64]int
	leads   map[uint64]bool // a session of its own
	binder  *binder
	labels  bool          // labels can be given here
	forked  chan struct{} // tells the reaper that there is a child again
}

// serve starts the plan's command and then obeys the supervisor until it goes,
// or until the plan's command has ended: that is the end of a one-shot workspace.
func serve(l *link, c *sandbox.Command, listener int, binder *binder) error {
	s := &server{link: l, binder: binder, labels: sandbox.PrepareLabels(), running: make(map[int]uint64), pids: make(map[uint64]int), leads: make(map[uint64]bool), forked: make(chan struct{}, 1)}
	if listener >= 0 {
		l.say(sandbox.Message{Kind: sandbox.MsgReady}, listener)
		unix.Close(listener)
	} else {
		l.say(sandbox.Message{Kind: sandbox.MsgReady, Code: sandbox.ReadyAlone})
	}
	sandbox.ForgetStartCode() // now: a timer may take a thread, and later there may be none to have
	if len(c.Argv) > 0 && !s.start(sandbox.FirstCommand, c, []uintptr{0, 1, 2}) {
		return nil
	}
	if err := letGoOfStdio(); err != nil {
		return err
	}
	done := make(chan struct{})
	requests := make(chan request)
	go s.reap(len(c.Argv) > 0, done)
	go s.listen(requests)
	for {
		select {
		case <-done:
			return nil
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			s.obey(r)
		}
	}
}

// letGoOfStdio drops the stage's copies: a pipe must end when its command ends.
func letGoOfStdio() error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening", "/dev/null", err)
	}
	for fd := range 3 {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return failed("letting go of a standard descriptor", "", err)
		}
	}
	return failed("closing", "/dev/null", unix.Close(null))
}

type request struct {
	msg sandbox.Message
	fds []int
}

// close lets go of the descriptors that came with a request.
func (r *request) close() {
	for _, fd := range r.fds {
		unix.Close(fd)
	}
	r.fds = nil
}

func (s *server) listen(out chan<- request) {
	for {
		m, fds, err := s.link.receive()
		if err != nil {
			os.Exit(0) // the supervisor is gone: end everything inside
		}
		out <- request{m, fds}
	}
}

func (s *server) obey(r request) {
	defer r.close()
	switch r.msg.Kind {
	case sandbox.MsgExec:
		s.exec(r)
	case sandbox.MsgSignal:
		s.signal(r.msg)
	case sandbox.MsgBind:
		s.bind(&r)
	case sandbox.MsgDial:
		go s.dial(r.msg)
	case sandbox.MsgListen:
		s.listenAt(r.msg)
	case sandbox.MsgNewPty:
		s.newPty(r.msg.ID)
	case sandbox.MsgFlush:
		s.link.say(sandbox.Message{Kind: sandbox.MsgBound, ID: r.msg.ID})
	}
}

func (s *server) exec(r request) {
	if len(r.fds) != 4 {
		s.link.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: r.msg.ID, Code: int(unix.EBADF), Text: "a command needs four descriptors"})
		return
	}
	buf, err := readAll(r.fds[0])
	var c sandbox.Command
	if err == nil {
		c, err = sandbox.DecodeCommand(buf)
	}
	if err != nil {
		s.link.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: r.msg.ID, Code: errno(err), Text: err.Error()})
		return
	}
	s.start(r.msg.ID, &c, []uintptr{uintptr(r.fds[1]), uintptr(r.fds[2]), uintptr(r.fds[3])})
}

// start runs one command and tells the supervisor how that went.
func (s *server) start(id uint64, c *sandbox.Command, stdio []uintptr) bool {
	c.Env = withImage(c.Env)
	path, err := lookUp(c)
	var pid int
	if err == nil {
		s.mu.Lock()
		if pid, err = s.fork(path, c, stdio); err == nil {
			s.running[pid] = id
			s.pids[id] = pid
			if c.Session {
				s.leads[id] = true
			}
		}
		s.mu.Unlock()
	}
	if err != nil {
		subject := c.Argv[0]
		if dirErr := unix.Access(c.Dir, unix.X_OK); dirErr != nil && !errors.Is(err, errLabel) {
			subject, err = c.Dir, dirErr // fork reports chdir and exec alike
		}
		s.link.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: id, Path: subject, Code: errno(err), Text: err.Error()})
		return false
	}
	select {
	case s.forked <- struct{}{}:
	default:
	}
	s.link.say(sandbox.Message{Kind: sandbox.MsgStarted, ID: id, Code: pid})
	return true
}

// errLabel is the answer where somebody has lowered this process's limit.
var errLabel = errors.New("it cannot be given the label by which it would be found: the limit RLIMIT_RTTIME of the workspace's first process has been lowered")

// fork starts a command. Its label is this process's for that moment: no other is
// started meanwhile. Without the label that it should have nobody would find what it
// starts, so it is not started; but where there never was one to be had it is.
func (s *server) fork(path string, c *sandbox.Command, stdio []uintptr) (int, error) {
	if c.Label != 0 && s.labels {
		defer sandbox.SetLabel(0)
		if !sandbox.SetLabel(c.Label) {
			return 0, errLabel
		}
	}
	as := runsAs
	attributes := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: stdio, Sys: &as}
	if c.Session {
		attributes.Sys.Setsid, attributes.Sys.Setctty = true, c.Terminal // the terminal is descriptor 0
	}
	return syscall.ForkExec(path, c.Argv, attributes)
}

// lookUp finds the program as execvp(3) does, in the PATH of the command and
// inside the walls. A file that may not be executed is remembered but the
// search goes on; a relative PATH entry is skipped, it would mean the project.
func lookUp(c *sandbox.Command) (string, error) {
	if c.Path != "" {
		return c.Path, nil
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		return name, nil
	}
	err := error(unix.ENOENT)
	for dir := range strings.SplitSeq(getenv(c.Env, "PATH"), ":") {
		if !filepath.IsAbs(dir) || name == "" {
			continue
		}
		full := dir + "/" + name
		var st unix.Stat_t
		if unix.Stat(full, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		if unix.Access(full, unix.X_OK) == nil {
			return full, nil
		}
		err = unix.EACCES
	}
	return "", err
}

func getenv(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// reap collects every child. Waiting and collecting are two calls: between them
// the lock makes sure that a child just forked has been registered.
func (s *server) reap(oneShot bool, done chan<- struct{}) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
			if err == unix.ECHILD {
				<-s.forked
			}
			continue
		}
		s.mu.Lock()
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		id, known := s.running[pid]
		if err == nil && pid > 0 && known && (status.Exited() || status.Signaled()) {
			delete(s.running, pid)
			delete(s.pids, id)
			delete(s.leads, id)
		}
		s.mu.Unlock()
		if err != nil || pid <= 0 || !known {
			continue
		}
		s.report(id, status)
		if oneShot && id == sandbox.FirstCommand && !status.Stopped() {
			close(done)
			return
		}
	}
}

func (s *server) report(id uint64, status unix.WaitStatus) {
	switch {
	case status.Exited():
		s.link.say(sandbox.Message{Kind: sandbox.MsgExited, ID: id, Code: status.ExitStatus()})
	case status.Signaled():
		s.link.say(sandbox.Message{Kind: sandbox.MsgExited, ID: id, Signal: int(status.Signal())})
	case status.Stopped():
		s.link.say(sandbox.Message{Kind: sandbox.MsgStopped, ID: id, Signal: int(status.StopSignal())})
	}
}

func (s *server) signal(m sandbox.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid := s.pids[m.ID]; pid > 0 {
		if s.leads[m.ID] {
			pid = -pid
		}
		// An error means that it has just ended; its exit is on the way.
		_ = unix.Kill(pid, syscall.Signal(m.Signal))
	}
}
