package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// Run runs a command with pipes and returns when it has ended, with all that it has
// written within the bounds. When ctx ends the command is ended, with everything that
// it has started, and the error is ctx's; the result says how far it came. A command
// that fails is no error; one that cannot be started is an *api.Denial.
func Run(ctx context.Context, e supervisor.Entry, c api.Command, stdin []byte, l Limits) (*Result, error) {
	p, err := newPipes(stdin, l)
	if err != nil {
		return nil, err
	}
	defer p.close()
	c.Kept, c.Joined, c.Terminal = false, false, false
	r, err := converse(ctx, e, api.Request{Op: api.OpExec, Command: &c}, p.theirs[:], func() { p.start(stdin) }, nil)
	if r == nil {
		return nil, err
	}
	r.Stdout, r.Stderr = p.settle()
	return r, err
}

// converse starts a command, hears of it until it has ended, and ends it when ctx does.
// There is no result where it was not started.
func converse(ctx context.Context, e supervisor.Entry, req api.Request, files []*os.File, sent func(), heard func(*api.Output)) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The conversation outlives ctx: how the command ended is told in it.
	talk, err := e.Open(context.WithoutCancel(ctx), req, files...)
	if err != nil {
		return nil, err
	}
	defer talk.Close()
	if sent != nil {
		sent()
	}
	r, _, err := talk.Next()
	if err != nil {
		return nil, err
	}
	if r.App == nil {
		return nil, errors.New("the workspace did not say what it has started")
	}
	out := &Result{App: *r.App}
	ended := make(chan struct{})
	defer close(ended)
	stop := context.AfterFunc(ctx, func() { end(e, out.App.ID, talk, ended) })
	defer stop()
	for r.More {
		if r, _, err = talk.Next(); err != nil {
			return out, errors.Join(ctx.Err(), err)
		}
		if r.Output != nil && heard != nil {
			heard(r.Output)
		}
	}
	if r.App == nil {
		return out, errors.New("the workspace did not say how the command ended")
	}
	out.App = *r.App
	return out, ctx.Err()
}

// endTime bounds how long it is waited for the end of a command that is to end.
const endTime = 20 * time.Second

// end ends a command, and whatever it has started. Where the workspace's control does
// not allow that, hanging up does it: nobody waits any more.
func end(e supervisor.Entry, app string, talk *supervisor.Conversation, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if _, err := e.Call(ctx, api.Request{Op: api.OpKill, App: app}); err == nil {
		select {
		case <-ended:
			return
		case <-time.After(drainTime + time.Second):
		}
	}
	talk.Close()
}

// pipes are a command's standard descriptors.
type pipes struct {
	theirs [3]*os.File // input, output, errors
	in     *os.File    // our ends; nil without input
	out    [2]*os.File

	limits  Limits
	told    sync.Mutex // around Progress
	got     [2]*Output
	reading sync.WaitGroup
}

func newPipes(stdin []byte, l Limits) (p *pipes, err error) {
	p = &pipes{limits: l, got: [2]*Output{newOutput(l.Stdout), newOutput(l.Stderr)}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if l.Stdin != nil {
		p.theirs[0] = l.Stdin
	} else if len(stdin) == 0 {
		p.theirs[0], err = os.Open(os.DevNull)
	} else {
		p.theirs[0], p.in, err = pipe(1)
	}
	for i := 0; i < 2 && err == nil; i++ {
		p.out[i], p.theirs[i+1], err = pipe(0)
	}
	if err != nil {
		return nil, fmt.Errorf("making the pipes of a command: %w", err)
	}
	return p, nil
}

// pipe makes one of which our end, 0 or 1, does not block, and theirs does: programs
// do not expect anything else.
func pipe(ours int) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "read end"), os.NewFile(uintptr(fds[1]), "write end"), nil
}

// start lets go of the command's ends, and moves bytes.
func (p *pipes) start(stdin []byte) {
	for _, f := range p.theirs {
		f.Close()
	}
	if p.in != nil {
		go func() { // ends when it is read, or nobody has it open
			_, _ = p.in.Write(stdin)
			p.in.Close()
		}()
	}
	for i, stream := range []string{api.StreamStdout, api.StreamStderr} {
		p.reading.Go(func() {
			buf := make([]byte, 64<<10)
			for {
				n, err := p.out[i].Read(buf)
				if n > 0 {
					p.got[i].add(buf[:n])
					p.tell(stream, buf[:n])
				}
				if err != nil {
					return
				}
			}
		})
	}
}

func (p *pipes) tell(stream string, piece []byte) {
	if p.limits.Progress == nil {
		return
	}
	p.told.Lock()
	defer p.told.Unlock()
	p.limits.Progress(stream, piece)
}

// drainTime is how long what a command has written may take to be read, where what it
// has left behind keeps its pipes open.
const drainTime = 2 * time.Second

// settle waits until all that the command has written was read.
func (p *pipes) settle() (out, errs *Output) {
	done := make(chan struct{})
	go func() {
		p.reading.Wait()
		close(done)
	}()
	empty := 0
	for end := time.Now().Add(drainTime); time.Now().Before(end) && empty < 2; {
		select {
		case <-done:
			return p.got[0].close(), p.got[1].close()
		case <-time.After(time.Millisecond):
		}
		if empty++; p.unread() > 0 {
			empty = 0
		}
	}
	for _, f := range p.out {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
	<-done
	return p.got[0].close(), p.got[1].close()
}

func (p *pipes) unread() (n int) {
	for _, f := range p.out {
		raw, err := f.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			if left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
				n += left
			}
		})
	}
	return n
}

func (p *pipes) close() {
	for _, f := range append(p.theirs[:], p.in, p.out[0], p.out[1]) {
		if f != nil {
			f.Close()
		}
	}
}
