package decide

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// ChooseEngine decides what makes the walls. refused is the system's answer
// where it gives us no namespaces; nothing else makes another engine be looked
// for, so that a start with namespaces costs no more than it did.
func (p *Decision) ChooseEngine(refused error) error {
	if p.NoWalls() {
		return p.openStarts(refused)
	}
	if p.contained() {
		return chooseContainer(p)
	}
	if p.inMachine() {
		return chooseMachine(p)
	}
	asked, source, err := p.askedEngine()
	if err != nil {
		return err
	}
	switch {
	case asked == string(sandbox.EngineBubblewrap):
		p.engine.why = "asked for by " + source.String()
	case asked == string(sandbox.EngineLandlock):
		p.engine.why = "asked for by " + source.String()
		if err := sandbox.CanStandAlone(); err != nil {
			return &advice.Error{Err: fmt.Errorf("engine landlock (%s) can hold nothing here: %w", p.engine.why, err), Hint: "--engine auto leaves the choice to carrel"}
		}
		return p.useEngine(sandbox.EngineLandlock)
	case asked == string(sandbox.EngineNamespaces):
		p.engine.why = "asked for by " + source.String()
		return nil // a refusal is the launch's to say
	case refused == nil:
		return nil
	default:
		p.engine.why = fmt.Sprintf("because the system refuses carrel namespaces of its own (%v)", refused)
		p.engine.refused = refused
	}
	found, err := sandbox.FindBubblewrap()
	switch {
	case err == nil:
	case asked == config.EngineAuto:
		return p.lastEngine(refused, err)
	default:
		return &advice.Error{Err: fmt.Errorf("engine bubblewrap (%s) cannot make walls here: %w", p.engine.why, err), Hint: "--engine auto leaves the choice to carrel"}
	}
	p.engine.program = found.Path + " " + found.Version
	return p.useEngine(sandbox.EngineBubblewrap)
}

// useEngine makes the plan for an engine, and refuses it where it is not held.
func (p *Decision) useEngine(name sandbox.Engine) error {
	p.engine.name = name
	if name == sandbox.EngineLandlock && p.Policy.Display == policy.DisplayVirtual {
		p.withoutDesktop("a display is a socket, and the engine landlock refuses all with a name")
	}
	if err := p.Preview(); err != nil {
		return err
	}
	return p.EngineHolds()
}

// lastEngine does without namespaces, where neither carrel nor bubblewrap gets any.
func (p *Decision) lastEngine(refused, bubblewrap error) error {
	none := sandbox.CanStandAlone()
	if none == nil && p.Request.Exact != nil {
		none = errors.New("what is private would lie at other paths than the policy says")
	}
	if none == nil {
		p.engine.why += fmt.Sprintf(", and bubblewrap makes none either (%v)", bubblewrap)
		return p.useEngine(sandbox.EngineLandlock)
	}
	hint := "run `carrel doctor` to see what this machine can hold"
	if h := (*advice.Error)(nil); errors.As(ExplainSetup(refused, false), &h) {
		hint = h.Hint
	}
	if opened, _ := hostfacts.Container(); opened != "" {
		hint = opened + "; " + hint
	}
	return &advice.Error{Err: fmt.Errorf("no engine can make walls here: namespaces: %w; bubblewrap: %w; landlock: %w", refused, bubblewrap, none), Hint: hint}
}

// PreviewEngine decides what would make the walls, for a run that does not follow.
func (p *Decision) PreviewEngine() error {
	if p.NoWalls() {
		try := sandbox.StartOpenStage(hostfacts.SelfExe)
		defer try.Abandon()
		return p.ChooseEngine(try.Refused())
	}
	if p.contained() {
		if err := errors.Join(p.ChooseEngine(nil), p.Preview()); err != nil {
			return err
		}
		return p.EngineHolds()
	}
	if p.inMachine() {
		return p.ChooseEngine(nil)
	}
	asked, _, err := p.askedEngine()
	if err != nil {
		return err
	}
	var refused error
	if asked == config.EngineAuto {
		try := sandbox.StartStage(hostfacts.SelfExe, p.Policy.Network != policy.NetOpen)
		refused = try.Refused()
		try.Abandon()
	}
	return p.ChooseEngine(refused)
}

// openStarts says whether a workspace without walls can be started here. No history
// is given up because the machine refuses it: who wants none says so. A command then
// needs nothing but that all of it ends together.
func (p *Decision) openStarts(refused error) error {
	if refused == nil {
		return nil
	}
	if p.History() {
		hint := "`--history off` goes without undo, if that is what you want; `carrel doctor` says what namespaces need here"
		return &advice.Error{Err: fmt.Errorf("--backend none: changes cannot be recorded, as the system refuses carrel namespaces: %w", refused), Hint: hint}
	}
	err := sandbox.CanStandAlone()
	if err == nil && p.UID == 0 {
		err = errors.New("for root, Landlock does not either")
	}
	if err != nil {
		return &advice.Error{Err: fmt.Errorf("--backend none: nothing here would end with the command all that it starts: namespaces: %w; Landlock: %w", refused, err),
			Hint: "run the command itself: without walls and without history there is nothing else that carrel does for it"}
	}
	p.Plain = true
	p.engine.why += ", and no namespaces, which the system refuses"
	return nil
}

// EngineHolds refuses what the engine cannot hold of the policy, all of it at
// once, and says what would be right.
func (p *Decision) EngineHolds() error {
	refused := p.Engine().Refusals(p.Policy, p.Plan)
	if len(refused) == 0 {
		return nil
	}
	var not, right []string
	for _, r := range refused {
		not = append(not, fmt.Sprintf("%s %s (%s)", r.Dimension, r.Subject, r.Why))
		right = append(right, rightHere(p, r))
	}
	first := refused[0]
	if !p.NoWalls() {
		right = append(right, "or, so that carrel makes the walls itself, "+namespacesHere(p.engine.refused))
	}
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: first.Subject, Rule: string(first.Dimension), Source: p.Reason(first.Dimension).Source.String(),
		Message: fmt.Sprintf("engine %s, cannot hold: %s", p.engine, strings.Join(not, "; ")),
		Hint:    strings.Join(right, "; ")}
}

// rightHere is what a refusal of a decision says would be right, on this machine.
func rightHere(p *Decision, r sandbox.Refusal) string {
	switch _, asUser := hostfacts.Container(); {
	case r.Dimension == sandbox.DimUser && p.engine.refused != nil && asUser != "":
		return asUser
	case r.Dimension == policy.DimFiles && p.Engine() == sandbox.EngineLandlock && !p.History():
		return r.Right + "; or leave --history off out: what is protected is then kept by what records the changes"
	}
	return r.Right
}

// namespacesHere says what gives carrel namespaces of its own, where these were refused.
func namespacesHere(refused error) string {
	const doctor = "see `carrel doctor`"
	if opened, _ := hostfacts.Container(); opened != "" && refused != nil {
		return opened + "; " + doctor
	}
	return doctor
}

// ForDesk completes what was prepared for a workspace that stays, so that it can be
// compared with one that runs.
func (p *Decision) ForDesk() error {
	if err := p.PreviewEngine(); err != nil {
		return err
	}
	if p.History() {
		var err error
		if p.State, err = statedir.Open(statedir.Path(p.Getenv)); err != nil {
			return err
		}
		if p.HistoryAt, err = p.HistoryDir(false); err != nil {
			return err
		}
	}
	return p.Compile(false)
}
