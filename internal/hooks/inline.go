package hooks

// Inline are an agent's step hooks in the form of its settings, for an agent that takes
// settings from its command line; nil where it has no such hooks in JSON. program is
// carrel's path as commands inside a workspace see it.
//
// They are the same command lines as those of [Plan]: an agent that finds one in its
// settings file too runs it once.
func Inline(name, program string) map[string]any {
	a := agentNamed(name)
	if a == nil || a.files[0].format != formatJSON {
		return nil
	}
	events := map[string]any{}
	for _, m := range a.events {
		handler := map[string]any{"type": "command", "command": a.commandLine(program, m.verb), "timeout": hookTimeout * a.second}
		events[m.event] = []any{map[string]any{"hooks": []any{handler}}}
	}
	return map[string]any{"hooks": events}
}
