package taskplan

import (
	"slices"
)

// Step is one call of a plan. What it tells of its effect is told of this call:
// a dry run of something destructive changes nothing.
type Step struct {
	ID                   string         `json:"id"`
	Order                int            `json:"order"`
	Label                string         `json:"label"`
	Tool                 string         `json:"tool"`
	Arguments            map[string]any `json:"arguments"`
	ReadyToCall          bool           `json:"ready_to_call"` // once the steps that it depends on have been called
	Reason               string         `json:"reason"`
	ApprovalHint         string         `json:"approval_hint"`
	ReadOnly             bool           `json:"read_only"`
	Mutating             bool           `json:"mutating"`
	Destructive          bool           `json:"destructive"`
	OpenWorld            bool           `json:"open_world"`
	BlockedByLiveControl bool           `json:"blocked_by_live_control"`
	PermissionBlockers   []string       `json:"permission_blockers"`
	DependsOn            []string       `json:"depends_on"`
	RequiredInput        []Input        `json:"required_input"`

	effect effect
	gates  []string
	asks   []string // its missing needs, as the tables call them
}

// Input is something that a step still needs. Where exactly one value will do,
// Arguments are what to add to the call; of Tool, where that is another one.
type Input struct {
	Name      string         `json:"name"`
	Reason    string         `json:"reason"`
	FromStep  string         `json:"from_step,omitempty"` // whose answer has it; nobody needs to be asked
	Tool      string         `json:"tool,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// steps makes a plan's steps of their templates, in the order of the list.
func (s *scene) steps(ids []string) []Step {
	out := []Step{}
	for _, id := range ids {
		st, ok := s.step(template(id), out)
		if !ok {
			continue
		}
		st.Order = len(out) + 1
		out = append(out, st)
		if id == "start_workspace" {
			s.facts["desk"], s.facts["records"] = true, true
		}
	}
	return out
}

// step makes one step, or false where it has no place in this plan: its
// conditions do not hold, a step that it must follow was left out, or the tool
// is not there or cannot be called so.
func (s *scene) step(t StepTemplate, earlier []Step) (Step, bool) {
	tool, ok := s.tools[t.Tool]
	if !ok || !s.holds(t.When) || !holdsAll(earlier, t.Requires) {
		return Step{}, false
	}
	arguments, ok := s.call(tool, t)
	if !ok {
		return Step{}, false
	}
	effect := tool.effect(arguments)
	st := Step{
		ID: t.ID, Label: t.Label, Tool: t.Tool, Arguments: arguments,
		Reason: s.text(t.Reason), ApprovalHint: t.Hint,
		ReadOnly: effect.readOnly, Mutating: effect.mutating, Destructive: effect.destructive, OpenWorld: effect.openWorld,
		BlockedByLiveControl: ControlBlocks(s.snapshot.Control.Mode, tool, arguments),
		PermissionBlockers:   s.against(t.Tool, arguments),
		DependsOn:            []string{},
		effect:               effect,
		gates:                gatesOf(t, effect),
	}
	if st.ApprovalHint == "" {
		st.ApprovalHint = st.hint()
	}
	s.require(&st, t, tool)
	st.fill(earlier)
	st.ReadyToCall = len(st.RequiredInput) == 0 && len(st.PermissionBlockers) == 0 && !st.BlockedByLiveControl
	for _, e := range earlier {
		if slices.Contains(t.After, e.ID) {
			st.DependsOn = append(st.DependsOn, e.ID)
			st.ReadyToCall = st.ReadyToCall && e.ReadyToCall
		}
	}
	return st, true
}

// require lists what a call lacks: what its template needs, what its tool asks
// for, and the user's word for a hidden workspace, which no plan gives.
func (s *scene) require(st *Step, t StepTemplate, tool Tool) {
	st.RequiredInput = []Input{}
	for _, m := range s.missing(t.Needs) {
		st.RequiredInput = append(st.RequiredInput, Input{Name: m.Name, Reason: m.Reason})
	}
	for _, n := range t.Needs {
		if s.inputs[n] == nil {
			st.asks = append(st.asks, n)
		}
	}
	if _, ok := tool.param(ackHidden); ok && slices.Contains(st.gates, GateHidden) {
		st.asks = append(st.asks, ackHidden)
		st.RequiredInput = append(st.RequiredInput, Input{Name: ackHidden, Reason: needs[ackHidden].reason, Arguments: map[string]any{ackHidden: true}})
	}
	for _, p := range tool.Params {
		if _, given := st.Arguments[p.Name]; !p.Required || given {
			continue
		}
		if !slices.ContainsFunc(st.RequiredInput, func(i Input) bool { return i.Name == p.Name || t.comesFrom(p.Name, i.Name) }) {
			st.RequiredInput = append(st.RequiredInput, Input{Name: p.Name, Reason: "The tool asks for it."})
		}
	}
}

// fill tells apart the inputs that a step before will have answered.
func (st *Step) fill(earlier []Step) {
	for i, in := range st.RequiredInput {
		at := slices.IndexFunc(earlier, func(e Step) bool { return slices.Contains(answers[in.Name], e.ID) })
		if at >= 0 {
			st.RequiredInput[i].FromStep = earlier[at].ID
			st.asks = slices.DeleteFunc(st.asks, func(n string) bool { return needs[n].name == in.Name })
		}
	}
}

// hint is what a step says of approval where its template does not.
func (st Step) hint() string {
	if len(st.gates) > 0 {
		return gateTable[st.gates[0]].hint
	}
	return actionHints[st.action()]
}

// comesFrom says whether an argument is filled by an input of that name.
func (t StepTemplate) comesFrom(argument, input string) bool {
	return slices.ContainsFunc(t.Args, func(a Arg) bool { return a.Name == argument && a.From == input })
}

// against is what of the ceiling stands against a call, bounded.
func (s *scene) against(tool string, arguments map[string]any) []string {
	if s.blockers == nil {
		return []string{}
	}
	return cutAll(s.blockers(tool, arguments))
}

// action is the kind of action that a step is, by the worst that it does.
func (st Step) action() string {
	switch {
	case st.effect.preview:
		return actPreview
	case st.effect.destructive:
		return actDestroy
	case slices.Contains(st.gates, GateHostUI):
		return actHostUI
	case st.effect.mutating:
		return actMutate
	case st.effect.openWorld && !st.effect.readOnly:
		return actOpen
	}
	return actRead
}

// gatesOf are a template's gates that this call has. A dry run has none.
func gatesOf(t StepTemplate, e effect) []string {
	if e.preview {
		return nil
	}
	return t.Gates
}

func holdsAll(steps []Step, ids []string) bool {
	for _, id := range ids {
		if !slices.ContainsFunc(steps, func(st Step) bool { return st.ID == id }) {
			return false
		}
	}
	return true
}
