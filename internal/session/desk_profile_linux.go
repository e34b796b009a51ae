package session

import (
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/profile"
)

// setupTime is how long a command of a profile's setup may take that names no time.
const setupTime = 10 * time.Minute

// prepareApps runs what the profile wants run before everything else, one after the
// other, and starts what it wants started. What went wrong ends that,
// and the workspace: the logs of what ran are kept.
func (t *appTable) prepareApps(tell *Reporter) Ready {
	var said Ready
	from := t.decided.Profile()
	if from == nil || len(from.Setup)+len(from.Apps) == 0 {
		return said
	}
	if c := t.server.Status().Control; c.Mode != api.ControlActive {
		t.decided.Note("what the profile starts was not started: the workspace is under control %s", c.Mode)
		return said
	}
	for i := range from.Setup {
		tell.Progress(fmt.Sprintf("setup %d of %d: %s", i+1, len(from.Setup), calledBy(&from.Setup[i])))
		if said.Failed = t.setUp(&from.Setup[i]); said.Failed != nil {
			return said
		}
	}
	for i := range from.Apps {
		c := &from.Apps[i]
		if _, exit, err := t.launch(api.AppLaunched, asked(c)); err != nil {
			said.Failed = &api.App{Name: calledBy(c), Kind: api.AppLaunched, Argv: c.Argv, Exit: exit}
			t.decided.Note("starting %q: %v", calledBy(c), err)
			return said
		}
	}
	return said
}

// setUp runs one command of the setup to its end.
func (t *appTable) setUp(c *profile.Command) *api.App {
	a, exit, err := t.launch(api.AppSetup, asked(c))
	if err != nil {
		t.decided.Note("starting %q: %v", calledBy(c), err)
		return &api.App{Name: calledBy(c), Kind: api.AppSetup, Argv: c.Argv, Exit: exit}
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = setupTime
	}
	select {
	case <-a.done:
	case <-t.over:
		return nil
	case <-t.walls.Done():
		return nil
	case <-time.After(limit):
		t.decided.Note("%q was ended after %s", calledBy(c), limit)
		if err := a.kill(nil); err != nil {
			t.decided.Note("%v", err)
		}
		<-a.done
		last := t.told(a, false)
		last.Exit = api.ExitTimeout
		return &last
	}
	last := t.told(a, false)
	t.server.Emit(api.Event{Kind: api.EventSetup, Text: fmt.Sprintf("%s: status %d", calledBy(c), last.Exit)})
	if last.Exit != 0 {
		return &last
	}
	return nil
}

func asked(c *profile.Command) api.Command {
	out := api.Command{Name: c.Name, Argv: c.Argv, Dir: c.Cwd}
	for _, v := range c.Env {
		out.Env = append(out.Env, v.Name+"="+v.Value)
	}
	return out
}

func calledBy(c *profile.Command) string {
	if c.Name == "" && len(c.Argv) > 0 {
		return c.Argv[0]
	}
	return c.Name
}
