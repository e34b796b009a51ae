package agents

import "carrel/internal/policy"

// HostPresets returns the built-in presets of hosts and one for each known
// agent, by its short name, with what it has to reach.
func HostPresets() []policy.HostPreset {
	presets := policy.BuiltinHostPresets()
	for _, a := range Known() {
		presets = append(presets, policy.HostPreset{Name: a.Name, Title: "what " + a.Title + " has to reach", Hosts: a.Hosts})
	}
	return presets
}
