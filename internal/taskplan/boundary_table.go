package taskplan

// boundary is one class of actions of a task.
type boundary struct {
	id, label, action string
	kind              string   // of approval; "" takes none
	inputs            []string // of the table of inputs
	approvals         []string // the request's, all of which it takes
	steps             []string // of the plan, that stand in its way when the ceiling refuses them
	done              []string // facts: it has been approved by what is there
	reason            string
}

// Kinds of actions, of steps, boundaries and recommendations.
const (
	actRead     = "read_only"
	actPreview  = "preview"
	actMutate   = "mutating"
	actDestroy  = "destructive"
	actOpen     = "open_world"
	actHostUI   = "host_visible"
	actRealLife = "real_world"
)

var qaBoundaries = []boundary{
	{id: "observe_project_state", label: "Look at the project and its workspace", action: actRead,
		reason: "Looking changes nothing."},
	{id: "start_or_attach_project_workspace", label: "Start the project's workspace, or go on in it", action: actMutate, kind: GateHidden,
		inputs: steps("project_source free_name machine"), approvals: []string{ackHidden}, steps: steps("start_workspace"), done: facts("attached"),
		reason: "The user does not see a hidden workspace and agrees to it once."},
	{id: "collect_qa_evidence", label: "Gather pictures, windows, output and events", action: actRead, inputs: steps("project_source"), steps: steps("observe_workspace"),
		reason: "Evidence comes before input."},
	{id: "drive_workspace_app", label: "Send input to the app under test", action: actMutate, inputs: steps("project_source"), steps: steps("launch_window launch_command"),
		reason: "Input stays in the workspace, which the user has agreed to."},
	{id: "write_mounted_project_files", label: "Change files of the project", action: actMutate, kind: GateFiles, inputs: steps("project_source"), approvals: []string{"user_request"},
		reason: "The project's files are the user's; a test changes them only when the user has asked for it."},
}

var browserBoundaries = []boundary{
	browserObserve, browserStart, browserMove,
	{id: "account_or_form_change", label: "Send a form, a message or a change of an account", action: actRealLife, kind: GateRealWorld, inputs: steps("target_url"),
		approvals: []string{"real_world_action_approved"}, reason: "What leaves the browser cannot be taken back here."},
}

var shoppingBoundaries = []boundary{
	browserObserve, browserStart, browserMove,
	{id: "compare_items_and_prices", label: "Compare items and prices", action: actRead, inputs: steps("target_url shopping_list budget"), steps: steps("browser_results"),
		reason: "Comparing changes nothing."},
	{id: "draft_cart_changes", label: "Put things into the cart and take them out", action: actOpen, kind: GateCart,
		inputs: steps("target_url shopping_list budget fulfillment substitution_policy"), approvals: []string{"cart_mutation_approved"},
		reason: "A cart belongs to the user's account; filling it is approved apart from ordering."},
	{id: "checkout_order_or_account_change", label: "Order, pay or change the account", action: actRealLife, kind: GateRealWorld,
		inputs: steps("target_url shopping_list budget fulfillment substitution_policy"), approvals: []string{"final_cart_reviewed", "real_world_action_approved"},
		reason: "An order costs money; the user sees the final cart and says so."},
}

var (
	browserObserve = boundary{id: "observe_browser_state", label: "Look at the browser", action: actRead, steps: steps("observe_workspace"),
		reason: "Looking changes nothing."}
	browserMove = boundary{id: "navigate_and_search", label: "Go to pages and search there", action: actOpen, inputs: steps("target_url"), steps: steps("start_workspace browser_navigate"),
		reason: "Sites see that they are visited; nothing is sent, ordered or changed."}
	browserStart = boundary{id: "start_or_attach_browser_workspace", label: "Start the browser's workspace, or go on in it", action: actMutate, kind: GateHidden,
		inputs: steps("browser_source free_name machine display"), approvals: []string{ackHidden}, steps: steps("start_workspace"), done: facts("attached"),
		reason: "The user does not see a hidden workspace and agrees to it once."}
)

var observeBoundaries = []boundary{
	{id: "observe_workspaces", label: "Look at workspaces", action: actRead, reason: "Looking changes nothing."},
}

var cleanupBoundaries = []boundary{
	{id: "preview_changes", label: "Try what would be stopped and removed", action: actPreview, reason: "A dry run changes nothing."},
	{id: "stop_or_remove", label: "Stop workspaces, remove what they have left", action: actDestroy, kind: GateDestructive,
		inputs: steps("stop_target"), approvals: []string{"user_request"}, steps: steps("stop_workspace cleanup_stale"),
		reason: "What has been ended or removed does not come back."},
}
