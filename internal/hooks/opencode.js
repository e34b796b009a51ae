// A plugin of OpenCode: each tool call is a step of Carrel's history. It says nothing
// and fails at nothing, as without it.
import { spawnSync } from "node:child_process"

const program = "PROGRAM"

const mark = (words, event) => {
  try {
    spawnSync(program, ["step", ...words, "--event"], { input: JSON.stringify(event), stdio: ["pipe", "ignore", "ignore"], timeout: 5000 })
  } catch {}
}

export const CarrelSteps = async () => ({
  "tool.execute.before": async (call, { args }) =>
    mark(["begin", "--label", "opencode"], {
      tool_name: call.tool,
      tool_use_id: call.callID,
      tool_input: { command: args?.command, file_path: args?.filePath },
    }),
  "tool.execute.after": async (call) => mark(["end"], { tool_use_id: call.callID }),
  // A tool that failed has no "after".
  event: async ({ event }) => {
    if (event.type === "session.idle") mark(["end"], { hook_event_name: "Stop" })
  },
})
