package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	aWindow = "window_id? title_contains? class_contains? pid? app_id? timeout_ms?"
	filters = "title_contains? class_contains? pid? app_id? timeout_ms?"
)

// seedTools are the tools of agent-workspace-linux that have a place here, with what they
// take; a ? stands behind what may be left out.
var seedTools = map[string]string{
	"workspace_guardrails": "", "mcp_permissions": "", "mcp_action_catalog": "", "mcp_session_brief": "",
	"mcp_agent_context": "workspace_id? browser_timeout_ms?",
	"mcp_task_plan": "intent workspace_id? profile_id? project_path? browser_path? user_data_dir? target_url? shopping_list? budget? " +
		"fulfillment? substitution_policy? cart_mutation_approved? final_cart_reviewed? real_world_action_approved? open_viewer?",
	"mcp_control_state": "", "mcp_control_update": "mode reason? confirmed_user_request?", "workspace_doctor": "",
	"profile_path": "", "profile_list": "", "profile_get": "id", "profile_check": "id", "profile_validate": "json_path",
	"profile_template": "kind id? host_path? browser_path? user_data_dir?", "profile_put": "profile replace? dry_run?",
	"profile_import": "json_path replace? dry_run?", "profile_export": "id output_path? replace?", "profile_delete": "id dry_run?",
	"workspace_start": "id? purpose? profile? acknowledge_hidden_workspace? acknowledge_unenforced_policy? dry_run? width? height? " +
		"open_viewer? viewer_always_on_top?",
	"workspace_open_profile": "profile id? purpose? acknowledge_hidden_workspace? acknowledge_unenforced_policy? dry_run? width? height? " +
		"open_viewer? viewer_always_on_top? run_setup? setup_timeout_ms? setup_kill_on_timeout? startup_wait_window? " +
		"startup_window_timeout_ms? startup_screenshot_window?",
	"workspace_status": "id?", "workspace_manifest": "id?", "workspace_artifacts": "id? existing_only?", "workspace_ipc_info": "id?",
	"workspace_env": "id?", "workspace_list": "", "workspace_cleanup_stale": "id? dry_run?", "workspace_stop": "id? timeout_ms? dry_run?",
	"workspace_launch_app": "command id? name? profile? acknowledge_unenforced_policy? dry_run? cwd? env? wait_window? window_timeout_ms? " +
		"screenshot_window?",
	"workspace_run_app": "command id? name? profile? acknowledge_unenforced_policy? dry_run? cwd? env? timeout_ms? " +
		"tail_bytes? kill_on_timeout?",
	"workspace_run_in_terminal": "id? terminal_id? title? terminal_program? command? wait_window? window_timeout_ms? timeout_ms? profile? " +
		"cwd? env? dry_run?",
	"workspace_terminal_read":  "id? terminal_id? preserve_trailing_spaces?",
	"workspace_terminal_input": "id? terminal_id? keys? text? delay_ms?",
	"workspace_list_apps":      "id? app_id? name_contains? command_contains? profile_id? running?",
	"workspace_wait_app":       "id? app_id timeout_ms? kill_on_timeout?", "workspace_kill_app": "id? app_id dry_run?",
	"workspace_read_app_log": "id? app_id stream? tail_bytes?", "workspace_events": "id? tail? since_sequence?",
	"workspace_list_windows": "id? include_hidden? title_contains? class_contains? pid? app_id?", "workspace_active_window": "id?",
	"workspace_pointer": "id?", "workspace_wait_window": "id? " + filters,
	"workspace_observe":    "id? screenshot? include_hidden? output_path? events? events_tail? events_since_sequence?",
	"workspace_screenshot": "id? output_path?", "workspace_screenshot_window": "id? output_path? " + aWindow,
	"workspace_focus_window": "id? window_id", "workspace_focus_matching_window": "id? " + filters,
	"workspace_close_window": "id? window_id dry_run?", "workspace_close_matching_window": "id? dry_run? " + filters,
	"workspace_move_window": "id? x y " + aWindow, "workspace_resize_window": "id? width height " + aWindow,
	"workspace_raise_window": "id? " + aWindow, "workspace_minimize_window": "id? " + aWindow, "workspace_show_window": "id? " + aWindow,
	"workspace_click": "id? x y button? count?", "workspace_click_window": "id? x y button? count? " + aWindow,
	"workspace_move_pointer": "id? x y", "workspace_move_pointer_window": "id? x y " + aWindow,
	"workspace_drag": "id? from_x from_y to_x to_y button?", "workspace_drag_window": "id? from_x from_y to_x to_y button? " + aWindow,
	"workspace_scroll": "id? x y direction amount?", "workspace_scroll_window": "id? x? y? direction amount? " + aWindow,
	"workspace_key": "id? key", "workspace_key_window": "id? key " + aWindow, "workspace_type_text": "id? text",
	"workspace_type_window": "id? text " + aWindow, "workspace_set_clipboard": "id? text", "workspace_get_clipboard": "id?",
	"workspace_paste_text": "id? text key?", "workspace_paste_window": "id? text key? " + aWindow,
}

// TestSeedParameters: every tool that has a name of agent-workspace-linux takes what that
// takes there, and wants no more.
func TestSeedParameters(t *testing.T) {
	list, err := offered([]string{setCompat})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]Tool{}
	for _, tool := range list {
		tools[tool.Name] = tool
		if seedTools[tool.Name] == "" && !slices.Contains([]string{"workspace_guardrails", "mcp_permissions", "mcp_action_catalog",
			"mcp_session_brief", "mcp_control_state", "workspace_doctor", "profile_path", "profile_list", "workspace_list"}, tool.Name) {
			t.Errorf("%s is none of theirs", tool.Name)
		}
	}
	for name, takes := range seedTools {
		tool, ok := tools[name]
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		needed := []string{}
		for parameter := range strings.FieldsSeq(takes) {
			plain, optional := strings.CutSuffix(parameter, "?")
			if !optional {
				needed = append(needed, plain)
			}
			if tool.In.Properties[plain] == nil {
				t.Errorf("%s does not take %s", name, plain)
			}
		}
		for _, parameter := range tool.In.Required {
			if !slices.Contains(needed, parameter) {
				t.Errorf("%s wants %s", name, parameter)
			}
		}
	}
	if at := slices.IndexFunc(list, func(t Tool) bool { return t.Name == "workspace_stop" }); at < 0 || at >= pageSize {
		t.Errorf("the safety stop is number %d of %d, behind the first page", at, len(list))
	}
}

// strangerCaller is a caller without workspaces and profiles.
func strangerCaller(t *testing.T) *op.Caller {
	dir := t.TempDir()
	return &op.Caller{
		Dir: dir, Environ: []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir},
		Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil },
	}
}

// TestSeedMeanings: what is said in their words means the same in ours.
func TestSeedMeanings(t *testing.T) {
	c := &call{server: &Server{opts: Options{Workspace: "own", Caller: strangerCaller(t)}}, tool: &Tool{Name: "t", In: &jsonschema.Schema{}}}
	for _, one := range []struct {
		by       adapter
		in, want string
	}{
		{sized, `{"width":800}`, `{"size":"800x720"}`}, {sized, `{"width":800,"height":600,"profile":"p"}`,
			`{"profile":"p","size":"800x600"}`}, {sized, `{}`, `{}`},
		{launched, `{"command":["a"],"wait_window":true,"window_timeout_ms":5}`, `{"command":["a"],"timeout_ms":5,"wait":"window"}`},
		{launched, `{"screenshot_window":true}`, `{"wait":"window"}`}, {launched, `{"wait_window":false,"window_timeout_ms":5}`, `{}`},
		{launched, `{"env":[{"name":"A","value":"b=c"}]}`, `{"env":["A=b=c"]}`}, {launched, `{"env":["A=b"]}`, `{"env":["A=b"]}`},
		{ofTerminal, `{}`, `{"app":"terminal"}`}, {ofTerminal, `{"app":"x"}`, `{"app":"x"}`},
		{inTerminal, `{"app":"x","command":["top"]}`, `{"app":"x","command":["top"]}`},
		{inTerminal, `{"command":[]}`, `{"app":"terminal","command":["/bin/sh","-c","exec \"${SHELL:-/bin/sh}\""]}`},
		{profileFile, `{"profile":{"id":"dev","network":{"mode":"disabled"}}}`,
			`{"action":"import","id":"dev","profile":"{\"id\":\"dev\",\"network\":{\"mode\":\"disabled\"}}"}`},
		{profileFile, `{"profile":"a: b","id":"x"}`, `{"id":"x","profile":"a: b"}`},
		{launched, `{"profile":"other"}`, ""}, {sized, `{"width":"x"}`, ""},
	} {
		m, given := meaning{}, map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(one.in), &given); err != nil {
			t.Fatal(err)
		}
		for name, value := range given {
			m[name] = value
		}
		err := one.by(t.Context(), c, m)
		if text, _ := json.Marshal(m); (err != nil) != (one.want == "") || err == nil && string(text) != one.want {
			t.Errorf("%s: %s, %v, want %s", one.in, text, err, one.want)
		}
	}
}

// TestAliasesAreWhole: a name is there once, and each parameter that ours do not have is
// described, as one that is used or one that has no effect.
func TestAliasesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range slices.Concat(aliases(), ours()) {
		if seen[a.name] {
			t.Errorf("%s is there twice", a.name)
		}
		seen[a.name] = true
		for name := range strings.FieldsSeq(a.more) {
			used, unused := theirParameters()[name], noEffect()[name]
			if (used == nil) == (unused == nil) {
				t.Errorf("%s of %s: described as used %v, as without effect %v", name, a.name, used != nil, unused != nil)
			}
		}
	}
}
