package taskplan

import (
	"slices"

	"carrel/internal/api"
)

// Tool is one tool of the server, as far as plans need it.
type Tool struct {
	Name        string
	Category    string
	ReadOnly    bool
	Mutating    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
	Control     string // one of the Control constants
	Params      []Param
}

// Param is one parameter of a tool.
type Param struct {
	Name     string
	Type     string // a word of JSON Schema; "" takes any value
	Required bool
	Enum     []string // what a string, or each of a list of strings, may be
}

// How a tool behaves in the modes of live control.
const (
	ControlAlways     = "always_allowed"
	ControlPlane      = "control_plane_allowed"
	ControlObserve    = "observation_allowed"
	ControlBlocked    = "blocked_when_not_active"
	ControlDryRun     = "blocked_when_not_active_unless_dry_run"
	ControlOutputPath = "conditional_output_path"     // blocked when it writes a file of the host
	ControlKill       = "conditional_kill_on_timeout" // blocked when it may end a program
	ControlStop       = "safety_stop_allowed"
	ControlViewer     = "viewer_control_allowed"
	ControlOpenViewer = "headless_or_host_display_gated_open_world"
)

// Blockers says what of the ceiling stands against a call, and nothing else: not
// that an argument is missing, or that a profile is not saved yet. Nil is
// nothing.
type Blockers func(tool string, arguments map[string]any) []string

// ControlBlocks says whether live control in this mode refuses a call. A
// behaviour that nobody knows is refused: it may change something.
func ControlBlocks(mode string, t Tool, arguments map[string]any) bool {
	if allowsMutation(mode) {
		return false
	}
	switch t.Control {
	case ControlAlways, ControlPlane, ControlObserve, ControlStop, ControlViewer, ControlOpenViewer:
		return false
	case ControlDryRun:
		return !isSet(arguments, "dry_run")
	case ControlOutputPath:
		return writesOutput(arguments)
	case ControlKill:
		return isSet(arguments, "kill_on_timeout")
	}
	return true
}

// allowsMutation is the modes' side of it. Without a mode there is nothing yet
// that could be controlled.
func allowsMutation(mode string) bool { return mode == "" || mode == api.ControlActive }

// effect is what one call does, where a tool's hints tell the worst of all its
// calls.
type effect struct {
	readOnly, preview, mutating, destructive, idempotent, openWorld bool
}

func (t Tool) effect(arguments map[string]any) effect {
	if t.preview(arguments) {
		return effect{readOnly: true, preview: true, idempotent: true}
	}
	if t.Control == ControlOutputPath && !writesOutput(arguments) {
		return effect{readOnly: true, idempotent: true}
	}
	return effect{
		readOnly: t.ReadOnly, mutating: t.Mutating, destructive: t.Destructive,
		idempotent: t.Idempotent, openWorld: t.OpenWorld,
	}
}

// preview is a dry run of something that would change what is there.
func (t Tool) preview(arguments map[string]any) bool {
	return !t.ReadOnly && isSet(arguments, "dry_run")
}

func writesOutput(arguments map[string]any) bool {
	path, _ := arguments["output_path"].(string)
	return path != "" && !isSet(arguments, "dry_run")
}

func isSet(arguments map[string]any, name string) bool {
	set, _ := arguments[name].(bool)
	return set
}

func (t Tool) param(name string) (Param, bool) {
	i := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return t.Params[i], true
}

// takes says whether the tool has such a parameter and the value fits it.
func (t Tool) takes(name string, value any) bool {
	p, ok := t.param(name)
	return ok && p.fits(value)
}

func (p Param) fits(value any) bool {
	var kind string
	var words []string
	switch v := value.(type) {
	case bool:
		kind = "boolean"
	case int:
		kind = "integer"
	case string:
		kind, words = "string", []string{v}
	case []string:
		kind, words = "array", v
	}
	switch {
	case p.Type == "", p.Type == kind, p.Type == "number" && kind == "integer":
	default:
		return false
	}
	return len(p.Enum) == 0 || !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(p.Enum, w) })
}
