// Package mark says from inside a workspace where a step of its history begins and ends. An
// agent's hooks do that with `carrel step`; in a machine, where carrel itself is not, [Main] is
// that command.
package mark

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"carrel/internal/inside"
	"carrel/internal/show"
)

// Name is that of the command by which programs in a machine start [Main].
const Name = "carrel"

// usage is all that Main does.
const usage = "in a machine `carrel` is `carrel step begin [--label TEXT] [--event]` `carrel step end [--all] [--event]` and `carrel step note --event` alone"

// failed is the exit status of what carrel itself could not do.
const failed = 125

// Main is `carrel step` for programs in a machine: args follow the name of the program, in is its
// standard input. tell asks the supervisor ([inside.Step]); what goes wrong is written to errOut. It
// gives the exit status.
func Main(args []string, in io.Reader, errOut io.Writer, tell func(op string, m inside.Mark) error) int {
	op, m, err := parse(args, in)
	if err == nil {
		err = tell(op, m)
	}
	if err != nil {
		fmt.Fprintf(errOut, "carrel: marking a step: %v\n", err)
		return failed
	}
	return 0
}

// verbs are the words of marks.
var verbs = map[string]string{"begin": inside.OpStepBegin, "end": inside.OpStepEnd, "note": inside.OpStepNote}

func parse(args []string, in io.Reader) (op string, m inside.Mark, err error) {
	if len(args) < 2 || args[0] != "step" || verbs[args[1]] == "" {
		return "", m, fmt.Errorf("%q: %s", args, usage)
	}
	op = verbs[args[1]]
	flags := flag.NewFlagSet("carrel step", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	event := flags.Bool("event", false, "")
	switch op {
	case inside.OpStepBegin:
		flags.StringVar(&m.Label, "label", "", "")
	case inside.OpStepEnd:
		flags.BoolVar(&m.All, "all", false, "")
	}
	if err := flags.Parse(args[2:]); err != nil || flags.NArg() > 0 {
		return "", m, fmt.Errorf("%q: %s", args, usage)
	}
	if *event {
		Describe(&m, in)
	}
	return op, m, nil
}

// states are how an agent stands after an event of its hooks: words of Claude Code, of Codex, of
// Gemini CLI, and of our plugin of OpenCode.
var states = map[string]string{
	"UserPromptSubmit": "working", "BeforeAgent": "working", "PreToolUse": "working", "BeforeTool": "working",
	"Notification": "waiting", "PermissionRequest": "waiting",
	"Stop": "done", "AfterAgent": "done",
}

// maxEvent bounds what is read of a hook's event, in bytes: it can hold a whole
// file that is about to be written.
const maxEvent = 8 << 20

// maxWords bounds what is taken over from an event, in bytes.
const maxWords = 120

// Describe takes from the event of a hook, as Claude Code and Codex write it,
// which call it is about and what that does. What it does not know it leaves.
func Describe(m *inside.Mark, in io.Reader) {
	var event struct {
		Name  string          `json:"hook_event_name"`
		Tool  string          `json:"tool_name"`
		ID    string          `json:"tool_use_id"`
		Input json.RawMessage `json:"tool_input"`
	}
	if json.NewDecoder(io.LimitReader(in, maxEvent)).Decode(&event) != nil {
		return
	}
	m.All = m.All || event.Name == "Stop"
	m.State = states[event.Name]
	m.ID = event.ID
	var input struct {
		Command any    `json:"command"`
		Path    string `json:"file_path"`
	}
	_ = json.Unmarshal(event.Input, &input)
	words := []string{event.Tool}
	switch c := input.Command.(type) {
	case string:
		words = append(words, c)
	case []any:
		for _, w := range c {
			words = append(words, fmt.Sprint(w))
		}
	}
	if input.Path != "" {
		words = append(words, input.Path)
	}
	if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
		line, _, _ := strings.Cut(text, "\n")
		m.Label = strings.TrimPrefix(m.Label+": ", ": ") + show.Shorten(line, maxWords)
	}
}
