package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

// shells are what a shell command is given to, the first that is there.
var shells = []string{"/bin/bash", "/bin/sh"}

// Bash runs a shell command. Its two streams are one, so that what it says keeps its
// order. A command that fails, or whose time is over, is no error; when ctx ends it is
// ended with all that it has started, and the error is ctx's.
func Bash(ctx context.Context, e supervisor.Entry, b BashRequest) (*BashResult, error) {
	if strings.TrimSpace(b.Command) == "" || strings.ContainsRune(b.Command, 0) {
		return nil, errors.New("no command is given, or one with a zero byte")
	}
	if b.Timeout < 0 || b.Timeout > MaxTimeout {
		return nil, fmt.Errorf("a timeout of %s: want 0 to %s", b.Timeout, MaxTimeout)
	}
	if b.Timeout == 0 {
		b.Timeout = usualTimeout
	}
	for i, shell := range shells {
		r, err := b.run(ctx, e, shell)
		if why := (*api.Denial)(nil); i+1 < len(shells) && errors.As(err, &why) && why.Code == api.CodeStart && why.Subject == shell {
			continue
		}
		return r, err
	}
	return nil, nil
}

// Start starts a command whose output is kept and told as it comes. What it says and its
// end are the further replies of the conversation, which is the caller's to close; that
// ends the command, too.
func Start(ctx context.Context, e supervisor.Entry, c api.Command) (*supervisor.Conversation, *api.App, error) {
	c.Kept, c.Terminal = true, false
	talk, err := e.Open(ctx, api.Request{Op: api.OpExec, Command: &c})
	if err != nil {
		return nil, nil, err
	}
	r, _, err := talk.Next()
	if err == nil && r.App == nil {
		err = errors.New("the workspace did not say what it has started")
	}
	if err != nil {
		talk.Close()
		return nil, nil, err
	}
	return talk, r.App, nil
}

// Shell is Start for a shell command, of whose request only the arguments are not said.
func Shell(ctx context.Context, e supervisor.Entry, command string, c api.Command) (talk *supervisor.Conversation, a *api.App, err error) {
	for _, shell := range shells {
		c.Argv = []string{shell, "-c", command}
		talk, a, err = Start(ctx, e, c)
		if why := (*api.Denial)(nil); !errors.As(err, &why) || why.Code != api.CodeStart || why.Subject != shell {
			break
		}
	}
	return talk, a, err
}

func (b *BashRequest) run(ctx context.Context, e supervisor.Entry, shell string) (*BashResult, error) {
	c := api.Command{Name: "bash", Argv: []string{shell, "-c", b.Command}, Dir: b.Dir, Env: b.Env, Joined: true}
	out := newOutput(b.Output)
	if b.Background {
		r, err := e.Call(ctx, api.Request{Op: api.OpLaunch, Command: &c})
		if err != nil {
			return nil, err
		}
		if r.App == nil {
			return nil, errors.New("the workspace did not say what it has started")
		}
		return &BashResult{App: *r.App, Output: out}, nil
	}
	c.Kept = true
	timed, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	r, err := converse(timed, e, api.Request{Op: api.OpExec, Command: &c}, nil, nil, func(o *api.Output) {
		out.lose(o.Lost)
		out.add(o.Data)
		if b.Progress != nil {
			b.Progress(o.Data)
		}
	})
	if r == nil {
		return nil, err
	}
	result := &BashResult{App: r.App, Output: out.close()}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		result.TimedOut, err = true, nil
	}
	return result, err
}
