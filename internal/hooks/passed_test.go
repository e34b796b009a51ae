package hooks

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestPass: each agent gets the command lines of an installation, in the way that it takes them.
func TestPass(t *testing.T) {
	const program, dir = "/run/carrel/bin/carrel", "/run/carrel/hooks"
	lines := func(name string, tree map[string]any) {
		t.Helper()
		a := agentNamed(name)
		have := entries(tree, program)
		if missing := a.missing(have); len(missing) > 0 || len(have) != len(a.events) {
			t.Errorf("%s: %v, missing %v", name, have, missing)
		}
	}
	lines("claude", throughJSON(t, Pass("claude", program, dir).Settings))

	codex := Pass("codex", program, dir).Flags
	if len(codex) != 2 || codex[0] != "-c" {
		t.Fatalf("codex: %q", codex)
	}
	var config map[string]any
	if err := toml.Unmarshal([]byte(codex[1]), &config); err != nil {
		t.Fatalf("%v: %s", err, codex[1])
	}
	lines("codex", config)
	var notes struct {
		Hooks struct {
			State map[string]struct {
				Hash string `toml:"trusted_hash"`
			}
		}
	}
	if err := toml.Unmarshal([]byte(codex[1]), &notes); err != nil {
		t.Fatal(err)
	}
	// As Codex 0.169.0 computed it.
	if got := notes.Hooks.State["/<session-flags>/config.toml:pre_tool_use:0:0"].Hash; len(notes.Hooks.State) != 3 || got != codexBegin {
		t.Errorf("notes: %v", notes)
	}

	gemini := Pass("gemini", program, dir)
	if gemini.Place != ".gemini/settings.json" {
		t.Errorf("gemini: %q", gemini.Place)
	}
	for _, text := range []string{"", "\n", "{\"a\":1}\n", "{ // mine\n}"} {
		var before []byte
		if text != "" {
			before = []byte(text)
		}
		once, err := gemini.Edit(before)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		doc, err := parse(formatJSON, once)
		if err != nil {
			t.Fatal(err)
		}
		lines("gemini", doc.tree())
		if twice, err := gemini.Edit(once); err != nil || string(twice) != string(once) {
			t.Errorf("%q twice: %q, %v", text, twice, err)
		}
	}
	if _, err := gemini.Edit([]byte("{")); err == nil {
		t.Error("a file that cannot be parsed: no error")
	}

	opencode := Pass("opencode", program, dir)
	if opencode.File != dir+"/opencode.js" || !strings.Contains(string(opencode.Data), `"`+program+`"`) ||
		!strings.Contains(opencode.Env["OPENCODE_CONFIG_CONTENT"], "file://"+opencode.File) {
		t.Errorf("opencode: %+v", opencode)
	}
	for _, name := range []string{"aider", "", "cursor"} {
		if got := Pass(name, program, dir); !reflect.DeepEqual(got, Passed{}) {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// codexBegin is the hash of the entry that begins a step.
const codexBegin = "sha256:3816b67ba4d9ee19e9760d522f1a7aacd74f61c230e4cf03d6ca2bc9e8b574b0"

func throughJSON(t *testing.T, v any) (tree map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
