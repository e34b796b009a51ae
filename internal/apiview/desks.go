package apiview

import (
	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/show"
	"fmt"
	"io"
	"strings"
)

// PrintWorkspace shows a workspace that stays: what it is, what it may, and what runs in it.
func PrintWorkspace(w io.Writer, d api.Desk) {
	t := &show.Table{}
	t.Row("name", d.Name)
	t.Row("state", stateText(d.State, d.Backend))
	t.Row("control", strings.TrimSpace(d.Control.Mode+"  "+show.OneLine(d.Control.Reason)))
	if d.Paused != nil {
		t.Row("", PausedText(d.Paused))
	}
	t.Row("project", projectText(d))
	if d.Purpose != "" {
		t.Row("purpose", show.OneLine(d.Purpose))
	}
	if d.Profile != "" {
		t.Row("profile", d.Profile)
	}
	t.Row("started", startedText(d))
	if !d.Stopped.IsZero() {
		t.Row("stopped", d.Stopped.Local().Format(show.Stamp))
	}
	if c := d.Ceiling; c != nil {
		t.Row("ceiling", ceilingText(c))
	}
	t.Row("waiting", fmt.Sprint(d.Pending)+" for approval")
	t.Print(w, "")
	fmt.Fprintln(w, "policy")
	t = &show.Table{}
	for _, p := range d.Policy {
		t.Row(p.Dimension, show.QuoteIf(p.Value), p.Source)
	}
	t.Print(w, "  ")
	if len(d.Apps) > 0 {
		fmt.Fprintln(w, "apps")
		PrintApps(w, "  ", d.Apps)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(w, "note: %s\n", show.OneLine(n))
	}
}

// PrintApps lists apps, each behind indent.
func PrintApps(w io.Writer, indent string, apps []api.App) {
	t := &show.Table{}
	t.Row("APP", "NAME", "KIND", "STATE", "PROCESSES", "SINCE", "COMMAND")
	for _, one := range apps {
		t.Row(one.ID, show.OneLine(show.Shorten(one.Name, show.ColumnMax)), one.Kind, AppState(one), fmt.Sprint(one.Processes), one.Started.Local().Format(show.Stamp), show.OneLine(show.Shorten(strings.Join(one.Argv, " "), show.ColumnMax)))
	}
	t.Print(w, indent)
}

// stateText is a workspace's state, with what must not be overlooked.
func stateText(state, backend string) string {
	switch i := policy.Backend(backend).Isolation(); i {
	case policy.IsolationNone:
		return state + ", NO WALLS"
	case policy.IsolationProcess:
		return state
	default:
		return state + ", isolation " + string(i)
	}
}

// AppState is how an app is, or how it ended.
func AppState(one api.App) string {
	switch {
	case one.Running:
		return "running"
	case one.Signal != "":
		return one.Signal
	}
	return fmt.Sprintf("exit %d", one.Exit)
}

// PrintArtifacts lists the files that a workspace keeps outside.
func PrintArtifacts(w io.Writer, list []api.Artifact) {
	t := &show.Table{}
	for _, f := range list {
		t.Row(f.Kind, show.Dash(f.Label), fmt.Sprint(f.Bytes), show.QuoteIf(f.Path))
	}
	t.Print(w, "")
}

// PrintRunning lists workspaces that run.
func PrintRunning(w io.Writer, list []api.WorkspaceStatus) {
	t := &show.Table{}
	t.Row("ID", "NAME", "STATE", "WAITING", "SINCE", "PUBLISHED", "COMMAND", "PROJECT")
	for _, s := range list {
		t.Row(s.ID, show.Dash(s.Name), stateText(s.State, s.Backend), fmt.Sprint(s.Pending), s.Started.Local().Format(show.Stamp), publishedText(s.Published), show.Shorten(strings.Join(s.Argv, " "), show.ColumnMax), show.QuoteIf(s.Project))
	}
	t.Print(w, "")
}

// PausedText is what a person is told of a project that is paused.
func PausedText(p *api.ProjectPause) string {
	text := fmt.Sprintf("project %s is paused since %s by %s", show.QuoteIf(p.Project), p.Since.Local().Format(show.Stamp), p.By)
	if p.Reason != "" {
		text += ": " + show.Shorten(p.Reason, show.ColumnMax)
	}
	return show.OneLine(text)
}

// publishedText shows ports as --publish takes them.
func publishedText(list []api.Published) string {
	var words []string
	for _, p := range list {
		word := fmt.Sprint(p.Inside)
		if p.Host != p.Inside {
			word += fmt.Sprintf(":%d", p.Host)
		}
		words = append(words, word)
	}
	return show.Dash(strings.Join(words, ","))
}

// ceilingText is what a person is told of a workspace's ceiling.
func ceilingText(c *api.Ceiling) string {
	text := show.QuoteIf(c.Source)
	if c.Hash != "" {
		text = show.Shorten(c.Hash, hashShown) + "  " + text
	}
	switch {
	case c.Expired:
		text += "  expired " + c.Expires.Local().Format(show.Stamp)
	case !c.Expires.IsZero():
		text += "  expires " + c.Expires.Local().Format(show.Stamp)
	}
	return text
}

// hashShown is how much of a hash people are shown in passing, with its dots.
const hashShown = 15

// startedText and projectText are "-" for a workspace that was removed: of it only the
// control is kept.
func startedText(d api.Desk) string {
	if d.Started.IsZero() {
		return "-"
	}
	return d.Started.Local().Format(show.Stamp)
}

func projectText(d api.Desk) string {
	if d.Project == "" {
		return "-"
	}
	return show.QuoteIf(d.Project)
}

// PrintWorkspaces lists workspaces that stay.
func PrintWorkspaces(w io.Writer, list []api.Desk) {
	t := &show.Table{}
	t.Row("NAME", "STATE", "CONTROL", "APPS", "SINCE", "PURPOSE", "PROJECT")
	for _, d := range list {
		running := 0
		for _, one := range d.Apps {
			if one.Running {
				running++
			}
		}
		t.Row(d.Name, stateText(d.State, d.Backend), d.Control.Mode, fmt.Sprint(running), startedText(d), show.Dash(show.OneLine(show.Shorten(d.Purpose, show.ColumnMax))), projectText(d))
	}
	t.Print(w, "")
}
