package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/supervisor"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// usualApps is how many apps a page has.
const usualApps = 100

type appsIn struct {
	Named
	Running *bool `json:"running,omitempty" jsonschema:"only those that run, or that have ended"`
	paged
}

type appsOut struct {
	Apps []api.App `json:"apps"` // the newest first
	page
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
	slices.Reverse(out.Apps)
	out.Apps, out.page = pageOf(out.Apps, in.paged, usualApps)
	return out, err
}

type logIn struct {
	appOf
	Stream string  `json:"stream,omitempty" jsonschema:"stdout or stderr; both by default"`
	Tail   int64   `json:"tail_bytes,omitempty" jsonschema:"at most so much; 14000 by default. Of the end, or from since on"`
	Since  *uint64 `json:"since,omitempty" jsonschema:"with stream: from this byte on"`
}

type logOut struct {
	Stdout string `json:"-"`
	Stderr string `json:"-"`
	Next   uint64 `json:"next"` // since of the next call, where one stream was asked for
	Lost   uint64 `json:"lost"` // bytes that are kept no more

	More    bool `json:"more,omitempty"`    // behind it
	Skipped bool `json:"skipped,omitempty"` // before it
}

const (
	usualLog = 14000 // of each of two
	mostLog  = 256 << 10
)

// content is what was written, and where it goes on.
func (o logOut) content() []sdk.Content {
	text := o.Stdout
	if o.Stderr != "" {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "[stderr]\n" + o.Stderr
	}
	if o.Lost > 0 {
		text += fmt.Sprintf("\n[%d bytes before that are kept no more]", o.Lost)
	}
	switch {
	case o.More:
		text += fmt.Sprintf("\n[truncated: go on with since %d]", o.Next)
	case o.Skipped:
		text += "\n[truncated: this is the end; with stream and since 0 it begins at the beginning]"
	}
	return textOf(text)
}

// logReader keeps what was asked for of what comes.
type logReader struct {
	in   logIn
	out  logOut
	text map[string][]byte
}

// errFull ends the reading of a log of which no more is wanted.
var errFull = errors.New("no more is wanted")

func (r *logReader) add(o *api.Output) error {
	kept := r.text[o.Stream]
	r.out.Lost += o.Lost
	if r.in.Since != nil {
		n := wholeRunes(o.Data, min(int(r.in.Tail)-len(kept), len(o.Data)))
		r.text[o.Stream] = append(kept, o.Data[:n]...)
		r.out.Next = o.At + uint64(n)
		if r.out.More = n < len(o.Data); r.out.More {
			return errFull
		}
		return nil
	}
	kept = append(kept, o.Data...)
	r.out.Skipped = r.out.Skipped || o.At+uint64(len(o.Data)) > uint64(r.in.Tail)
	r.text[o.Stream] = kept[max(0, int64(len(kept))-r.in.Tail):] // a workspace of another version may send more
	r.out.Next = max(r.out.Next, o.At+uint64(len(o.Data)))
	return nil
}

// wholeRunes is where to cut data, at n or up to three bytes before it, so that no
// character is cut, if that leaves anything.
func wholeRunes(data []byte, n int) int {
	for at := n; at > 0 && at < len(data) && n-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(data[at]) {
			return at
		}
	}
	return n
}

func readLog(ctx context.Context, c *call, in logIn) (logOut, error) {
	name, err := c.named(in.Name)
	if err != nil {
		return logOut{}, err
	}
	if in.Since != nil && in.Stream == "" {
		return logOut{}, c.tool.badArguments("since", "since is a place in one stream: stream says which")
	}
	if in.Tail <= 0 {
		if in.Tail = usualLog; in.Stream != "" {
			in.Tail *= 2
		}
	}
	in.Tail = min(in.Tail, mostLog)
	e, ok, err := c.server.find(name)
	if err != nil {
		return logOut{}, err
	}
	r := &logReader{in: in, text: map[string][]byte{}}
	if in.Since != nil {
		r.out.Next = *in.Since // also where nothing more was written
	}
	if ok {
		err = e.Stream(ctx, r.request(), func(reply api.Reply) error {
			if reply.Output == nil {
				return nil
			}
			return r.add(reply.Output)
		})
	} else {
		if err = c.stoppedLog(ctx, name, r); !errors.Is(err, errFull) {
			err = op.ForProgram(err)
		}
	}
	if errors.Is(err, errFull) {
		err = nil
	}
	r.out.Stdout, r.out.Stderr = string(r.text[api.StreamStdout]), string(r.text[api.StreamStderr])
	return r.out, err
}

func (r *logReader) request() api.Request {
	req := api.Request{Op: api.OpLogs, App: r.in.App, Stream: r.in.Stream, Tail: r.in.Tail}
	if r.in.Since != nil {
		req.Since, req.Tail = *r.in.Since, 0
	}
	return req
}

// stoppedLog reads what an app of a workspace has written that runs no more.
func (c *call) stoppedLog(ctx context.Context, name string, r *logReader) error {
	req := r.request()
	words := []string{name, req.App}
	if err := op.NoZeroBytes("logs", append(words, req.Stream)...); err != nil {
		return err
	}
	return c.server.opts.Caller.Logs(ctx, words, req, r.add)
}
