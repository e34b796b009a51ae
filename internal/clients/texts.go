package clients

import (
	"encoding/json"
	"strings"

	"carrel/internal/hooks"
)

// skill is what an agent is told of its workspace. Its first lines are always sent
// to the model, the rest when the agent asks for it.
const skill = `---
name: carrel
description: How to use your workspace. Use this when you run commands, change files or need a screen with the carrel tools (Bash, read_file, edit_file, undo, screenshot and others).
---

# Your workspace

The tools of the MCP server "carrel" work in a workspace: the project is there, other
files of the machine mostly are not, and the network is limited.

- Commands: Bash. Long ones with run_in_background; then app_log, app_wait, app_kill.
- Files: read_file, write_file, edit_file, list_directory, glob, grep. Prefer them to the
  client's own file and shell tools, which work outside the workspace, without walls and undo.
- Every call that changes files is a step. undo_preview shows what taking steps back would
  do, undo does it, redo brings them again. Undo your own mistakes instead of repairing them.
- Programs with windows run on a hidden display: app_launch, screenshot, observe, input.
- {"code": "denied"} means that the walls refuse it. Do not look for a way around: tell the
  person what you needed and why. approvals shows what waits for them.
- mcp_session_brief says where you are and what to do next.
`

// noEnvironment keeps Codex from running or changing anything by itself.
const noEnvironment = `# From carrel agent setup --block-builtin: Codex has no place of its own to run
# commands and change files in. carrel agent remove codex takes this away.
default = "none"
`

// plugin is what OpenCode runs at its start: steps inside a workspace, and the
// gate where one is wanted.
func (h Host) plugin(c *client, gate *hooks.Gate) (string, error) {
	var b strings.Builder
	b.WriteString(`// From carrel agent setup; carrel agent remove opencode takes it away.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"

const run = (program, args, event) =>
  existsSync(program) ? spawnSync(program, args, { input: JSON.stringify(event), stdio: ["pipe", "ignore", "pipe"], timeout: 5000 }) : null
const event = (name, call, args) => ({ hook_event_name: name, tool_name: call.tool, tool_input: args, tool_use_id: call.callID, session_id: call.sessionID })
const inside = ` + quoted(h.Inside) + "\n")
	refuse := ""
	if gate != nil {
		if _, err := gate.Line(); err != nil {
			return "", err
		}
		words := []string{"agent", "gate", c.name}
		if gate.Always {
			words = append(words, "--always")
		}
		b.WriteString("const gate = " + quoted(gate.Program) + "\nconst gateWords = " + quoted(words) + "\nconst own = " + quoted(c.own) + "\n")
		refuse = `    const answer = own.includes(call.tool) && run(gate, gateWords, event("PreToolUse", call, output.args))
    if (answer && answer.status === 2) throw new Error(String(answer.stderr))
`
	}
	b.WriteString(`
export const Carrel = async () => ({
  "tool.execute.before": async (call, output) => {
` + refuse + `    run(inside, ["step", "begin", "--label", "opencode", "--event"], event("PreToolUse", call, output.args))
  },
  "tool.execute.after": async (call) => {
    run(inside, ["step", "end", "--event"], event("PostToolUse", call, call.args))
  },
})
`)
	return b.String(), nil
}

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}
