package taskplan

import "sync"

// recommendation is a call that an agent may do next, and when.
type recommendation struct {
	StepTemplate
	priority int
	intent   string // what it is for
	each     string // one for each: "running", "profile"; "" is once
}

// recommendations are the rows of a briefing. A plan is recommended rather than
// what is in it, and a dry run rather than the real call.
var recommendations = sync.OnceValue(func() []recommendation {
	return []recommendation{
		{priority: 100, intent: "pause_or_read_only", StepTemplate: StepTemplate{
			ID: "respect_live_control", Label: "Wait for the user", Tool: "mcp_session_brief", When: facts("!active"),
			Gates:  gates(GateControl),
			Reason: "The user has taken control: only look, and ask again."}},
		{priority: 95, intent: "orient", StepTemplate: StepTemplate{
			ID: "review_permission_ceiling", Label: "Read the ceiling", Tool: "mcp_permissions", When: facts("configured"),
			Reason: "A ceiling holds here: what is more than it allows is refused."}},
		{priority: 92, intent: "repair", StepTemplate: StepTemplate{
			ID: "inspect_runtime_blockers", Label: "See what keeps workspaces from starting", Tool: "workspace_doctor", When: facts("!machine_ready"),
			Reason: "This machine cannot hold a workspace as it is: {doctor}"}},
		{priority: 90, intent: "orient", StepTemplate: StepTemplate{
			ID: "classify_action_before_acting", Label: "See what each tool does", Tool: "mcp_action_catalog", When: facts("!configured"),
			Reason: "No ceiling is set, so that approvals are the host's; the catalog tells which calls need one."}},
		{priority: 85, intent: "observe", each: "running", StepTemplate: StepTemplate{
			ID: "observe_running_workspace", Label: "Look at workspace {workspace_id}", Tool: "observe", When: facts("screen"),
			Args:   here(lit("screenshot", true), optional(lit("events", true))),
			Reason: "It runs; see what it shows before anything else."}},
		{priority: 80, intent: "observe", each: "running", StepTemplate: StepTemplate{
			ID: "plan_running_observation", Label: "Plan a look at workspace {workspace_id}", Tool: planTool,
			Args:   args(lit("intent", "observe the workspace"), from("workspace_id", "workspace_id")),
			Reason: "Its state, its programs and its last events, without changing anything."}},
		{priority: 78, intent: "continue", each: "running", StepTemplate: StepTemplate{
			ID: "plan_running_workspace_task", Label: "Plan how to go on in workspace {workspace_id}", Tool: planTool, When: facts("task_known"),
			Args:   args(from("intent", "task_intent"), from("workspace_id", "workspace_id")),
			Reason: "It seems to be there for {task_words}: {task_reason}."}},
		{priority: 72, intent: "start", each: "profile", StepTemplate: StepTemplate{
			ID: "plan_saved_profile_task", Label: "Plan a task with profile {profile_id}", Tool: planTool, When: facts("task_known"),
			Args:   args(from("intent", "task_intent"), from("profile_id", "profile_id")),
			Reason: "The user has saved it for {task_words}."}},
		{priority: 68, intent: "start", each: "profile", StepTemplate: StepTemplate{
			ID: "preview_profile_workspace", Label: "Try a start from profile {profile_id}", Tool: "workspace_start", When: facts("!profile_runs"),
			Args:   dry(from("profile", "profile_id")),
			Reason: "A dry run says what the workspace would get, and starts nothing."}},
		{priority: 66, intent: "app_qa", StepTemplate: StepTemplate{
			ID: "plan_app_qa_without_profile", Label: "Plan the test of an app", Tool: planTool, When: facts("!profiles !running_any"),
			Args:   args(lit("intent", "test the app of a project"), from("project_path", "project_path")),
			Needs:  []string{"project_path"},
			Reason: "No profile is saved and nothing runs; a plan says what a project's workspace needs."}},
		{priority: 60, intent: "observe", each: "running", StepTemplate: StepTemplate{
			ID: "open_live_viewer", Label: "Show workspace {workspace_id} to the user", Tool: "viewer", When: facts("viewer screen"),
			Args: here(lit("action", "open")), Gates: gates(GateHostUI),
			Reason: "The user can watch, pause and take over in a window of their own."}},
		{priority: 55, intent: "cleanup", each: "running", StepTemplate: StepTemplate{
			ID: "safety_stop_available", Label: "See what stopping {workspace_id} would end", Tool: "workspace_stop",
			Args:   dry(named()...),
			Reason: "Stopping works in every mode of live control; the dry run ends nothing."}},
		{priority: 50, intent: "start", StepTemplate: StepTemplate{
			ID: "preview_default_workspace", Label: "Try a start without a profile", Tool: "workspace_start", When: facts("!profiles !running_any"),
			Args:   dry(),
			Reason: "A dry run says what a workspace gets when nothing else is asked for."}},
		{priority: 45, intent: "browser_task", StepTemplate: StepTemplate{
			ID: "plan_browser_or_grocery_task", Label: "Plan a task in a browser", Tool: planTool,
			Args:   args(lit("intent", "a task in the browser")),
			Reason: "A plan tells apart what only looks, what fills a cart, and what orders."}},
		{priority: 40, intent: "cleanup", StepTemplate: StepTemplate{
			ID: "plan_cleanup", Label: "Plan a cleanup", Tool: planTool, When: facts("stopped_any"),
			Args:   args(lit("intent", "clean up stale workspaces")),
			Reason: "Stopped workspaces have left something."}},
		{priority: 38, intent: "cleanup", StepTemplate: StepTemplate{
			ID: "preview_stale_cleanup", Label: "See what could be removed", Tool: "workspace_cleanup_stale", When: facts("stopped_any"),
			Args:   dry(),
			Reason: "A dry run lists what stopped workspaces have left, and removes none of it."}},
	}
})

const planTool = "mcp_task_plan"

// taskIntents are the words by which a plan for a kind is asked for.
var taskIntents = map[Kind]string{
	KindAppQA: "test the app", KindBrowser: "a task in the browser", KindShopping: "shopping", KindGrocery: "order groceries",
}
