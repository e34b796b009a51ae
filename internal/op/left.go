package op

import (
	"context"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/named"
)

// Look gives one workspace with a name for an operation that callers under another ceiling
// may not ask for.
func (c *Caller) Look(ctx context.Context, operation, name string) (api.Desk, error) {
	d, err := c.Desk(ctx, name)
	if err == nil {
		err = c.SameCeiling(operation, d)
	}
	return d, err
}

// Swept is one workspace of which something was removed.
type Swept struct {
	Name    string         `json:"name"`
	Skipped string         `json:"skipped,omitempty"` // why
	Removed []api.Artifact `json:"removed"`
}

// CleanUp removes what stopped workspaces have left: one by its name, "" for all of them.
func (c *Caller) CleanUp(ctx context.Context, name string, dry bool) ([]Swept, error) {
	list, err := c.Desks(ctx) // sweeps the registry of the dead, too
	if err != nil {
		return nil, err
	}
	out := []Swept{}
	for _, d := range list {
		if name != "" && name != d.Name {
			continue
		}
		one := Swept{Name: d.Name}
		if d.State != api.StateStopped {
			if one.Skipped = "it runs"; name != "" {
				one.Skipped += "\nhint: `carrel revoke " + d.Name + "` stops it, and removes what it has left"
			}
		} else if why := c.SameCeiling("cleanup", d); why != nil {
			one.Skipped = why.Error()
		} else if one.Removed, err = named.Sweep(c.State(), d.Name, dry, false); err != nil {
			one.Skipped = err.Error()
		}
		if one.Removed == nil {
			one.Removed = []api.Artifact{}
		}
		out = append(out, one)
	}
	switch {
	case name == "":
	case len(out) == 0:
		return nil, fmt.Errorf("no workspace %q\nhint: `carrel list` names them", name)
	case out[0].Skipped != "":
		return nil, fmt.Errorf("%s was left: %s", name, out[0].Skipped)
	}
	return out, nil
}

// Logs gives what an app of a workspace has written, also after that has stopped. The words
// name the workspace and the app; without the second it is the only one that was launched.
func (c *Caller) Logs(ctx context.Context, words []string, req api.Request, tell func(*api.Output) error) error {
	e, ok, err := c.WholeName(words[0])
	if err != nil {
		return err
	}
	if !ok {
		if err := c.StoppedSame("logs", words[0]); err != nil {
			return err
		}
		d, err := c.Desk(ctx, words[0])
		if err != nil {
			return err
		}
		app, err := appOf(words, d.Apps)
		if err != nil {
			return err
		}
		return named.Logs(ctx, c.State(), words[0], app, req, tell)
	}
	var apps []api.App
	if len(words) == 1 {
		if apps, err = e.Apps(ctx); err != nil {
			return err
		}
	}
	if req.App, err = appOf(words, apps); err != nil {
		return err
	}
	return e.Stream(ctx, req, func(r api.Reply) error {
		if r.Output == nil {
			return nil
		}
		return tell(r.Output)
	})
}

// appOf gives the app that words name, or the only one that was launched: the output
// of others is not kept.
func appOf(words []string, apps []api.App) (string, error) {
	if len(words) > 1 {
		return words[1], nil
	}
	apps = slices.DeleteFunc(slices.Clone(apps), func(a api.App) bool { return a.Kind != api.AppLaunched })
	switch len(apps) {
	case 0:
		return "", fmt.Errorf("nothing was launched in %s", words[0])
	case 1:
		return apps[0].ID, nil
	}
	return "", fmt.Errorf("%s has %d launched apps; name one\nhint: `carrel apps %s` lists them", words[0], len(apps), words[0])
}
