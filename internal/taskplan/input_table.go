package taskplan

// need is one input, or one thing that has to be so, that a step or a task may
// need: what it is called in the answer, why it is needed, and how to ask the
// user.
type need struct {
	name     string
	reason   string
	question string
}

// needs is every input by the name that the tables use. Where the name differs
// from the one in the answer, the input stands for a condition: a source is one
// of several inputs, and a machine that is not ready is mended by nobody's
// argument.
var needs = map[string]need{
	"project_source": {"project_path", "The absolute path of the project, or profile_id of a profile ({profile_names}).",
		"Which project is tested, and where is it?"},
	"browser_source": {"user_data_dir", "A directory of its own for the browser's logins, or profile_id of a profile ({profile_names}).",
		"In which directory may the browser keep its logins, or which saved profile is it?"},
	"profile_source": {"profile_id", "A profile to start from; it is made by the steps before, when those have their inputs ({profile_names}).",
		"Which saved profile is the workspace started from?"},
	"project_path":        {"project_path", "The absolute path of the project, for its profile.", "Where is the project?"},
	"user_data_dir":       {"user_data_dir", "An absolute directory for the browser's logins, for its profile. Not that of the user's own browser.", "In which directory may the browser keep its logins?"},
	"profile":             {"profile", "The profile that the template gave, after the user has read it.", "Is the profile right as it is?"},
	"free_name":           {"workspace_id", "A workspace of the default name runs already and serves something else; name this one.", "What is the new workspace called?"},
	"machine":             {"ready_machine", "This machine cannot hold a workspace now: {doctor}", "Can the machine be set up as doctor says?"},
	"display":             {"ready_display", "A browser needs a display, which this machine cannot give now: {doctor}", "Can the missing display server be installed?"},
	"command":             {"command", "The program to start and its arguments, as a list.", "Which program is started?"},
	"app":                 {"app", "The app's id, from the list of apps.", "Which app's output is read?"},
	"target_url":          {"target_url", "The address of the site, beginning with http:// or https://.", "Which site is it?"},
	"shopping_list":       {"shopping_list", "What is to be bought, and how much of it.", "What is to be bought?"},
	"budget":              {"budget", "The most that may be spent.", "How much may it cost?"},
	"fulfillment":         {"fulfillment", "Delivery or pickup, where and when.", "Is it delivered or picked up, where and when?"},
	"substitution_policy": {"substitution_policy", "What to take where something is not there.", "What is taken where something is out of stock?"},
	"stop_target":         {"workspace_id", "The name of the workspace to stop; several run.", "Which workspace is stopped?"},
	"task":                {"intent", "What is to be done: test an app, do something in a browser, look, or clean up.", "What is to be done?"},
	ackHidden:             {ackHidden, "The user has to agree to a workspace that they do not see.", "May a hidden workspace be started?"},
}

// answers are the steps whose answer holds an input.
var answers = map[string][]string{
	"profile": {"template_project", "template_browser"},
	"app":     {"list_apps"},
}

// ackHidden is the parameter by which a caller says that the user has agreed to
// a hidden workspace.
const ackHidden = "acknowledge_hidden_workspace"
