package config

import (
	"strings"

	"carrel/internal/policy"
)

var agentHomeWords = []string{string(policy.AgentHomePrivate), string(policy.AgentHomeShared)}

// agentHomeField is what a known agent has of its own.
func agentHomeField() field {
	return field{key: "agent_home", typ: typeEnum, enum: agentHomeWords,
		doc: "What a known agent has of its places in your home. private: a copy for each project, of which only logins go out. shared: its transcripts and history are yours as well.",
		put: func(t *target, v value) { t.request.AgentHome = textValue[policy.AgentHomeMode](v) }}
}

// agentConfigDirField is in no preset and no project file: whoever sets it chooses
// what of the host an agent may change.
func agentConfigDirField() field {
	return field{key: "agent_config_dir", typ: typeText, in: userFiles,
		doc:   "A directory that is a known agent's own, instead of its places in your home and of a copy of them: absolute or in ~, with {agent} for the agent's name. It is made when it is not there.",
		check: func(v value) string { return badAgentDir(v.text) },
		put:   func(t *target, v value) { t.settings.AgentConfigDir = textValue[string](v) }}
}

// AgentPlaceholder stands for the agent's name in agent_config_dir.
const AgentPlaceholder = "{agent}"

// badAgentDir says what is wrong with the name of a directory for agents.
func badAgentDir(text string) string {
	if rest := strings.ReplaceAll(text, AgentPlaceholder, "agent"); strings.ContainsAny(rest, "{}") {
		return quoted(text) + " has a brace that is none of " + AgentPlaceholder
	} else if rest == "~" || strings.Trim(rest, "/") == "" {
		return quoted(text) + " is no directory of its own; want one such as ~/agents/" + AgentPlaceholder
	}
	return badHostPlace(text)
}
