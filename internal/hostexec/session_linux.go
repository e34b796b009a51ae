package hostexec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/fdpass"

	"golang.org/x/sys/unix"
)

// session is a connection in our own dialect. Commands run side by side, each under the
// number that the client gave it; the end of the connection is the end of all.
type session struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	passed *fdpass.Reader // nil over TCP
	ctx    context.Context
	end    context.CancelFunc

	send sync.Mutex // held while a line is written

	mu    sync.Mutex
	calls map[ID]*call
	busy  sync.WaitGroup
}

// call is one command of a session.
type call struct {
	id      ID
	cancel  context.CancelFunc
	process Process // nil until it runs; under session.mu
	early   []func(Process)
	stdin   chan []byte // nil closes; only of frames
	done    chan struct{}
}

// queuedInput is how many pieces of input wait for a command that does not read.
const queuedInput = 2

// maxEarly is how many signals and sizes are kept for a command that does not run yet.
const maxEarly = 16

func newSession(s *Server, conn net.Conn, in *bufio.Reader, passed *fdpass.Reader) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{server: s, conn: conn, in: in, passed: passed, ctx: ctx, end: cancel, calls: make(map[ID]*call)}
}

func (s *session) run() {
	defer s.busy.Wait()
	defer s.conn.Close() // who still writes to it does not wait
	defer s.end()
	features := []string{"exec", "stdin", "signal", "resize", "cancel", "tty"}
	if s.passed != nil {
		features = append(features, StdioPassed)
	}
	s.say(Reply{Type: TypeHello, Version: Version, Features: features, Commands: s.server.Host.Commands()})
	for {
		line, err := readLine(s.in)
		if errors.Is(err, errLong) {
			s.fail("", &Problem{Code: CodeRequest, Message: err.Error(), Hint: "send input in Stdin lines"})
		}
		if err != nil {
			return
		}
		if len(line) == 0 {
			continue
		}
		r, err := decode(line)
		if err != nil {
			s.fail(r.ID, &Problem{Code: CodeRequest, Message: err.Error(), Hint: "docs/host-protocol.md has all messages"})
			continue
		}
		s.take(r)
	}
}

func (s *session) say(r Reply, files ...*os.File) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	line = append(line, '\n')
	s.send.Lock()
	defer s.send.Unlock()
	if fdpass.Send(s.conn, line, files...) != nil {
		s.end() // nobody hears of anything any more
	}
}

func (s *session) fail(id ID, p *Problem) { s.say(Reply{Type: TypeError, ID: id, Error: p}) }

func (s *session) answer(id ID, p *Problem) {
	if p != nil {
		s.fail(id, p)
		return
	}
	s.say(Reply{Type: TypeOk, ID: id})
}

// take carries one request out, or begins to.
func (s *session) take(r *Request) {
	host := s.server.Host
	switch r.Type {
	case TypeExec:
		s.exec(r)
	case TypeStdin:
		s.input(r)
	case TypeSignal:
		sig := unix.SignalNum("SIG" + strings.TrimPrefix(r.Signal, "SIG"))
		if sig == 0 {
			s.fail(r.ID, &Problem{Code: CodeRequest, Operation: TypeSignal, Subject: r.Signal, Message: "there is no such signal",
				Hint: "INT, TERM, HUP, QUIT, KILL, USR1, USR2, TSTP, CONT, ..."})
			return
		}
		s.toCall(r, func(p Process) { p.Signal(sig) })
	case TypeResize:
		if r.Size == nil {
			s.fail(r.ID, &Problem{Code: CodeRequest, Operation: TypeResize, Message: "the size is missing"})
			return
		}
		s.toCall(r, func(p Process) { p.Resize(*r.Size) })
	case TypeCancel:
		if c := s.find(r); c != nil {
			c.cancel()
		}
	case TypeHeartbeat:
		s.answer(r.ID, nil)
	case TypeSetStatus:
		s.answer(r.ID, setStatus(host, r.Status))
	case TypeSetTitle:
		s.answer(r.ID, host.Title(r.Title))
	case TypeSpawnAgent, TypeMerge, TypeClose, TypeClipboard:
		s.aside(r, host)
	default:
		s.fail(r.ID, &Problem{Code: CodeRequest, Subject: r.Type, Message: "there is no such request",
			Hint: "docs/host-protocol.md has all messages"})
	}
}

// aside answers a request about a task when it has been carried out; others are answered meanwhile. It
// ends with the connection.
func (s *session) aside(r *Request, host Host) {
	if !s.server.spend(taskCost) {
		s.fail(r.ID, &Problem{Code: CodeBusy, Operation: r.Type, Message: "this is too much at once"})
		return
	}
	s.busy.Go(func() {
		defer s.server.spend(-taskCost)
		s.answer(r.ID, host.Do(s.ctx, r.Type, r.Task))
	})
}

// taskCost is what a request about a task counts as, in bytes: some may be under way at once.
const taskCost = 1 << 20

// find gives the command that a request speaks of. One that has just ended is not told:
// its Exit says so.
func (s *session) find(r *Request) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[r.ID]
}

// toCall does something to a command, at its start where it does not run yet.
func (s *session) toCall(r *Request, do func(Process)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[r.ID]
	switch {
	case c == nil:
	case c.process != nil:
		do(c.process)
	case len(c.early) < maxEarly:
		c.early = append(c.early, do)
	}
}

// input hands input on. A command that does not read holds the connection up, until it
// reads, ends or the client goes.
func (s *session) input(r *Request) {
	c := s.find(r)
	if c == nil || c.stdin == nil {
		return
	}
	piece := r.Data
	if r.EOF {
		if len(piece) > 0 && !s.queue(c, piece) {
			return
		}
		piece = nil
	} else if len(piece) == 0 {
		return
	}
	s.queue(c, piece)
}

func (s *session) queue(c *call, piece []byte) bool {
	for {
		select {
		case c.stdin <- piece:
			return true
		case <-c.done:
			return false
		case <-s.ctx.Done():
			return false
		case <-time.After(hangupPeriod):
			if hungUp(s.conn) {
				s.end()
				return false
			}
		}
	}
}

// hangupPeriod is how often it is looked whether a client is still there that sends more
// than is read.
const hangupPeriod = 100 * time.Millisecond

// hungUp says whether the other end of a connection is gone.
func hungUp(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, e := unix.Poll(list, 0)
		gone = n > 0 && e == nil
	})
	return gone || err != nil
}

// exec begins a command.
func (s *session) exec(r *Request) {
	problem := func(message, hint string) {
		s.fail(r.ID, &Problem{Code: CodeRequest, Operation: TypeExec, Subject: r.Command, Message: message, Hint: hint})
	}
	var files []*os.File
	if s.passed != nil {
		files = s.passed.Take()
	}
	given := func() {
		for _, f := range files {
			f.Close()
		}
	}
	want := 0
	if r.Stdio == StdioPassed && r.TTY == nil {
		want = 3
	}
	switch {
	case r.Stdio != "" && r.Stdio != StdioFrames && r.Stdio != StdioPassed:
		given()
		problem("stdio is frames or passed", "")
		return
	case r.Stdio == StdioPassed && s.passed == nil:
		given()
		problem("descriptors come over the Unix socket only", "use frames")
		return
	case len(files) != want:
		given()
		problem("the line has to come with three descriptors where its stdio is passed, and with none elsewhere", "pipes or /dev/null")
		return
	}
	for _, f := range files {
		if err := fdpass.Stream(f); err != nil {
			given()
			problem(err.Error(), "relay what is something else")
			return
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c := &call{id: r.ID, cancel: cancel, done: make(chan struct{})}
	if r.Stdio != StdioPassed {
		c.stdin = make(chan []byte, queuedInput)
	}
	s.mu.Lock()
	_, taken := s.calls[r.ID]
	full := len(s.calls) >= maxCalls
	if !taken && !full {
		s.calls[r.ID] = c
	}
	s.mu.Unlock()
	if taken || full {
		cancel()
		given()
		if full {
			s.fail(r.ID, &Problem{Code: CodeBusy, Operation: TypeExec, Subject: r.Command, Message: "this connection has too many commands already"})
		} else {
			problem("a command of this id runs already", "count ids up")
		}
		return
	}
	in := r.call(fdpass.Caller(s.conn))
	cost := in.cost()
	if c.stdin != nil {
		cost += costOfInput
	}
	if !s.server.spend(cost) {
		cancel()
		given()
		s.mu.Lock()
		delete(s.calls, r.ID)
		s.mu.Unlock()
		s.fail(r.ID, &Problem{Code: CodeBusy, Operation: TypeExec, Subject: r.Command,
			Message: "all that is being carried out takes too much memory already", Hint: "try again when something has ended"})
		return
	}
	s.busy.Go(func() {
		defer func() {
			s.server.spend(-cost)
			cancel()
			s.mu.Lock()
			delete(s.calls, r.ID)
			s.mu.Unlock()
		}()
		s.carry(ctx, c, in, files, r.Stdio)
	})
}

// call is what a request asks for, without its streams.
func (r *Request) call(caller int) Call {
	in := Call{Caller: caller, Command: r.Command, Dir: string(r.Cwd), Size: r.TTY}
	for _, a := range r.Args {
		in.Args = append(in.Args, string(a))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		in.Env = append(in.Env, name+"="+string(r.Env[name]))
	}
	return in
}

// cost is what a call takes of memory while it is under way, in bytes.
func (c *Call) cost() int {
	n := len(c.Command) + len(c.Dir)
	for _, word := range slices.Concat(c.Args, c.Env) {
		n += costOfWord + len(word)
	}
	return n
}

// carry runs a command and tells how it ended.
func (s *session) carry(ctx context.Context, c *call, in Call, files []*os.File, stdio string) {
	defer close(c.done)
	p, err := newPlumbing(files, in.Size != nil)
	if err != nil {
		s.fail(c.id, &Problem{Code: CodeBusy, Operation: TypeExec, Subject: in.Command, Message: err.Error(), Exit: 125})
		return
	}
	in.Stdio = p.far
	process, problem := s.server.Host.Start(ctx, in)
	p.started(problem == nil, process)
	if problem != nil {
		p.abandon()
		s.fail(c.id, problem)
		return
	}
	stop := context.AfterFunc(ctx, process.End)
	defer stop()
	if in.Size != nil && stdio == StdioPassed {
		s.say(Reply{Type: TypeStarted, ID: c.id}, p.near[0])
		p.abandon()
	} else {
		s.say(Reply{Type: TypeStarted, ID: c.id})
	}
	s.mu.Lock()
	c.process = process
	for _, do := range c.early {
		do(process)
	}
	s.mu.Unlock()
	drained := p.relay(ctx, c, func(stream string, b []byte) { s.say(Reply{Type: TypeOutput, ID: c.id, Stream: stream, Data: b}) })
	exit := process.Wait()
	drained()
	s.say(Reply{Type: TypeExit, ID: c.id, Code: exit.Code, Signal: exit.Signal})
}
