package taskplan

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// update writes the golden files anew: go test ./internal/taskplan -update.
var update = flag.Bool("update", false, "write testdata anew")

func TestGolden(t *testing.T) {
	lockedQuiet, refuses := locked(quiet())
	paused := busy()
	paused.Control = Control{Mode: "paused", UpdatedAt: time.Unix(1_800_000_000, 0).UTC(), UpdatedBy: "person", Reason: "wait"}
	headless := quiet()
	headless.Headless = true
	groceries := Request{
		Intent: "Order groceries", ProfileID: "shop-login", TargetURL: "https://shop.example/", ShoppingList: "milk, bread", Budget: "20 EUR",
		Fulfillment: "pickup on Friday", SubstitutionPolicy: "none", CartMutationApproved: true,
	}
	for name, answer := range map[string]any{
		"qa-project":   Plan(Request{Intent: "Test the app", ProjectPath: "/home/u/My Project"}, quiet(), toolTable(), nil),
		"qa-running":   Plan(Request{Intent: "test the site", WorkspaceID: "qa"}, busy(), toolTable(), nil),
		"qa-locked":    Plan(Request{Intent: "Test the app", ProjectPath: "/home/u/p"}, lockedQuiet, toolTable(), refuses),
		"qa-paused":    Plan(Request{Intent: "test it", ProfileID: "site", WorkspaceID: "second"}, paused, toolTable(), nil),
		"browser":      Plan(Request{Intent: "open the website", TargetURL: "https://example.com/"}, headless, withBrowser(), nil),
		"grocery":      Plan(groceries, busy(), withBrowser(), nil),
		"observe":      Plan(Request{Intent: "look at what is running"}, busy(), toolTable(), nil),
		"cleanup":      Plan(Request{Intent: "stop and clean up", WorkspaceID: "qa"}, busy(), toolTable(), nil),
		"unknown":      Plan(Request{Intent: "border"}, quiet(), toolTable(), nil),
		"brief-quiet":  Brief(quiet(), toolTable(), nil),
		"brief-busy":   Brief(busy(), toolTable(), nil),
		"brief-paused": Brief(paused, toolTable(), nil),
		"catalog":      Catalog(toolTable()),
	} {
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(answer); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, text.Bytes()) {
			t.Errorf("%s is not what is answered now (%v); look, and write it with -update:\n%s", path, err, text.Bytes())
		}
	}
}

func TestStepsOfPlans(t *testing.T) {
	headless := busy()
	headless.Headless = true
	no := false
	for _, tt := range []struct {
		name    string
		request Request
		snap    Snapshot
		want    string
	}{
		{"a project", Request{Intent: "test it", ProjectPath: "/p"}, quiet(),
			"template_project preview_save_profile save_profile preview_start start_workspace launch_window observe_workspace read_events wait_window list_apps read_new_app_log take_screenshot open_viewer"},
		{"a profile", Request{Intent: "test it", ProfileID: "site", WorkspaceID: "new"}, busy(),
			"check_profile preview_start start_workspace launch_window observe_workspace read_events wait_window list_apps read_new_app_log take_screenshot open_viewer"},
		{"its workspace runs", Request{Intent: "test it", ProfileID: "site"}, busy(),
			"observe_workspace read_events wait_window list_apps read_app_log take_screenshot open_viewer"},
		{"one that fits runs", Request{Intent: "test it"}, busy(),
			"observe_workspace read_events wait_window list_apps read_app_log take_screenshot open_viewer"},
		{"one that does not fit runs", Request{Intent: "browse the web"}, busy(),
			"template_browser preview_save_profile save_profile preview_start start_workspace observe_workspace read_events wait_window list_apps read_new_app_log take_screenshot confirm_real_world open_viewer"},
		{"headless", Request{Intent: "test it"}, headless, "observe_workspace read_events wait_window list_apps read_app_log take_screenshot"},
		{"no viewer wanted", Request{Intent: "test it", OpenViewer: &no}, busy(), "observe_workspace read_events wait_window list_apps read_app_log take_screenshot"},
		{"looking at nothing", Request{Intent: "look"}, quiet(), "list_workspaces"},
		{"looking at what has stopped", Request{Intent: "look", WorkspaceID: "old"}, busy(), "workspace_status list_workspaces list_apps read_events read_app_log"},
		{"stopping", Request{Intent: "stop it"}, busy(), "list_workspaces workspace_status preview_stop stop_workspace verify_cleanup"},
		{"cleaning", Request{Intent: "clean up"}, busy(), "list_workspaces preview_cleanup cleanup_stale verify_cleanup"},
		{"both", Request{Intent: "clean up", WorkspaceID: "qa"}, busy(), "list_workspaces workspace_status preview_stop stop_workspace preview_cleanup cleanup_stale verify_cleanup"},
		{"stopping what has stopped", Request{Intent: "stop it", WorkspaceID: "old"}, busy(), "list_workspaces workspace_status"},
		{"nothing known", Request{Intent: "hm"}, quiet(), "classify_actions list_workspaces"},
	} {
		p := Plan(tt.request, tt.snap, toolTable(), nil)
		checkPlan(t, p, toolTable())
		got := slices.DeleteFunc(stepIDs(p), func(id string) bool { return id == "inspect_machine" })
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, " "), tt.want)
		}
	}
}

// TestCartAndOrderAreApprovedApart is the one about money.
func TestCartAndOrderAreApprovedApart(t *testing.T) {
	for _, tt := range []struct {
		cart, reviewed, real bool
		wantCart, wantOrder  bool
	}{
		{false, false, false, false, false},
		{true, false, false, true, false},
		{false, false, true, false, false},
		{false, true, true, false, true},
		{true, true, false, true, false},
		{true, true, true, true, true},
	} {
		p := Plan(Request{Intent: "buy milk", CartMutationApproved: tt.cart, FinalCartReviewed: tt.reviewed, RealWorldActionApproved: tt.real}, quiet(), withBrowser(), nil)
		approved := make(map[string]bool)
		for _, b := range p.TaskContext.ActionBoundaries {
			approved[b.ApprovalKind] = b.Approved
			if b.Ready && b.ApprovalRequired {
				t.Errorf("%+v is ready without a list", b)
			}
		}
		if approved[GateCart] != tt.wantCart || approved[GateRealWorld] != tt.wantOrder {
			t.Errorf("%+v: approved are %v", tt, approved)
		}
		cart, order := gateOf(p, "confirm_cart:"+GateCart), gateOf(p, "confirm_real_world:"+GateRealWorld)
		if cart == nil || order == nil || cart.ApprovalRequired == tt.wantCart || order.ApprovalRequired == tt.wantOrder {
			t.Errorf("%+v: %+v, %+v", tt, cart, order)
		}
	}
}

func TestLiveControl(t *testing.T) {
	for _, mode := range []string{"read_only", "paused", "takeover", "odd"} {
		snap := quiet()
		snap.Control.Mode = mode
		p := Plan(Request{Intent: "test it", ProfileID: "site"}, snap, toolTable(), nil)
		start, preview := stepOf(p, "start_workspace"), stepOf(p, "preview_start")
		if !start.BlockedByLiveControl || start.ReadyToCall || preview.BlockedByLiveControl || !preview.ReadyToCall {
			t.Errorf("%s: start %+v, preview %+v", mode, start, preview)
		}
		c := gateOf(p, "start_workspace:"+GateControl)
		want := map[string]any{"mode": "active", "confirmed_user_request": true}
		if c == nil || len(c.RequiredInput) != 1 || c.RequiredInput[0].Tool != "mcp_control_update" || !maps.Equal(c.RequiredInput[0].Arguments, want) {
			t.Errorf("%s: %+v", mode, c)
		}
		b := Brief(snap, toolTable(), nil)
		if first := b.Recommendations[0]; first.ID != "respect_live_control" || len(first.ApprovalCheckpoints) != 1 || b.Control.AllowsAgentMutation {
			t.Errorf("%s: %+v", mode, b.Recommendations[0])
		}
		stop := Plan(Request{Intent: "stop qa", WorkspaceID: "qa"}, withMode(busy(), mode), toolTable(), nil)
		if st := stepOf(stop, "stop_workspace"); !st.ReadyToCall {
			t.Errorf("%s: %+v", mode, st)
		}
	}
	export := Tool{Name: "profile_export", Mutating: true, Control: ControlOutputPath}
	for _, tt := range []struct {
		arguments map[string]any
		blocked   bool
	}{
		{nil, false}, {map[string]any{"output_path": "/x"}, true}, {map[string]any{"output_path": "/x", "dry_run": true}, false},
	} {
		if got := ControlBlocks("paused", export, tt.arguments); got != tt.blocked {
			t.Errorf("%v: %v", tt.arguments, got)
		}
	}
	if ControlBlocks("active", Tool{Control: "odd"}, nil) || !ControlBlocks("paused", Tool{Control: "odd"}, nil) {
		t.Error("a behaviour that nobody knows")
	}
}

func withMode(s Snapshot, mode string) Snapshot {
	s.Control.Mode = mode
	return s
}

func TestCeiling(t *testing.T) {
	snap, refuses := locked(quiet())
	p := Plan(Request{Intent: "test it", ProjectPath: "/p"}, snap, toolTable(), refuses)
	checkPlan(t, p, toolTable())
	if st := stepOf(p, "template_project"); st == nil || st.ReadyToCall || len(st.PermissionBlockers) != 1 {
		t.Errorf("%+v", st)
	}
	if next := p.ApprovalSummary.NextBoundary; next == nil || next.Kind != GateCeiling {
		t.Errorf("next is %+v", next)
	}
	if p.Steps[0].ID != "review_permissions" {
		t.Errorf("%v", stepIDs(p))
	}
	snap.Permissions = Permissions{}
	for _, st := range Plan(Request{Intent: "test it", ProjectPath: "/p"}, snap, toolTable(), refuses).Steps {
		if len(st.PermissionBlockers) > 0 {
			t.Errorf("%s is blocked without a ceiling", st.ID)
		}
	}
}

// TestNothingIsEndedByGuess holds that a cleanup of one workspace never becomes
// one of all, because nobody knows which.
func TestNothingIsEndedByGuess(t *testing.T) {
	snap := busy()
	snap.Workspaces = append(snap.Workspaces, Workspace{Name: "third", Running: true})
	p := Plan(Request{Intent: "stop it and clean up"}, snap, toolTable(), nil)
	checkPlan(t, p, toolTable())
	for _, st := range p.Steps {
		if st.Tool != "workspace_list" && (st.ReadyToCall || st.RequiredInput[0].Name != "workspace_id") {
			t.Errorf("%+v", st)
		}
	}
	if len(p.NeedsUserInput) != 1 || p.TaskContext.WorkspaceID != "" {
		t.Errorf("%q %q", p.NeedsUserInput, p.TaskContext.WorkspaceID)
	}
}

func TestInputsThatAreNone(t *testing.T) {
	p := Plan(Request{Intent: "test it", ProjectPath: "my project"}, quiet(), toolTable(), nil)
	missing := p.TaskContext.MissingInputs
	if len(missing) != 1 || missing[0].Name != "project_path" || !strings.Contains(missing[0].Reason, "absolute") {
		t.Errorf("%+v", missing)
	}
	busyDefault := busy()
	busyDefault.Default = "qa"
	p = Plan(Request{Intent: "test it", ProjectPath: "/p"}, busyDefault, toolTable(), nil)
	if st := stepOf(p, "start_workspace"); len(st.RequiredInput) != 2 || st.RequiredInput[0].Name != "workspace_id" {
		t.Errorf("%+v", st)
	}
	snap := quiet()
	snap.Doctor = Doctor{Blockers: []string{"user namespaces are off"}}
	p = Plan(Request{Intent: "test it", ProjectPath: "/p"}, snap, toolTable(), nil)
	if st := stepOf(p, "start_workspace"); p.Steps[0].ID != "inspect_machine" || !strings.Contains(st.RequiredInput[0].Reason, "namespaces") {
		t.Errorf("%+v", st)
	}
}
