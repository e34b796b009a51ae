package taskplan

import (
	"maps"
	"slices"
)

// Briefing is the answer of mcp_session_brief: where an agent stands, and what
// it may do next.
type Briefing struct {
	Version         int              `json:"version"`
	Headless        bool             `json:"headless"`
	Viewer          Viewer           `json:"viewer"`
	Permissions     Permissions      `json:"permissions"`
	Control         ControlState     `json:"control"`
	Doctor          Doctor           `json:"doctor"`
	Profiles        ProfileList      `json:"profiles"`
	Workspaces      WorkspaceList    `json:"workspaces"`
	Recommendations []Recommendation `json:"recommendations"`
	ApprovalSummary Summary          `json:"approval_summary"`
	Warnings        []string         `json:"warnings"`
}

// ProfileList is the saved profiles, the first ones by name.
type ProfileList struct {
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// WorkspaceList is what runs and what has been left.
type WorkspaceList struct {
	Count        int        `json:"count"`
	RunningCount int        `json:"running_count"`
	StoppedCount int        `json:"stopped_count"`
	RunningIDs   []string   `json:"running_ids"`
	StoppedIDs   []string   `json:"stopped_ids"`
	Activity     []Activity `json:"activity"`
	Suggested    string     `json:"suggested_workspace_id,omitempty"`
}

// Activity is one workspace, and what it seems to be there for.
type Activity struct {
	ID              string `json:"id"`
	Running         bool   `json:"running"`
	Purpose         string `json:"purpose,omitempty"`
	ProfileID       string `json:"profile_id,omitempty"`
	Display         string `json:"display,omitempty"`
	AppCount        int    `json:"app_count"`
	RunningAppCount int    `json:"running_app_count"`
	LastEvent       uint64 `json:"last_event_sequence"`
	InferredIntent  string `json:"inferred_intent,omitempty"`
	IntentLabel     string `json:"intent_label,omitempty"`
	IntentReason    string `json:"intent_reason,omitempty"`
	Apps            []App  `json:"apps"`
}

// Recommendation is a call that may come next. One of a plan shows the first
// boundary of that plan, so that a host knows it before it asks for the plan.
type Recommendation struct {
	ID                   string         `json:"id"`
	Priority             int            `json:"priority"`
	Intent               string         `json:"intent"`
	Label                string         `json:"label"`
	Tool                 string         `json:"tool"`
	Arguments            map[string]any `json:"arguments"`
	ActionType           string         `json:"action_type"`
	Idempotent           bool           `json:"idempotent"`
	Reason               string         `json:"reason"`
	ApprovalHint         string         `json:"approval_hint"`
	ReadOnly             bool           `json:"read_only"`
	OpenWorld            bool           `json:"open_world"`
	BlockedByLiveControl bool           `json:"blocked_by_live_control"`
	ApprovalCheckpoints  []Checkpoint   `json:"approval_checkpoints"`
	ApprovalSummary      Summary        `json:"approval_summary"`
}

// Brief says where an agent stands and what it may do next, the most pressing
// first. It asks for nothing that changes anything.
func Brief(snap Snapshot, tools []Tool, blockers Blockers) Briefing {
	out := Briefing{
		Version: Version, Headless: snap.Headless, Viewer: snap.viewerState(),
		Permissions: snap.Permissions.bounded(), Control: snap.controlState(),
		Doctor:     Doctor{snap.Doctor.ReadyForWorkspace, snap.Doctor.ReadyForDisplay, cutAll(snap.Doctor.Blockers)},
		Profiles:   ProfileList{len(snap.Profiles), []string{}},
		Workspaces: snap.workspaceList(), Warnings: snap.warnings(),
		Recommendations: recommend(snap, tools, blockers),
	}
	for _, p := range first(snap.Profiles, maxShown) {
		out.Profiles.IDs = append(out.Profiles.IDs, cut(p.Name, maxName))
	}
	var all []Checkpoint
	for _, r := range out.Recommendations {
		all = append(all, r.ApprovalCheckpoints...)
	}
	out.ApprovalSummary = summarize(all)
	return out
}

func (s Snapshot) workspaceList() WorkspaceList {
	running := s.running()
	out := WorkspaceList{
		Count: len(s.Workspaces), RunningCount: len(running), StoppedCount: len(s.Workspaces) - len(running),
		RunningIDs: []string{}, StoppedIDs: []string{}, Activity: []Activity{},
	}
	for _, w := range s.Workspaces {
		ids := &out.StoppedIDs
		if w.Running {
			ids = &out.RunningIDs
		}
		if len(*ids) < maxShown {
			*ids = append(*ids, cut(w.Name, maxName))
		}
	}
	// What runs is told first, so that old leftovers do not hide it.
	shown := slices.Clone(s.Workspaces)
	slices.SortStableFunc(shown, func(a, b Workspace) int { return rank(a) - rank(b) })
	for _, w := range first(shown, maxShown) {
		out.Activity = append(out.Activity, s.tell(w))
	}
	if len(shown) > 0 {
		out.Suggested = cut(shown[0].Name, maxName)
	}
	return out
}

func rank(w Workspace) int {
	if w.Running {
		return 0
	}
	return 1
}

func (s Snapshot) tell(w Workspace) Activity {
	out := Activity{
		ID: cut(w.Name, maxName), Running: w.Running, Purpose: cut(w.Purpose, maxLine), ProfileID: cut(w.Profile, maxName),
		Display: cut(w.Display, maxName), AppCount: len(w.Apps), RunningAppCount: w.runningApps(), LastEvent: w.LastEvent, Apps: []App{},
	}
	for _, a := range newest(w.Apps, maxApps) {
		out.Apps = append(out.Apps, App{cut(a.ID, maxName), cut(a.Name, maxName), a.Running})
	}
	if r := s.activity(w); r.kind != KindUnknown {
		out.InferredIntent, out.IntentLabel, out.IntentReason = r.kind.family(), kindWords[r.kind], r.by
	}
	return out
}

func (s Snapshot) warnings() []string {
	out := []string{}
	say := func(is bool, text string) {
		if is {
			out = append(out, cut(text, maxLine))
		}
	}
	c := s.controlState()
	say(!c.AllowsAgentMutation, c.Message)
	say(!s.Doctor.ReadyForWorkspace, "No workspace can be started on this machine as it is.")
	say(s.Doctor.ReadyForWorkspace && !s.Doctor.ReadyForDisplay, "Workspaces have no display here: no pictures, windows or input.")
	say(!s.Permissions.Configured, "No ceiling is set: what may be done is between the host and its user.")
	for _, p := range first(s.Problems, maxList) {
		say(true, p)
	}
	return out
}

// recommend makes the recommendations of their rows: one, or one for each of
// what a row is about.
func recommend(snap Snapshot, tools []Tool, blockers Blockers) []Recommendation {
	out := []Recommendation{}
	base := newScene(Request{}, snap, tools, blockers)
	base.target = Workspace{}
	base.inputs = map[string]any{"doctor": base.inputs["doctor"]}
	for _, row := range recommendations() {
		switch row.each {
		case "running":
			for _, w := range first(snap.running(), maxEach) {
				out = base.about(w, Profile{}).append(out, row, w.Name)
			}
		case "profile":
			for _, p := range first(snap.Profiles, maxEach) {
				out = base.about(Workspace{}, p).append(out, row, p.Name)
			}
		default:
			out = base.about(Workspace{}, Profile{}).append(out, row, "")
		}
	}
	slices.SortStableFunc(out, func(a, b Recommendation) int { return b.Priority - a.Priority })
	return first(out, maxRecs)
}

// about is the scene of one workspace or one profile.
func (s *scene) about(w Workspace, p Profile) *scene {
	out := *s
	out.inputs, out.facts = maps.Clone(s.inputs), maps.Clone(s.facts)
	out.target = w
	kind := taskKind(s.snapshot.activity(w).kind)
	why := s.snapshot.activity(w).by
	if w.Name != "" {
		out.inputs["workspace_id"] = w.Name
		out.facts["screen"] = w.Display != ""
	}
	if p.Name != "" {
		out.inputs["profile_id"] = p.Name
		kind, why = profileKind(p), ""
		out.facts["profile_runs"] = slices.ContainsFunc(s.snapshot.running(), func(w Workspace) bool { return w.Profile == p.Name })
	}
	if out.facts["task_known"] = kind != ""; kind != "" {
		out.inputs["task_intent"], out.inputs["task_words"], out.inputs["task_reason"] = taskIntents[kind], kindWords[kind], why
	}
	return &out
}

func (s *scene) append(out []Recommendation, row recommendation, name string) []Recommendation {
	st, ok := s.step(row.StepTemplate, nil)
	if !ok {
		return out
	}
	st.Order = 1
	if name != "" {
		st.ID += ":" + cut(name, maxName)
	}
	checkpoints := listed(s.ahead(st))
	return append(out, Recommendation{
		ID: st.ID, Priority: row.priority, Intent: row.intent, Label: s.text(row.Label), Tool: st.Tool, Arguments: st.Arguments,
		ActionType: st.action(), Idempotent: st.effect.idempotent, Reason: st.Reason, ApprovalHint: st.ApprovalHint,
		ReadOnly: st.ReadOnly, OpenWorld: st.OpenWorld, BlockedByLiveControl: st.BlockedByLiveControl,
		ApprovalCheckpoints: checkpoints, ApprovalSummary: summarize(checkpoints),
	})
}

// ahead lists the checkpoints of a recommended call, and for a plan the first
// boundary that the plan will have.
func (s *scene) ahead(st Step) []Checkpoint {
	out := s.before(st, plan{})
	if st.Tool != planTool || len(out) > 0 {
		return out
	}
	text := func(name string) string { v, _ := st.Arguments[name].(string); return v }
	tools := slices.Collect(maps.Values(s.tools))
	planned := Plan(Request{Intent: text("intent"), WorkspaceID: text("workspace_id"), ProfileID: text("profile_id")}, s.snapshot, tools, s.blockers)
	next := planned.ApprovalSummary.NextBoundary
	for _, c := range planned.ApprovalCheckpoints {
		if next != nil && c.ID == next.ID {
			out = append(out, c)
		}
	}
	return out
}

// newest are the last ones of a list, the newest first.
func newest(apps []App, most int) []App {
	out := slices.Clone(apps[max(0, len(apps)-most):])
	slices.Reverse(out)
	return out
}
