package policy

import (
	"fmt"
	"slices"
)

// Limits of one decision. They bound the work that a hostile project file can
// cause; real policies stay far below them.
const (
	MaxRules = 65536 // file requests of all layers together, and as many rules for hosts
	maxPlace = 4096  // bytes of one place or pattern, as PATH_MAX
)

// Decide merges the layers under the ceilings into one policy. The order of
// layers of different kinds does not matter; ceiling may be nil. The error is
// an [Errors] that holds everything that is wrong, each a [*Refusal] or a
// [*RequestError].
//
// Places are resolved by their letters only. A caller that has a file system
// passes the layers and the ceiling through [Canonical] first, so that no
// symlink leads out of what was decided.
func Decide(scope Scope, ceiling *Ceiling, layers []Layer) (*Effective, error) {
	d := newDecision(scope, ceiling, layers)
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	d.persona()
	d.backend()
	d.network()
	(&displayDecision{d}).decide()
	d.virtual()
	d.home()
	d.nested()
	d.history()
	d.secrets()
	d.agentHome()
	d.resources()
	d.environment()
	d.devices()
	d.programs()
	(&hostDecision{of: d}).decide()
	d.links()
	(&fileDecision{d}).decide()
	d.hostCommands()
	d.authority()
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return d.out, nil
}

// Defaults is the built-in layer that every launch starts from: the system
// directories and a private temporary directory, the project writable, no
// network, toolchains of home, nested user namespaces.
func Defaults(p Persona) Layer {
	src := func(text string) Source { return Source{Layer: LayerDefault, Text: text} }
	return Layer{Kind: LayerDefault, Name: "built-in", Request: Request{
		Persona: &Value[Persona]{V: p, Source: src("built-in persona")},
		Files: []FileRequest{
			{Place: ":system", Access: Read, Source: src("system directories")},
			{Place: ":tmp", Access: Write, Source: src("private temporary directory")},
			{Place: ":project", Access: Write, Source: src("the project")},
		},
	}}
}

// decision is the state of one Decide.
type decision struct {
	scope    Scope
	ceilings []*Ceiling // all that apply
	empty    []*Ceiling // those of them that the operator's file has without a word in it
	layers   []Layer    // strongest first, without the project's
	project  []Layer
	findings
}

// findings are what a decision has come to so far, and what is wrong with what was asked for.
type findings struct {
	out       *Effective
	errs      Errors
	leftOut   []string // hosts, ports and sockets of defaults beyond a ceiling
	leftOutBy Source
}

func newDecision(scope Scope, ceiling *Ceiling, layers []Layer) *decision {
	d := &decision{scope: scope, findings: findings{out: &Effective{Scope: scope}}}
	d.ceilings = append(d.ceilings, ceiling.All()...)
	rules, hosts := 0, 0
	for _, l := range layers {
		rules += len(l.Request.Files)
		hosts += len(l.Request.AllowHosts) + len(l.Request.DenyHosts)
		switch {
		case l.Kind < LayerOperator || l.Kind > LayerDefault || l.Kind == LayerCeiling:
			d.fail("", Source{Layer: l.Kind, Text: l.Name}, "a layer of kind %d cannot ask for anything", l.Kind)
		case l.Ceiling != nil && l.Kind != LayerOperator:
			d.fail("", Source{Layer: l.Kind, Text: l.Name}, "only the operator's file can hold a ceiling")
		case l.Kind == LayerProject:
			d.project = append(d.project, l)
		default:
			d.layers = append(d.layers, l)
		}
		if l.Ceiling != nil && l.Kind == LayerOperator {
			d.ceilings = append(d.ceilings, l.Ceiling)
			if !l.Ceiling.Restricted() {
				d.empty = append(d.empty, l.Ceiling)
			}
		}
	}
	if rules > MaxRules {
		d.fail(DimFiles, Source{Layer: LayerDefault}, "%d file rules are more than %d", rules, MaxRules)
	}
	if hosts > MaxRules {
		d.fail(DimNetwork, Source{Layer: LayerDefault}, "%d rules for hosts are more than %d", hosts, MaxRules)
	}
	d.checkScope()
	slices.SortStableFunc(d.layers, func(a, b Layer) int { return int(a.Kind) - int(b.Kind) })
	return d
}

// checkScope holds the caller to what Scope promises: a relative directory
// here would silently move every rule.
func (d *decision) checkScope() {
	check := func(name, p string, needed bool) {
		if p == "" && !needed {
			return
		}
		if !isCleanAbs(p) {
			d.fail(DimFiles, Source{Layer: LayerDefault, Text: name}, "%q is not a clean absolute path", p)
		}
	}
	check("working directory", d.scope.Cwd, true)
	check("project", d.scope.Project, true)
	check("home", d.scope.Home, false)
	check("temporary directory", d.scope.Tmp, false)
	for _, s := range d.scope.System {
		check("system directory", s, true)
	}
}

func (d *findings) fail(dim Dimension, src Source, format string, args ...any) {
	d.errs = append(d.errs, &RequestError{Dimension: dim, Source: src, Message: fmt.Sprintf(format, args...)})
}

func (d *findings) refuse(dim Dimension, asked, by Source, requested, allowed string) {
	d.errs = append(d.errs, &Refusal{Dimension: dim, Requested: requested, Allowed: allowed, Source: by, Asked: asked})
}

func (d *findings) warn(src Source, format string, args ...any) {
	d.out.Warnings = append(d.out.Warnings, Warning{Source: src, Message: fmt.Sprintf(format, args...)})
}

// ignored reports something that a project file may not do.
func (d *findings) ignored(src Source, what string) {
	d.warn(src, "ignored: %s; a project file may only tighten", what)
}

func (d *findings) reason(dim Dimension, value string, src Source, note string) {
	d.out.Reasons = append(d.out.Reasons, Reason{Dimension: dim, Value: value, Source: src, Note: note})
}

// stamp makes the layer the one that really holds the value: a caller's slip
// must not give a project file the rank of the command line.
func stamp[T any](l Layer, v Value[T]) Value[T] {
	v.Source.Layer = l.Kind
	return v
}
