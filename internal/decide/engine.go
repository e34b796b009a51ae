package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// engine is what makes the walls of a run. The zero value is our own namespaces.
type engine struct {
	name    sandbox.Engine
	program string // with its version, for another's program
	why     string
	refused error // the system's answer to our own namespaces, where that is why
}

func (e engine) String() string {
	name := string(e.name)
	if e.program != "" {
		name += " (" + e.program + ")"
	}
	return name + ", " + e.why
}

// Engine names what makes the walls.
func (p *Decision) Engine() sandbox.Engine { return cmp.Or(p.engine.name, sandbox.EngineNamespaces) }

// EngineReason says why it is this one.
func (p *Decision) EngineReason() string { return cmp.Or(p.engine.why, "the default") }

// askedEngine is what the user wants to make the walls, and who says so. No
// project file is asked.
func (p *Decision) askedEngine() (name string, source policy.Source, err error) {
	if asked := p.Request.Engine; asked != "" {
		if !slices.Contains(config.Engines, asked) {
			return "", source, fmt.Errorf("--engine %q: want one of %s", asked, strings.Join(config.Engines, ", "))
		}
		if v := p.Loaded.Settings.Engine; v != nil && v.Source.Layer == policy.LayerOperator && v.V != config.EngineAuto && v.V != asked {
			return "", source, fmt.Errorf("--engine %s: the operator's file names engine %s (%s)", asked, v.V, v.Source)
		}
		return asked, policy.Source{Layer: policy.LayerCommandLine, Text: "--engine"}, nil
	}
	if v := p.Loaded.Settings.Engine; v != nil {
		return v.V, v.Source, nil
	}
	return config.EngineAuto, source, nil
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
