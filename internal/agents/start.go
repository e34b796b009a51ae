package agents

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"carrel/internal/hooks"
)

// Start is how an agent is started.
type Start struct {
	PromptsOff bool // without its own questions
	Hooks      StepHooks
}

// StepHooks are the hooks of an agent that make each tool call a step, see [hooks.Pass].
type StepHooks = hooks.Passed

// StepHooks gives them for one start; program and dir are as seen inside. files says whether a file can
// be shown in dir: else an agent that needs one gets none.
func (a Agent) StepHooks(program, dir string, files bool) StepHooks {
	if passed := hooks.Pass(a.Name, program, dir); passed.File == "" || files {
		return passed
	}
	return StepHooks{}
}

// StartFlags are the flags to put before an agent's own arguments.
func (a Agent) StartFlags(args []string, s Start) []string {
	flags := a.SandboxOff.FlagsFor(args)
	more := map[string]any{}
	if s.PromptsOff {
		flags = append(flags, a.PromptsOff.FlagsFor(args)...)
	}
	// A user who gives the agent's own flag by hand means it too.
	if s.PromptsOff || a.PromptsOff.In(args) {
		maps.Copy(more, a.PromptsOff.Settings)
	}
	maps.Copy(more, s.Hooks.Settings)
	return append(a.withSettings(flags, more), s.Hooks.Flags...)
}

// withSettings adds settings to those that the flags hold, for an agent that takes them
// from its command line.
func (a Agent) withSettings(flags []string, more map[string]any) []string {
	at := slices.Index(flags, a.SettingsFlag) + 1
	if a.SettingsFlag == "" || at == 0 || at == len(flags) || len(more) == 0 {
		return flags
	}
	all := map[string]any{}
	if json.Unmarshal([]byte(flags[at]), &all) != nil {
		return flags
	}
	maps.Copy(all, more)
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // a person may read it, in ps(1)
	if enc.Encode(all) == nil {
		flags[at] = strings.TrimSpace(text.String())
	}
	return flags
}
