package taskplan

import "sync"

// stepTable is every step of every plan. Steps of one plan stand in the order
// of its kind's list; a condition says on which of its ways a step lies.
var stepTable = sync.OnceValue(func() []StepTemplate {
	return []StepTemplate{
		// Where one stands.
		{ID: "review_permissions", Label: "Read the ceiling", Tool: "mcp_permissions", When: facts("configured"),
			Reason: "A ceiling holds here: what is more than it allows is refused, whoever agrees to it."},
		{ID: "inspect_machine", Label: "Look at what keeps workspaces from starting", Tool: "workspace_doctor", When: facts("!attached !machine_ready"),
			Reason: "This machine cannot hold a workspace as it is; doctor says what to change."},
		{ID: "classify_actions", Label: "See what each tool does", Tool: "mcp_action_catalog",
			Reason: "The task is not clear yet; the catalog tells which calls only look and which change something."},
		{ID: "list_workspaces", Label: "List workspaces", Tool: "workspace_list",
			Reason: "What runs and what was left decides what there is to do."},
		{ID: "workspace_status", Label: "Read the workspace's status", Tool: "workspace_status", When: facts("known"),
			Args:   named(optional(lit("include", []string{"apps"}))),
			Reason: "Status tells what {workspace_id} is for, what runs in it and who controls it."},

		// Starting from a saved profile.
		{ID: "check_profile", Label: "Check the profile", Tool: "profile_read", When: facts("!attached profile"),
			Args:   args(lit("action", "check"), from("id", "profile_id")),
			Reason: "The check says what profile {profile_id} would get on this machine, below the ceiling."},

		// Or from a template, by way of a saved profile.
		{ID: "template_project", Label: "Make a profile for the project", Tool: "profile_read", When: facts("!attached !profile"),
			Args:   args(lit("action", "template"), lit("kind", ProfileProject), optional(from("id", "profile_name")), from("project_path", "project_path")),
			Needs:  []string{"project_path"},
			Reason: "The template gives the project and the usual toolchains, and nothing else of the home."},
		{ID: "template_browser", Label: "Make a profile for the browser", Tool: "profile_read", When: facts("!attached !profile"),
			Args:   args(lit("action", "template"), lit("kind", ProfileBrowser), optional(from("id", "profile_name")), optional(from("user_data_dir", "user_data_dir")), optional(from("browser_path", "browser_path"))),
			Needs:  []string{"user_data_dir"},
			Reason: "The template gives a browser one directory for its logins, and nothing else of the home."},
		{ID: "preview_save_profile", Label: "Try to save the profile", Tool: "profile_write", When: facts("!attached !profile"),
			Args:   dry(lit("action", "put"), from("profile", "profile")),
			After:  steps("template_project template_browser"),
			Needs:  []string{"profile"},
			Reason: "A dry run says whether the profile is valid, below the ceiling, and whether it would replace another."},
		{ID: "save_profile", Label: "Save the profile", Tool: "profile_write", When: facts("!attached !profile"),
			Args:     args(lit("action", "put"), from("profile", "profile")),
			Requires: steps("preview_save_profile"), After: steps("preview_save_profile"),
			Needs: []string{"profile"}, Gates: gates(GateProfile),
			Reason: "A workspace is started from a saved profile, so that the user can read what it gets."},

		// The start.
		{ID: "preview_start", Label: "Try the start", Tool: "workspace_start", When: facts("!attached"),
			Args:   dry(from("name", "workspace_id"), from("profile", "profile_name"), optional(from("purpose", "purpose"))),
			After:  steps("check_profile save_profile"),
			Needs:  []string{"free_name", "profile_source"},
			Reason: "A dry run says what the workspace would get and what has to be acknowledged, and starts nothing."},
		{ID: "start_workspace", Label: "Start the workspace", Tool: "workspace_start", When: facts("!attached"),
			Args:   args(from("name", "workspace_id"), from("profile", "profile_name"), optional(from("purpose", "purpose"))),
			After:  steps("check_profile save_profile preview_start"),
			Needs:  []string{"free_name", "profile_source", "machine", "display"},
			Gates:  gates(GateHidden),
			Reason: "The task needs a workspace, and none that fits it runs."},
		{ID: "launch_window", Label: "Start the program", Tool: "app_launch", When: facts("desk idle screen"),
			Args:   here(from("command", "command"), optional(lit("wait", "window"))),
			After:  steps("start_workspace observe_workspace"),
			Needs:  []string{"command"},
			Reason: "No program that could be looked at runs yet; the call comes back when its window is there."},
		{ID: "launch_command", Label: "Start the program", Tool: "app_launch", When: facts("desk idle !screen"),
			Args:   here(from("command", "command"), optional(lit("wait", "none"))),
			After:  steps("start_workspace"),
			Needs:  []string{"command"},
			Reason: "No program runs yet, and there is no display that it could show a window on."},

		// Evidence, before any input.
		{ID: "observe_workspace", Label: "Look at the workspace", Tool: "observe", When: facts("desk screen"),
			Args:   here(lit("screenshot", true), optional(lit("events", true))),
			After:  steps("start_workspace workspace_status"),
			Reason: "One look tells what is on the screen and what has just happened, before anything is touched."},
		{ID: "list_apps", Label: "List the apps", Tool: "app_list", When: facts("records"),
			Args: here(), After: steps("start_workspace observe_workspace"),
			Reason: "The list tells which programs run and which have ended, and with what status."},
		{ID: "read_events", Label: "Read the last events", Tool: "events", When: facts("records"),
			Args: here(lit("tail", 50)), After: steps("start_workspace observe_workspace"),
			Reason: "Events tell what was started, refused and ended, in order."},
		{ID: "wait_window", Label: "Wait for a window", Tool: "windows", When: facts("desk screen waits"),
			Args: here(lit("wait", true), optional(lit("timeout_ms", 15000))), After: steps("start_workspace launch_window"),
			Reason: "A picture or a key before the window is there tells nothing and goes nowhere."},
		{ID: "list_windows", Label: "List the windows", Tool: "windows", When: facts("desk screen !waits"),
			Args: here(), After: steps("observe_workspace"),
			Reason: "Windows are told apart by what they belong to, not by where they lie."},
		{ID: "read_app_log", Label: "Read the app's output", Tool: "app_log", When: facts("records app_known"),
			Args: here(from("app", "app"), optional(lit("tail_bytes", 16384))), After: steps("list_apps wait_window"),
			Reason: "What the program has written often says more than what it shows."},
		{ID: "read_new_app_log", Label: "Read the app's output", Tool: "app_log", When: facts("desk !app_known waits"),
			Args: here(from("app", "app"), optional(lit("tail_bytes", 16384))), After: steps("list_apps wait_window"),
			Needs:  []string{"app"},
			Reason: "What the program has written often says more than what it shows."},
		{ID: "take_screenshot", Label: "Take a picture", Tool: "screenshot", When: facts("desk screen"),
			Args: here(), After: steps("wait_window list_windows observe_workspace"),
			Reason: "A picture is evidence; name a window to have that one alone."},
		{ID: "open_viewer", Label: "Show the workspace to the user", Tool: "viewer", When: facts("desk screen viewer"),
			Args: here(lit("action", "open")), After: steps("start_workspace observe_workspace"),
			Gates:  gates(GateHostUI),
			Reason: "The user can watch, pause and take over in a window of their own."},

		// A browser, where the server has tools for it.
		{ID: "browser_targets", Label: "List the browser's pages", Tool: "workspace_browser_targets", When: facts("desk"),
			Args: here(), After: steps("start_workspace wait_window observe_workspace"),
			Reason: "Only pages of this workspace's browser are told, never those of the user's own."},
		{ID: "browser_snapshot", Label: "Read the page", Tool: "workspace_browser_snapshot", When: facts("desk"),
			Args: here(), After: steps("browser_targets"),
			Reason: "The page as text, to know where the browser stands."},
		{ID: "browser_navigate", Label: "Go to the address", Tool: "workspace_browser_navigate", When: facts("desk"),
			Args: here(from("url", "target_url")), After: steps("browser_targets browser_snapshot"),
			Needs:  []string{"target_url"},
			Reason: "Going to a page and searching there is part of the task; ordering, sending and changing is not yet.",
			Hint:   "The user has named the address. Follow no link that buys, sends or changes something."},
		{ID: "browser_results", Label: "Read the products", Tool: "workspace_browser_search_results", When: facts("desk shops"),
			Args: here(), After: steps("browser_navigate browser_snapshot"),
			Reason: "Products and prices as data, to compare them with the list and the budget."},
		{ID: "confirm_cart", Label: "Agree on the cart before it is filled", Tool: "observe", When: facts("desk shops"),
			Args: here(lit("screenshot", true)), After: steps("browser_results browser_navigate observe_workspace"),
			Needs: []string{"shopping_list", "budget", "fulfillment", "substitution_policy"}, Gates: gates(GateCart),
			Reason: "What would go into the cart is shown to the user first; looking changes nothing.",
			Hint:   "Say what you would put into the cart, for how much. Go on when the user agrees: cart_mutation_approved."},
		{ID: "confirm_real_world", Label: "Stop before anything becomes real", Tool: "observe", When: facts("desk"),
			Args: here(lit("screenshot", true)), After: steps("confirm_cart browser_navigate observe_workspace"),
			Gates:  gates(GateRealWorld),
			Reason: "Checkout, purchases, messages and changes of an account reach the world and cannot be undone here.",
			Hint:   "Show the user the last page. Checkout, a purchase or an account change takes an approval of its own: real_world_action_approved."},

		// Ending and cleaning.
		{ID: "preview_stop", Label: "See what stopping would end", Tool: "workspace_stop", When: facts("stop"),
			Args: dry(named()...), After: steps("list_workspaces workspace_status"),
			Needs:  []string{"stop_target"},
			Reason: "A dry run lists the programs that would end, and ends none."},
		{ID: "stop_workspace", Label: "Stop the workspace", Tool: "workspace_stop", When: facts("stop"),
			Args:     named(),
			Requires: steps("preview_stop"), After: steps("preview_stop"), Needs: []string{"stop_target"}, Gates: gates(GateDestructive),
			Reason: "Its programs end; what it has written stays."},
		{ID: "preview_cleanup", Label: "See what would be removed", Tool: "workspace_cleanup_stale", When: facts("clean"),
			Args: dry(named()...), After: steps("list_workspaces stop_workspace"),
			Needs:  []string{"stop_target"},
			Reason: "A dry run lists what stopped workspaces have left, and removes none of it."},
		{ID: "cleanup_stale", Label: "Remove what was left", Tool: "workspace_cleanup_stale", When: facts("clean"),
			Args:     named(),
			Requires: steps("preview_cleanup"), After: steps("preview_cleanup stop_workspace"), Needs: []string{"stop_target"}, Gates: gates(GateDestructive),
			Reason: "Logs, pictures and records of stopped workspaces are gone after it."},
		{ID: "verify_cleanup", Label: "See that it is gone", Tool: "workspace_list", When: facts("changes"),
			After:  steps("stop_workspace cleanup_stale list_workspaces"),
			Reason: "The list shows what is still there."},
	}
})

var stepByID = sync.OnceValue(func() map[string]StepTemplate {
	out := make(map[string]StepTemplate, len(stepTable()))
	for _, t := range stepTable() {
		out[t.ID] = t
	}
	return out
})
