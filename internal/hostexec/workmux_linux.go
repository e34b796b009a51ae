package hostexec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"carrel/internal/fdpass"
)

// workmuxRequest is a line of a workmux guest after the first. Its decoder ignores names
// that it does not know, and so does this.
type workmuxRequest struct {
	Type    string
	Status  string
	Title   string
	Command string
	Args    []string
	Mime    string
	Task
}

// workmuxReply is a line to such a guest. Which fields there are depends on the type.
type workmuxReply struct {
	Type    string  `json:"type"`
	Message *string `json:"message,omitempty"`
	Data    *string `json:"data,omitempty"`
	Code    *int    `json:"code,omitempty"`
}

// Statuses that a workmux guest may set.
var statuses = []string{"working", "waiting", "done", "clear"}

func setStatus(host Host, word string) *Problem {
	for _, s := range statuses {
		if strings.EqualFold(word, s) {
			return host.Status(s)
		}
	}
	return &Problem{Code: CodeRequest, Operation: TypeSetStatus, Subject: word, Message: "Unknown status: " + word, Hint: strings.Join(statuses, ", ")}
}

// workmux answers a guest of workmux: one request after the other, without numbers.
func (s *Server) workmux(conn net.Conn, in *bufio.Reader, token string) {
	out := json.NewEncoder(conn)
	fail := func(message string) { _ = out.Encode(workmuxReply{Type: TypeError, Message: &message}) }
	if !s.knows(token) {
		fail("Invalid token")
		return
	}
	for {
		line, err := readLine(in)
		if errors.Is(err, errLong) {
			fail(err.Error())
		}
		if err != nil {
			return
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		var r workmuxRequest
		if !utf8.Valid(line) || json.Unmarshal(line, &r) != nil {
			fail("the request is not understood: want one JSON object a line, with a type")
			return
		}
		var problem *Problem
		switch r.Type {
		case TypeHeartbeat:
		case TypeSetStatus:
			problem = setStatus(s.Host, r.Status)
		case TypeSetTitle:
			problem = s.Host.Title(r.Title)
		case TypeSpawnAgent, TypeMerge, TypeClose, TypeClipboard:
			ctx, cancel := context.WithCancel(context.Background())
			stop := watchHangup(conn, in, cancel)
			problem = s.Host.Do(ctx, r.Type, r.Task)
			stop()
			cancel()
		case TypeExec:
			if s.workmuxExec(conn, in, out, &r) != nil {
				return
			}
			continue
		default:
			fail("there is no request " + r.Type)
			return
		}
		if problem != nil {
			fail(problem.Message)
		} else {
			_ = out.Encode(workmuxReply{Type: TypeOk})
		}
	}
}

// workmuxExec runs a command for a guest: without input, in the project, its output as
// text. A guest that goes ends it.
func (s *Server) workmuxExec(conn net.Conn, in *bufio.Reader, out *json.Encoder, r *workmuxRequest) error {
	var send sync.Mutex
	say := func(kind, data string, code *int) error {
		send.Lock()
		defer send.Unlock()
		reply := workmuxReply{Type: kind, Code: code}
		if code == nil {
			reply.Data = &data
		}
		return out.Encode(reply)
	}
	ended := func(message string, code int) error {
		return errors.Join(say(typeExecError, message+"\n", nil), say(typeExecExit, "", &code))
	}
	asked := Call{Caller: fdpass.Caller(conn), Command: r.Command, Args: r.Args}
	cost := asked.cost()
	if len(r.Args) > maxWords || !s.spend(cost) {
		return ended("this is too much at once", 126)
	}
	defer s.spend(-cost)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer watchHangup(conn, in, cancel)()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return ended(err.Error(), 126)
	}
	p, err := newPlumbing(nil, false)
	if err != nil {
		null.Close()
		return ended(err.Error(), 126)
	}
	p.far[0].Close()
	p.near[0].Close()
	p.far[0], p.near[0] = null, nil
	asked.Stdio = p.far
	process, problem := s.Host.Start(ctx, asked)
	p.started(problem == nil, process)
	if problem != nil {
		p.abandon()
		code := problem.Exit
		if code == 0 {
			code = 126
		}
		return ended(problem.Message, code)
	}
	stop := context.AfterFunc(ctx, process.End)
	defer stop()
	var whole [2]wholeText
	kinds := map[string]int{StreamStdout: 0, StreamStderr: 1}
	names := []string{typeExecOutput, typeExecError}
	drained := p.relay(ctx, &call{done: make(chan struct{})}, func(stream string, b []byte) {
		i := kinds[stream]
		if text := whole[i].next(b); text != "" && say(names[i], text, nil) != nil {
			cancel()
		}
	})
	exit := process.Wait()
	drained()
	for i := range whole {
		if rest := whole[i].end(); rest != "" {
			_ = say(names[i], rest, nil)
		}
	}
	return say(typeExecExit, "", &exit.Code)
}

// watchHangup calls cancel when the other end goes while a command runs. What it sends
// meanwhile stays for the next request. The function that is returned ends the watch.
func watchHangup(conn net.Conn, in *bufio.Reader, cancel func()) func() {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := in.Peek(1) // it returns at the latest when the deadline below is set
		for err == nil {     // more was asked already: only the end of the connection counts
			select {
			case <-over:
				return
			case <-time.After(hangupPeriod):
				if hungUp(conn) {
					err = io.EOF
				}
			}
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			cancel()
		}
	}()
	return func() {
		close(over)
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = conn.SetReadDeadline(time.Time{})
	}
}

// wholeText cuts a stream of bytes into texts that end where a character does.
type wholeText struct{ rest []byte }

func (w *wholeText) next(b []byte) string {
	w.rest = append(w.rest, b...)
	whole := len(w.rest)
	for i := 1; i < utf8.UTFMax && i <= len(w.rest); i++ { // a character that is not there as a whole
		if c := w.rest[len(w.rest)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(w.rest[len(w.rest)-i:]) {
				whole -= i
			}
			break
		}
	}
	text := strings.ToValidUTF8(string(w.rest[:whole]), "\ufffd")
	w.rest = append(w.rest[:0], w.rest[whole:]...)
	return text
}

func (w *wholeText) end() string { return strings.ToValidUTF8(string(w.rest), "\ufffd") }
