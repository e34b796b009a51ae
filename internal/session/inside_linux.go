package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/credentials"
	"carrel/internal/display"
	"carrel/internal/fdpass"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Bounds on what programs inside can cost the supervisor.
const (
	insideDeadline   = 10 * time.Second
	insideConcurrent = 16
	maxLinks         = 200 // kept per run
	maxOpened        = 20  // opened outside per run
	openInterval     = 2 * time.Second
	callbackLifetime = 5 * time.Minute
	callbackAtOnce   = 16 // connections to it: whoever is on this machine can make them
	acceptPause      = 10 * time.Millisecond

	// firstCallbackPort keeps a way back from taking a system service's port.
	firstCallbackPort = 1024
)

// insideServer answers the inside API. Its callers are whatever runs behind
// the walls: requests are small, bounded in number and time, and none of them
// can widen anything.
type insideServer struct {
	listener net.Listener
	walls    *sandbox.Walls
	// callbacksTo: a login's way back may be opened on the host's loopback.
	callbacksTo bool
	opener      string // absolute path of the host's link opener; "" to only report
	openEnv     []string
	openerLed   func() string // a place by which those inside would choose what it starts; nil: none
	record      func(api.Link, *api.Denial)
	mark        func(begin bool, caller int, m inside.Mark) error // of a step

	desk *desk // of a workspace that stays

	clipboard *clipboard.Clipboard
	virtual   *virtual
	keyring   *credentials.Keyring

	expired func(op string) *api.Denial // says why nothing but stopping and holding is done any more

	slots     chan struct{}
	clips     chan struct{}
	ctx       context.Context // done when it ends
	end       context.CancelFunc
	mu        sync.Mutex
	links     int
	opened    int
	lastOpen  time.Time
	callbacks map[int]net.Listener
	wg        sync.WaitGroup
}

// serveInside takes over the listening socket that the stage made inside.
func serveInside(fd int, s *insideServer) error {
	if fd < 0 {
		return nil // an engine without sockets
	}
	f := os.NewFile(uintptr(fd), "inside API")
	l, err := net.FileListener(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("listening to the inside: %w", err)
	}
	s.clips = make(chan struct{}, clipAtOnce)
	s.ctx, s.end = context.WithCancel(context.Background())
	s.listener, s.slots, s.callbacks = l, make(chan struct{}, insideConcurrent), make(map[int]net.Listener)
	s.wg.Go(s.accept)
	return nil
}

func (s *insideServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(acceptPause)
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-s.slots }()
				s.answer(conn)
			})
		default:
			conn.Close() // a flood only hurts the flooder
		}
	}
}

func (s *insideServer) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(insideDeadline))
	from := &io.LimitedReader{R: conn, N: inside.MaxRequest}
	in := bufio.NewReader(from)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return
	}
	var req inside.Request
	reply := inside.Reply{Message: "the request is not understood"}
	if json.Unmarshal(line, &req) == nil {
		op := req.Operation
		if op != inside.OpStop && op != inside.OpControl && s.expired != nil {
			if why := s.expired(op); why != nil {
				reply, op = inside.Reply{Message: why.Message}, ""
			}
		}
		switch op {
		case inside.OpOpen:
			reply = s.open([]byte(req.URL))
		case inside.OpSound:
			reply = s.sound(s.ctx, req.Sound)
		case inside.OpNotify:
			reply = s.notification(s.ctx, req.Note)
		case inside.OpStop, inside.OpControl:
			reply = s.hold(req)
		case inside.OpClipTypes, inside.OpClipPaste, inside.OpClipCopy:
			s.clip(conn, in, from, req)
			return
		case inside.OpCredential, inside.OpToken, inside.OpSign:
			s.keyring.Answer(conn, in, from, req)
			return
		case inside.OpStepBegin, inside.OpStepEnd:
			reply = inside.Reply{OK: true}
			if err := s.mark(req.Operation == inside.OpStepBegin, fdpass.Caller(conn), req.Step); err != nil {
				reply = inside.Reply{Message: err.Error()}
			}
		}
	}
	_ = json.NewEncoder(conn).Encode(reply)
}

// hold stops a workspace that stays, or takes from what may be done with it, for a
// program inside: less anybody may ask for.
func (s *insideServer) hold(req inside.Request) inside.Reply {
	if s.desk == nil {
		return inside.Reply{Message: "this workspace is one command's: it ends with that"}
	}
	if req.Operation == inside.OpStop {
		s.desk.server.Stop()
		return inside.Reply{OK: true, Message: "the workspace ends"}
	}
	if err := s.desk.server.Tighten(context.Background(), req.Mode, "asked for inside"); err != nil {
		return inside.Reply{Message: err.Error()}
	}
	return inside.Reply{OK: true, Message: "the workspace is " + req.Mode}
}

// open reports a link, and opens it outside when the user's configuration says
// so. The answer tells the truth: a program that believes that its login page
// is on the screen would wait for it forever.
func (s *insideServer) open(raw []byte) inside.Reply {
	if why := s.virtual.refusal(policy.DimLinks, "open-link", string(raw)); why != nil {
		return inside.Reply{Message: why.Message}
	}
	link, err := display.ParseLink(raw)
	if err != nil {
		s.record(api.Link{}, &api.Denial{
			Code: api.CodeLink, Operation: "open-link", Subject: string(raw), Message: err.Error(),
			Rule: "links: http and https only", Source: "built in", Hint: "open it yourself if you trust it",
		})
		return inside.Reply{Message: err.Error()}
	}
	s.mu.Lock()
	s.links++
	over := s.links > maxLinks
	s.mu.Unlock()
	if over {
		return inside.Reply{Message: fmt.Sprintf("more than %d links in one run", maxLinks)}
	}
	record := api.Link{URL: link.URL}
	if port := link.CallbackPort; port >= firstCallbackPort && s.callbacksTo {
		if err := s.forward(port); err != nil {
			return inside.Reply{Message: err.Error()}
		}
		record.Callback = port
	}
	reply := inside.Reply{Message: "this workspace has no browser; the link is kept for the person outside, who sees it with `carrel links`"}
	switch {
	case s.opener == "":
	case link.Local:
		reply.Message = "links to this machine are not opened outside, where they mean another machine; it is kept for the person there, who sees it with `carrel links`"
	case !s.mayOpen(): // before the look at all those places
		reply.Message = "too many links at once; this one is only kept for the person outside, who sees it with `carrel links`"
	case s.openerLed != nil && s.openerLed() != "": // since the start
		reply.Message = "programs inside could choose what the link is opened with outside; it is kept for the person there, who sees it with `carrel links`"
	default:
		if err := s.launch(link.URL); err != nil {
			reply.Message = "the browser outside could not be started; the link is kept for the person there, who sees it with `carrel links`"
		} else {
			record.Opened = true
			reply = inside.Reply{OK: true, Message: "opened in the browser outside"}
		}
	}
	s.record(record, nil)
	s.virtual.used(api.EventLink, "open-link", link.URL, reply.Message)
	return reply
}

// mayOpen spaces out what is opened: each is a page in the person's browser.
func (s *insideServer) mayOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened >= maxOpened || time.Since(s.lastOpen) < openInterval {
		return false
	}
	s.opened++
	s.lastOpen = time.Now()
	return true
}

func (s *insideServer) launch(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), insideDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.opener, url)
	cmd.Env = s.openEnv
	cmd.Dir = "/"
	return cmd.Run()
}

// forward listens on the host's loopback for a login's way back and carries
// each connection to the same port inside. It ends with the run or after five
// minutes, whichever comes first.
func (s *insideServer) forward(port int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.callbacks[port] != nil {
		return nil
	}
	if len(s.callbacks) > 0 {
		return errors.New("another login's way back is open; one at a time")
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("the way back to port %d is taken outside: %w", port, err)
	}
	s.callbacks[port] = l
	time.AfterFunc(callbackLifetime, func() {
		l.Close()
		s.mu.Lock()
		delete(s.callbacks, port)
		s.mu.Unlock()
	})
	s.wg.Go(func() { s.carryAll(l, port) })
	return nil
}

func (s *insideServer) carryAll(l net.Listener, port int) {
	slots := make(chan struct{}, callbackAtOnce)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		select {
		case slots <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-slots }()
				s.carry(conn, port)
			})
		default:
			conn.Close()
		}
	}
}

func (s *insideServer) carry(outer net.Conn, port int) {
	defer outer.Close()
	_ = outer.SetDeadline(time.Now().Add(callbackLifetime))
	fd, err := s.walls.Dial(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)))
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "callback")
	inner, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return
	}
	defer inner.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(inner, outer)
		if t, ok := inner.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		close(done)
	}()
	_, _ = io.Copy(outer, inner)
	outer.Close()
	<-done
}

func (s *insideServer) close() {
	if s.listener == nil {
		return
	}
	s.end()
	s.listener.Close()
	s.mu.Lock()
	for _, l := range s.callbacks {
		l.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}
