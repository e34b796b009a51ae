// Package startop has the operation that starts a workspace that stays: [Start], what it would
// be without being started ([Would]), and the part of its supervisor ([Serve]).
//
// A surface with flags of its own fills in a [Request]; one that is asked by a program makes it
// of a [Wish]. The supervisor is a process of this program, which reads the same words as
// carrel start.
package startop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/profile"
	"carrel/internal/session"
	"carrel/internal/show"
	"carrel/internal/supervisor"
)

// Request is a workspace that is asked for.
type Request struct {
	Name    string         // "" for that of the project
	Purpose string         // what it is for
	Owner   int            // the process that it ends with, 0 for none
	Passing bool           // when that process ends, only the audit log is kept
	Asked   decide.Request // what it is to be; Argv names the agent that it is for
	// Tasks gives what answers programs inside that give tasks to others, for a workspace of a
	// name in a directory; nil for a workspace that gives none.
	Tasks  func(workspace, dir string) func(ctx context.Context, call []byte) []byte
	Notify bool     // the person's desktop shows when the agent in it waits or is done
	Detach bool     // the supervisor is no child of this process, which goes on
	Words  []string // the same as words of the command line, for its supervisor
}

// Started is a workspace that runs.
type Started struct {
	session.Ready
	Already bool `json:"already_running"`
}

// check refuses what no workspace can be.
func (r *Request) check() error {
	if err := named.CheckPurpose(r.Purpose); err != nil {
		return err
	}
	if r.Passing && r.Owner == 0 {
		return errors.New("--keep-nothing is for a workspace that ends with a process\nhint: --ends-with names it")
	}
	return nil
}

// Start starts a workspace, or uses one of its name that runs and is what was asked for. The
// caller is told what is done meanwhile. An error with a workspace is that of its setup: it
// has ended again. A start that ctx ends comes to nothing.
func Start(ctx context.Context, c *op.Caller, r *Request) (*Started, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	name, err := r.name(c)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(raceTime); ; {
		if e, ok, err := c.WholeName(name); err != nil {
			return nil, err
		} else if ok {
			return adopt(ctx, c, e, r)
		}
		ready, err := session.StartDesk(ctx, session.DeskStart{
			Args: r.Words, Detach: r.Detach, Dir: c.Dir, Environ: c.Environ, Ceilings: r.Asked.Ceilings,
			Progress: func(text string) { c.Tell(show.OneLine(text)) },
		})
		if err == nil {
			started := &Started{Ready: ready}
			return started, setupFailed(c, started)
		}
		if !errors.Is(err, named.ErrTaken) {
			return nil, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("workspace %q: another process holds the name, and does not answer\nhint: is it still ending? `carrel list` shows it", name)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// raceTime is how long one of two starters of a name waits for the other.
const raceTime = 20 * time.Second

// name is the one that was given, or the project's: a profile may be for another one than
// where we are.
func (r *Request) name(c *op.Caller) (string, error) {
	if r.Name != "" {
		return r.Name, named.CheckName(r.Name)
	}
	cwd := ""
	if r.Asked.Profile != "" {
		p, err := profile.Load(profile.Dir(c.Getenv), r.Asked.Profile)
		if err != nil {
			return "", err
		}
		here := c.Dir
		if here == "" {
			if here, err = os.Getwd(); err != nil {
				return "", err
			}
		}
		if p, err = p.At(c.Getenv("HOME"), here); err != nil {
			return "", err
		}
		cwd = p.Cwd
	}
	project, err := c.ProjectOf(cwd)
	return named.NameFor(project), err
}

// knownAgent says why there is no such agent as was asked for.
func (r *Request) knownAgent(p *decide.Decision) error {
	if len(r.Asked.Argv) == 0 || p.Agent != nil || p.NoWalls() { // where it finds its own
		return nil
	}
	return fmt.Errorf("--agent %q: no agent of that name is known, or it is not installed\nhint: `carrel preset list` names those that are known", r.Asked.Argv[0])
}

// prepare decides what was asked for.
func (r *Request) prepare() (*decide.Decision, error) {
	p, err := decide.Prepare(r.Asked)
	if err == nil {
		err = r.knownAgent(p)
	}
	return p, err
}

// Serve is the supervisor's own part. It returns when the workspace has ended.
func Serve(c *op.Caller, r *Request) error {
	if err := r.check(); err != nil {
		return err
	}
	tell := session.NewReporter()
	if tell == nil {
		return fmt.Errorf("%s is started by `carrel start`, not by hand", session.DeskArg0)
	}
	name, err := r.name(c)
	var s *session.Session
	if err == nil {
		s, err = session.New(r.Asked)
	}
	if err == nil {
		err = r.knownAgent(s.Decision)
	}
	if err != nil {
		tell.Failed(err)
		return err
	}
	desk := session.DeskRequest{Name: name, Purpose: r.Purpose, Owner: r.Owner, Passing: r.Passing, Notify: r.Notify}
	if r.Tasks != nil {
		desk.Tasks = r.Tasks(name, s.Location().Cwd)
	}
	_, err = s.Serve(desk, tell)
	if err != nil {
		tell.Failed(err)
	}
	return err
}

// adopt uses a workspace that runs already, if it is what was asked for.
func adopt(ctx context.Context, c *op.Caller, e supervisor.Entry, r *Request) (*Started, error) {
	p, err := r.prepare()
	if err != nil {
		return nil, err
	}
	reply, err := e.Ask(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		return nil, err
	}
	if err := p.ForDesk(); err != nil {
		return nil, err
	}
	if s := reply.Status; s.Digest != p.Digest() {
		lines := decide.Differences(s.Policy, p.Decided())
		if len(lines) == 0 {
			lines = []string{"the values of variables, or defaults of this machine, have changed since it was started"}
		}
		text := ""
		for _, l := range lines {
			text += "\n  " + l
		}
		return nil, &api.Denial{Code: api.CodeExists, Operation: "start", Subject: e.Name, Rule: "one policy for one workspace", Source: "built in",
			Message: fmt.Sprintf("workspace %q runs already, and is another one:%s", e.Name, text),
			Hint:    fmt.Sprintf("`carrel stop %s` ends it; another name starts a second one", e.Name)}
	}
	again := &Started{Ready: session.Ready{Status: *reply.Status}, Already: true}
	if p.NoWalls() {
		again.Announcements = p.Announcements()
	}
	return again, nil
}

// endTime is how long a workspace may take to stop after its setup has failed.
const endTime = 30 * time.Second

// setupFailed says why a workspace was stopped again, once it has: another start may follow.
func setupFailed(c *op.Caller, s *Started) error {
	if s.Failed == nil {
		return nil
	}
	if e, running, _ := c.WholeName(s.Status.Name); running {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if err := e.WaitEnd(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the profile's setup command %q ended with status %d; the workspace was stopped\nhint: `carrel logs %s %s` shows what it said", s.Failed.Name, s.Failed.Exit, s.Status.Name, s.Failed.ID)
}

// Would says what a workspace would be, and starts nothing.
func Would(c *op.Caller, r *Request) (*api.Desk, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	name, err := r.name(c)
	if err != nil {
		return nil, err
	}
	p, err := r.prepare()
	if err == nil {
		err = p.ForDesk()
	}
	if err != nil {
		return nil, err
	}
	return &api.Desk{Manifest: api.Manifest{Name: name}, State: "would start", Policy: p.Decided(), Digest: p.Digest(),
		Profile: r.Asked.Profile, Apps: []api.App{}}, nil
}
