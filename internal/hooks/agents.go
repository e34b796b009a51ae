package hooks

import (
	"path/filepath"
	"strings"
)

// The formats of settings files.
const (
	formatJSON = iota
	formatTOML
)

// agent is one agent with hooks that we can install.
type agent struct {
	name, title string
	variable    string   // names its directory
	directory   string   // in the home directory, without the variable
	files       []source // where its hooks may stand
	events      []moment
	second      int    // a second of a handler\'s time limit, in its unit
	gate        string // the program of the gate: these are its handlers, and no steps
}

// source is one file that may hold hooks.
type source struct {
	name   string
	format int
}

// moment is an event with the step's end that belongs to it.
type moment struct{ event, verb string }

// known lists the agents. What is said here was tried with the programs.
var known = []agent{
	{
		// Claude Code 2.1.197. PostToolUse does not come for a tool that failed,
		// PostToolUseFailure does; Stop ends the step of a call that the user
		// refused, after which neither comes. Events that it does not know are no
		// mistake to it. It reads plain JSON: one comment, and it ignores the file.
		name: "claude", title: "Claude Code", variable: "CLAUDE_CONFIG_DIR", directory: ".claude",
		files: []source{{"settings.json", formatJSON}},
		events: []moment{
			{"PreToolUse", verbBegin}, {"PostToolUse", verbEnd}, {"PostToolUseFailure", verbEnd}, {"Stop", verbEnd},
			{"UserPromptSubmit", verbNote}, {"Notification", verbNote},
		},
		second: 1,
	},
	{
		// Codex 0.169.0. PostToolUse comes for a command that failed too. It warns
		// when both files hold hooks, so ours go to where the user's are. It runs no
		// hook that the user has not looked at.
		name: "codex", title: "Codex", variable: "CODEX_HOME", directory: ".codex",
		files:  []source{{"hooks.json", formatJSON}, {"config.toml", formatTOML}},
		events: []moment{{"PreToolUse", verbBegin}, {"PostToolUse", verbEnd}, {"Stop", verbEnd}},
		second: 1,
	},
	{
		// Gemini CLI 0.61.0. It counts in milliseconds. AfterAgent ends the step of
		// a call after which AfterTool did not come.
		name: "gemini", title: "Gemini CLI", directory: ".gemini",
		files: []source{{"settings.json", formatJSON}},
		events: []moment{
			{"BeforeTool", verbBegin}, {"AfterTool", verbEnd}, {"AfterAgent", verbEnd}, {"BeforeAgent", verbNote}, {"Notification", verbNote},
		},
		second: 1000,
	},
}

// Names lists the agents that have hooks.
func Names() []string {
	names := make([]string, len(known))
	for i, a := range known {
		names[i] = a.name
	}
	return names
}

func agentNamed(name string) *agent {
	for i := range known {
		if known[i].name == name {
			return &known[i]
		}
	}
	return nil
}

// dir is the agent's directory, and whether a variable put it elsewhere than
// where a workspace shows it.
func (a *agent) dir(home string, getenv func(string) string) (dir string, elsewhere bool) {
	usual := filepath.Join(home, a.directory)
	if v := getenv(a.variable); a.variable != "" && v != "" {
		return filepath.Clean(v), filepath.Clean(v) != usual
	}
	return usual, false
}

// What a hook marks, as words of `carrel step`.
const (
	verbBegin = "begin"
	verbEnd   = "end"
	verbNote  = "note" // neither: it says how the agent stands
)

// hookTimeout is how long an agent waits for an entry, in seconds.
const hookTimeout = 5

// commandLine is what an entry runs. It has to be harmless everywhere: outside
// a workspace there is no such file; a program that does not know `step` fails
// unheard; the status is 0 always, since 2 would refuse the tool call. Agents
// run it by the user's own shell, which may not be a POSIX one: so by sh.
//
// The event stays on standard input, as the agent wrote it: it says which call
// begins or ends, and what it is.
func (a *agent) commandLine(program, verb string) string {
	if a.gate != "" {
		return verb
	}
	step := program + " step " + verb
	if verb == verbBegin {
		step += " --label " + a.name
	}
	step += " --event"
	return "sh -c 'test -x " + program + " && " + step + " >/dev/null 2>&1 || true'"
}

// verbOf recognises an entry, also with other flags for the step than those that
// we write. It gives "" for a command of somebody else. Without a program it
// knows gates, of whatever program; their verb is the whole command.
func verbOf(command, program string) string {
	if program == anyGate {
		if gateProgram(command) == "" {
			return ""
		}
		return command
	}
	step, ok := strings.CutPrefix(command, "sh -c 'test -x "+program+" && "+program+" step ")
	if !ok {
		return ""
	}
	if step, ok = strings.CutSuffix(step, " >/dev/null 2>&1 || true'"); !ok {
		return ""
	}
	words := strings.Split(step, " ")
	for _, w := range words {
		if w == "" || strings.Trim(w, wordBytes) != "" {
			return ""
		}
	}
	if words[0] != verbBegin && words[0] != verbEnd && words[0] != verbNote {
		return ""
	}
	return words[0]
}

// wordBytes are the bytes of a word that no shell gives a meaning.
const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.:,/"
