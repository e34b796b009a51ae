package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/credentials"
	"carrel/internal/display"
	"carrel/internal/fdpass"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/steps"
	"carrel/internal/supervisor"
	"carrel/internal/taskhost"
)

// Bounds on what programs inside can cost the supervisor.
const (
	insideDeadline   = 10 * time.Second
	insideConcurrent = 40  // of which package taskhost takes some for long
	maxLinks         = 200 // kept per run
	maxOpened        = 20  // opened outside per run
	openInterval     = 2 * time.Second
	acceptPause      = 10 * time.Millisecond

	// firstCallbackPort keeps a way back from taking a system service's port.
	firstCallbackPort = 1024
)

// insideServer answers the inside API. Its callers are whatever runs behind
// the walls: requests are small, bounded in number and time, and none of them
// can widen anything.
type insideServer struct {
	listener       net.Listener
	callback       func(port uint16) error // opens a login's way back; nil where none may be opened
	opener         string                  // absolute path of the host's link opener; "" to only report
	openEnv        []string
	openerWritable func() string // a place by which those inside would choose what it starts; nil: none
	record         func(api.Link, *api.Denial)
	mark           func(begin bool, by steps.Marker, m inside.Mark) error // of a step

	server    *supervisor.Server
	desk      *desk // of a workspace that stays
	tasks     *taskhost.Host
	clipboard *clipboard.Clipboard
	virtual   *virtual
	keyring   *credentials.Keyring

	expired func(op string) *api.Denial // says why nothing but stopping and holding is done any more

	slots    chan struct{}
	clips    chan struct{}
	ctx      context.Context // done when it ends
	end      context.CancelFunc
	mu       sync.Mutex
	links    int
	opened   int
	lastOpen time.Time
	wg       sync.WaitGroup
}

// serveInside answers on the socket that programs inside know; nil where the engine has none.
func serveInside(l net.Listener, s *insideServer) {
	if l == nil {
		return
	}
	s.clips = make(chan struct{}, clipAtOnce)
	s.ctx, s.end = context.WithCancel(context.Background())
	s.listener, s.slots = l, make(chan struct{}, insideConcurrent)
	s.wg.Go(s.accept)
}

// insideListener is the socket that programs inside know: of a machine, or as the stage has made it;
// nil where the engine has none.
func (u *raised) insideListener() (net.Listener, error) {
	if u.machineAPI != nil {
		return u.machineAPI, nil
	}
	fd := u.walls.TakeAPI()
	if fd < 0 {
		return nil, nil
	}
	l, err := fdpass.Listener(fd)
	if err != nil {
		return nil, fmt.Errorf("listening to the inside: %w", err)
	}
	return l, nil
}

// callbackOf opens ways back for logins, nil where none may be opened.
func callbackOf(s *Session, up *raised) func(port uint16) error {
	if !s.Callbacks() {
		return nil
	}
	return up.network.OpenCallback
}

// answerInside begins to answer programs inside, for a command that its workspace ends with.
func answerInside(s *Session, up *raised, desk *supervisor.Server, r *api.Result, mark func(bool, steps.Marker, inside.Mark) error) error {
	l, err := up.insideListener()
	if err != nil {
		return err
	}
	up.inside = &insideServer{callback: callbackOf(s, up), openerWritable: s.OpenerWritable, record: s.recorder(r),
		server: desk, mark: mark, clipboard: s.clipboard, keyring: s.Keyring, expired: desk.Expired}
	up.inside.opener, up.inside.openEnv = s.Opener()
	up.inside.virtual = virtualCommands(s.Decision, filepath.Base(s.Place.Project), r, up.inside.record, desk)
	up.inside.virtual.bell = terminalBell()
	serveInside(l, up.inside)
	up.host.answersTo(desk, up.inside)
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
		case inside.OpTask:
			s.tasks.Answer(s.ctx, conn, in, from, req)
			return
		case inside.OpStepNote:
			s.server.SetAgentState(req.Step.State)
			reply = inside.Reply{OK: true}
		case inside.OpStepBegin, inside.OpStepEnd:
			s.server.SetAgentState(req.Step.State)
			reply = inside.Reply{OK: true}
			if err := s.mark(req.Operation == inside.OpStepBegin, markerOf(conn), req.Step); err != nil {
				reply = inside.Reply{Message: err.Error()}
			}
		}
	}
	_ = json.NewEncoder(conn).Encode(reply)
}

// markerOf says what is known of the program at the other end.
func markerOf(conn net.Conn) steps.Marker {
	if c, ok := conn.(interface{ Label() uint64 }); ok { // in a machine
		return steps.Marker{Label: c.Label()}
	}
	return steps.Marker{PID: fdpass.Caller(conn)}
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
	if port := link.CallbackPort; port >= firstCallbackPort && s.callback != nil {
		if err := s.callback(uint16(port)); err != nil {
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
	case s.openerWritable != nil && s.openerWritable() != "": // since the start
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

func (s *insideServer) close() {
	if s == nil || s.listener == nil {
		return
	}
	s.end()
	s.listener.Close()
	s.wg.Wait()
}
