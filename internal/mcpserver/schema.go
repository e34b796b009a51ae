package mcpserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/fileops"

	"github.com/google/jsonschema-go/jsonschema"
)

// anyJSON is JSON of whatever form the command line gives it.
type anyJSON struct{ json.RawMessage }

// MarshalJSON implements [json.Marshaler]; nothing is null.
func (f anyJSON) MarshalJSON() ([]byte, error) {
	if len(f.RawMessage) == 0 {
		return []byte("null"), nil
	}
	return f.RawMessage, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *anyJSON) UnmarshalJSON(b []byte) error { return f.RawMessage.UnmarshalJSON(b) }

// typeSchemas are those of types that say less than is meant. A schema that is true,
// which stands for anything, is not understood by every client.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "string"}, // the action of the computer, which may be an object, too
	reflect.TypeFor[fileops.Path]():    {Type: "string"},
	reflect.TypeFor[anyJSON]():         {Description: "as the command line gives it"},
	reflect.TypeFor[map[string]any]():  {Type: "object", Description: "as the command line gives it"},
}

// Words that several parameters take.
var (
	onConflict = []string{"keep_both", "skip"}
	selections = []string{"clipboard", "primary"}
)

// choices are the words that parameters of tools take, by their place in the arguments.
var choices = sync.OnceValue(func() map[string]map[string][]string {
	return map[string]map[string][]string{
		"write_file":   {"encoding": {fileops.UTF8, fileops.Base64}},
		"grep":         {"output_mode": {fileops.ModeFiles, fileops.ModeContent, fileops.ModeCount}},
		"undo":         {"conflicts": onConflict},
		"undo_preview": {"conflicts": onConflict},
		"workspace_start": {"network": {"closed", "local", "filtered", "open"}, "display": {"virtual", "none"},
			"isolation": {"process", "kernel", "vm"}},
		"workspace_status": {"include": {"apps", "policy", "manifest", "artifacts"}},
		"app_launch":       {"wait": {"none", "exit", "window", "terminal"}},
		"app_log":          {"stream": {api.StreamStdout, api.StreamStderr}},
		"screenshot":       {"format": {"png", "jpeg"}},
		"window": {"do": {api.WindowFocus, api.WindowRaise, api.WindowMove, api.WindowResize, api.WindowMinimise,
			api.WindowShow, api.WindowClose}},
		"input": {"steps.do": {"move", "click", "press", "release", "drag", "scroll", "key", "type", "pause"},
			"steps.direction": directions},
		"computer": {"action": {"screenshot", "zoom", "cursor_position", "mouse_move", "left_click", "right_click", "middle_click",
			"double_click", "triple_click", "left_click_drag", "left_mouse_down", "left_mouse_up", "scroll", "key", "hold_key", "type", "wait",
			"take_screenshot", "click_at", "type_text"}, "scroll_direction": directions, "version": {"20241022", "20250124", "20251124"}},
		"clipboard_get": {"selection": selections},
		"clipboard_set": {"selection": selections},
		"a11y_act":      {"do": {"invoke", "set", "focus", "scroll"}},
		"profile_read": {"action": {"list", "get", "check", "template", "validate", "path"}, "kind": {"project-dev",
			"browser-session", "restricted-browser"}},
		"profile_write":      {"action": {"put", "import", "delete"}},
		"mcp_control_update": {"mode": {api.ControlActive, api.ControlReadOnly, api.ControlPaused}},
		"workspace_scroll":   {"direction": directions}, "workspace_scroll_window": {"direction": directions},
	}
})

var directions = []string{"up", "down", "left", "right"}

// setChoices puts them into the schema of what a tool takes.
func setChoices(s *jsonschema.Schema, words map[string][]string) {
	for place, list := range words {
		p := s
		for name := range strings.SplitSeq(place, ".") {
			if p.Items != nil {
				p = p.Items
			}
			p = p.Properties[name]
		}
		if p.Items != nil {
			p = p.Items
		}
		for _, word := range list {
			p.Enum = append(p.Enum, word)
		}
	}
}

// isChoice says whether a word is one of those that a parameter takes; nothing leaves it
// to the tool.
func isChoice(s *jsonschema.Schema, at, word string) bool {
	_, also := controlModes[strings.ToLower(word)]
	if at == "version" {
		word = strings.TrimPrefix(word, "computer_") // as the type of the tool is called
	}
	return word == "" || slices.Contains(s.Enum, any(word)) || at == "mode" && also
}

func choicesOf(s *jsonschema.Schema) string {
	var words []string
	for _, word := range s.Enum {
		words = append(words, word.(string))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// parameterOf is a field of a Go value as its schema names it: without the types that only
// group fields.
func parameterOf(field string) string {
	parts := slices.DeleteFunc(strings.Split(field, "."), func(part string) bool { return part != "" && part[0] >= 'A' && part[0] <= 'Z' })
	return strings.Join(parts, ".")
}

// withArticle is what a value is, in a sentence.
func withArticle(kind string) string {
	if strings.ContainsAny(kind[:min(1, len(kind))], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
