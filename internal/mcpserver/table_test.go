package mcpserver

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write docs/mcp-tools.md anew")

// TestTable holds what every entry promises.
func TestTable(t *testing.T) {
	seen, described := map[string]bool{}, 0
	for _, tool := range append(Tools(), compat()...) {
		if tool.In == nil || tool.Out == nil || tool.run == nil || tool.About == "" || seen[tool.Name] {
			t.Errorf("%s is there twice, or not whole", tool.Name)
			continue
		}
		seen[tool.Name] = true
		if tool.In.AdditionalProperties == nil {
			t.Errorf("%s takes what it does not know", tool.Name)
		}
		for name, p := range tool.In.Properties {
			if p == nil {
				t.Errorf("%s has no parameter %s", tool.Name, name)
			}
		}
		looks := []Control{op.Always, Observes}
		if (tool.Effect == Looks) != slices.Contains(looks, tool.Control) && tool.Name != "app_wait" && tool.Name != "workspace_wait_app" {
			t.Errorf("%s: %s, and its control is %s", tool.Name, tool.Effect, tool.Control)
		}
		if tool.Control == OrDryRun && tool.In.Properties["dry_run"] == nil {
			t.Errorf("%s has no dry_run", tool.Name)
		}
		if !slices.Contains(append(Sets, setCompat), tool.Set) {
			t.Errorf("%s is in the set %q", tool.Name, tool.Set)
		}
		if tool.Set != setCompat {
			described += len(tool.About) + words(tool.In)
		}
	}
	if described > 12000 {
		t.Errorf("the descriptions of all sets have %d characters, at most 12000", described)
	}
	t.Logf("%d tools, %d characters", len(seen), described)
}

// TestToolsAreOperations: each tool is of an operation, which says what it does and when it is
// refused, and each tool of an operation is there.
func TestToolsAreOperations(t *testing.T) {
	named := op.Tools()
	slices.Sort(named)
	var there []string
	for _, tool := range Tools() {
		there = append(there, tool.Name)
		o := op.OfTool(tool.Name)
		if o == nil || tool.Control != o.Control || tool.Effect != effectOf(o) {
			t.Errorf("%s: %s, %s; its operation is %+v", tool.Name, tool.Effect, tool.Control, o)
		}
		if o != nil && o.Effect == op.Changes && !tool.blocked([]byte(`{"output_path":"x"}`)) {
			t.Errorf("%s changes something, and is carried out under control", tool.Name)
		}
	}
	slices.Sort(there)
	if !slices.Equal(named, there) {
		t.Errorf("tools are %q, and operations have %q", there, named)
	}
}

func words(s *jsonschema.Schema) (n int) {
	n = len(s.Description)
	for _, p := range s.Properties {
		n += words(p)
	}
	if s.Items != nil {
		n += words(s.Items)
	}
	return n
}

// TestPage compares the page of all tools with the table.
func TestPage(t *testing.T) {
	const file = "../../docs/mcp-tools.md"
	want := toolsPage()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (go test ./internal/mcpserver -update writes it): %v", file, err)
	}
}

func toolsPage() string {
	var b strings.Builder
	b.WriteString("# Tools of `carrel mcp`\n\nThis page is written from the table in `internal/mcpserver`, and a test compares the two. [How to use them](mcp.md).\n")
	for _, set := range append(slices.Clone(Sets), setCompat) {
		fmt.Fprintf(&b, "\n## %s\n\n| tool | does | under control | parameters |\n|---|---|---|---|\n", set)
		for _, t := range append(Tools(), compat()...) {
			if t.Set != set {
				continue
			}
			var names []string
			for name := range t.In.Properties {
				if slices.Contains(t.In.Required, name) {
					name = "**" + name + "**"
				}
				names = append(names, name)
			}
			slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.Trim(a, "*"), strings.Trim(b, "*")) })
			fmt.Fprintf(&b, "| `%s` | %s: %s | %s | %s |\n", t.Name, t.Effect, strings.ReplaceAll(t.About, "|", `\|`), strings.ReplaceAll(string(t.Control), "_", " "), strings.Join(names, ", "))
		}
	}
	return b.String()
}

func TestDecode(t *testing.T) {
	tool := define(Tool{Name: "t"}, func(context.Context, *call, undoIn) (doneOut, error) { return doneOut{}, nil })
	for arguments, wrong := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"count":2}`: "", ` {"count" : 2} `: "",
		`{"cuont":2}`: `no parameter "cuont"`, `{"count":"2"}`: `"count" cannot be a string`, `[]`: "no JSON object", `{"count":1,"count":1}`: `"count" stands twice`,
		`{"Count":1}`: `no parameter "Count"`, `{"count":1}{}`: "more than one value", `{"count":1`: "unexpected EOF", `{"count":99999999999999999999}`: "cannot be a number",
		`{"path":{"a":1}}`: `"path" cannot be an object`, `{"count":` + strings.Repeat("[", 100) + strings.Repeat("]",
			100) + `}`: "nested more than",
	} {
		var in undoIn
		err := tool.decode(json.RawMessage(arguments), &in)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", arguments, err, wrong)
		}
	}
}

// FuzzDecode: whatever comes is taken or refused, and what is taken reads the same for
// every reader.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"count":1}`, `{"count":1,"count":2}`, `{"a":{"b":[{"c":1,"c":2}]}}`, `{"steps":[{"do":"click","at":[1,2]}]}`, "{\"name\":\"\xff\"}"} {
		f.Add(seed)
	}
	tools := Tools()
	f.Fuzz(func(t *testing.T, arguments string) {
		for i := range tools {
			given := map[string]json.RawMessage{}
			if tools[i].decode(json.RawMessage(arguments), &given) != nil {
				continue
			}
			for name := range given {
				if tools[i].In.Properties[name] == nil {
					t.Errorf("%s took %q", tools[i].Name, name)
				}
			}
		}
	})
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "localhost:80": true, "127.0.0.1:1": true, "127.9.9.9": true, "[::1]:80": true, "[::1]": true, "": false, "localhost.evil": false, "evil": false, "127.0.0.1.evil": false, "0.0.0.0:1": false, "192.168.0.1": false} {
		if isLoopback(host) != want {
			t.Errorf("%q", host)
		}
	}
}

// TestEditsAlone: several edits need no old_string beside them, and a single one no edits.
func TestEditsAlone(t *testing.T) {
	for _, tool := range Tools() {
		if tool.Name != "edit_file" {
			continue
		}
		for _, arguments := range []string{`{"path":"a","edits":[{"old_string":"b","new_string":"c"}]}`,
			`{"path":"a","old_string":"b","new_string":"c"}`} {
			if err := tool.decode(json.RawMessage(arguments), &editIn{}); err != nil {
				t.Errorf("%s: %v", arguments, err)
			}
		}
	}
}
