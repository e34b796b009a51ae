package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/gui"
	"carrel/internal/remask"
	"carrel/internal/stdio"
	"carrel/internal/supervisor"
	"carrel/internal/tty"
)

// Answer implements [supervisor.Desk].
func (d *desk) Answer(ctx context.Context, c *supervisor.Call) api.Reply {
	select {
	case <-d.ready: // a caller that is early waits for the walls, not for the profile
	case <-ctx.Done():
		return api.Reply{}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-d.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	reply, err := d.carryOut(ctx, c)
	return answered(reply, err, c.Request.Op, d.req.Name)
}

func (d *desk) carryOut(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	req := &c.Request
	switch req.Op {
	case api.OpApps:
		for _, one := range d.apps.list(true) { // together they may be longer than a line
			if err := c.Send(api.Reply{App: &one}); err != nil {
				return api.Reply{}, err
			}
		}
		return api.Reply{}, nil
	case api.OpExec:
		return d.exec(ctx, c)
	case api.OpLaunch:
		return d.launched(req)
	case api.OpTerminal:
		return d.newTerminal(req)
	case api.OpSight:
		return api.Reply{Sights: d.sights(req.Paths)}, nil
	case api.OpYield:
		return d.history.yield(ctx, c)
	case api.OpTerms:
		return api.Reply{}, d.history.setTerms(req.Terms)
	case api.OpDesktopSee, api.OpDesktopDo:
		return d.seat().Do(ctx, c)
	}
	a, err := d.apps.find(req.App)
	if err != nil {
		return api.Reply{}, err
	}
	switch req.Op {
	case api.OpWait:
		return d.wait(ctx, a)
	case api.OpKill:
		return d.killed(ctx, a)
	case api.OpLogs:
		return api.Reply{}, d.logs(ctx, c, a)
	}
	if a.term == nil {
		return api.Reply{}, api.Refused(api.CodeNoApp, req.Op, a.info.ID, fmt.Sprintf("app %s has no terminal", a.info.ID), "`carrel terminal start "+d.req.Name+"` makes one")
	}
	switch req.Op {
	case api.OpTerminalRead:
		return api.Reply{Screen: a.term.look(a.info.ID, req.Full)}, nil
	case api.OpTerminalSend:
		return api.Reply{}, d.typed(ctx, a, req.Input)
	case api.OpAttach:
		return d.attach(ctx, c, a)
	}
	return api.Reply{}, fmt.Errorf("there is no operation %.40q", req.Op)
}

// exec runs a command with the caller's descriptors, or with a terminal of which the
// caller gets the near end. It ends with its caller.
func (d *desk) exec(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	if c.Request.Command == nil {
		return api.Reply{}, api.Refused(api.CodeRequest, api.OpExec, d.req.Name, "no command was given", "")
	}
	s := started{kind: api.AppExec, cmd: *c.Request.Command}
	var near *os.File
	if s.cmd.Kept {
		return d.execKept(ctx, c)
	}
	if s.cmd.Terminal {
		var far *os.File
		var err error
		if near, far, err = d.up.walls.NewPty(); err != nil {
			return api.Reply{}, err
		}
		defer far.Close()
		defer near.Close()
		tty.Resize(near, sizeOr(s.cmd.Columns, usualColumns, tty.MaxColumns), sizeOr(s.cmd.Rows, usualRows, tty.MaxRows))
		s.stdio = [3]*os.File{far, far, far}
	} else {
		if err := mayCross(c.Files); err != nil {
			return api.Reply{}, err
		}
		s.stdio = [3]*os.File(c.Files)
	}
	a, exit, err := d.apps.start(s)
	if err != nil {
		return notStartedReply(exit, err)
	}
	for _, f := range c.Files {
		f.Close() // a pipe has to end when its command ends
	}
	said := d.apps.told(a, false)
	if near != nil {
		err = c.Send(api.Reply{App: &said}, near)
		near.Close()
	} else {
		err = c.Send(api.Reply{App: &said})
	}
	if err != nil {
		a.hangUp()
		return api.Reply{}, err
	}
	return d.waited(ctx, c, a)
}

// waited is for the caller of a command to wait for it: what it says meanwhile is done,
// and when it goes, the command does.
func (d *desk) waited(ctx context.Context, c *supervisor.Call, a *app) (api.Reply, error) {
	for {
		select {
		case in, ok := <-c.Inputs():
			if ok && in.Pastes {
				d.p.clipboard.Gesture()
			}
			if ok && in.Signal > 0 && in.Signal <= 64 {
				_ = d.up.walls.Signal(a.id, syscall.Signal(in.Signal))
			}
			if !ok {
				a.hangUp()
				return api.Reply{}, context.Canceled
			}
		case <-a.done:
			last := d.apps.told(a, false)
			return api.Reply{App: &last}, nil
		case <-ctx.Done():
			last, err := d.lastWord(ctx, a)
			if err != nil {
				a.hangUp()
			}
			return last, err
		}
	}
}

// lastWord tells how an app ended whose workspace ends, or whose caller has gone: not
// before it has.
func (d *desk) lastWord(ctx context.Context, a *app) (api.Reply, error) {
	select {
	case <-a.done:
		last := d.apps.told(a, false)
		return api.Reply{App: &last}, nil
	case <-time.After(stopGrace + killGrace):
		return api.Reply{}, ctx.Err()
	}
}

func notStartedReply(exit int, err error) (api.Reply, error) {
	var why *api.Denial
	if !errors.As(err, &why) {
		why = api.Refused(api.CodeStart, api.OpExec, "", err.Error(), "")
	}
	return api.Reply{Exit: &exit}, why
}

// mayCross checks the descriptors of a caller: what could be opened anew with other
// rights, or leads to more than itself, stays outside.
func mayCross(files []*os.File) error {
	bad := func(i int, what string) error {
		return api.Refused(api.CodeRequest, api.OpExec, fmt.Sprintf("descriptor %d", i), fmt.Sprintf("standard descriptor %d is %s, which does not cross the walls", i, what), "a pipe, a socket or /dev/null; `carrel exec` relays everything else")
	}
	if len(files) != 3 {
		return api.Refused(api.CodeRequest, api.OpExec, fmt.Sprint(len(files)), fmt.Sprintf("a command needs three descriptors, and %d came with the request", len(files)), "or a terminal of its own")
	}
	for i, f := range files {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
			return bad(i, "closed")
		}
		if why := stdio.Crosses(int(f.Fd()), &st); why != "" {
			return bad(i, why)
		}
	}
	return nil
}

// launched starts an app that goes on without its caller.
func (d *desk) launched(req *api.Request) (api.Reply, error) {
	if req.Command == nil {
		return api.Reply{}, api.Refused(api.CodeRequest, api.OpLaunch, d.req.Name, "no command was given", "")
	}
	a, exit, err := d.apps.launch(api.AppLaunched, *req.Command)
	if err != nil {
		return notStartedReply(exit, err)
	}
	said := d.apps.told(a, false)
	return api.Reply{App: &said}, nil
}

// wait waits for an app's end.
func (d *desk) wait(ctx context.Context, a *app) (api.Reply, error) {
	d.server.Emit(api.Event{Kind: api.EventWait, Text: a.info.ID})
	select {
	case <-a.done:
	case <-ctx.Done():
		if d.ending() {
			return api.Reply{}, api.Refused(api.CodeNoApp, api.OpWait, a.info.ID, "the workspace ends", "")
		}
		return api.Reply{}, ctx.Err()
	}
	said := d.apps.told(a, false)
	return api.Reply{App: &said}, nil
}

func (d *desk) killed(ctx context.Context, a *app) (api.Reply, error) {
	d.server.Emit(api.Event{Kind: api.EventKill, Text: a.info.ID})
	if err := a.kill(ctx.Done()); err != nil {
		return api.Reply{}, err
	}
	select {
	case <-a.done:
	case <-time.After(drainTime + time.Second):
	case <-ctx.Done():
	}
	said := d.apps.told(a, true)
	return api.Reply{App: &said}, nil
}

// logs sends what an app has written, and with follow what it writes.
func (d *desk) logs(ctx context.Context, c *supervisor.Call, a *app) error {
	req := &c.Request
	if a.logs == nil {
		return api.Refused(api.CodeNoApp, req.Op, a.info.ID, fmt.Sprintf("the output of app %s went to its caller and was not kept", a.info.ID), "`carrel launch` keeps it")
	}
	var streams []string
	switch req.Stream {
	case "":
		streams = slices.Sorted(maps.Keys(a.logs))
		slices.Reverse(streams)
	case api.StreamStdout, api.StreamStderr:
		streams = []string{req.Stream}
	default:
		return api.Refused(api.CodeRequest, req.Op, req.Stream, fmt.Sprintf("there is no stream %.20q", req.Stream), "stdout or stderr")
	}
	streams = slices.DeleteFunc(streams, func(s string) bool { return a.logs[s] == nil }) // joined: there is one
	d.server.Emit(api.Event{Kind: api.EventLog, Text: a.info.ID})
	var wg sync.WaitGroup
	errs := make([]error, len(streams))
	for i, stream := range streams {
		wg.Go(func() {
			errs[i] = d.place.SendLog(ctx, a.info.ID, stream, req, a.logs[stream], func(o *api.Output) error { return c.Send(api.Reply{Output: o}) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// onlyReads says whether a request starts a file tool that changes nothing.
func onlyReads(req *api.Request) bool {
	c := req.Command
	return req.Op == api.OpExec && c != nil && isFileTool(c) && !fileops.Changes(c.Argv[1])
}

// sights answers for each path.
func (d *desk) sights(paths [][]byte) string {
	var own *remask.OwnFiles
	if b := d.up.broker; b != nil {
		own = b.own
	}
	out := make([]byte, len(paths))
	for i, at := range paths {
		out[i] = byte(d.p.Sight(own, string(at)))
	}
	return string(out)
}

// seat is that of a workspace that stays.
func (d *desk) seat() *gui.Seat {
	return &gui.Seat{Desktop: d.p.desktop, Clipboard: d.p.clipboard, Name: d.req.Name, Server: d.server, Apps: d.apps.byLabel, Label: func(name string) (uint64, error) {
		a, err := d.apps.find(name)
		if err != nil {
			return 0, err
		}
		return a.label, nil
	}}
}
