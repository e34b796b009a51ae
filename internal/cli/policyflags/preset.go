package policyflags

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/config"

	"github.com/spf13/cobra"
)

// OneRun are the flags that belong to one run, and cannot stand in a preset.
var OneRun = []string{"preset", "json", "permissions", "backend", "image", "engine", "size",
	"accel", "memory-mb", "cpus", "qemu-binary", "kernel-path", "initrd-path"}

// PresetKeys turns the run flags that were given into the keys that mean the
// same in a preset. A relative place means this directory, and a file's would
// mean the project that the preset is used in: so it is made absolute.
func (f *Flags) PresetKeys(cmd *cobra.Command) ([]config.PresetKey, error) {
	for _, flag := range OneRun {
		if cmd.Flags().Changed(flag) {
			return nil, fmt.Errorf("--%s belongs to one run and cannot stand in a preset", flag)
		}
	}
	if _, err := f.Request(cmd); err != nil { // sizes and times
		return nil, err
	}
	read, err := absolute(f.read)
	if err != nil {
		return nil, err
	}
	write, err := absolute(f.Write)
	if err != nil {
		return nil, err
	}
	var keys []config.PresetKey
	list := func(values []string, path ...string) {
		if len(values) > 0 {
			keys = append(keys, config.PresetKey{Path: path, List: values})
		}
	}
	word := func(value string, path ...string) {
		if value != "" {
			keys = append(keys, config.PresetKey{Path: path, Text: value})
		}
	}
	list(read, "read")
	list(write, "write")
	list(f.deny, "deny")
	list(f.protect, "protect")
	list(f.device, "devices")
	keys = append(keys, f.net.presetKeys(f.network)...)
	word(f.display, "display")
	word(f.home, "home")
	word(f.agentHome, "agent_home")
	word(f.isolation, "isolation")
	word(f.nested, "nested")
	word(f.history, "history")
	word(f.secrets, "secrets")
	keys = append(keys, f.environmentKeys()...)
	word(f.timeout, "resources", "timeout")
	word(f.memory, "resources", "memory")
	if cmd.Flags().Changed("pids") {
		keys = append(keys, config.PresetKey{Path: []string{"resources", "pids"}, Count: &f.pids})
	}
	return keys, nil
}

func (f *Flags) environmentKeys() []config.PresetKey {
	var pass []string
	var keys []config.PresetKey
	set := map[string]string{}
	for _, e := range f.env {
		if name, value, ok := strings.Cut(e, "="); ok {
			set[name] = value
		} else {
			pass = append(pass, name)
		}
	}
	if len(pass) > 0 {
		keys = append(keys, config.PresetKey{Path: []string{"environment", "pass"}, List: pass})
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		keys = append(keys, config.PresetKey{Path: []string{"environment", "set", name}, Text: set[name]})
	}
	return keys
}

// absolute keeps special places and makes the others absolute.
func absolute(places []string) ([]string, error) {
	out := make([]string, len(places))
	for i, p := range places {
		out[i] = p
		if p == "" || strings.ContainsAny(p[:1], "~:") {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("finding %q: %w", p, err)
		}
		out[i] = abs
	}
	return out, nil
}
