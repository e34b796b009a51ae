package taskplan

// note is a sentence that holds under a condition.
type note struct {
	when []string
	text string
}

// plan is one kind's row: its steps, what it asks for, and what is said of it.
type plan struct {
	profile    string // kind of profile that suits it
	steps      []string
	inputs     []string // that the task needs, of the table of inputs
	boundaries []boundary
	summary    []note // the first that holds
	notes      []note // assumptions
	safety     []string
}

// kinds is every kind of task with its plan.
var kinds = map[Kind]plan{
	KindAppQA: {
		profile: ProfileProject,
		steps: steps(`review_permissions inspect_machine check_profile template_project preview_save_profile save_profile preview_start start_workspace
				launch_window launch_command observe_workspace read_events wait_window list_apps read_app_log read_new_app_log take_screenshot open_viewer`),
		inputs:     steps("project_source"),
		boundaries: qaBoundaries,
		summary: []note{
			{facts("attached"), "Go on in workspace {workspace_id}, which runs: look at it, gather evidence, then drive the app under test."},
			{facts("profile"), "Start a workspace from profile {profile_id}, start what is tested, and gather evidence before any input."},
			{facts("project"), "Save a reviewed profile for {project_path}, start a workspace from it, start what is tested, and gather evidence before any input."},
			{nil, "Find out which project is tested; then a workspace is started for it and evidence gathered before any input."},
		},
		notes: []note{
			{facts("attached"), "Workspace {workspace_id} runs, so that no other is started."},
			{facts("!attached"), "The workspace is hidden: the user agrees to it once, and its own windows and programs need no further prompts."},
			{facts("!attached project !profile"), "No profile was named, so that one is made from the template project-dev."},
		},
		safety: []string{
			"Look first: no input goes to a program before it has been seen.",
			"Input, windows and the clipboard are those of the workspace, never those of the user's desktop.",
			"Changing files of the project is an action of its own and follows from no test.",
		},
	},
	KindBrowser:  browserPlan(browserBoundaries, browserInputs),
	KindShopping: browserPlan(shoppingBoundaries, shoppingInputs),
	KindGrocery:  browserPlan(shoppingBoundaries, shoppingInputs),
	KindObserve: {
		steps:      steps("workspace_status list_workspaces observe_workspace list_windows list_apps read_events read_app_log take_screenshot open_viewer"),
		boundaries: observeBoundaries,
		summary: []note{
			{facts("attached"), "Look at workspace {workspace_id}: its state, its screen, its programs and what happened last. Nothing is changed."},
			{facts("known"), "Workspace {workspace_id} does not run; read what it has left."},
			{nil, "No workspace is known; list them, and look again when one runs."},
		},
		notes:  []note{{facts("attached !screen"), "Workspace {workspace_id} has no display, so that there are no pictures and no windows."}},
		safety: []string{"Every step only looks; starting, input and stopping are tasks of their own."},
	},
	KindCleanup: {
		steps:      steps("list_workspaces workspace_status preview_stop stop_workspace preview_cleanup cleanup_stale verify_cleanup"),
		inputs:     steps("stop_target"),
		boundaries: cleanupBoundaries,
		summary: []note{
			{facts("stop clean named"), "Stop workspace {workspace_id} and remove what it has left, each after a dry run that the user has seen."},
			{facts("stop attached"), "Stop workspace {workspace_id} after a dry run that the user has seen; what it has written stays."},
			{facts("stop"), "Several workspaces run; find out which is meant, and try it before it is done."},
			{facts("clean named"), "Remove what workspace {workspace_id} has left, after a dry run that the user has seen."},
			{facts("clean"), "Remove what stopped workspaces have left, after a dry run that the user has seen."},
			{nil, "Nothing that was named runs, so that nothing is stopped."},
		},
		notes: []note{
			{facts("stop !clean"), "To stop is not to clean up: logs and records stay."},
			{facts("clean !stop"), "Only workspaces that have stopped are cleaned up."},
		},
		safety: []string{
			"Every step that ends or removes something follows a dry run of the same call.",
			"Stopping works in every mode of live control.",
		},
	},
	KindUnknown: {
		steps:      steps("classify_actions review_permissions list_workspaces observe_workspace"),
		inputs:     steps("task"),
		boundaries: observeBoundaries,
		summary:    []note{{nil, "The intent names no task that there is a plan for; look around, ask the user, and plan again."}},
		safety:     []string{"Nothing is started or changed before it is clear what for."},
	},
}

// What a task in a browser, and shopping, cannot do without.
const (
	browserInputs  = "browser_source target_url"
	shoppingInputs = browserInputs + " shopping_list budget fulfillment substitution_policy"
)

func browserPlan(boundaries []boundary, inputs string) plan {
	return plan{
		profile: ProfileBrowser,
		steps: steps(`review_permissions inspect_machine check_profile template_browser preview_save_profile save_profile preview_start start_workspace
			observe_workspace read_events wait_window list_apps read_app_log read_new_app_log take_screenshot browser_targets browser_snapshot browser_navigate browser_results
			confirm_cart confirm_real_world open_viewer`),
		inputs:     steps(inputs),
		boundaries: boundaries,
		summary: []note{
			{facts("attached shops"), "Go on in workspace {workspace_id}, which runs: look, compare, agree on the cart, and stop before anything is ordered."},
			{facts("attached"), "Go on in workspace {workspace_id}, which runs: look, read and navigate, and stop before anything becomes real."},
			{facts("shops"), "Start a browser in a workspace of its own, compare, agree on the cart, and stop before anything is ordered."},
			{nil, "Start a browser in a workspace of its own, read and navigate, and stop before anything becomes real."},
		},
		notes: []note{
			{facts("attached"), "Workspace {workspace_id} runs, so that no other is started."},
			{facts("!attached"), "The workspace is hidden: the user agrees to it once, and its own windows and programs need no further prompts."},
			{facts("!attached data_dir !profile"), "No profile was named, so that one is made from the template browser-session."},
			{facts("shops"), "Filling a cart and ordering are two approvals; the one does not stand for the other."},
		},
		safety: []string{
			"The browser is the workspace's own; the user's is neither seen nor driven.",
			"Whoever drives the browser acts with the logins that it holds.",
			"Checkout, purchases, messages and account changes each take the user's word at the time.",
		},
	}
}
