package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

// appOf names an app of a workspace.
type appOf struct {
	Named
	App string `json:"app" jsonschema:"its id, the beginning of it, or its name"`
}

type launchIn struct {
	Named
	Command []string `json:"command" jsonschema:"program and arguments; no shell"`
	App     string   `json:"app,omitempty" jsonschema:"call it so"`
	Cwd     string   `json:"cwd,omitempty" jsonschema:"directory inside"`
	Env     []string `json:"env,omitempty" jsonschema:"each as NAME=VALUE"`
	Wait    string   `json:"wait,omitempty" jsonschema:"none, exit, window, or terminal for one with a screen"`
	Timeout int      `json:"timeout_ms,omitempty" jsonschema:"of the waiting; 30000 by default"`
	Kill    bool     `json:"kill_on_timeout,omitempty" jsonschema:"end it when the time is over"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"say what would be started, and start nothing"`
}

type appOut struct {
	App      *api.App    `json:"app,omitempty"`
	Window   *api.Window `json:"window,omitempty"`
	TimedOut bool        `json:"timed_out,omitempty"`
	Killed   bool        `json:"killed,omitempty"`
	DryRun   bool        `json:"dry_run,omitempty"`
	Command  []string    `json:"command,omitempty"`
}

func launchApp(ctx context.Context, c *call, in launchIn) (appOut, error) {
	out := appOut{DryRun: in.DryRun}
	if len(in.Command) == 0 {
		return out, c.tool.badArguments("command", "command is empty: a program and its arguments")
	}
	if !slices.Contains([]string{"", "none", "exit", "window", "terminal"}, in.Wait) {
		return out, c.tool.badArguments("wait", fmt.Sprintf("wait is none, exit, window or terminal, not %q", in.Wait))
	}
	if in.DryRun {
		out.Command = in.Command
		return out, nil
	}
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return out, err
	}
	op := api.OpLaunch
	if in.Wait == "terminal" {
		op = api.OpTerminal
	}
	r, err := e.Call(ctx, api.Request{Op: op, Command: &api.Command{Name: in.App, Argv: in.Command, Dir: c.within(in.Cwd), Env: in.Env}})
	if err != nil {
		return out, err
	}
	out.App = r.App
	switch in.Wait {
	case "exit":
		return waitFor(ctx, c, e, r.App.ID, in.Timeout, in.Kill)
	case "window":
		out.Window, out.TimedOut, err = waitWindow(ctx, c, e, &api.Windows{App: r.App.ID, Wait: true, Millis: in.Timeout})
	}
	return out, err
}

type waitIn struct {
	appOf
	Timeout int  `json:"timeout_ms,omitempty" jsonschema:"30000 by default"`
	Kill    bool `json:"kill_on_timeout,omitempty" jsonschema:"end it when the time is over"`
}

func waitApp(ctx context.Context, c *call, in waitIn) (appOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return appOut{}, err
	}
	if in.Kill {
		if err := c.active(ctx, e); err != nil {
			return appOut{}, err
		}
	}
	return waitFor(ctx, c, e, in.App, in.Timeout, in.Kill)
}

const usualWait = 30 * time.Second

func millis(n int) time.Duration {
	if n <= 0 {
		return usualWait
	}
	return time.Duration(min(n, int(time.Hour/time.Millisecond))) * time.Millisecond
}

// waitFor waits for the end of an app; what is not over in time is no error.
func waitFor(ctx context.Context, c *call, e supervisor.Entry, app string, timeout int, kill bool) (out appOut, err error) {
	limited, cancel := context.WithTimeout(ctx, millis(timeout))
	defer cancel()
	r, err := e.Call(limited, api.Request{Op: api.OpWait, App: app})
	if err == nil {
		out.App = r.App
		return out, nil
	}
	if ctx.Err() != nil || !errors.Is(limited.Err(), context.DeadlineExceeded) {
		return out, err
	}
	out.TimedOut = true
	if kill {
		out.Killed = true
		r, err = e.Call(ctx, api.Request{Op: api.OpKill, App: app})
		out.App = r.App
		return out, err
	}
	apps, err := e.Apps(ctx)
	for i := range apps {
		if apps[i].ID == app || apps[i].Name == app {
			out.App = &apps[i]
		}
	}
	return out, err
}

type killIn struct {
	appOf
	DryRun bool `json:"dry_run,omitempty" jsonschema:"say what would end, and end nothing"`
}

func killApp(ctx context.Context, c *call, in killIn) (appOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return appOut{}, err
	}
	if in.DryRun {
		apps, err := e.Apps(ctx)
		for i := range apps {
			if apps[i].ID == in.App || apps[i].Name == in.App {
				return appOut{App: &apps[i], DryRun: true}, nil
			}
		}
		if err == nil {
			err = &api.Denial{Code: api.CodeNoApp, Operation: c.tool.Name, Subject: in.App, Message: "there is no such app", Rule: "apps", Source: "built in", Hint: "app_list shows them"}
		}
		return appOut{}, err
	}
	r, err := e.Call(ctx, api.Request{Op: api.OpKill, App: in.App})
	return appOut{App: r.App}, err
}

type appsIn struct {
	Named
	Running *bool `json:"running,omitempty" jsonschema:"only those that run, or that have ended"`
}

type appsOut struct {
	Apps []api.App `json:"apps"`
}

func listApps(ctx context.Context, c *call, in appsIn) (appsOut, error) {
	out := appsOut{Apps: []api.App{}}
	e, err := c.running(in.Name)
	if err != nil {
		return out, err
	}
	apps, err := e.Apps(ctx)
	for _, a := range apps {
		if in.Running == nil || a.Running == *in.Running {
			out.Apps = append(out.Apps, a)
		}
	}
	return out, err
}

type logIn struct {
	appOf
	Stream string `json:"stream,omitempty" jsonschema:"stdout or stderr; both by default"`
	Tail   int64  `json:"tail_bytes,omitempty" jsonschema:"at most so much of the end of each; 16384 by default"`
	Since  uint64 `json:"since,omitempty" jsonschema:"with stream: from this place on"`
}

type logOut struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Next   uint64 `json:"next"` // since of the next call, where one stream was asked for
	Lost   uint64 `json:"lost"` // bytes that are kept no more
}

const (
	usualLog = 16 << 10
	mostLog  = 256 << 10
)

func readLog(ctx context.Context, c *call, in logIn) (logOut, error) {
	var out logOut
	name, err := c.named(in.Name)
	if err != nil {
		return out, err
	}
	if in.Since > 0 && in.Stream == "" {
		return out, c.tool.badArguments("since", "since is a place in one stream: stream says which")
	}
	if in.Tail <= 0 {
		in.Tail = usualLog
	}
	in.Tail = min(in.Tail, mostLog)
	req := api.Request{Op: api.OpLogs, App: in.App, Stream: in.Stream, Tail: in.Tail, Since: in.Since}
	text := map[string][]byte{}
	add := func(o *api.Output) {
		kept := append(text[o.Stream], o.Data...)
		text[o.Stream] = kept[max(0, int64(len(kept))-in.Tail):] // a workspace of another version may send more
		out.Next, out.Lost = max(out.Next, o.At+uint64(len(o.Data))), out.Lost+o.Lost
	}
	e, ok, err := c.server.find(name)
	if err != nil {
		return out, err
	}
	if !ok {
		return out, c.stoppedLog(ctx, name, in, add, &out, text)
	}
	err = e.Stream(ctx, (req), func(r api.Reply) error {
		if r.Output != nil {
			add(r.Output)
		}
		return nil
	})
	out.Stdout, out.Stderr = string(text[api.StreamStdout]), string(text[api.StreamStderr])
	return out, err
}

// stoppedLog reads what an app of a workspace has written that runs no more.
func (c *call) stoppedLog(ctx context.Context, name string, in logIn, add func(*api.Output), out *logOut, text map[string][]byte) error {
	args := []string{"logs", "--json", "--tail=" + strconv.FormatInt(in.Tail, 10)}
	if in.Stream != "" {
		args = append(args, "--stream="+in.Stream, "--since="+strconv.FormatUint(in.Since, 10))
	}
	err := c.server.carrelLines(ctx, func(o api.Output) { add(&o) }, append(args, "--", name, in.App)...)
	out.Stdout, out.Stderr = string(text[api.StreamStdout]), string(text[api.StreamStderr])
	return err
}
