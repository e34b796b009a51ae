package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// ExecIn runs a command in a workspace that stays, with this process's standard
// descriptors, and returns when it has ended. With c.Terminal it gets a terminal of its
// own, and this process's is handed through. A refusal comes with the status that a
// shell would tell.
func ExecIn(ctx context.Context, e supervisor.Entry, c api.Command) (api.App, int, error) {
	if c.Terminal {
		return execTerminal(ctx, e, c)
	}
	io, err := newStdioFor([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true)
	if err != nil {
		return api.App{}, ExitOurs, err
	}
	signals, started := holdSignals(), make(chan *supervisor.Conversation, 1)
	defer signals.stop()
	signals.passOn(started)
	talk, err := e.Open(ctx, api.Request{Op: api.OpExec, Command: &c}, io.files[:]...)
	if err != nil {
		io.abandon()
		return api.App{}, ExitOurs, err
	}
	defer talk.Close()
	io.started()
	r, _, err := talk.Next()
	if err != nil {
		io.abandon()
		return api.App{}, statusOf(r), err
	}
	started <- talk
	last, status, err := lastOf(talk, r)
	io.settle()
	if lost := io.finish(); err == nil && lost != nil {
		err = lost
	}
	return last, status, err
}

// lastOf reads until the last reply of a conversation about an app.
func lastOf(talk *supervisor.Conversation, r api.Reply) (api.App, int, error) {
	for r.More {
		var err error
		if r, _, err = talk.Next(); err != nil {
			return api.App{}, statusOf(r), err
		}
	}
	if r.App == nil {
		return api.App{}, ExitOurs, errors.New("the workspace did not say how the command ended")
	}
	return *r.App, r.App.Exit, nil
}

func statusOf(r api.Reply) int {
	if r.Exit != nil {
		return *r.Exit
	}
	return ExitOurs
}

// startPatience is how long a signal waits for a command to have started.
const startPatience = time.Second

// passOn hands signals on to a command of another supervisor's. One that comes before
// that is known to have started waits for it, as the command may run already, and where
// nobody answers it is this process's own.
func (r *signalRelay) passOn(started <-chan *supervisor.Conversation) {
	go func() {
		var talk *supervisor.Conversation
		for {
			select {
			case s := <-r.in:
				if talk == nil {
					select {
					case talk = <-started:
					case <-r.done:
						return
					case <-time.After(startPatience):
						DieBy(s.(syscall.Signal))
					}
				}
				if talk.Say(api.Input{Signal: int(s.(syscall.Signal))}) != nil {
					return
				}
			case <-r.done:
				return
			}
		}
	}()
}

// execTerminal hands this process's terminal through to one of the workspace's own.
func execTerminal(ctx context.Context, e supervisor.Entry, c api.Command) (api.App, int, error) {
	c.Columns, c.Rows, _ = term.GetSize(int(os.Stdout.Fd()))
	if t := os.Getenv("TERM"); t != "" {
		c.Env = append(c.Env, "TERM="+t)
	}
	talk, err := e.Open(ctx, api.Request{Op: api.OpExec, Command: &c})
	if err != nil {
		return api.App{}, ExitOurs, err
	}
	defer talk.Close()
	r, files, err := talk.Next()
	if err != nil {
		return api.App{}, statusOf(r), err
	}
	if len(files) != 1 {
		return api.App{}, ExitOurs, errors.New("the workspace gave no terminal")
	}
	near := os.NewFile(uintptr(dup(files[0])), "terminal")
	restore, err := raw()
	if err != nil {
		return api.App{}, ExitOurs, err
	}
	defer restore()
	drained := make(chan struct{})
	go func() { // ends with the last process that has the terminal open
		_, _ = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{near})
		close(drained)
	}()
	go func() { _, _ = io.Copy(&seen{to: near, gesture: tells(talk)}, struct{ io.Reader }{os.Stdin}) }()
	defer onResize(func() {
		if columns, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			resize(near, columns, rows)
		}
	})()
	last, status, err := lastOf(talk, r)
	select {
	case <-drained:
	case <-time.After(lastWords):
	}
	return last, status, err
}

// lastWords is how long the output of a command that has ended may take to arrive.
const lastWords = 300 * time.Millisecond

// raw puts this process's terminal into raw mode, and gives what takes it back; also
// when this process is asked to end.
func raw() (func(), error) {
	was, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("taking the terminal over: %w", err)
	}
	in := make(chan os.Signal, 1)
	signal.Notify(in, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT)
	go func() {
		if s, ok := <-in; ok {
			_ = term.Restore(int(os.Stdin.Fd()), was)
			DieBy(s.(syscall.Signal))
		}
	}()
	return func() {
		signal.Stop(in)
		close(in)
		_ = term.Restore(int(os.Stdin.Fd()), was)
	}, nil
}

// onResize calls a function at each new size of the terminal.
func onResize(do func()) func() {
	in := make(chan os.Signal, 1)
	signal.Notify(in, unix.SIGWINCH)
	go func() {
		for range in {
			do()
		}
	}()
	return func() { signal.Stop(in); close(in) }
}

// detachKey is what lets go of an attached terminal: Ctrl-].
const detachKey = 0x1d

// AttachTo hands this process's terminal to one of a workspace's until its program ends
// or the person types Ctrl-]. detached says which.
func AttachTo(ctx context.Context, e supervisor.Entry, app string) (last api.App, detached bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	talk, err := e.Open(ctx, api.Request{Op: api.OpAttach, App: app})
	if err != nil {
		return last, false, err
	}
	defer talk.Close()
	restore := func() {}
	defer func() { restore() }()
	size := func() {
		if columns, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			_ = talk.Say(api.Input{Columns: columns, Rows: rows})
		}
	}
	let := make(chan struct{})
	for first := true; ; first = false {
		r, _, err := talk.Next()
		if err != nil {
			select {
			case <-let:
				return last, true, nil
			default:
			}
			return last, false, err
		}
		if first {
			back, err := raw()
			if err != nil {
				return last, false, err
			}
			restore = back
			defer onResize(size)()
			size()
			go func() {
				typeInto(talk)
				close(let)
				cancel()
			}()
		}
		if r.Output != nil {
			_, _ = os.Stdout.Write(r.Output.Data)
		}
		if !r.More {
			if r.App != nil {
				last = *r.App
			}
			return last, false, nil
		}
	}
}

// typeInto sends what the person types until the detach key.
func typeInto(talk *supervisor.Conversation) {
	buf := make([]byte, 4096)
	var keys clipboard.Gestures
	for {
		n, err := os.Stdin.Read(buf)
		if keys.In(buf[:n]) {
			tells(talk)()
		}
		for i, c := range buf[:n] {
			if c == detachKey {
				_ = talk.Say(api.Input{Data: buf[:i]})
				return
			}
		}
		if n > 0 && talk.Say(api.Input{Data: buf[:n]}) != nil || err != nil {
			return
		}
	}
}
