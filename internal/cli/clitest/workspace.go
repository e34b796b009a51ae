package clitest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"carrel/internal/api"
	"carrel/internal/registry"
	"carrel/internal/supervisor"
)

// Workspace is one that runs in the process of the test: it keeps what it is asked for, and
// answers with Reply.
type Workspace struct {
	ID    string
	Reply api.Reply
	Apps  []api.App     // that it tells who asks for them
	Data  string        // goes beside a reply, where it is not empty; at most 64 KiB
	Given string        // what came beside the last request
	Stops chan struct{} // closed when it was asked to end

	lock  sync.Mutex
	asked []api.Request
}

// Workspace starts a workspace in the project of the place, which ends with the test.
func (p *Place) Workspace(id string, change func(*supervisor.Config)) *Workspace {
	p.t.Helper()
	w := &Workspace{ID: id, Reply: api.Reply{OK: true}, Stops: make(chan struct{})}
	cfg := supervisor.Config{
		ID: id, Project: p.Project, Argv: []string{"sleep", "60"}, Persona: "agent",
		Dirs:    registry.Dirs(filepath.Join(filepath.Dir(p.Home), "run"), p.State)[:1],
		Desktop: w, Stop: func() { close(w.Stops) },
	}
	if change != nil {
		change(&cfg)
	}
	s, err := supervisor.Serve(cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(s.Close)
	return w
}

// Desk starts a workspace that stays: it has a name, and its control may be changed.
func (p *Place) Desk(id, name string) *Workspace {
	p.t.Helper()
	return p.Workspace(id, func(c *supervisor.Config) {
		c.Name, c.Desk, c.Desktop = name, c.Desktop, nil
		c.Control, c.Keep = api.Control{Mode: api.ControlActive}, func(api.Control) error { return nil }
	})
}

// Answer keeps a request and answers it.
func (w *Workspace) Answer(_ context.Context, c *supervisor.Call) api.Reply {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.asked = append(w.asked, c.Request)
	if c.Request.Op == api.OpApps {
		for i := range w.Apps {
			if err := c.Send(api.Reply{App: &w.Apps[i]}); err != nil {
				return api.Reply{}
			}
		}
		return api.Reply{OK: true}
	}
	for _, f := range c.Files {
		if text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); err == nil {
			w.Given = string(text)
		}
	}
	if w.Data != "" {
		if err := w.sendData(c); err != nil {
			return api.Reply{}
		}
	}
	return w.Reply
}

// sendData hands the data over as a pipe, as a desktop does.
func (w *Workspace) sendData(c *supervisor.Call) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = to.WriteString(w.Data)
	return errors.Join(err, to.Close(), c.Send(api.Reply{}, from))
}

// Describe adds nothing to a status.
func (w *Workspace) Describe(*api.WorkspaceStatus) {}

// Asked gives what was asked for since the last time.
func (w *Workspace) Asked() []api.Request {
	w.lock.Lock()
	defer w.lock.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}
