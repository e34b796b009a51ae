package taskplan

import (
	"slices"

	"carrel/internal/api"
)

// Kinds of checkpoints. Those from GateDestructive on are approvals.
const (
	GateCeiling     = "permission_ceiling"
	GateInput       = "required_input"
	GatePreview     = "preview_surface"
	GateControl     = "live_control"
	GateMutating    = "mutating_action"
	GateDestructive = "destructive_action"
	GateProfile     = "profile_write"
	GateHidden      = "hidden_workspace"
	GateHostUI      = "host_visible_ui"
	GateCart        = "cart_mutation"
	GateRealWorld   = "real_world_action"
	GateFiles       = "project_file_write" // of boundaries only: no step writes files of the project
)

// Checkpoint is a place where a host may have to ask, or to show something,
// before a step.
type Checkpoint struct {
	ID                 string   `json:"id"` // step:kind
	StepID             string   `json:"step_id"`
	Order              int      `json:"order"`
	Kind               string   `json:"kind"`
	Label              string   `json:"label"`
	Tool               string   `json:"tool"`
	ApprovalRequired   bool     `json:"approval_required"` // and not given yet
	BlocksStep         bool     `json:"blocks_step"`
	ApprovalHint       string   `json:"approval_hint"`
	RequiredInput      []Input  `json:"required_input"`
	PermissionBlockers []string `json:"permission_blockers"`
}

// Summary is a list of checkpoints in short. A host shows the next boundary
// first.
type Summary struct {
	BlockingCount         int      `json:"blocking_count"`
	ApprovalRequiredCount int      `json:"approval_required_count"`
	ApprovalKinds         []string `json:"approval_kinds"`
	NextBoundary          *Next    `json:"next_boundary,omitempty"`
}

// Next is one checkpoint of the list beside it, as a prompt needs it; what it
// asks for stands there, under the same id.
type Next struct {
	ID               string `json:"id"`
	StepID           string `json:"step_id"`
	Kind             string `json:"kind"`
	Label            string `json:"label"`
	Tool             string `json:"tool"`
	ApprovalRequired bool   `json:"approval_required"`
	BlocksStep       bool   `json:"blocks_step"`
	ApprovalHint     string `json:"approval_hint"`
}

// summarize counts. The next boundary is the first that blocks, else the first
// that takes an approval.
func summarize(checkpoints []Checkpoint) Summary {
	out := Summary{ApprovalKinds: []string{}}
	for _, c := range checkpoints {
		if c.BlocksStep {
			out.BlockingCount++
		}
		if c.ApprovalRequired {
			out.ApprovalRequiredCount++
			if !slices.Contains(out.ApprovalKinds, c.Kind) {
				out.ApprovalKinds = append(out.ApprovalKinds, c.Kind)
			}
		}
	}
	next := slices.IndexFunc(checkpoints, func(c Checkpoint) bool { return c.BlocksStep })
	if next < 0 {
		next = slices.IndexFunc(checkpoints, func(c Checkpoint) bool { return c.ApprovalRequired })
	}
	if next >= 0 {
		c := checkpoints[next]
		out.NextBoundary = &Next{c.ID, c.StepID, c.Kind, c.Label, c.Tool, c.ApprovalRequired, c.BlocksStep, c.ApprovalHint}
	}
	return out
}

func (s *scene) checkpoints(steps []Step, kind plan) []Checkpoint {
	out := []Checkpoint{}
	for _, st := range steps {
		out = append(out, s.before(st, kind)...)
	}
	return out
}

// before lists the checkpoints of one step: first what keeps it from being
// called, then what a person is asked, then what a person is shown.
func (s *scene) before(st Step, kind plan) []Checkpoint {
	var out []Checkpoint
	add := func(gate string, approval, blocks bool, fill func(*Checkpoint)) {
		c := Checkpoint{
			ID: st.ID + ":" + gate, StepID: st.ID, Order: st.Order, Kind: gate, Label: gateTable[gate].label, Tool: st.Tool,
			ApprovalRequired: approval, BlocksStep: blocks, ApprovalHint: gateTable[gate].hint,
			RequiredInput: []Input{}, PermissionBlockers: []string{},
		}
		if fill != nil {
			fill(&c)
		}
		out = append(out, c)
	}
	if len(st.PermissionBlockers) > 0 {
		add(GateCeiling, false, true, func(c *Checkpoint) { c.PermissionBlockers = st.PermissionBlockers })
	}
	inputs, acks := asked(st.RequiredInput)
	if len(inputs) > 0 {
		add(GateInput, false, true, func(c *Checkpoint) { c.RequiredInput = inputs })
	}
	if st.BlockedByLiveControl {
		add(GateControl, true, true, s.handBack)
	}
	if st.effect.preview {
		add(GatePreview, false, false, nil)
	}
	for _, gate := range approvalGates(st) {
		approved := s.request.approved(gate, kind)
		add(gate, !approved, gate == GateHidden && len(acks) > 0, func(c *Checkpoint) {
			switch gate {
			case GateHidden:
				c.RequiredInput = listed(acks)
			case GateControl:
				s.handBack(c)
			case GateCart, GateRealWorld:
				c.ApprovalHint = st.ApprovalHint
			}
		})
	}
	if st.effect.mutating && !st.effect.destructive && len(st.gates) == 0 {
		add(GateMutating, false, false, nil)
	}
	return out
}

// asked tells apart what somebody has to be asked for and what the user has to
// agree to. What a step before answers is neither.
func asked(required []Input) (inputs, acks []Input) {
	for _, i := range required {
		switch {
		case i.Name == ackHidden:
			acks = append(acks, i)
		case i.FromStep == "":
			inputs = append(inputs, i)
		}
	}
	return inputs, acks
}

// approvalGates are a step's gates; what destroys has one whether its template
// says so or not.
func approvalGates(st Step) []string {
	if st.effect.destructive && !slices.Contains(st.gates, GateDestructive) {
		return append([]string{GateDestructive}, st.gates...)
	}
	return st.gates
}

// approved says whether the request brings all approvals that the plan's
// boundary of this kind takes.
func (r *Request) approved(gate string, kind plan) bool {
	for _, b := range kind.boundaries {
		if b.kind == gate {
			return len(b.approvals) > 0 && len(r.unapproved(b.approvals)) == 0
		}
	}
	return false
}

// handBack says how mutation becomes possible again: the exact call, which is
// the agent's to make only when the user has asked for it. Where the ceiling
// leaves that to a person, it says so.
func (s *scene) handBack(c *Checkpoint) {
	tool, ok := s.tools[controlTool]
	call := map[string]any{"mode": api.ControlActive, "confirmed_user_request": true}
	for name, value := range call {
		ok = ok && tool.takes(name, value)
	}
	if !ok {
		c.ApprovalHint = "Only a person can make the workspace active again."
		return
	}
	c.PermissionBlockers = s.against(controlTool, call)
	c.RequiredInput = []Input{{
		Name: "confirmed_user_request", Tool: controlTool, Arguments: call,
		Reason: "Control is " + cut(s.snapshot.Control.Mode, maxName) + "; the user has to ask for it to be active again.",
	}}
}

const controlTool = "mcp_control_update"

// gateTable is what is said at each kind of checkpoint.
var gateTable = map[string]struct{ label, hint string }{
	GateCeiling:     {"The ceiling refuses this call", "No approval helps. Ask for less, or let the user change the ceiling and start the server anew."},
	GateInput:       {"Input is missing", "Ask the user, or take it from the steps before."},
	GatePreview:     {"A dry run to show", "Nothing changes. Show the answer before the real call."},
	GateControl:     {"Live control does not allow it", "The user has taken control. Go on looking, and change nothing until the user hands it back."},
	GateMutating:    {"Changes something in the workspace", "Covered by the user's word for the workspace."},
	GateDestructive: {"Ends or removes something", "Show the dry run and ask; what is gone does not come back."},
	GateProfile:     {"Saves a profile", "Show the profile: it says what workspaces started from it may do."},
	GateHidden:      {"Starts a workspace that the user does not see", "Ask once. What happens inside it needs no further prompts."},
	GateHostUI:      {"Opens a window on the user's desktop", "Ask before a window appears."},
	GateCart:        {"Before the cart is changed", ""},
	GateRealWorld:   {"Before something real happens", ""},
}

// actionHints are what a step says of approval where its template does not.
var actionHints = map[string]string{
	actRead:    "None needed: it only looks.",
	actPreview: "None needed: a dry run changes nothing. Show its answer to the user.",
	actMutate:  "Within a workspace that the user has agreed to, none; starting one and saving a profile are asked for.",
	actDestroy: "Ask the user, with the answer of the dry run.",
	actOpen:    "It reaches beyond this machine; within what the user has asked for.",
	actHostUI:  "Ask before a window appears on the user's desktop.",
}

// kindWords are the kinds in a sentence.
var kindWords = map[Kind]string{
	KindAppQA: "app QA", KindBrowser: "a task in a browser", KindShopping: "shopping", KindGrocery: "a grocery order",
	KindObserve: "looking", KindCleanup: "cleaning up", KindUnknown: "nothing known",
}
