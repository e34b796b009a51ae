package taskplan

import (
	"slices"
	"strconv"
)

// Version is that of the answers: of what their fields mean.
const Version = 1

// TaskPlan is the answer of mcp_task_plan: how a task would go, step by step,
// and where a person has to say something.
type TaskPlan struct {
	Version                int          `json:"version"`
	RequestedIntent        string       `json:"requested_intent"`
	NormalizedIntent       string       `json:"normalized_intent"`
	Summary                string       `json:"summary"`
	RecommendedProfileKind string       `json:"recommended_profile_kind,omitempty"`
	Headless               bool         `json:"headless"`
	HostViewerReady        bool         `json:"host_viewer_ready"`
	ViewerAvailable        bool         `json:"viewer_available"`
	ViewerReason           string       `json:"viewer_unavailable_reason,omitempty"`
	Permissions            Permissions  `json:"permissions"`
	Control                ControlState `json:"control"`
	TaskContext            TaskContext  `json:"task_context"`
	Assumptions            []string     `json:"assumptions"`
	NeedsUserInput         []string     `json:"needs_user_input"`
	ApprovalCheckpoints    []Checkpoint `json:"approval_checkpoints"`
	ApprovalSummary        Summary      `json:"approval_summary"`
	Steps                  []Step       `json:"steps"`
}

// TaskContext is what a task was taken for, as data.
type TaskContext struct {
	TaskKind         Kind       `json:"task_kind"`
	WorkspaceID      string     `json:"workspace_id"`
	ProvidedInputs   []Provided `json:"provided_inputs"`
	MissingInputs    []Missing  `json:"missing_inputs"`
	SafetyBoundaries []string   `json:"safety_boundaries"`
	ActionBoundaries []Boundary `json:"action_boundaries"`
	ApprovalKinds    []string   `json:"approval_kinds"`
}

// Boundary is a class of actions of the task: whether its inputs are there, and
// which approval it takes.
type Boundary struct {
	ID               string   `json:"id"`
	Label            string   `json:"label"`
	ActionType       string   `json:"action_type"`
	Ready            bool     `json:"ready"`
	ApprovalRequired bool     `json:"approval_required"`
	Approved         bool     `json:"approved"`
	ApprovalKind     string   `json:"approval_kind,omitempty"`
	RequiredInputs   []string `json:"required_inputs"` // that are missing
	MissingApprovals []string `json:"missing_approvals"`
	Reason           string   `json:"reason"`
}

// Plan says how a task would go from where things stand. Nothing of it is done,
// and no approval is taken for given that the request does not bring.
func Plan(r Request, snap Snapshot, tools []Tool, blockers Blockers) TaskPlan {
	s := newScene(r, snap, tools, blockers)
	kind := kinds[s.reading.kind]
	viewer := snap.viewerState()
	out := TaskPlan{
		Version:                Version,
		RequestedIntent:        cut(r.Intent, maxLine),
		NormalizedIntent:       s.reading.kind.family(),
		RecommendedProfileKind: kind.profile,
		Headless:               snap.Headless,
		HostViewerReady:        snap.Viewer.Available,
		ViewerAvailable:        viewer.Available,
		ViewerReason:           viewer.Reason,
		Permissions:            snap.Permissions.bounded(),
		Control:                snap.controlState(),
		Steps:                  s.steps(kind.steps),
	}
	out.Summary = s.firstNote(kind.summary)
	out.ApprovalCheckpoints = s.checkpoints(out.Steps, kind)
	out.ApprovalSummary = summarize(out.ApprovalCheckpoints)
	out.TaskContext = s.taskContext(kind, out.Steps)
	out.Assumptions = s.assumptions(kind)
	out.NeedsUserInput = s.questions(kind, out.Steps)
	return out
}

func (s *scene) taskContext(kind plan, steps []Step) TaskContext {
	out := TaskContext{
		TaskKind:         s.reading.kind,
		WorkspaceID:      s.target.Name,
		ProvidedInputs:   s.request.provided(s.inputs),
		MissingInputs:    s.missing(kind.inputs),
		SafetyBoundaries: cutAll(kind.safety),
		ActionBoundaries: []Boundary{},
		ApprovalKinds:    []string{},
	}
	starts := slices.ContainsFunc(steps, func(st Step) bool { return st.ID == "start_workspace" })
	if out.WorkspaceID == "" && starts && s.inputs["free_name"] != nil {
		out.WorkspaceID = s.snapshot.defaultName() // that of a start without a name
	}
	for _, b := range kind.boundaries {
		told := s.boundary(b, steps)
		out.ActionBoundaries = append(out.ActionBoundaries, told)
		if k := told.ApprovalKind; k != "" && !slices.Contains(out.ApprovalKinds, k) {
			out.ApprovalKinds = append(out.ApprovalKinds, k)
		}
	}
	return out
}

func (s *scene) boundary(b boundary, steps []Step) Boundary {
	out := Boundary{
		ID: b.id, Label: b.label, ActionType: b.action, Reason: b.reason,
		ApprovalRequired: b.kind != "", ApprovalKind: b.kind,
		RequiredInputs: []string{}, MissingApprovals: []string{},
	}
	for _, m := range s.missing(b.inputs) {
		out.RequiredInputs = append(out.RequiredInputs, m.Name)
	}
	if len(b.done) == 0 || !s.holds(b.done) {
		out.MissingApprovals = s.request.unapproved(b.approvals)
	}
	out.Approved = out.ApprovalRequired && len(out.MissingApprovals) == 0
	out.Ready = len(out.RequiredInputs) == 0 && len(out.MissingApprovals) == 0 && !s.stopped(b, steps)
	return out
}

// stopped says whether live control or the ceiling stands in a boundary's way.
func (s *scene) stopped(b boundary, steps []Step) bool {
	if !s.facts["active"] && b.action != actRead && b.action != actPreview && b.action != actDestroy {
		return true
	}
	return slices.ContainsFunc(steps, func(st Step) bool {
		return slices.Contains(b.steps, st.ID) && (len(st.PermissionBlockers) > 0 || st.BlockedByLiveControl)
	})
}

// unapproved lists the approvals that are not there. One that the request has no
// field for is never there: it is the user's, at the time.
func (r *Request) unapproved(names []string) []string {
	given := r.approvals()
	out := []string{}
	for _, n := range names {
		if !given[n] {
			out = append(out, n)
		}
	}
	return out
}

// missing lists what is not there of these inputs, each name once.
func (s *scene) missing(names []string) []Missing {
	out := []Missing{}
	for _, n := range names {
		if s.inputs[n] != nil {
			continue
		}
		m := Missing{needs[n].name, s.text(needs[n].reason)}
		if why := s.refused[m.Name]; why != "" {
			m.Reason = why + ": " + m.Reason
		}
		if !slices.ContainsFunc(out, func(o Missing) bool { return o.Name == m.Name }) {
			out = append(out, m)
		}
	}
	return out
}

func (s *scene) firstNote(notes []note) string {
	for _, n := range notes {
		if s.holds(n.when) {
			return s.text(n.text)
		}
	}
	return ""
}

func (s *scene) assumptions(kind plan) []string {
	out := []string{}
	if s.reading.by != "" {
		out = append(out, cut("Taken for "+kindWords[s.reading.kind]+" because of "+s.reading.by+".", maxLine))
	}
	if name, ok := s.inputs["profile_id"].(string); ok {
		if _, known := s.snapshot.profile(name); !known {
			out = append(out, s.text("No profile {profile_id} is known; {profile_names}."))
		}
	}
	for _, n := range kind.notes {
		if s.holds(n.when) {
			out = append(out, s.text(n.text))
		}
	}
	return out
}

// questions are what a host can ask the user, each once: for the task's inputs,
// then for those of its steps.
func (s *scene) questions(kind plan, steps []Step) []string {
	names := slices.Clone(kind.inputs)
	for _, st := range steps {
		names = append(names, st.asks...)
	}
	out := []string{}
	asked := make(map[string]bool)
	for _, n := range names {
		need := needs[n]
		if q := need.question; s.inputs[n] == nil && q != "" && !asked[need.name] {
			asked[need.name] = true
			out = append(out, q)
		}
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }
