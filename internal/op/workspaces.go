package op

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/registry"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// PauseTime is how long pausing may take, which waits for every process.
const PauseTime = 20 * time.Second

// endTime is how long a workspace has to end: it gets five seconds to do it in
// order, and then is made to.
const endTime = 15 * time.Second

// State is the caller's state directory.
func (c *Caller) State() string { return statedir.Path(c.Getenv) }

// Running finds the live workspaces. A place of the registry that cannot be
// looked into is told, and does not hide the others.
func (c *Caller) Running() ([]supervisor.Entry, error) {
	entries, err := supervisor.Find(registry.Dirs(c.Getenv("XDG_RUNTIME_DIR"), c.State()))
	if err != nil && len(entries) > 0 {
		c.Tell(show.OneLine(err.Error()))
		err = nil
	}
	if err != nil {
		return entries, err
	}
	return c.Held(entries)
}

// Named finds the running workspace that an argument names.
func (c *Caller) Named(prefix string) (supervisor.Entry, error) {
	entries, err := c.Running()
	if err != nil {
		return supervisor.Entry{}, err
	}
	e, err := supervisor.Pick(entries, prefix)
	if err != nil && named.CheckName(prefix) == nil {
		if whole, ok, _ := c.WholeName(prefix); ok {
			return whole, nil
		}
	}
	if err != nil && !errors.Is(err, supervisor.ErrAmbiguous) && named.CheckName(prefix) == nil {
		if d, e := named.Read(c.State(), prefix); e == nil && d.State == api.StateStopped {
			return supervisor.Entry{}, fmt.Errorf("workspace %q does not run\nhint: `carrel start %s` starts it anew, `carrel status %s` says what became of it", prefix, prefix, prefix)
		}
	}
	if err != nil {
		return e, NoSuch("workspace", prefix, "carrel ps", err)
	}
	return e, nil
}

// WholeName finds a running workspace by its whole name.
func (c *Caller) WholeName(name string) (supervisor.Entry, bool, error) {
	entries, err := c.Running()
	for _, e := range entries {
		if e.Name == name {
			return e, true, nil
		}
	}
	// It may have been started with another XDG_RUNTIME_DIR.
	if d, e := named.Read(c.State(), name); e == nil && d.State != api.StateStopped && d.Runtime != "" {
		entries, _ = supervisor.Find([]string{d.Runtime})
		if entries, err = c.Held(entries); err != nil {
			return supervisor.Entry{}, false, err
		}
		for _, e := range entries {
			if e.Name == name {
				return e, true, nil
			}
		}
	}
	return supervisor.Entry{}, false, err
}

// NoSuch says why an id or its beginning names nothing.
func NoSuch(what, prefix, list string, err error) error {
	if errors.Is(err, supervisor.ErrAmbiguous) {
		return fmt.Errorf("%s %q: %w\nhint: give more of the id", what, prefix, err)
	}
	return fmt.Errorf("no %s %q\nhint: `%s` lists them", what, prefix, list)
}

// End stops a workspace and returns when it has ended.
func End(ctx context.Context, e supervisor.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	_, said := e.Call(ctx, api.Request{Op: api.OpStop})
	if refused := (*api.Denial)(nil); errors.As(said, &refused) && e.Alive() {
		return said
	}
	// One that has ended by itself meanwhile does not answer, and is there for a moment still.
	if err := e.WaitEnd(ctx); err != nil {
		err = errors.Join(said, err)
		return fmt.Errorf("%w\nhint: kill -KILL %d ends its supervisor and everything inside", err, e.PID)
	}
	return nil
}
