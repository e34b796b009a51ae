package mcpserver

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

// needed are arguments with a value for each parameter that has to be there.
func needed(s *jsonschema.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		switch p := s.Properties[name]; {
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case p.Type == "integer" || p.Type == "number":
			out[name] = 1
		case p.Type == "boolean":
			out[name] = true
		case p.Type == "array":
			out[name] = []any{}
		case p.Type == "object":
			out[name] = map[string]any{}
		default:
			out[name] = "x"
		}
	}
	return out
}

// TestEachToolIsStrict: in every tool a parameter that is not known, one that is missing and a
// word that is none of the choices are refused by name, with those that there are.
func TestEachToolIsStrict(t *testing.T) {
	for _, tool := range append(Tools(), compat()...) {
		refused := func(what string, in map[string]any, subject string) {
			t.Helper()
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			var d *api.Denial
			var given map[string]json.RawMessage
			if err := tool.decode(text, &given); !errors.As(err, &d) || d.Code != op.CodeArguments || d.Subject != subject ||
				d.Operation != tool.Name {
				t.Errorf("%s, %s %s: %v", tool.Name, what, text, err)
				return
			}
			for name := range tool.In.Properties {
				if !strings.Contains(d.Hint, name) {
					t.Errorf("%s, %s: the hint %q lacks %s", tool.Name, what, d.Hint, name)
				}
			}
		}
		in := needed(tool.In)
		var given map[string]json.RawMessage
		if text, _ := json.Marshal(in); tool.decode(text, &given) != nil {
			t.Errorf("%s does not take what it needs: %s", tool.Name, text)
		}
		in["surprise"] = 1
		refused("what it does not know", in, "surprise")
		for _, name := range tool.In.Required {
			in := needed(tool.In)
			delete(in, name)
			refused("what is missing", in, name)
		}
		for _, name := range slices.Sorted(maps.Keys(tool.In.Properties)) {
			if len(tool.In.Properties[name].Enum) == 0 {
				continue
			}
			in := needed(tool.In)
			in[name] = "no such word"
			refused("a word", in, name)
		}
	}
}

// TestSetsAreOffered: a server offers the tools of the sets that were asked for, and of the
// others none; a set that there is not is an error that says which there are.
func TestSetsAreOffered(t *testing.T) {
	for _, set := range append(slices.Clone(Sets), setCompat) {
		list, err := offered([]string{set})
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %d tools, %v", set, len(list), err)
		}
		for _, tool := range list {
			if tool.Set != set && !(set == setCompat && slices.Contains(shared, tool.Name)) {
				t.Errorf("%s offers %s of %s", set, tool.Name, tool.Set)
			}
		}
	}
	all, err := offered(nil)
	if err != nil || len(all) != len(Tools()) {
		t.Errorf("all but compat: %d of %d, %v", len(all), len(Tools()), err)
	}
	if _, err := offered([]string{"files", "nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) ||
		!strings.Contains(err.Error(), "desktop") {
		t.Errorf("%v", err)
	}
}

// TestToolsUnderControl: which calls a workspace under control keeps; one that only says what
// it would do is carried out.
func TestToolsUnderControl(t *testing.T) {
	for _, c := range []struct {
		control   Control
		arguments string
		kept      bool
	}{
		{WhenActive, `{}`, true}, {WhenActive, `{"dry_run":true}`, true},
		{OrDryRun, `{}`, true}, {OrDryRun, `{"dry_run":true}`, false}, {OrDryRun, `{"dry_run":false}`, true}, {OrDryRun, `nonsense`, true},
		{op.OrInside, `{}`, false}, {op.OrInside, `{"output_path":"x"}`, true}, {op.OrInside, `{"output_path":"x","dry_run":true}`, false},
		{Observes, `{"output_path":"x"}`, false}, {op.Always, `{}`, false}, {op.SafetyStop, `{}`, false},
	} {
		if got := (&Tool{Control: c.control}).blocked(json.RawMessage(c.arguments)); got != c.kept {
			t.Errorf("%s %s: kept %v", c.control, c.arguments, got)
		}
	}
}

// TestAnnotationsSayWhatToolsDo: a client is told of each tool whether it changes or ends
// something.
func TestAnnotationsSayWhatToolsDo(t *testing.T) {
	for _, tool := range append(Tools(), compat()...) {
		a := annotations(&tool)
		if a.ReadOnlyHint != (tool.Effect == Looks) || *a.DestructiveHint != (tool.Effect == Destroys) || *a.OpenWorldHint != tool.Open ||
			a.IdempotentHint != tool.Idempotent {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	for name, want := range map[string]Effect{"read_file": Looks, "write_file": Acts, "undo": Acts, "workspace_stop": Destroys,
		"app_kill": Destroys} {
		for _, tool := range Tools() {
			if tool.Name == name && tool.Effect != want {
				t.Errorf("%s %s", name, tool.Effect)
			}
		}
	}
}

// TestPathsOfCalls: relative paths are to the project, ~ is the caller's home, and a name that
// no workspace can have is refused.
func TestPathsOfCalls(t *testing.T) {
	c := &call{server: &Server{opts: Options{Project: "/p", Workspace: "own", Environ: []string{"HOME=relative", "HOME=/home/me",
		"HOMES=/x"}}}}
	for path, want := range map[string]string{"": "", "a/../b": "/p/b", "../x": "/x", "/y/../z": "/y/../z", "~/a": "/home/me/a",
		"~": "/home/me", "~x": "/p/~x"} {
		if got := c.within(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	for name, want := range map[string]string{"": "own", "shop": "shop", "../x": "error", "a b": "error", strings.Repeat("a", 100): "error"} {
		got, err := c.named(name)
		if (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
