package hostexec

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"carrel/internal/fdpass"
)

// Bounds on what clients can cost.
const (
	maxConnections = 1024
	maxCalls       = 512 // of one connection at once
	helloDeadline  = 5 * time.Second
	acceptPause    = 10 * time.Millisecond

	// Requests that are being carried out, and input that is not read, of all
	// connections together.
	maxSpent    = 64 << 20
	costOfWord  = 128
	costOfInput = queuedInput * MaxChunk
)

// Call is one command that somebody inside wants run.
type Call struct {
	Caller  int // the process that asks, 0 where it cannot be known
	Command string
	Args    []string
	Dir     string // absolute; "" is the project
	Env     []string
	Stdio   [3]*os.File // what the command gets; all nil with a Size. They stay the server's.
	Size    *Size       // of a terminal of the command's own
}

// Exit is how a command ended.
type Exit struct {
	Code   int // 128 and the signal where one ended it
	Signal string
}

// Process is a command that runs.
type Process interface {
	Terminal() *os.File // the near end, with a Size; the server closes it
	Signal(syscall.Signal)
	Resize(Size)
	End()       // ends it with all that it has started; it may be called at any time
	Wait() Exit // for the end of all that
}

// Host says what may be done, and does it. Its methods are called side by side.
type Host interface {
	Commands() []string
	// Start starts a command; ctx ends when nobody waits for it any more.
	Start(ctx context.Context, c Call) (Process, *Problem)
	// Status and Title tell the person; Do carries out a request about a task, and answers what
	// has no other method. It may take long.
	Status(word string) *Problem
	Title(text string) *Problem
	Do(ctx context.Context, what string, of Task) *Problem
}

// Server answers on listeners.
type Server struct {
	Host  Host
	Token string // of workmux's dialect, and of all clients over TCP

	mu    sync.Mutex
	over  bool
	open  map[net.Conn]bool
	heard []net.Listener
	spent int
	busy  sync.WaitGroup
}

// Serve accepts on a listener, which is the server's from now on, until Close.
func (s *Server) Serve(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		l.Close()
		return
	}
	s.heard = append(s.heard, l)
	s.busy.Go(func() { s.accept(l) })
}

func (s *Server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(acceptPause)
			continue
		}
		if !s.admit(conn) {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_ = json.NewEncoder(conn).Encode(Reply{Type: TypeError, Error: &Problem{Code: CodeBusy, Message: "too many connections are open already"}})
			conn.Close()
			continue
		}
		s.busy.Go(func() {
			defer s.drop(conn)
			s.answer(conn)
		})
	}
}

func (s *Server) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.open) >= maxConnections {
		return false
	}
	if s.open == nil {
		s.open = make(map[net.Conn]bool)
	}
	s.open[conn] = true
	return true
}

func (s *Server) drop(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
}

// Stop lets go of all listeners and connections, and so ends the commands that they have
// asked for. It does not wait for that.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, l := range s.heard {
		l.Close()
	}
	for conn := range s.open {
		conn.Close()
	}
}

// Close stops, and returns when all is over, or after a while: who is inside and keeps
// something open holds nobody up.
func (s *Server) Close() {
	s.Stop()
	done := make(chan struct{})
	go func() {
		s.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeGrace):
	}
}

// closeGrace is how long the end of all commands is waited for.
const closeGrace = 5 * time.Second

// spend takes some of what requests may take of memory, until it is given back by a
// negative number; false: there is not so much left.
func (s *Server) spend(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > 0 && s.spent+bytes > maxSpent {
		return false
	}
	s.spent += bytes
	return true
}

// answer reads the first line, which says who speaks which dialect.
func (s *Server) answer(conn net.Conn) {
	var from io.Reader = conn
	var passed *fdpass.Reader
	local, ok := conn.(*net.UnixConn)
	if ok {
		passed = &fdpass.Reader{Conn: local}
		defer passed.Close()
		from = passed
	}
	in := bufio.NewReaderSize(from, 16<<10)
	_ = conn.SetReadDeadline(time.Now().Add(helloDeadline))
	line, err := readLine(in)
	if err != nil {
		s.refuse(conn, err)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	var first struct{ Type, Token string }
	if json.Unmarshal(line, &first) != nil {
		s.refuse(conn, errNotUnderstood)
		return
	}
	if first.Type == "" {
		s.workmux(conn, in, first.Token)
		return
	}
	hello, err := decode(line)
	switch {
	case err != nil:
		s.refuse(conn, err)
		return
	case hello.Type != TypeHello:
		s.refuse(conn, errors.New("the first line is not a Hello"))
		return
	case conn.LocalAddr().Network() != "unix" && !s.knows(hello.Token):
		_ = json.NewEncoder(conn).Encode(Reply{Type: TypeError, Error: &Problem{Code: CodeUnauthorised, Message: "the token is not that of this workspace"}})
		return
	}
	newSession(s, conn, in, passed).run()
}

var errNotUnderstood = errors.New(`the first line is not understood: want {"type":"Hello","version":1}, or workmux's {"token":"..."}`)

func (s *Server) refuse(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(helloDeadline))
	_ = json.NewEncoder(conn).Encode(Reply{Type: TypeError, Error: &Problem{Code: CodeRequest, Message: err.Error(), Hint: "one JSON object a line, at most 1 MiB"}})
}

func (s *Server) knows(token string) bool {
	return len(s.Token) == TokenLen && subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}

// readLine reads a line without its end, of [MaxLine] bytes at most. What is good until
// the next call is given where it fits the reader.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > MaxLine {
				return nil, errLong
			}
			line, err = in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil {
		return nil, err
	}
	if len(line) > MaxLine {
		return nil, errLong
	}
	return line[:len(line)-1], nil
}

var errLong = errors.New("the line is longer than 1 MiB")
