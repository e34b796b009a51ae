package decide

import (
	"errors"
	"fmt"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/machine"
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
	if Contained(p) {
		return chooseContainer(p)
	}
	if p.Policy.Backend == policy.BackendLima {
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
	if h := (*advice.Error)(nil); errors.As(ExplainSetup(refused), &h) {
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
	if Contained(p) {
		if err := errors.Join(p.ChooseEngine(nil), p.Preview()); err != nil {
			return err
		}
		return p.EngineHolds()
	}
	if p.Policy.Backend == policy.BackendLima {
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

// chooseMachine finds limactl, and says what the machine of the project is made of.
func chooseMachine(p *Decision) (err error) {
	w := machine.Wish{Project: p.Place.Project, Engine: p.Request.Engine, Image: p.Request.Image, HostCommands: p.ServesHost(),
		Granted: p.grantedRoots(), Variables: p.Policy.Env}
	if p.Agent != nil {
		w.Agent = p.Agent.Name
	}
	w.ID, w.Environ, w.UID, w.Network = statedir.ProjectID(p.Place.Project), p.Request.Environ, p.UID, p.Policy.Network
	if p.Machine, err = machine.Choose(w, &p.Loaded.Settings.Lima); err != nil {
		return err
	}
	p.engine.program, p.engine.why = "limactl "+p.Machine.Program.Version, p.Reason(policy.DimBackend).Source.String()
	if p.Reason(policy.DimDisplay).Source.Layer == policy.LayerDefault && p.Policy.Display != policy.DisplayNone {
		p.withoutDesktop("a machine of Lima has no display")
	}
	return p.useEngine(sandbox.EngineLima)
}
