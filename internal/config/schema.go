package config

import (
	"slices"

	"carrel/internal/policy"
)

// The schema table: every key of every file, once. Decoding, the JSON Schema
// and the documentation come from it.

var (
	userFiles  = in(KindUser, KindOperator)
	netModes   = []string{"closed", "local", "filtered", "open"}        // of a ceiling
	netAsked   = []string{"closed", "local", "api", "filtered", "open"} // of a request
	netAliases = map[string]string{"disabled": "closed", "local_only": "local", "inherit_host": "open"}
)

// EngineAuto leaves it to carrel what makes the walls.
const EngineAuto = "auto"

// Engines are the words for what makes the walls.
var Engines = []string{EngineAuto, "namespaces", "bubblewrap", "landlock"}

// configFields are the keys of the user's, the project's and the operator's
// file.
func configFields() []field {
	fields := policyFields()
	own := find(fields, "history")
	own.sub = slices.Concat(own.sub, historyPlaces(), historyLimits())
	screen := find(fields, "display")
	screen.sub = slices.Concat(screen.sub, screenFields())
	return append(fields,
		field{key: "presets", typ: typeNamed, in: userFiles,
			doc:   "Named commands with a policy of their own. The persona is human unless the preset says otherwise.",
			sub:   presetFields(),
			check: func(v value) string { return badPresetName(v.name) },
			open:  openPreset},
		projectsField(),
		extraMountsField(),
		credentialsField(),
		hostCommandsField(),
		field{key: "toolchain", typ: typeEnum, in: userFiles, enum: Toolchains,
			doc: "Whether known agents and host commands are started in the project's environment, made inside the walls. auto: devbox where there is a devbox.json, else nix where there is a flake.nix, if that is installed. off where it is not said.",
			put: func(t *target, v value) { t.settings.Toolchain = textValue[string](v) }},
		field{key: "rpc_host", typ: typeText, in: userFiles, check: badAddress,
			doc: "An IP address, mostly 127.0.0.1: the host protocol is spoken over TCP too, at this address of the workspace's own network, where that is local or filtered. Without: over its Unix socket alone.",
			put: func(t *target, v value) { t.settings.RPCHost = textValue[string](v) }},
		field{key: "dangerously_allow_unsandboxed_host_exec", typ: typeBool, in: userFiles,
			doc: "true: host commands run without walls, as you. What the workspace's commands can make them do, they can do to everything of yours. Refused under a ceiling.",
			put: func(t *target, v value) { t.settings.UnsandboxedHostExec = boolValue(v) }},
		openURLsField(),
		field{key: "backend", typ: typeEnum, in: userFiles, enum: []string{"vm", "lima", "gvisor", "container", "process", "none"},
			doc: "Where workspaces run. process: behind walls. container: behind walls too, with the system of an image. lima: in a virtual machine of its own. vm: in one that has this machine's system as the policy shows it. gvisor: with this machine's programs, under another kernel. none: as you, without walls; what your user can do, commands can do, and only the history is kept: none is refused under a ceiling.",
			put: func(t *target, v value) { t.request.Backend = textValue[policy.Backend](v) }},
		withImages(containerField()),
		limaField(),
		vmField(),
		field{key: "engine", typ: typeEnum, in: userFiles, enum: Engines,
			doc: "What makes the walls. auto: our own namespaces; where they are refused, the system's bubblewrap; where that gets none either, Landlock alone. The others: that one or no start. What the operator names, no other file changes.",
			put: func(t *target, v value) { t.settings.Engine = textValue[string](v) }},
		field{key: "agents", typ: typeObject, in: userFiles,
			doc: "How known agents are started.",
			sub: []field{{key: "prompts_off", typ: typeBool,
				doc: "Start known agents with their own permission prompts off, since the walls hold.",
				put: func(t *target, v value) { t.settings.PromptsOff = boolValue(v) }}}},
		agentConfigDirField(),
		field{key: "safeguards", typ: typeObject, in: userFiles,
			doc: "Bounds on what one step of a run may destroy of what was there before it. What undo could not bring back is asked for in any case.",
			sub: safeguardFields()},
		field{key: "approvals", typ: typeObject, in: userFiles,
			doc: "How you hear of operations that wait for your word.",
			sub: []field{{key: "notify", typ: typeBool,
				doc: "Tell of them by a notification of your desktop, where its session bus is reachable. true where it is not said.",
				put: func(t *target, v value) { t.settings.ApprovalsNotify = boolValue(v) }}}},
		field{key: "audit", typ: typeObject, in: userFiles,
			doc: "The audit log of named workspaces, and of every run where it is required.",
			sub: []field{{key: "required", typ: typeBool,
				doc: "Keep an audit log of every run, and refuse what acts while it cannot be written. What the operator requires, no other file lifts.",
				put: func(t *target, v value) { t.settings.AuditRequired = boolValue(v) }}, {key: "journald", typ: typeBool,
				doc: "Send each record to the system's journal as well. What the operator asks for, no other file lifts.",
				put: func(t *target, v value) { t.settings.AuditJournal = boolValue(v) }}}},
		field{key: "ceiling", typ: typeObject, in: in(KindOperator),
			doc:  "The most that any policy on this machine may grant, with the keys of a ceiling file.",
			sub:  ceilingFields(),
			open: func(t *target, v value) *target { return &target{ceiling: t.ceiling, decoder: t.decoder} }},
	)
}

// policyFields are the keys that make up one layer's request.
func policyFields() []field {
	return append([]field{
		{key: "persona", typ: typeEnum, enum: []string{"human", "agent"},
			doc: "Who drives the keystrokes; decides the default display.",
			put: func(t *target, v value) { t.request.Persona = textValue[policy.Persona](v) }},
		{key: "isolation", typ: typeEnum, enum: policy.Isolations,
			doc: "The least isolation that the backend has to give: process, walls; kernel, a kernel of its own; vm, a virtual machine. " +
				"Without a backend kernel takes gvisor, and vm takes vm.",
			put: func(t *target, v value) { t.request.Isolation = textValue[policy.Isolation](v) }},
		{key: "network", typ: typeObject, word: "mode",
			doc: "How much network the workspace has; a mode alone may stand for the mapping.",
			sub: networkFields()},
		{key: "display", typ: typeObject, word: "mode",
			doc: "What the workspace sees of a desktop; a mode alone may stand for the mapping.",
			sub: displayFields()},
		virtualField(),
		{key: "environment", typ: typeObject,
			doc: "Which variables from outside exist inside.",
			sub: environmentFields()},
		{key: "home", typ: typeEnum, enum: []string{"none", "toolchains", "full"},
			doc: "What of the home directory is visible; full is read-only, without secrets.",
			put: func(t *target, v value) { t.request.Home = textValue[policy.HomeMode](v) }},
		{key: "nested", typ: typeEnum, enum: []string{"none", "userns", "full"},
			doc: "How much of a sandbox of its own a command may build inside.",
			put: func(t *target, v value) { t.request.Nested = textValue[policy.Nesting](v) }},
		historyField(),
		{key: "secrets", typ: typeEnum, enum: []string{"strict", "masked"},
			doc: "masked: secrets of the project are hidden by mounts, those that come during a run as soon as they are seen; strict: each open for reading is looked at as well, which costs every one of them.",
			put: func(t *target, v value) { t.request.Secrets = textValue[policy.SecretsMode](v) }},
		agentHomeField(),
		{key: "devices", typ: typeList,
			doc: "Device files that exist inside, as absolute paths.",
			put: func(t *target, v value) { t.request.Devices = append(t.request.Devices, *textValue[string](v)) }},
		{key: "programs", typ: typeObject,
			doc: "Which programs may be started, by the command and all that it starts.",
			sub: []field{{key: "allow", typ: typeList,
				doc:  "Absolute paths or names; without the key there is no limit, an empty list allows none.",
				open: openPrograms,
				put: func(t *target, v value) {
					t.request.ProgramsAllow = append(t.request.ProgramsAllow, *textValue[string](v))
				}}}},
		{key: "resources", typ: typeObject,
			doc: "Limits on what the workspace uses; 0 is no limit.",
			sub: resourceFields(func(t *target) limits {
				return limits{&t.request.Timeout, &t.request.Memory, &t.request.Pids}
			})},
	}, fileFields()...)
}

func fileFields() []field {
	grant := func(a policy.Access) func(t *target, v value) {
		return func(t *target, v value) {
			t.request.Files = append(t.request.Files, Grant(v.text, a, v.source))
		}
	}
	return []field{
		{key: "read", typ: typeList,
			doc: "Files and directories that can be read. ~, :project, :home, :tmp and :system may start one; a relative one starts at the project.",
			put: grant(policy.Read), check: badPlace},
		{key: "write", typ: typeList,
			doc: "Files and directories that can be read and changed.",
			put: grant(policy.Write), check: badPlace},
		{key: "deny", typ: typeList,
			doc: "What can neither be read nor changed: a path, or a pattern with *, **, ?, [...] or {a,b}. A name without / holds at any depth of the project.",
			put: func(t *target, v value) {
				t.request.Files = append(t.request.Files, DenyOf(v.text, v.source))
			}, check: badPlace},
		{key: "protect", typ: typeList,
			doc: "What cannot be changed, written as for deny; reading stays as it is.",
			put: func(t *target, v value) {
				t.request.Files = append(t.request.Files, ProtectOf(v.text, v.source))
			}, check: badPlace},
	}
}

var clipboardWords = []string{string(policy.ClipboardOwn), string(policy.ClipboardPaste)}

func displayFields() []field {
	return []field{
		{key: "mode", typ: typeEnum, enum: []string{"none", "virtual", "host"},
			doc: "none: no display; virtual: a display of its own; host: your desktop.",
			put: func(t *target, v value) { t.request.Display = textValue[policy.DisplayMode](v) }},
		{key: "allow_desktop_gui", typ: typeBool,
			doc: "true shows windows on your desktop even for agents, false hides it even from people.",
			put: func(t *target, v value) { t.request.AllowDesktopGUI = boolValue(v) }},
		{key: "virtual_display", typ: typeBool,
			doc: "Give agents a hidden display. Ignored for persona human.",
			put: func(t *target, v value) { t.request.VirtualDisplay = boolValue(v) }},
		{key: "watch_vnc", typ: typeBool,
			doc: "Let a person look at the virtual display.",
			put: func(t *target, v value) { t.request.WatchVNC = boolValue(v) }},
		{key: "clipboard", typ: typeEnum, enum: clipboardWords,
			doc: "own: programs inside have a clipboard of their own; paste: just after you pressed Ctrl+V in their terminal they can also read your desktop's.",
			put: func(t *target, v value) { t.request.Clipboard = textValue[policy.ClipboardMode](v) }},
	}
}

// screenFields are of the virtual display, and no policy.
func screenFields() []field {
	return []field{
		{key: "size", typ: typeText, in: userFiles,
			doc: "Size of the virtual display in pixels, such as 1280x800; 1920x1080 where it is not said.",
			put: func(t *target, v value) { t.settings.DisplaySize = textValue[string](v) }, check: badSize},
		{key: "gl", typ: typeBool, in: userFiles,
			doc: "Give the virtual display OpenGL (GLX), by software; it starts slower and takes 50 MiB more.",
			put: func(t *target, v value) { t.settings.DisplayGL = boolValue(v) }},
	}
}

// badSize says what is wrong with a screen's size.
func badSize(v value) string {
	if _, err := policy.ParseSize(v.text); err != nil {
		return err.Error()
	}
	return ""
}

func environmentFields() []field {
	return []field{
		{key: "pass", typ: typeList,
			doc: "Names, or patterns of names, that are passed from outside.",
			put: func(t *target, v value) { t.request.EnvPass = append(t.request.EnvPass, *textValue[string](v)) }},
		{key: "set", typ: typeMap,
			doc: "Names with the value that they have inside.",
			put: putVariable},
		{key: "drop", typ: typeList,
			doc: "Names, or patterns of names, that do not exist inside.",
			put: func(t *target, v value) { t.request.EnvDrop = append(t.request.EnvDrop, *textValue[string](v)) }},
	}
}

func presetFields() []field {
	return append([]field{
		{key: "command", typ: typeList,
			doc: "The program and its arguments.",
			put: func(t *target, v value) { t.preset.Command = append(t.preset.Command, v.text) }},
		{key: "description", typ: typeText,
			doc: "One line for preset list.",
			put: func(t *target, v value) { t.preset.Description = v.text }},
	}, policyFields()...)
}
