package taskplan

import "slices"

// toolTable is a table such as a server has, with every tool that a step names.
func toolTable() []Tool {
	look := func(name, category string, params ...Param) Tool {
		return Tool{Name: name, Category: category, ReadOnly: true, Idempotent: true, Control: ControlObserve, Params: params}
	}
	plane := func(name string, params ...Param) Tool {
		return Tool{Name: name, Category: "control_plane", ReadOnly: true, Idempotent: true, Control: ControlAlways, Params: params}
	}
	text := func(name string) Param { return Param{Name: name, Type: "string"} }
	must := func(p Param) Param { p.Required = true; return p }
	word := func(name string, words ...string) Param { return Param{name, "string", true, words} }
	yes := func(name string) Param { return Param{Name: name, Type: "boolean"} }
	number := func(name string) Param { return Param{Name: name, Type: "integer"} }
	list := func(name string, words ...string) Param { return Param{name, "array", false, words} }
	return []Tool{
		plane("mcp_session_brief"), plane("mcp_permissions"), plane("mcp_action_catalog"), plane("workspace_doctor"),
		plane("mcp_task_plan", must(text("intent")), text("workspace_id"), text("profile_id"), text("project_path"), text("target_url")),
		{Name: "mcp_control_update", Category: "control_plane", Mutating: true, Idempotent: true, Control: ControlPlane,
			Params: []Param{word("mode", "active", "read_only", "paused"), text("reason"), yes("confirmed_user_request")}},
		{Name: "workspace_start", Category: "workspace_lifecycle", Mutating: true, Idempotent: true, OpenWorld: true, Control: ControlDryRun,
			Params: []Param{text("name"), text("profile"), text("purpose"), yes("dry_run"), yes("acknowledge_hidden_workspace"), text("size")}},
		look("workspace_status", "workspace_lifecycle", text("name"), list("include", "apps", "manifest")),
		look("workspace_list", "workspace_lifecycle"),
		{Name: "workspace_stop", Category: "workspace_lifecycle", Mutating: true, Destructive: true, Idempotent: true, Control: ControlStop,
			Params: []Param{text("name"), yes("dry_run")}},
		{Name: "workspace_cleanup_stale", Category: "workspace_lifecycle", Mutating: true, Destructive: true, Idempotent: true, Control: ControlDryRun,
			Params: []Param{text("name"), yes("dry_run")}},
		{Name: "app_launch", Category: "app", Mutating: true, OpenWorld: true, Control: ControlDryRun,
			Params: []Param{text("name"), must(list("command")), {"wait", "string", false, []string{"none", "exit", "window"}}, yes("dry_run"), yes("kill_on_timeout")}},
		look("app_list", "app", text("name")),
		look("app_log", "logs", text("name"), must(text("app")), number("tail_bytes")),
		look("events", "logs", text("name"), number("since"), number("tail")),
		look("observe", "observation", text("name"), yes("screenshot"), yes("events")),
		look("screenshot", "observation", text("name"), text("window"), text("area")),
		look("windows", "window", text("name"), text("title"), yes("wait"), number("timeout_ms")),
		{Name: "profile_read", Category: "profile", ReadOnly: true, Idempotent: true, Control: ControlObserve,
			Params: []Param{word("action", "list", "get", "check", "template", "path"), text("id"), text("kind"), text("project_path"), text("user_data_dir"), text("browser_path")}},
		{Name: "profile_write", Category: "profile", Mutating: true, Idempotent: true, Control: ControlDryRun,
			Params: []Param{word("action", "put", "import", "delete"), {Name: "profile", Type: "object"}, yes("replace"), yes("dry_run")}},
		{Name: "profile_export", Category: "profile", Mutating: true, Idempotent: true, Control: ControlOutputPath,
			Params: []Param{must(text("id")), text("output_path"), yes("replace"), yes("dry_run")}},
		{Name: "viewer", Category: "viewer", Mutating: true, Idempotent: true, OpenWorld: true, Control: ControlOpenViewer,
			Params: []Param{text("name"), word("action", "open", "close", "list")}},
	}
}

// withBrowser is the table with the tools for browsers.
func withBrowser() []Tool {
	look := func(name string) Tool {
		return Tool{Name: name, Category: "browser", ReadOnly: true, Control: ControlObserve, Params: []Param{{Name: "name", Type: "string"}}}
	}
	return append(toolTable(), look("workspace_browser_targets"), look("workspace_browser_snapshot"), look("workspace_browser_search_results"),
		Tool{Name: "workspace_browser_navigate", Category: "browser", Mutating: true, OpenWorld: true, Control: ControlBlocked,
			Params: []Param{{Name: "name", Type: "string"}, {Name: "url", Type: "string", Required: true}}})
}

// quiet is a machine on which everything works and nothing runs.
func quiet() Snapshot {
	return Snapshot{
		Viewer:  Viewer{Available: true},
		Control: Control{Mode: "active"},
		Doctor:  Doctor{ReadyForWorkspace: true, ReadyForDisplay: true},
	}
}

// busy has profiles, a workspace that runs and one that has stopped.
func busy() Snapshot {
	s := quiet()
	s.Profiles = []Profile{{"site", ProfileProject, "The site", false}, {"shop-login", ProfileBrowser, "", true}}
	s.Workspaces = []Workspace{
		{Name: "qa", Running: true, Purpose: "Test the site", Profile: "site", Display: ":7", LastEvent: 12,
			Apps: []App{{"a1", "npm", true}, {"a2", "chromium", true}, {"a3", "make", false}}},
		{Name: "old", Profile: "shop-login", LastEvent: 3, Apps: []App{{"b1", "firefox", false}}},
	}
	return s
}

// locked is the same under a ceiling, which refuses whatever names a template.
func locked(s Snapshot) (Snapshot, Blockers) {
	s.Permissions = Permissions{
		Configured: true, Restricted: true, Source: "permissions.json", Hash: "abc",
		Dimensions: []Dimension{{"network", "disabled"}}, Advisories: []string{"a shell is allowed"},
	}
	return s, func(tool string, arguments map[string]any) []string {
		if tool == "profile_read" && arguments["action"] == "template" || tool == "workspace_start" {
			return []string{"network: the ceiling is disabled"}
		}
		return nil
	}
}

func stepIDs(p TaskPlan) []string {
	var out []string
	for _, st := range p.Steps {
		out = append(out, st.ID)
	}
	return out
}

func stepOf(p TaskPlan, id string) *Step {
	i := slices.IndexFunc(p.Steps, func(st Step) bool { return st.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Steps[i]
}

func gateOf(p TaskPlan, id string) *Checkpoint {
	i := slices.IndexFunc(p.ApprovalCheckpoints, func(c Checkpoint) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &p.ApprovalCheckpoints[i]
}
