package taskplan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// failer is what a check reports to.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkPlan holds what is true of every plan.
func checkPlan(t failer, p TaskPlan, tools []Tool) {
	t.Helper()
	table := byName(tools)
	seen := make(map[string]bool)
	for i, st := range p.Steps {
		if st.Order != i+1 || seen[st.ID] {
			t.Errorf("step %s stands at %d as %d, or twice", st.ID, i+1, st.Order)
		}
		checkCall(t, table, st.Tool, st.Arguments)
		for _, d := range st.DependsOn {
			if !seen[d] {
				t.Errorf("%s depends on %s, which does not come before it", st.ID, d)
			}
		}
		if st.ReadyToCall && (len(st.RequiredInput) > 0 || len(st.PermissionBlockers) > 0 || st.BlockedByLiveControl) {
			t.Errorf("%s says that it is ready: %+v", st.ID, st)
		}
		for _, param := range table[st.Tool].Params {
			if _, given := st.Arguments[param.Name]; param.Required && !given && len(st.RequiredInput) == 0 {
				t.Errorf("%s lacks %s and asks for nothing", st.ID, param.Name)
			}
		}
		if st.Destructive && !slices.ContainsFunc(p.Steps[:i], func(e Step) bool {
			return e.Tool == st.Tool && e.Arguments["dry_run"] == true && slices.Contains(st.DependsOn, e.ID)
		}) {
			t.Errorf("%s ends or removes something without a dry run before it", st.ID)
		}
		if given, ok := st.Arguments[ackHidden]; ok {
			t.Errorf("%s acknowledges %v in the user's name", st.ID, given)
		}
		if strings.TrimSpace(st.Reason) == "" || strings.TrimSpace(st.ApprovalHint) == "" || strings.Contains(st.Reason, "{") {
			t.Errorf("%s: reason %q, hint %q", st.ID, st.Reason, st.ApprovalHint)
		}
		seen[st.ID] = true
	}
	for _, c := range p.ApprovalCheckpoints {
		if st := stepOf(p, c.StepID); st == nil || st.Order != c.Order || c.ID != c.StepID+":"+c.Kind {
			t.Errorf("checkpoint %s is of no step", c.ID)
		} else if c.BlocksStep && st.ReadyToCall {
			t.Errorf("checkpoint %s blocks a step that says it is ready", c.ID)
		}
	}
	for _, st := range p.Steps {
		blocked := slices.ContainsFunc(p.ApprovalCheckpoints, func(c Checkpoint) bool { return c.StepID == st.ID && c.BlocksStep })
		open := slices.ContainsFunc(st.RequiredInput, func(i Input) bool { return i.FromStep == "" })
		if own := open || len(st.PermissionBlockers) > 0 || st.BlockedByLiveControl; own != blocked {
			t.Errorf("%s: something stands in its way: %v, a checkpoint says so: %v", st.ID, own, blocked)
		}
	}
	checkSummary(t, p.ApprovalSummary, p.ApprovalCheckpoints)
	if p.Summary == "" || strings.Contains(p.Summary, "{") {
		t.Errorf("summary %q", p.Summary)
	}
	for _, b := range p.TaskContext.ActionBoundaries {
		if b.Ready && (len(b.RequiredInputs) > 0 || len(b.MissingApprovals) > 0) || b.ApprovalRequired != (b.ApprovalKind != "") {
			t.Errorf("boundary %+v", b)
		}
	}
	checkJSON(t, p)
}

func checkCall(t failer, table map[string]Tool, name string, arguments map[string]any) {
	t.Helper()
	tool, ok := table[name]
	if !ok {
		t.Errorf("there is no tool %q", name)
	}
	for a, v := range arguments {
		if !tool.takes(a, v) {
			t.Errorf("%s does not take %s=%v", name, a, v)
		}
	}
}

func checkSummary(t failer, s Summary, all []Checkpoint) {
	t.Helper()
	blocking, approvals := 0, 0
	for _, c := range all {
		if c.BlocksStep {
			blocking++
		}
		if c.ApprovalRequired {
			approvals++
			if !slices.Contains(s.ApprovalKinds, c.Kind) {
				t.Errorf("the summary does not tell of %s", c.Kind)
			}
		}
	}
	if s.BlockingCount != blocking || s.ApprovalRequiredCount != approvals {
		t.Errorf("the summary counts %d and %d, there are %d and %d", s.BlockingCount, s.ApprovalRequiredCount, blocking, approvals)
	}
	if next := s.NextBoundary; next != nil && !slices.ContainsFunc(all, func(c Checkpoint) bool { return c.ID == next.ID }) {
		t.Errorf("the next boundary %s is not in the list", next.ID)
	} else if (next == nil) != (blocking+approvals == 0) || next != nil && blocking > 0 && !next.BlocksStep {
		t.Errorf("the next boundary is %+v of %d and %d", next, blocking, approvals)
	}
}

// checkJSON holds the form: lists are lists, and the whole is bounded.
func checkJSON(t failer, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%v", err)
	}
	if strings.Contains(string(text), ":null") {
		t.Errorf("there is a null in %s", text)
	}
	if len(text) > 100_000 {
		t.Errorf("an answer of %d bytes", len(text))
	}
}

func TestPlansHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		snap, blockers := drawSnapshot(t)
		tools := drawTools(t)
		r := drawRequest(t)
		p := Plan(r, snap, tools, blockers)
		checkPlan(t, p, tools)
		for _, st := range p.Steps {
			if !snap.Permissions.Configured && len(st.PermissionBlockers) > 0 {
				t.Errorf("%s is blocked by a ceiling that is not there", st.ID)
			}
			if st.ID == "open_viewer" && (snap.Headless || !snap.Viewer.Available) {
				t.Errorf("a viewer is opened on a machine without one")
			}
			if w, _ := snap.workspace(p.TaskContext.WorkspaceID); w.Running && st.ID == "start_workspace" && len(st.RequiredInput) == 0 {
				t.Errorf("a workspace that runs is started again")
			}
		}
		if again := Plan(r, snap, tools, blockers); fmt.Sprint(again) != fmt.Sprint(p) && !sameJSON(again, p) {
			t.Errorf("asked twice, answered differently")
		}
	})
}

func TestBriefsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		snap, blockers := drawSnapshot(t)
		tools := drawTools(t)
		b := Brief(snap, tools, blockers)
		table := byName(tools)
		var all []Checkpoint
		seen := make(map[string]bool)
		for i, r := range b.Recommendations {
			checkCall(t, table, r.Tool, r.Arguments)
			checkSummary(t, r.ApprovalSummary, r.ApprovalCheckpoints)
			all = append(all, r.ApprovalCheckpoints...)
			if seen[r.ID] || i > 0 && b.Recommendations[i-1].Priority < r.Priority || strings.Contains(r.Label+r.Reason, "{") {
				t.Errorf("recommendation %+v", r)
			}
			seen[r.ID] = true
			if !r.ReadOnly && r.ActionType != actHostUI {
				t.Errorf("a briefing recommends %s, which changes something", r.ID)
			}
		}
		checkSummary(t, b.ApprovalSummary, all)
		checkJSON(t, b)
		checkJSON(t, Catalog(tools))
	})
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

var intents = []string{"", "test the app", "buy milk", "order groceries", "open the website", "look", "clean up", "stop it", "stop and clean up", "hm"}

func drawRequest(t *rapid.T) Request {
	pick := func(label string, values ...string) string {
		return rapid.SampledFrom(append(values, "", "")).Draw(t, label)
	}
	r := Request{
		Intent:             rapid.OneOf(rapid.SampledFrom(intents), rapid.String()).Draw(t, "intent"),
		WorkspaceID:        pick("workspace", "w0", "w1", "new", "a/b"),
		ProfileID:          pick("profile", "p0", "gone"),
		ProjectPath:        pick("project", "/home/u/My Project", "relative", "/"),
		UserDataDir:        pick("data", "/d", "~"),
		BrowserPath:        pick("browser", "/usr/bin/chromium"),
		TargetURL:          pick("url", "https://example.com/", "file:///etc", "http://localhost:1"),
		ShoppingList:       pick("list", "milk\nbread"),
		Budget:             pick("budget", "20"),
		Fulfillment:        pick("fulfillment", "pickup"),
		SubstitutionPolicy: pick("substitution", "none"),
	}
	r.CartMutationApproved, r.FinalCartReviewed = rapid.Bool().Draw(t, "cart"), rapid.Bool().Draw(t, "reviewed")
	r.RealWorldActionApproved = rapid.Bool().Draw(t, "real")
	if rapid.Bool().Draw(t, "says viewer") {
		open := rapid.Bool().Draw(t, "viewer")
		r.OpenViewer = &open
	}
	return r
}

func drawSnapshot(t *rapid.T) (Snapshot, Blockers) {
	yes := func(label string) bool { return rapid.Bool().Draw(t, label) }
	s := Snapshot{
		Headless: yes("headless"), Viewer: Viewer{Available: yes("viewer available")},
		Control: Control{Mode: rapid.SampledFrom([]string{"", "active", "read_only", "paused", "takeover", "odd"}).Draw(t, "mode")},
		Doctor:  Doctor{ReadyForWorkspace: yes("ready"), ReadyForDisplay: yes("display"), Blockers: []string{"no Xvfb"}},
		Default: rapid.SampledFrom([]string{"", "w0"}).Draw(t, "default"),
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "workspaces") {
		s.Workspaces = append(s.Workspaces, Workspace{
			Name: "w" + itoa(i), Running: yes("running"), Purpose: rapid.SampledFrom(intents).Draw(t, "purpose"),
			Profile: rapid.SampledFrom([]string{"", "p0", "p1"}).Draw(t, "its profile"), Display: rapid.SampledFrom([]string{"", ":3"}).Draw(t, "its display"),
			Apps: []App{{"a", rapid.String().Draw(t, "app"), yes("app runs")}}[:rapid.IntRange(0, 1).Draw(t, "apps")],
		})
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "profiles") {
		s.Profiles = append(s.Profiles, Profile{Name: "p" + itoa(i), Kind: rapid.SampledFrom([]string{"", ProfileProject, ProfileBrowser}).Draw(t, "kind")})
	}
	s.Permissions.Configured = yes("ceiling")
	for range rapid.IntRange(0, 20).Draw(t, "advisories") {
		s.Permissions.Advisories = append(s.Permissions.Advisories, strings.Repeat("x", 1000))
	}
	refused := rapid.SliceOf(rapid.SampledFrom([]string{"workspace_start", "profile_read", "app_launch", "mcp_control_update"})).Draw(t, "refused")
	return s, func(tool string, _ map[string]any) []string {
		if slices.Contains(refused, tool) {
			return []string{"the ceiling says no"}
		}
		return nil
	}
}

// drawTools leaves out tools and parameters: a server with fewer of them gets
// plans without those steps, and no dry run that would be none.
func drawTools(t *rapid.T) []Tool {
	all := withBrowser()
	if rapid.Bool().Draw(t, "all tools") {
		return all
	}
	var out []Tool
	for _, tool := range all {
		if rapid.IntRange(0, 5).Draw(t, tool.Name) == 0 {
			continue
		}
		tool.Params = slices.DeleteFunc(tool.Params, func(Param) bool { return rapid.IntRange(0, 9).Draw(t, "without") == 0 })
		out = append(out, tool)
	}
	return out
}
