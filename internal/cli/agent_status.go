package cli

import (
	"fmt"
	"strconv"

	"carrel/internal/clients"
	"carrel/internal/show"
)

// agentJSON is what status tells of one agent in one scope.
type agentJSON struct {
	Agent       string        `json:"agent"`
	Scope       clients.Scope `json:"scope"`
	Project     text          `json:"project,omitempty"`
	Name        text          `json:"name"`
	Registered  string        `json:"registered"` // yes, no, other, stale
	Blocked     string        `json:"blocked"`    // no, always, while-serving, partly
	Hooks       bool          `json:"hooks"`
	Skill       bool          `json:"skill"`
	Serving     int           `json:"serving"` // servers, of all scopes
	Permissions text          `json:"permissions,omitempty"`
	Files       []text        `json:"files"`
	Notes       []text        `json:"notes"`
	Error       text          `json:"error,omitempty"`
}

func (a *app) agentStatus(names []string, asJSON bool) error {
	if len(names) == 0 {
		names = clients.Names()
	}
	host, err := a.agentHost()
	if err != nil {
		return err
	}
	reports, err := host.Status(names)
	if err != nil {
		return err
	}
	if asJSON {
		list := []agentJSON{}
		for _, r := range reports {
			one := agentJSON{Agent: r.Client, Scope: r.Scope, Project: text(r.Project), Name: text(r.Name), Registered: r.Registered, Blocked: r.Blocked,
				Hooks: r.Steps, Skill: r.Skill, Serving: r.Serving, Permissions: text(r.Permissions), Files: show.Texts(r.Files), Notes: show.Texts(r.Notes)}
			if r.Err != nil {
				one.Error = text(r.Err.Error())
			}
			list = append(list, one)
		}
		return show.JSON(a.out, list)
	}
	t := &show.Table{}
	t.Row("AGENT", "SCOPE", "REGISTERED", "BLOCKED", "HOOKS", "SKILL", "SERVING")
	for _, r := range reports {
		t.Row(r.Client, string(r.Scope), r.Registered, r.Blocked, yesNo(r.Steps), yesNo(r.Skill), strconv.Itoa(r.Serving))
	}
	t.Print(a.out, "")
	for _, r := range reports {
		if r.Err != nil {
			fmt.Fprintf(a.out, "%s (%s): unreadable: %s\n", r.Client, r.Scope, show.OneLine(r.Err.Error()))
		}
		for _, n := range r.Notes {
			fmt.Fprintf(a.out, "%s (%s): note: %s\n", r.Client, r.Scope, show.OneLine(n))
		}
	}
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
