package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/quickexec"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/term"
)

// Exec runs a command in a workspace that stays, with this process's standard
// descriptors, and returns when it has ended. With c.Terminal it gets a terminal of its
// own, and this process's is handed through. A refusal comes with the status that a
// shell would tell.
func Exec(ctx context.Context, e supervisor.Entry, c api.Command) (api.App, int, error) {
	if c.Terminal {
		return execTerminal(ctx, e, c)
	}
	return ended(quickexec.Run(
		quickexec.Workspace{Listener: e.Listener(), Name: e.Name, Ceiling: e.Ceiling},
		quickexec.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env},
	))
}

// lastOf reads until the last reply of a conversation about an app.
func lastOf(talk *supervisor.Conversation, r api.Reply) (api.App, int, error) {
	for r.More {
		var err error
		if r, _, err = talk.Next(); err != nil {
			return api.App{}, statusOf(r), err
		}
	}
	return appOf(r)
}

// execTerminal hands this process's terminal through to one of the workspace's own.
func execTerminal(ctx context.Context, e supervisor.Entry, c api.Command) (api.App, int, error) {
	c.Columns, c.Rows, _ = term.GetSize(int(os.Stdout.Fd()))
	if t := os.Getenv("TERM"); t != "" {
		c.Env = append(c.Env, "TERM="+t)
	}
	talk, err := e.Open(ctx, api.Request{Op: api.OpExec, Command: &c})
	if err != nil {
		return api.App{}, api.ExitOurs, err
	}
	defer talk.Close()
	r, files, err := talk.Next()
	if err != nil {
		return api.App{}, statusOf(r), err
	}
	if len(files) != 1 {
		return api.App{}, api.ExitOurs, errors.New("the workspace gave no terminal")
	}
	near := os.NewFile(uintptr(tty.Dup(files[0])), "terminal")
	restore, err := tty.Raw()
	if err != nil {
		return api.App{}, api.ExitOurs, err
	}
	defer restore()
	drained := make(chan struct{})
	go func() { // ends with the last process that has the terminal open
		_, _ = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{near})
		close(drained)
	}()
	go func() { _, _ = io.Copy(&tty.Typed{To: near, Gesture: tells(talk)}, struct{ io.Reader }{os.Stdin}) }()
	defer tty.OnResize(func() {
		if columns, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			tty.Resize(near, columns, rows)
		}
	})()
	last, status, err := lastOf(talk, r)
	select {
	case <-drained:
	case <-time.After(tty.DrainTime):
	}
	return last, status, err
}

// detachKey is what lets go of an attached terminal: Ctrl-].
const detachKey = 0x1d

// To hands this process's terminal to one of a workspace's until its program ends
// or the person types Ctrl-]. detached says which.
func To(ctx context.Context, e supervisor.Entry, app string) (last api.App, detached bool, err error) {
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
			back, err := tty.Raw()
			if err != nil {
				return last, false, err
			}
			restore = back
			defer tty.OnResize(size)()
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

// tells gives what tells a workspace of another process's of the key for pasting.
func tells(talk *supervisor.Conversation) func() {
	return func() { _ = talk.Say(api.Input{Pastes: true}) }
}
