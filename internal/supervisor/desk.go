package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"sync"

	"carrel/internal/api"
)

// Desk carries out the requests of a named workspace. Who asks, and whether the mode
// allows it, has been decided when it is called. Its methods are called concurrently.
type Desk interface {
	// Answer carries out one request and gives the last reply; ctx ends when the
	// caller goes or the workspace ends.
	Answer(ctx context.Context, c *Call) api.Reply
	// Describe adds what it knows to a status.
	Describe(*api.WorkspaceStatus)
}

// Call is one conversation about a named workspace.
type Call struct {
	Request api.Request
	Files   []*os.File // that came with the request; closed after the answer

	send   sync.Mutex
	conn   net.Conn
	inputs chan api.Input

	blocked func() *api.Denial
}

// Blocked says why the request is refused now, nil when it is not. It was judged before
// the desk got it; whoever has to end when the mode changes asks again as soon as it can
// be told so, and nothing falls in between.
func (c *Call) Blocked() *api.Denial {
	if c.blocked == nil {
		return nil
	}
	return c.blocked()
}

// Send writes one reply that is not the last.
func (c *Call) Send(r api.Reply, files ...*os.File) error {
	r.OK, r.More = true, true
	c.send.Lock()
	defer c.send.Unlock()
	return writeLine(c.conn, r, files...)
}

// Inputs are the caller's later lines; it ends with the conversation.
func (c *Call) Inputs() <-chan api.Input { return c.inputs }

// effect says what an operation of a named workspace does.
type effect int

const (
	looks effect = iota + 1 // and is allowed in every mode
	acts
)

var deskOps = map[string]effect{
	api.OpExec: acts, api.OpLaunch: acts, api.OpKill: acts, api.OpTerminal: acts, api.OpTerminalSend: acts,
	api.OpDesktopSee: looks, api.OpDesktopDo: acts,
	api.OpSight: looks,
	api.OpApps:  looks, api.OpWait: looks, api.OpLogs: looks, api.OpTerminalRead: looks, api.OpAttach: looks, api.OpYield: looks, // what is typed there is judged by itself
}

// onDesktop are the operations that a workspace of a single command has too, if it has a
// virtual display.
var onDesktop = map[string]bool{api.OpDesktopSee: true, api.OpDesktopDo: true}

// talks are the operations whose callers say more.
var talks = map[string]bool{api.OpExec: true, api.OpAttach: true, api.OpDesktopSee: true}

// answerDesk hands a request on when the mode allows it.
func (a answerer) answerDesk(ctx context.Context, conn net.Conn, who caller, req api.Request, does effect) api.Reply {
	desk := a.of.cfg.Desk
	if desk == nil && onDesktop[req.Op] {
		desk = a.of.cfg.Desktop
	}
	if desk == nil && onDesktop[req.Op] {
		return refusal(api.CodeNoDesktop, req.Op, a.of.cfg.ID, "this workspace has no virtual display", "--display virtual, of `carrel start` and `carrel run`, gives it one")
	}
	if desk == nil {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "this workspace is one command's, and ends with it", "`carrel start NAME` makes one that stays")
	}
	looking := a.of.cfg.Looks != nil && a.of.cfg.Looks(&req) && a.of.control.get().Mode == api.ControlReadOnly && a.of.over(req.Op) == nil
	if does == acts && !looking {
		if why := a.of.blocked(who, req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if a.of.pauser.stopping.Load() && does == acts {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.Name, "the workspace is ending",
			"`carrel start "+a.of.cfg.Name+"` makes it anew when it has ended")
	}
	if does == acts || lasting[req.Op] {
		a.of.cfg.noteRequest(who, &req, nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &Call{Request: req, Files: who.files, conn: conn, inputs: make(chan api.Input)}
	if does == acts {
		c.blocked = func() *api.Denial { return a.of.blocked(who, req.Op) }
	}
	_ = conn.SetReadDeadline(noDeadline)
	go func() {
		defer cancel()
		defer close(c.inputs)
		a.listen(ctx, c, who)
	}()
	return desk.Answer(ctx, c)
}

// listen reads the caller's later lines until it goes. A line that types something
// is dropped when the mode does not allow it; a signal is for the caller's own command.
func (a answerer) listen(ctx context.Context, c *Call, who caller) {
	if who.lines == nil {
		return
	}
	for {
		var in api.Input
		line, err := readLine(who.lines)
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(line)).Decode(&in)
		}
		if err != nil {
			return
		}
		if types := len(in.Data) > 0 || in.Text != "" || len(in.Keys) > 0; types && a.of.blocked(who, c.Request.Op) != nil {
			continue
		}
		if in.Pastes && who.human(a.of.cfg.Agent) != nil {
			continue // whoever wants to paste is a person
		}
		if !talks[c.Request.Op] {
			continue // read all the same: that is how the caller's end is seen
		}
		select {
		case c.inputs <- in:
		case <-ctx.Done():
			return
		}
	}
}
