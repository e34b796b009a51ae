package hooks

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Passed is how an agent gets its step hooks for one start, where no file of the user's
// holds them. Each field is empty where the agent takes them another way.
type Passed struct {
	Settings map[string]any    // for an agent that takes settings from its command line
	Flags    []string          // before its own arguments
	Env      map[string]string // variables; of a File, they name it
	File     string            // absolute, as seen inside, below the directory that was given
	Data     []byte            // what File holds

	// Place is a settings file, relative to the home directory, that Edit adds the hooks
	// to in a copy; text is nil where there is no such file.
	Place string
	Edit  func(text []byte) ([]byte, error)
}

// Pass gives an agent's step hooks for one start; nothing for an agent without hooks.
// program is carrel's path and dir a directory of ours, both as commands inside a
// workspace see them.
//
// They are the same command lines as those of [Host.Plan]. An agent that finds one in its
// settings too runs it once or twice: a step that is open begins no second time.
func Pass(name, program, dir string) Passed {
	switch a := agentNamed(name); {
	case a == nil && name == "opencode":
		file := dir + "/opencode.js"
		return Passed{
			File: file, Data: []byte(strings.Replace(plugin, "PROGRAM", program, 1)),
			Env: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"plugin":["file://` + file + `"]}`},
		}
	case a == nil || a.gate != "":
		return Passed{}
	case name == "codex":
		return Passed{Flags: []string{"-c", "hooks=" + a.inTOML(program)}}
	case name == "gemini": // it takes settings from a file only, of the user's or of root's
		return Passed{Place: a.directory + "/" + a.files[0].name, Edit: func(text []byte) ([]byte, error) {
			if len(bytes.TrimSpace(text)) == 0 {
				text = nil // nothing is lost
			}
			return a.install(a.files[0].format, text, program)
		}}
	default:
		return Passed{Settings: a.inJSON(program)}
	}
}

//go:embed opencode.js
var plugin string

// inJSON are the hooks as a settings file in JSON has them.
func (a *agent) inJSON(program string) map[string]any {
	events := map[string]any{}
	for _, m := range a.events {
		handler := map[string]any{"type": "command", "command": a.commandLine(program, m.verb), "timeout": hookTimeout * a.second}
		events[m.event] = []any{map[string]any{"hooks": []any{handler}}}
	}
	return map[string]any{"hooks": events}
}

// inTOML are the hooks as a value of Codex's command line, with the note that they were
// looked at. The note is for this start and for these command lines alone: Codex asks
// about every other hook as before. Its key and hash are those of discovery.rs in
// codex-rs/hooks, where a source named "<session-flags>" is the command line.
func (a *agent) inTOML(program string) string {
	var events, notes []string
	for _, m := range a.events {
		command := a.commandLine(program, m.verb)
		event := snake(m.event)
		var identity bytes.Buffer
		enc := json.NewEncoder(&identity)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(map[string]any{"event_name": event, "hooks": []any{map[string]any{
			"type": "command", "command": command, "timeout": hookTimeout * a.second, "async": false,
		}}})
		sum := sha256.Sum256(bytes.TrimSpace(identity.Bytes()))
		events = append(events, fmt.Sprintf(`%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`,
			m.event, strconv.Quote(command), hookTimeout*a.second))
		notes = append(notes, fmt.Sprintf(`"/<session-flags>/config.toml:%s:0:0"={trusted_hash="sha256:%s"}`, event, hex.EncodeToString(sum[:])))
	}
	return "{" + strings.Join(events, ",") + ",state={" + strings.Join(notes, ",") + "}}"
}
