package op

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

// Effect says what an operation does.
type Effect string

// Effects. An operation has one of them, whatever it is asked with: the widest.
const (
	Looks    Effect = "looks"    // changes nothing
	Tightens Effect = "tightens" // takes away from what is allowed or runs
	Changes  Effect = "changes"  // changes files, histories or what runs
	Loosens  Effect = "loosens"  // gives more than there was: a person's alone, or within what a person has given
)

// Control says when a workspace that is not active keeps an operation from a program.
type Control string

// Kinds of control.
const (
	Always     Control = "always_allowed"
	Observes   Control = "observation_allowed"
	Steers     Control = "control_plane_allowed"
	WhenActive Control = "blocked_when_not_active"
	OrDryRun   Control = "blocked_when_not_active_unless_dry_run"
	OrInside   Control = "conditional_output_path" // blocked where it is to write a file
	SafetyStop Control = "safety_stop_allowed"
)

// RefusedIn are the modes of a workspace in which it refuses an operation of this kind.
func (c Control) RefusedIn() []string {
	switch c {
	case WhenActive, OrDryRun, OrInside:
		return []string{api.ControlReadOnly, api.ControlTakeover, api.ControlPaused}
	}
	return nil
}

// Refuse says what of a workspace's status stands against an operation of this kind, nil for
// nothing. The operation and the workspace have the names that the asker knows.
func (c Control) Refuse(operation, workspace string, s *api.WorkspaceStatus) *api.Denial {
	if c.RefusedIn() == nil {
		return nil
	}
	if p := s.ProjectPaused; p != nil {
		return supervisor.RefusePaused(operation, p)
	}
	m := s.Control
	if m == nil || m.Mode == api.ControlActive {
		return nil // a mode that is not known is tighter
	}
	return &api.Denial{Code: api.CodeControl, Operation: operation, Subject: workspace, Rule: "control " + m.Mode, Source: m.By,
		Message: fmt.Sprintf("workspace %q is under control %s, and nothing is changed meanwhile: %s", workspace, m.Mode, m.Reason),
		Hint:    "a person gives it back with `carrel control " + workspace + " active`"}
}

// Operation is one thing that can be asked, and its names on the surfaces. A surface may have
// several names for it, with a comma between them, or none.
type Operation struct {
	Name     string
	Effect   Effect
	Control  Control
	Final    bool   // it may end or remove something for good
	Commands string // of the command line
	Tools    string // of MCP, without those of the other system's words
	Requests string // of JSON Lines
}

// names are those of one surface.
func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// OfTool is the operation of a tool of MCP, nil for none.
func OfTool(name string) *Operation {
	return find(name, func(o *Operation) string { return o.Tools })
}

// OfRequest is the operation of a request of JSON Lines, nil for none.
func OfRequest(name string) *Operation {
	return find(name, func(o *Operation) string { return o.Requests })
}

func find(name string, on func(*Operation) string) *Operation {
	for i := range operations {
		if slices.Contains(names(on(&operations[i])), name) {
			return &operations[i]
		}
	}
	return nil
}

// Tools are the names of all operations on MCP.
func Tools() []string { return all(func(o *Operation) string { return o.Tools }) }

// Requests are the names of all operations on JSON Lines.
func Requests() []string { return all(func(o *Operation) string { return o.Requests }) }

// Commands are the names of all operations on the command line.
func Commands() []string { return all(func(o *Operation) string { return o.Commands }) }

func all(on func(*Operation) string) (out []string) {
	for i := range operations {
		out = append(out, names(on(&operations[i]))...)
	}
	return out
}

// operations are all that can be asked.
var operations = []Operation{
	// Files and commands inside.
	{"run a command inside", Changes, WhenActive, true, "exec", "Bash", "agent.execute, agent.prompt"},
	{"read a file", Looks, Observes, false, "", "read_file", "fs.read"},
	{"write a file", Changes, WhenActive, false, "", "write_file", "carrel.write"},
	{"edit a file", Changes, WhenActive, false, "", "edit_file", "carrel.edit"},
	{"list a directory", Looks, Observes, false, "", "list_directory", "fs.list"},
	{"find files", Looks, Observes, false, "", "glob", ""},
	{"search files", Looks, Observes, false, "", "grep", ""},
	{"tell of a session", Looks, Observes, false, "", "get_session_status", "session.status, fs.status"},
	{"tell the directory", Looks, Always, false, "", "get_working_directory", ""},

	// The history.
	{"undo", Changes, WhenActive, false, "undo", "undo", "undo.rollback"},
	{"preview an undo", Looks, Observes, false, "", "undo_preview", "carrel.preview"},
	{"redo", Changes, WhenActive, false, "redo", "redo", "carrel.redo"},
	{"compare steps", Looks, Observes, false, "diff", "diff", "carrel.diff"},
	{"show a step", Looks, Observes, false, "show", "", "carrel.show"},
	{"list steps", Looks, Observes, false, "history", "get_undo_history", "undo.history"},
	{"discard a history", Changes, OrDryRun, true, "discard", "discard_undo_history", "undo.discard"},
	{"bound a history", Changes, WhenActive, true, "", "", "undo.configure"},
	{"mark a step", Changes, WhenActive, false, "step begin, step end, step note", "", ""},
	{"look at histories", Looks, Observes, false, "history du, history verify, du", "", ""},
	{"clean up histories", Changes, WhenActive, true, "history gc", "", ""},
	{"look at layers", Looks, Observes, false, "review list, review diff", "", ""},
	{"apply a layer", Changes, WhenActive, false, "review apply", "", ""},
	{"forget a layer", Changes, WhenActive, true, "review drop", "", ""},
	{"export a history", Looks, Observes, false, "history export", "", ""},

	// Workspaces and what runs in them.
	{"run a command behind walls", Changes, WhenActive, false, "run, shell, sandbox", "", ""},
	{"start a workspace", Changes, OrDryRun, false, "start", "workspace_start", "session.start"},
	{"start a workspace anew", Changes, WhenActive, true, "", "", "session.reset"},
	{"list workspaces", Looks, Observes, false, "list, ps", "workspace_list", ""},
	{"tell of a workspace", Looks, Observes, false, "status, manifest, artifacts", "workspace_status", ""},
	{"stop a workspace", Tightens, SafetyStop, true, "stop", "workspace_stop", "session.stop"},
	{"clean up workspaces", Changes, OrDryRun, true, "cleanup, rm", "workspace_cleanup_stale", ""},
	{"make an image", Changes, Steers, false, "container build, container pull, container import, container init-dockerfile, install-dev", "", ""},
	{"look at images", Looks, Always, false, "container list, container check, container devcontainer", "", ""},
	{"remove images", Changes, Steers, true, "container prune", "", ""},
	{"make what machines boot from", Changes, Steers, false, "vm build-image", "", ""},
	{"look at machines", Looks, Always, false, "lima list", "", ""},
	{"open a shell in a machine", Changes, Steers, false, "lima shell", "", ""},
	{"have a machine do a command line", Changes, Steers, false, "lima carrel", "", ""},
	{"make a machine anew", Changes, Steers, true, "lima recreate, lima prune", "", ""},
	{"examine the machine", Looks, Always, false, "doctor", "workspace_doctor", ""},
	{"launch an app", Changes, OrDryRun, false, "launch, terminal start", "app_launch", ""},
	{"list apps", Looks, Observes, false, "apps", "app_list", ""},
	{"wait for an app", Tightens, Observes, true, "wait", "app_wait", ""},
	{"end an app", Tightens, OrDryRun, true, "kill", "app_kill", ""},
	{"end a command", Tightens, WhenActive, true, "", "", "carrel.cancel"},
	{"read what an app wrote", Looks, Observes, false, "logs", "app_log", ""},
	{"read a terminal", Looks, Observes, false, "terminal read", "terminal_read", ""},
	{"type into a terminal", Changes, WhenActive, false, "terminal send, attach", "terminal_input", ""},
	{"read events", Looks, Observes, false, "events", "events", ""},
	{"begin a task", Changes, OrDryRun, false, "task new, task open", "", ""},
	{"look at tasks", Looks, Observes, false, "task list, task status, task diff, task capture, task wait", "", ""},
	{"talk to a task's agent", Changes, WhenActive, false, "task send, task run", "", ""},
	{"end what runs for a task", Tightens, SafetyStop, true, "task close", "", ""},
	{"rename a task", Changes, WhenActive, false, "task rename", "", ""},
	{"merge a task", Changes, WhenActive, true, "task merge, task review", "", ""},
	{"drop a task", Changes, WhenActive, true, "task drop", "", ""},
	{"reach a port inside", Changes, WhenActive, false, "connect, links", "", ""},

	// The hidden desktop.
	{"observe the desktop", Looks, Observes, false, "desktop watch, desktop screen", "observe", ""},
	{"take a picture", Looks, Observes, false, "desktop screenshot, desktop record", "screenshot", ""},
	{"list windows", Looks, Observes, false, "desktop windows", "windows", ""},
	{"change a window", Changes, OrDryRun, true, "desktop window", "window", ""},
	{"use mouse and keyboard", Changes, WhenActive, false, "desktop click, desktop drag, desktop scroll, desktop key, desktop type, desktop input", "input", ""},
	{"use the computer", Changes, WhenActive, false, "desktop computer", "computer", ""},
	{"read the clipboard", Looks, Observes, false, "desktop clipboard get, desktop clipboard take", "clipboard_get", ""},
	{"copy", Changes, WhenActive, false, "desktop clipboard set, desktop clipboard send", "clipboard_set", ""},
	{"read the tree of elements", Looks, Observes, false, "desktop a11y tree, desktop a11y find, desktop a11y text", "a11y_tree", ""},
	{"act on an element", Changes, WhenActive, false, "desktop a11y invoke, desktop a11y set, desktop a11y focus, desktop a11y scroll", "a11y_act", ""},

	// Profiles, presets and configuration.
	{
		"read profiles", Looks, Observes, false,
		"profile list, profile show, profile check, profile template, profile validate, profile path", "profile_read", "",
	},
	{"write profiles", Changes, OrDryRun, true, "profile put, profile import, profile delete", "profile_write", ""},
	{"export a profile", Changes, OrInside, false, "profile export", "profile_export", ""},
	{"read presets", Looks, Observes, false, "preset list, preset show", "", ""},
	{"write presets", Loosens, Steers, false, "preset add, preset remove", "", ""},
	{"read the configuration", Looks, Always, false, "config show, config check, config schema, version", "", ""},
	{"explain a decision", Looks, Always, false, "explain", "", ""},
	{"carry over another program's settings", Loosens, Steers, false, "import codex, import fence, import srt", "", ""},

	// Control, approvals and ceilings.
	{"brief a client", Looks, Always, false, "", "mcp_session_brief", ""},
	{"plan a task", Looks, Always, false, "", "mcp_task_plan", ""},
	{"tell the ceiling", Looks, Always, false, "permissions show, permissions diff, permissions template, permissions validate", "mcp_permissions", ""},
	{"tell the tools", Looks, Always, false, "", "mcp_action_catalog", ""},
	{"control a workspace", Tightens, Steers, false, "control", "mcp_control_update", ""},
	{"pause", Tightens, SafetyStop, false, "pause", "project_pause", "carrel.pause_project"},
	{"end a pause", Loosens, Steers, false, "resume", "", ""},
	{"list or deny what waits", Tightens, Steers, false, "approvals, deny", "approvals", "carrel.approvals"},
	{"approve", Loosens, Steers, false, "approve, allow, net allow", "", ""},
	{"deny a host", Tightens, Steers, false, "net deny", "", ""},
	{"take back an allowance", Tightens, Steers, false, "revoke", "", ""},
	{"answer a safeguard", Loosens, Steers, false, "", "", "safeguard.confirm"},
	{"set safeguards", Loosens, WhenActive, false, "", "", "safeguard.configure"},
	{"read what was refused", Looks, Always, false, "denials, net log", "", ""},
	{"read the audit log", Looks, Always, false, "audit list, audit show, audit verify, audit export", "", ""},

	// This machine and other programs.
	{"list projects", Looks, Always, false, "projects", "", ""},
	{"purge", Changes, Steers, true, "purge", "", ""},
	{"tell of agents", Looks, Always, false, "agent status, hooks status", "", ""},
	{"set agents up", Loosens, Steers, false, "agent setup, agent remove, agent heal, hooks install, hooks remove", "", ""},
	{"answer a program", Changes, Steers, false, "mcp, stdio", "", ""},
}
