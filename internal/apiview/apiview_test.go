package apiview

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
)

// TestWhatComesFromInside: whatever a program inside chose, nothing of it ends a row or
// acts on a terminal, and a workspace without walls says so.
func TestWhatComesFromInside(t *testing.T) {
	const evil = "a\n\x1b[2J\u202e\xff"
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)
	denial := api.Denial{Time: now, Operation: "write", Subject: evil, Rule: evil, Source: evil, Message: evil, Hint: evil, Workspace: "3f", Project: evil}
	apps := []api.App{{ID: "1", Name: evil, Argv: []string{evil}, Started: now, Signal: "SIGKILL"}}
	desk := api.Desk{}
	desk.Name, desk.State, desk.Purpose, desk.Project, desk.Apps, desk.Notes = "dev", "active", evil, evil, apps, []string{evil}
	for name, c := range map[string]struct {
		lines int
		print func(out *strings.Builder)
	}{
		"denials": {6, func(out *strings.Builder) { PrintDenials(out, []api.Denial{denial}, true) }},
		"links":   {1, func(out *strings.Builder) { PrintLinks(out, []api.Link{{Time: now, URL: evil}}) }},
		"approval": {8, func(out *strings.Builder) {
			PrintApproval(out, api.Approval{ID: evil, Operation: "write", Subject: evil, Reason: evil, Rule: evil, Hint: evil, Scopes: []string{evil}, Project: evil})
		}},
		"event": {0, func(out *strings.Builder) { out.WriteString(EventText(api.Event{Kind: "denied", Denial: &denial})) }},
		"audit": {1, func(out *strings.Builder) {
			PrintAuditRecord(out, &api.AuditRecord{Kind: evil, Operation: evil, Subject: evil, Rule: evil, App: evil, Detail: evil})
		}},
		"apps":        {2, func(out *strings.Builder) { PrintApps(out, "", apps) }},
		"workspaces":  {2, func(out *strings.Builder) { PrintWorkspaces(out, []api.Desk{desk}) }},
		"one of them": {12, func(out *strings.Builder) { PrintWorkspace(out, desk) }},
	} {
		var out strings.Builder
		c.print(&out)
		if got := strings.Count(out.String(), "\n"); got != c.lines || strings.ContainsAny(out.String(), "\x1b\u202e") || !utf8.ValidString(out.String()) {
			t.Errorf("%s: %d lines, want %d\n%q", name, got, c.lines, out.String())
		}
	}
	var out strings.Builder
	PrintRunning(&out, []api.WorkspaceStatus{{State: "1", Backend: "none"}, {State: "2", Backend: "process"}, {State: "3"}, {State: "4", Backend: "gvisor"},
		{State: "5", Backend: "lima"}})
	for _, want := range []string{" 1, NO WALLS ", " 2 ", " 3 ", " 4, isolation kernel ", " 5, isolation vm "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A workspace of which only the control is kept has no time and no project.
func TestRemovedWorkspace(t *testing.T) {
	var removed api.Desk
	removed.Name, removed.State = "held", api.StateStopped
	var out strings.Builder
	PrintWorkspaces(&out, []api.Desk{removed})
	if text := out.String(); strings.Contains(text, "0001") || strings.Contains(text, `""`) {
		t.Errorf("listed as:\n%s", text)
	}
}
