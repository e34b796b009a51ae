package apiview

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
)

var moment = time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)

// same wants a text, in which runs of spaces count as one.
func same(t *testing.T, name, got, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if text := strings.Join(lines, "\n"); text != want {
		t.Errorf("%s:\n%s\nwant:\n%s", name, text, want)
	}
}

// TestConnections: a line says how much went over a connection that was made, and why one was
// not: the reason before the rule, and the rule with its place once.
func TestConnections(t *testing.T) {
	allowed := api.Connection{Time: moment, Decision: "allowed", Protocol: "connect", Host: "example.org", Port: 443, Rule: "example.org",
		Source: "user.yaml:3:5", Sent: 10, Received: 20, Duration: 1234567 * time.Nanosecond, Process: "curl", PID: 7}
	named := api.Connection{Time: moment, Decision: "refused", Protocol: "dns", Host: "evil.example",
		Rule: "network filtered: not_listed", Reason: "no rule"}
	for _, c := range []struct {
		name string
		c    api.Connection
		want string
	}{
		{"allowed", allowed,
			"2024-05-06 07:08:09 allowed connect example.org:443 by curl (7) 10 bytes out, 20 in, 1ms example.org (user.yaml:3:5)"},
		{"refused", named, "2024-05-06 07:08:09 refused dns evil.example no rule"},
		{"a request", api.Connection{Time: moment, Decision: "failed", Protocol: "http", Method: "GET", Host: "::1", Port: 80},
			"2024-05-06 07:08:09 failed http GET [::1]:80 0 bytes out, 0 in, 0s"},
		{"the rule names its place", api.Connection{Time: moment, Decision: "refused", Protocol: "tcp", Host: "a",
			Rule: "--deny-host a", Source: "--deny-host"},
			"2024-05-06 07:08:09 refused tcp a --deny-host a"},
	} {
		same(t, c.name, ConnectionText(c.c), c.want)
	}
}

// TestApprovals: what waits says how long, what was answered says how, and what is not known
// has no row.
func TestApprovals(t *testing.T) {
	waits := api.Approval{ID: "a1", Operation: "connect", Subject: "b.example:443", Workspace: "3f", Deadline: moment}
	answered := waits
	answered.Answer, answered.Reason, answered.Rule, answered.Source = "denied", "unknown host", "on_unknown: ask", "user.yaml:1:1"
	answered.Hint, answered.Scopes, answered.Project = "wait", []string{"workspace", "always"}, "/p q"
	for want, one := range map[string]api.Approval{
		"a1 waits until 07:08:09\nwhat connect b.example:443\nrun 3f": waits,
		"a1 denied\nwhat connect b.example:443\nwhy unknown host\nrule on_unknown: ask (user.yaml:1:1)\nhint wait\n" +
			"or for workspace, always\nrun 3f\nproject /p q": answered,
	} {
		var out strings.Builder
		PrintApproval(&out, one)
		same(t, "approval", out.String(), want)
	}
	one := api.Event{Seq: 4, Time: moment, Kind: api.EventAsked, Text: "not this", Approval: &waits}
	same(t, "event", EventText(one), "4 2024-05-06 07:08:09 approval-asked a1 connect b.example:443")
}

// TestLinks: a link says whether it was opened, and to which port a way back leads.
func TestLinks(t *testing.T) {
	var out strings.Builder
	PrintLinks(&out, []api.Link{{Time: moment, URL: "https://a"}, {Time: moment, URL: "https://b", Opened: true, Callback: 80}})
	same(t, "links", out.String(), "2024-05-06 07:08:09 shown https://a\n2024-05-06 07:08:09 opened, way back to port 80 https://b")
}

// TestAuditLog: a log that holds says so, and one that does not says where, with what holds
// before that place.
func TestAuditLog(t *testing.T) {
	held := api.AuditResult{OK: true, Records: 2, First: 1, Last: 2, From: moment, To: moment, Head: "cafe",
		Notes: []string{"was killed once"}}
	broken := api.AuditResult{Records: 1, First: 1, Last: 1, From: moment, To: moment, Head: "cafe",
		Broken: &api.AuditBroken{Record: 2, File: "audit.jsonl", Line: 3, Why: "another hash"}}
	const rows = "first 1 2024-05-06 07:08:09\nlast "
	for want, r := range map[string]api.AuditResult{
		"dev: 2 records, and each goes on from the one before\n" + rows + "2 2024-05-06 07:08:09\nhead cafe\nnote was killed once": held,
		"dev: BROKEN at record 2: another hash\nwhere audit.jsonl, line 3\nbefore it 1 record holds\n" + rows +
			"1 2024-05-06 07:08:09\nhead cafe": broken,
		"dev: BROKEN at record 1: no file\nbefore it 0 records hold": {Broken: &api.AuditBroken{Record: 1, Why: "no file"}},
	} {
		var out strings.Builder
		PrintAuditResult(&out, "dev", r)
		same(t, "audit", out.String(), want)
	}
	var out strings.Builder
	PrintAuditRecord(&out, &api.AuditRecord{Seq: 5, Time: moment, Kind: "network", Decision: "refused",
		Who: api.AuditWho{Kind: "inside", PID: 9}, Operation: "connect", Subject: "a b", Rule: "not_listed", App: "7f", Step: 3,
		Detail: strings.Repeat("x", 500)})
	want := `5 2024-05-06 07:08:09 network refused inside 9 connect a b [rule not_listed] [app 7f] [step 3] (x`
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.HasPrefix(got, want) || len(got) > 300 {
		t.Errorf("%s\nwant %s... in a short line", got, want)
	}
}

// TestWorkspace: a workspace says who acts, what bounds it and since when it stands still.
func TestWorkspace(t *testing.T) {
	pause := &api.ProjectPause{Project: "/p", Since: moment, By: "agent", Reason: "look"}
	var d api.Desk
	d.Name, d.State, d.Backend, d.Started, d.Stopped, d.Project = "dev", "paused", "none", moment, moment, "/p"
	d.Control, d.Paused, d.Profile, d.Pending = api.Control{Mode: "paused", Reason: "lunch"}, pause, "shop", 2
	d.Ceiling = &api.Ceiling{Hash: strings.Repeat("f", 64), Source: "c.json", Expires: moment, Expired: true}
	d.Policy = []api.Decided{{Dimension: "network", Value: "two words", Source: "default"}}
	d.Apps = []api.App{{ID: "1", Name: "sh", Kind: "exec", Argv: []string{"sh"}, Started: moment, Running: true, Processes: 2},
		{ID: "2", Started: moment, Exit: 3}}
	var out strings.Builder
	PrintWorkspace(&out, d)
	same(t, "workspace", out.String(), `name dev
state paused, NO WALLS
control paused lunch
project /p is paused since 2024-05-06 07:08:09 by agent: look
project /p
profile shop
started 2024-05-06 07:08:09
stopped 2024-05-06 07:08:09
ceiling ffffffffffff... c.json expired 2024-05-06 07:08:09
waiting 2 for approval
policy
network two words default
apps
APP NAME KIND STATE PROCESSES SINCE COMMAND
1 sh exec running 2 2024-05-06 07:08:09 sh
2 exit 3 0 2024-05-06 07:08:09`)
	out.Reset()
	PrintWorkspaces(&out, []api.Desk{d})
	same(t, "workspaces", out.String(),
		"NAME STATE CONTROL APPS SINCE PURPOSE PROJECT\ndev paused, NO WALLS paused 1 2024-05-06 07:08:09 - /p")
	out.Reset()
	PrintRunning(&out, []api.WorkspaceStatus{{ID: "3f", State: "running", Started: moment, Argv: []string{"make", "x"}, Project: "/p",
		Published: []api.Published{{Inside: 80, Host: 80}, {Inside: 81, Host: 8081}}}})
	same(t, "running", out.String(),
		"ID NAME STATE WAITING SINCE PUBLISHED COMMAND PROJECT\n3f - running 0 2024-05-06 07:08:09 80,81:8081 make x /p")
}
