package decide

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/toolchain"
)

// agentHost is what recognition may ask of this machine.
func (p *configured) agentHost() agents.Host {
	if p.asksForImage() {
		return agents.ImageHost(p.Place.Cwd, p.Place.Home, p.Place.Project)
	}
	return agents.OSHost(p.Place.Cwd, p.Place.Home, p.Place.Project, p.Getenv("PATH"), nil)
}

// asksForImage says, before the policy is decided, whether the system that
// commands see is another than the host's.
func (p *configured) asksForImage() bool {
	asked, by := p.Request.Flags.Backend, policy.LayerCommandLine
	for _, l := range p.Loaded.Layers {
		if v := l.Request.Backend; v != nil && (asked == nil || l.Kind < by) {
			asked, by = v, l.Kind
		}
	}
	return asked != nil && (asked.V == policy.BackendContainer || asked.V == policy.BackendLima)
}

// ToolchainOf gives the environment of the project that a setting means, nil for none. What is
// given secrets, so many of them, has none: the project would choose what gets them.
func (p *configured) ToolchainOf(setting string, secrets int) (*toolchain.Toolchain, error) {
	if secrets > 0 {
		return nil, nil
	}
	if setting == "" && p.Loaded != nil && p.Loaded.Settings.Toolchain != nil {
		setting = p.Loaded.Settings.Toolchain.V
	}
	if setting = cmp.Or(setting, "off"); setting == "off" || p.Request.Exact != nil {
		return nil, nil
	}
	return toolchain.Search{Project: p.Place.Project, LookPath: p.LookPath, Canonical: p.Facts.Canonical}.Find(setting)
}

// IsAgent says whether a command is an agent: its steps end with what it does.
func (p *configured) IsAgent(argv []string) bool {
	_, ok := agents.Recognise(argv, p.agentHost())
	return ok
}

// promptsOffBy names who wants the agent's questions off.
func (p *configured) promptsOffBy() string {
	if p.Request.PromptsOff {
		return "--no-prompts"
	}
	return p.Loaded.Settings.PromptsOff.Source.String()
}

// askedEngine is what the user wants to make the walls, and who says so. No
// project file is asked.
func (p *configured) askedEngine() (name string, source policy.Source, err error) {
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

// preset applies a named preset: a user's own one is a layer with a command of
// its own, a built-in one only names a command and fixes the persona.
func (p *configured) preset() error {
	if p.Request.Preset == "" {
		return nil
	}
	if b, ok := agents.BuiltinPreset(p.Request.Preset); ok {
		if b.Command == nil {
			b.Command, p.Request.Shell = []string{UserShell(p.Getenv)}, true
		}
		if p.Request.Flags.Persona != nil && p.Request.Flags.Persona.V != b.Persona {
			return fmt.Errorf("preset %q always has persona %s; leave --persona out or use a preset of your own", b.Name, b.Persona)
		}
		p.Request.Flags.Persona = &policy.Value[policy.Persona]{V: b.Persona,
			Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--preset " + b.Name + " (its persona is fixed)"}}
		p.setArgv(b.Command)
		return nil
	}
	i := slices.IndexFunc(p.Loaded.Presets, func(c config.Preset) bool { return c.Name == p.Request.Preset })
	if i < 0 {
		return fmt.Errorf("no preset %q; `carrel preset list` names them", p.Request.Preset)
	}
	own := p.Loaded.Presets[i]
	if len(own.Command) == 0 && len(p.Request.Argv) == 0 {
		return fmt.Errorf("preset %q has no command of its own: carrel run --preset %s -- COMMAND", own.Name, own.Name)
	}
	p.Loaded.Layers = append(p.Loaded.Layers, own.Layer())
	p.setArgv(own.Command)
	return nil
}

func builtinPresets() []string {
	var names []string
	for _, b := range agents.BuiltinPresets() {
		names = append(names, b.Name)
	}
	return names
}

// OwnDirs are our own directories on this machine: of the configuration, the state, and the
// registry of workspaces.
func (p *configured) OwnDirs() []string {
	var dirs []string
	if state := statedir.Path(p.Getenv); state != "" {
		dirs = append(dirs, state)
	}
	if dir, err := p.chosenHistory(); err == nil && dir != "" { // with an error nothing starts
		dirs = append(dirs, dir)
	}
	options := p.configOptions()
	if p.Request.Exact != nil {
		options.Home = p.Getenv("HOME")
	}
	if file := config.UserFile(options); file != "" {
		dirs = append(dirs, filepath.Dir(file))
	}
	return append(dirs, statedir.Registry(p.Getenv)...)
}

// ownRules keep our own files from what we run: a command that may write home
// must not be able to widen the next run.
func (p *configured) ownRules() []policy.FileRequest {
	var rules []policy.FileRequest
	for _, dir := range p.OwnDirs() {
		rules = append(rules, policy.FileRequest{Place: dir, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own files"}})
	}
	return rules
}

// ownDirsHere are the directories of carrel's own that there are.
func (p *configured) ownDirsHere() []string {
	var out []string
	for _, dir := range p.OwnDirs() {
		if real, kind := p.Facts.Resolve(dir); kind == sandbox.KindDir && !pathname.Within(p.Place.Project, real) {
			out = append(out, real)
		}
	}
	return out
}

// mountOfCarrel: what is ours. Where it lies in something that is shown read-only it
// is hidden, as it is where home is shown.
func (p *configured) mountOfCarrel(m *shown) string {
	for _, dir := range p.OwnDirs() {
		real := p.Facts.Canonical(dir)
		if pathname.Within(m.real, real) || m.Write && pathname.Within(real, m.real) {
			return fmt.Sprintf("carrel's own files are in %q", dir)
		}
	}
	for _, f := range p.Loaded.Files {
		if real := p.Facts.Canonical(f.Path); f.Present && f.Kind != config.KindProject && pathname.Within(real, m.real) && (m.Write || real == m.real) {
			return fmt.Sprintf("carrel's configuration %q lies in it", f.Path)
		}
	}
	return ""
}

// CeilingNotice is what the workspace tells of its ceilings, nil for none.
func (p *configured) CeilingNotice() *api.Ceiling {
	u := ceilings.Of(p.Loaded)
	if len(u.All()) == 0 {
		return nil
	}
	c := &api.Ceiling{Hash: u.Hash(), Source: ceilingNames(p.Loaded)}
	if ends := policy.Ends(u.All()); ends != nil {
		c.Expires = ends.V
	}
	return c
}

// Expiry is where it is said when the ceilings expire, "" where they do not.
func (p *configured) Expiry() string {
	if ends := policy.Ends(ceilings.Of(p.Loaded).All()); ends != nil {
		return ends.Source.String()
	}
	return ""
}

// ceilingNames says where the ceilings come from.
func ceilingNames(loaded *config.Loaded) string {
	var names []string
	for _, f := range loaded.Files {
		if f.Present && f.Kind == config.KindCeiling && !slices.Contains(names, f.Path) {
			names = append(names, f.Path)
		}
	}
	for _, l := range loaded.Layers {
		if l.Ceiling != nil {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Ceilings names what bounds a workspace, by the hash of its meaning: under another one the
// same policy is not the same, as hosts may be allowed while it runs.
func (p *configured) Ceilings() (out []api.Decided) {
	add := func(name string, c *policy.Ceiling) {
		if c != nil {
			out = append(out, api.Decided{Dimension: dimCeiling, Value: config.CeilingHash(c), Source: name})
		}
	}
	add(ceilingNames(p.Loaded), p.Loaded.Ceiling)
	for _, l := range p.Loaded.Layers {
		add(l.Name, l.Ceiling)
	}
	return out
}
