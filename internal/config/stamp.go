package config

import (
	"maps"
	"slices"
	"time"

	"carrel/internal/policy"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// stampRequest gives every value of a preset the profile's layer: it stands in
// the user's file, but holds only where the preset is chosen.
func stampRequest(r *policy.Request) {
	profile[policy.Persona](r.Persona)
	profile[policy.Isolation](r.Isolation)
	profile[policy.NetworkMode](r.Network)
	profile[policy.DisplayMode](r.Display)
	profile[bool](r.AllowDesktopGUI)
	profile[bool](r.VirtualDisplay)
	profile[bool](r.WatchVNC)
	profile[policy.ClipboardMode](r.Clipboard)
	profile[policy.Switch](r.Sound)
	profile[policy.Switch](r.Notify)
	profile[policy.HomeMode](r.Home)
	profile[policy.Nesting](r.Nested)
	profile[policy.HistoryMode](r.History)
	profile[policy.SecretsMode](r.Secrets)
	profile[policy.AgentHomeMode](r.AgentHome)
	profile[time.Duration](r.Timeout)
	profile[int64](r.Memory)
	profile[int64](r.Pids)
	for i := range r.Files {
		r.Files[i].Source.Layer = policy.LayerProfile
	}
	profile[policy.OnUnknown](r.OnUnknown)
	for _, list := range [][]policy.Value[string]{r.AllowHosts, r.DenyHosts, r.UnixSockets, r.EnvPass, r.EnvDrop, r.Devices, r.ProgramsAllow} {
		profileAll(list)
	}
	profileAll(r.HostPorts)
	profileAll(r.Publish)
	for name, v := range r.EnvSet {
		v.Source.Layer = policy.LayerProfile
		r.EnvSet[name] = v
	}
}

func profile[T any](v *policy.Value[T]) {
	if v != nil {
		v.Source.Layer = policy.LayerProfile
	}
}

func profileAll[T any](list []policy.Value[T]) {
	for i := range list {
		list[i].Source.Layer = policy.LayerProfile
	}
}
