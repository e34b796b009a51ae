package agentcmd

import (
	"fmt"
	"strconv"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/clients"
	"carrel/internal/show"
)

// agentJSON is what status tells of one agent in one scope.
type agentJSON struct {
	Agent       string        `json:"agent"`
	Scope       clients.Scope `json:"scope"`
	Project     api.Text      `json:"project,omitempty"`
	Name        api.Text      `json:"name"`
	Registered  string        `json:"registered"` // yes, no, other, stale
	Blocked     string        `json:"blocked"`    // no, always, while-serving, partly
	Hooks       bool          `json:"hooks"`
	Skill       bool          `json:"skill"`
	Serving     int           `json:"serving"` // servers, of all scopes
	Permissions api.Text      `json:"permissions,omitempty"`
	Files       []api.Text    `json:"files"`
	Notes       []api.Text    `json:"notes"`
	Error       api.Text      `json:"error,omitempty"`
}

func agentStatus(env *cmdenv.Env, names []string, asJSON bool) error {
	if len(names) == 0 {
		names = clients.Names()
	}
	host, err := agentHost(env)
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
			one := agentJSON{Agent: r.Client, Scope: r.Scope, Project: api.Text(r.Project), Name: api.Text(r.Name), Registered: r.Registered, Blocked: r.Blocked,
				Hooks: r.Steps, Skill: r.Skill, Serving: r.Serving, Permissions: api.Text(r.Permissions), Files: show.Texts(r.Files), Notes: show.Texts(r.Notes)}
			if r.Err != nil {
				one.Error = api.Text(r.Err.Error())
			}
			list = append(list, one)
		}
		return show.JSON(env.Out, list)
	}
	t := &show.Table{}
	t.Row("AGENT", "SCOPE", "REGISTERED", "BLOCKED", "HOOKS", "SKILL", "SERVING")
	for _, r := range reports {
		t.Row(r.Client, string(r.Scope), r.Registered, r.Blocked, yesNo(r.Steps), yesNo(r.Skill), strconv.Itoa(r.Serving))
	}
	t.Print(env.Out, "")
	for _, r := range reports {
		if r.Err != nil {
			fmt.Fprintf(env.Out, "%s (%s): unreadable: %s\n", r.Client, r.Scope, show.OneLine(r.Err.Error()))
		}
		for _, n := range r.Notes {
			fmt.Fprintf(env.Out, "%s (%s): note: %s\n", r.Client, r.Scope, show.OneLine(n))
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
