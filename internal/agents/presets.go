package agents

import "carrel/internal/policy"

// Preset is a saved way to start something: a command and who drives it.
type Preset struct {
	Name    string
	Title   string
	Command []string       // nil: the user's own shell
	Persona policy.Persona // fixed for a built-in preset
	Agent   string         // name of the known agent, "" for none
}

// BuiltinPresets returns the presets that every installation has. Their
// personas are fixed: an agent's stays agent, the shell's stays human.
func BuiltinPresets() []Preset {
	var presets []Preset
	for _, a := range builtin() {
		presets = append(presets, Preset{
			Name: a.Name, Title: a.Title, Command: []string{a.Executables[0]},
			Persona: policy.Agent, Agent: a.Name,
		})
	}
	return append(presets, Preset{Name: "shell", Title: "Shell", Persona: policy.Human})
}

// BuiltinPreset returns the built-in preset of that name.
func BuiltinPreset(name string) (Preset, bool) {
	for _, p := range BuiltinPresets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}
