package config

import (
	"path"
	"strings"
	"time"

	"carrel/internal/policy"
)

// ceilingFields are the keys of a ceiling file. A missing or empty key is no
// ceiling for what it names.
func ceilingFields() []field {
	return append([]field{
		{key: "network", typ: typeObject, word: "mode",
			doc: "The most network that any policy may give.",
			sub: networkCeiling()},
		{key: "mounts", typ: typeObjects,
			doc:  "The only directories that may be visible, beside those of the system and the private /tmp.",
			sub:  mountFields(),
			open: openMount},
		{key: "apps", typ: typeObject,
			doc: "Which programs may be started, by the command and all that it starts.",
			sub: []field{{key: "allow", typ: typeList,
				doc:   "Absolute paths or names.",
				open:  emptyIsOpen,
				check: badProgram,
				put: func(t *target, v value) {
					t.ceiling.ProgramsAllow = append(t.ceiling.ProgramsAllow, *textValue[string](v))
				}}}},
		{key: "display", typ: typeObject, word: "mode",
			doc: "The most display: none, then virtual, then host.",
			sub: []field{{key: "mode", typ: typeEnum, enum: []string{"none", "virtual", "host"},
				doc: "The widest mode.",
				put: func(t *target, v value) { t.ceiling.Display = textValue[policy.DisplayMode](v) }},
				{key: "clipboard", typ: typeEnum, enum: clipboardWords,
					doc: "own: nothing inside can ever read the clipboard of your desktop.",
					put: func(t *target, v value) { t.ceiling.Clipboard = textValue[policy.ClipboardMode](v) }}}},
		{key: "isolation", typ: typeEnum, enum: policy.Isolations,
			doc: "The least isolation: a backend that gives less is refused, and none that is named gives it.",
			put: func(t *target, v value) { t.ceiling.Isolation = textValue[policy.Isolation](v) }},
		{key: "home", typ: typeEnum, enum: []string{"none", "toolchains", "full"},
			doc: "The most of the home directory.",
			put: func(t *target, v value) { t.ceiling.Home = textValue[policy.HomeMode](v) }},
		{key: "nested", typ: typeEnum, enum: []string{"none", "userns", "full"},
			doc: "The most nesting.",
			put: func(t *target, v value) { t.ceiling.Nested = textValue[policy.Nesting](v) }},
		{key: "history", typ: typeEnum, enum: []string{"on", "off"},
			doc: "on: the history may not be turned off.",
			put: func(t *target, v value) { t.ceiling.History = textValue[policy.HistoryMode](v) }},
		{key: "secrets", typ: typeEnum, enum: []string{"strict", "masked"},
			doc: "strict: each open for reading is looked at, so that no secret is read that came a moment ago.",
			put: func(t *target, v value) { t.ceiling.Secrets = textValue[policy.SecretsMode](v) }},
		{key: "agent_home", typ: typeEnum, enum: agentHomeWords,
			doc: "private: no agent gets its transcripts and history of the host, or a directory of the host in place of its own.",
			put: func(t *target, v value) { t.ceiling.AgentHome = textValue[policy.AgentHomeMode](v) }},
		{key: "devices", typ: typeList,
			doc:   "The only device files that may exist inside.",
			open:  emptyIsOpen,
			check: func(v value) string { return notAbsolute(v.text) },
			put:   func(t *target, v value) { t.ceiling.Devices = append(t.ceiling.Devices, *textValue[string](v)) }},
		{key: "resources", typ: typeObject,
			doc: "The most that a workspace may use.",
			sub: resourceFields(func(t *target) limits {
				return limits{&t.ceiling.Timeout, &t.ceiling.Memory, &t.ceiling.Pids}
			})},
	}, append(virtualCeiling(), authorityFields()...)...)
}

func mountFields() []field {
	return []field{
		{key: "host_path", typ: typeText, need: true,
			doc:   "The directory outside: an absolute path.",
			check: func(v value) string { return notAbsolute(v.text) },
			put:   func(t *target, v value) { t.mount.HostPath, t.mount.Source = path.Clean(v.text), v.source }},
		{key: "workspace_path", typ: typeText,
			doc:   "Where it shows inside. A process workspace shows it at host_path.",
			check: func(v value) string { return notAbsolute(v.text) },
			put:   func(t *target, v value) { t.mount.WorkspacePath = path.Clean(v.text) }},
		{key: "mode", typ: typeEnum, enum: []string{"read_only", "read_write"},
			doc: "read_only unless it says read_write.",
			put: func(t *target, v value) { t.mount.Write = v.text == "read_write" }},
	}
}

func openMount(t *target, v value) *target {
	t.ceiling.Mounts = append(t.ceiling.Mounts, policy.Mount{Source: v.source})
	inner := *t
	inner.mount = &t.ceiling.Mounts[len(t.ceiling.Mounts)-1]
	return &inner
}

// emptyIsOpen warns of an empty list: in a ceiling it limits nothing, which is
// not what it looks like.
func emptyIsOpen(t *target, v value) *target {
	if v.number == 0 {
		t.decoder.warnings = append(t.decoder.warnings, policy.Warning{
			Source: v.source, Message: "an empty list in a ceiling sets no limit",
		})
	}
	return t
}

// limits are the three numbers of a resources mapping.
type limits struct {
	timeout **policy.Value[time.Duration]
	memory  **policy.Value[int64]
	pids    **policy.Value[int64]
}

func resourceFields(of func(t *target) limits) []field {
	return []field{
		{key: "timeout", typ: typeDuration,
			doc: "How long a command may run: 30s, 5m, 1h30m.",
			put: func(t *target, v value) {
				*of(t).timeout = &policy.Value[time.Duration]{V: time.Duration(v.number), Source: v.source}
			}},
		{key: "memory", typ: typeSize,
			doc: "How much memory it may use: 512MiB, 2g.",
			put: func(t *target, v value) { *of(t).memory = &policy.Value[int64]{V: v.number, Source: v.source} }},
		{key: "pids", typ: typeCount,
			doc: "How many processes and threads it may have.",
			put: func(t *target, v value) { *of(t).pids = &policy.Value[int64]{V: v.number, Source: v.source} }},
	}
}

func notAbsolute(p string) string {
	if !strings.HasPrefix(p, "/") {
		return quoted(p) + " is not an absolute path"
	}
	return ""
}

func badProgram(v value) string {
	if v.text == "" || strings.Contains(v.text, "/") && !strings.HasPrefix(v.text, "/") {
		return quoted(v.text) + " is neither a program's name nor an absolute path"
	}
	return ""
}
