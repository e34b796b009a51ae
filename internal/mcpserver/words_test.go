package mcpserver

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/api"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestWordsAreListed: a parameter that takes some words and no others lists them, so that
// a model need not guess.
func TestWordsAreListed(t *testing.T) {
	listing := regexp.MustCompile(`^(action|do|mode|direction|output_mode|conflicts|wait|stream|format|` +
		`network|display|kind|encoding|selection|include)$`)
	free := map[string]bool{"a11y_act.action": true, "write_file.mode": true, "grep.include": true} // as the element calls it; digits; globs
	for _, tool := range append(Tools(), compat()...) {
		var look func(at string, s *jsonschema.Schema)
		look = func(at string, s *jsonschema.Schema) {
			for name, p := range s.Properties {
				words := p
				if p.Items != nil {
					words = p.Items
				}
				if listing.MatchString(name) && words.Type == "string" && words.Enum == nil && !free[at+"."+name] {
					t.Errorf("%s: %s lists no words", at, name)
				}
				look(at+"."+name, p)
			}
			if s.Items != nil {
				look(at, s.Items)
			}
		}
		look(tool.Name, tool.In)
	}
}

// TestWrongWords: what a parameter does not take is refused with what it takes, at any depth.
func TestWrongWords(t *testing.T) {
	tools := map[string]Tool{}
	for _, tool := range Tools() {
		tools[tool.Name] = tool
	}
	for _, c := range []struct{ tool, arguments, says, hint string }{
		{"window", `{"window":"1","do":"explode"}`, "do is focus, raise, move, resize, minimise, show or close, not \"explode\"",
			"window takes: "},
		{"window", `{"window":"1","do":""}`, "do is focus", ""},
		{"grep", `{"pattern":"x","output_mode":"lines"}`, "output_mode is files_with_matches, content or count", ""},
		{"input", `{"steps":[{"do":"click","x":1}]}`, `no parameter "steps[0].x"`, "steps[0] takes: at, button, count, direction, do,"},
		{"input", `{"steps":[{"do":"click"},{"do":"fly"}]}`, `steps[1].do is move, `, ""},
		{"edit_file", `{"path":"a","edits":[{"old":"a"}]}`, `no parameter "edits[0].old"`, "edits[0] takes: new_string, old_string, replace_all"},
		{"workspace_status", `{"include":["all"]}`, "include[0] is apps, policy, manifest or artifacts", ""},
		{"mcp_control_update", `{"mode":"pausing"}`, "mode is active, read_only or paused", ""},
		{"read_file", `{"path":"a","offset":"1"}`, `"offset" cannot be a string`, ""},
		{"read_file", `{"path":["a"]}`, `"path" cannot be an array`, ""},
	} {
		tool := tools[c.tool]
		_, err := tool.run(t.Context(), nil, json.RawMessage(c.arguments))
		var d *api.Denial
		if !errors.As(err, &d) || d.Code != "arguments" || !strings.Contains(d.Message, c.says) || !strings.Contains(d.Hint, c.hint) {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
	}
	for _, mode := range []string{"active", "Read-Only", "pause", "ro"} {
		tool := tools["mcp_control_update"]
		if err := tool.decode(json.RawMessage(`{"mode":"`+mode+`"}`), &controlIn{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestHintsAreInToolsWords: what was written for a terminal is said with tools and their
// parameters, or is said to be a person's.
func TestHintsAreInToolsWords(t *testing.T) {
	tools := map[string]Tool{}
	for _, tool := range Tools() {
		tools[tool.Name] = tool
	}
	for _, c := range []struct{ tool, hint, want string }{
		{"undo", "--keep-both keeps both, --skip-conflicts leaves them, --force replaces them",
			"conflicts: keep_both keeps both, conflicts: skip leaves them, force replaces them"},
		{"profile_write", "--replace takes its place", "replace takes its place"},
		{"app_kill", "`carrel apps dev` lists them", "app_list lists them"},
		{"profile_read", "`carrel profile list` names them", "profile_read with action list names them"},
		{"Bash", "--cwd names one that is seen there", "cwd names one that is seen there"},
		{"terminal_read", "`carrel terminal start dev` makes one", "app_launch with wait terminal makes one"},
		{"Bash", "`carrel control dev active`", "for the person, at a terminal: `carrel control dev active`"},
		{"Bash", "--memory takes a larger size", "for the person, at a terminal: --memory takes a larger size"},
		{"Bash", "", ""},
	} {
		tool := tools[c.tool]
		if got := tool.hint(c.hint); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.tool, c.hint, got, c.want)
		}
		r := tool.refusal(t.Context(), &api.Denial{Code: "x", Message: "m", Hint: c.hint})
		if text, _ := json.Marshal(r.Content[0]); c.want != "" && !strings.Contains(string(text), `hint: `+c.want) {
			t.Errorf("%s: %s", c.tool, text)
		}
	}
	for command, tool := range commandTools() {
		name, _, _ := strings.Cut(tool, " ")
		if _, ok := tools[name]; !ok {
			t.Errorf("%s: there is no tool %s", command, tool)
		}
	}
}
