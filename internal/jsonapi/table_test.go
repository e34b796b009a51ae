package jsonapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write the pages that are made from the tables")

// older are the requests and events of the system whose protocol this is.
var older = strings.Fields(`session.start session.stop session.reset session.status undo.rollback undo.history undo.configure undo.discard
	agent.execute agent.prompt fs.list fs.read fs.status safeguard.configure safeguard.confirm
	event.step_completed event.agent_output event.terminal_output event.warning event.error event.safeguard_triggered
	event.external_modification event.recovery event.undo_version_mismatch`)

// TestNames: all of the older names are there, and what is not of them says whose it is.
func TestNames(t *testing.T) {
	have := map[string]bool{}
	for _, o := range Operations() {
		have[o.Name] = true
	}
	for _, e := range Events() {
		have[e.Name] = true
	}
	for _, name := range older {
		if !have[name] {
			t.Errorf("%s is missing", name)
		}
		delete(have, name)
	}
	for name := range have {
		if !strings.HasPrefix(strings.TrimPrefix(name, "event."), "carrel.") {
			t.Errorf("%s is ours, and does not say so", name)
		}
	}
}

func TestPages(t *testing.T) {
	schema, err := SchemaText()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"../../docs/json-lines-protocol.md": page(), "../../docs/json-lines.schema.json": string(schema)} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is not what the tables say (go test ./internal/jsonapi -update writes it): %v", file, err)
		}
	}
}

func page() string {
	var b strings.Builder
	b.WriteString("# Requests and events of `carrel stdio`\n\nThis page is written from the tables in `internal/jsonapi`, and a test compares them. [How to use\nthem](json-lines.md); the same as [JSON Schema](json-lines.schema.json).\n\n" +
		"Fields in **bold** have to be there. Those of results and events that are *slanted* are missing where there is nothing to say.\n\n## Requests\n\n| request | does | payload | result |\n|---|---|---|---|\n")
	for _, o := range Operations() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, o.About, fieldList(o.In, "**"), fieldList(o.Out, ""))
	}
	b.WriteString("\n## Events\n\n| event | says | payload |\n|---|---|---|\n")
	for _, e := range Events() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Name, e.About, fieldList(e.Payload, ""))
	}
	b.WriteString("\n## Codes of errors\n\n| code | means |\n|---|---|\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.code, c.about)
	}
	b.WriteString("\n## Fields of requests\n\n| request | field | is |\n|---|---|---|\n")
	for _, o := range Operations() {
		eachField(o.In, "", func(name string, s *jsonschema.Schema) {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", o.Name, name, strings.TrimSuffix(kindOf(s)+": "+s.Description, ": "))
		})
	}
	return b.String()
}

func fieldList(s *jsonschema.Schema, required string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		mark, has := "", slices.Contains(s.Required, name)
		switch {
		case has:
			mark = required
		case required == "":
			mark = "*"
		}
		out = append(out, mark+"`"+name+"`"+mark)
	}
	return strings.Join(out, ", ")
}

func eachField(s *jsonschema.Schema, within string, do func(string, *jsonschema.Schema)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		do(within+name, p)
		if p.Items != nil {
			eachField(p.Items, within+name+"[].", do)
		}
	}
}

func kindOf(s *jsonschema.Schema) string {
	if s.Type == "" {
		return strings.Join(s.Types, " or ")
	}
	return s.Type
}

// TestSchema: the schema is one, and takes what the program takes and nothing else.
func TestSchema(t *testing.T) {
	whole := Schema()
	root := &jsonschema.Schema{Defs: whole.Defs, Ref: "#/$defs/request"}
	r, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for line, good := range map[string]bool{
		`{"type":"session.start","request_id":"1"}`: true,
		`{"type":"session.start","request_id":1,"payload":{"working_directories":[{"path":"/x","access":"read_only"}]}}`: true,
		`{"type":"undo.rollback","request_id":"1","payload":{"count":1,"directory":0}}`:                                  true,
		`{"type":"undo.rollback","request_id":"1","payload":{"count":1,"directory":"web"}}`:                              true,
		`{"type":"undo.rollback","request_id":"1"}`:                                                                      false,
		`{"type":"undo.rollback","request_id":"1","payload":{"count":1,"x":1}}`:                                          false,
		`{"type":"session.start"}`:            false,
		`{"type":"nothing","request_id":"1"}`: false,
		`{"type":"agent.execute","request_id":"1","payload":{"command":"x","env":{"A":"b"}}}`:                                true,
		`{"type":"agent.execute","request_id":"1","payload":{"command":"x","env":{"A":1}}}`:                                  false,
		`{"type":"session.start","request_id":"1","payload":{"working_directories":[{"path":"/x","surprise":"read_only"}]}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v, want it taken: %t", line, err, good)
		}
		req, p := parse([]byte(line))
		if p == nil {
			if o := find(req.kind); o == nil {
				p = &Problem{}
			} else {
				p = decode(req.payload, o.In, new(any))
			}
		}
		if req.kind != "agent.execute" && (p == nil) != good {
			t.Errorf("%s: the program says %v, want it taken: %t", line, p, good)
		}
	}
}

func find(name string) *Operation {
	for _, o := range Operations() {
		if o.Name == name {
			return &o
		}
	}
	return nil
}

// TestRequestsAreOperations: each request is of an operation, which says when it is refused, and
// each request of an operation is there.
func TestRequestsAreOperations(t *testing.T) {
	named := op.Requests()
	slices.Sort(named)
	var there []string
	for _, o := range Operations() {
		there = append(there, o.Name)
		if is := op.OfRequest(o.Name); is == nil || o.control != is.Control {
			t.Errorf("%s: control %q; its operation is %+v", o.Name, o.control, is)
		}
	}
	slices.Sort(there)
	if !slices.Equal(named, there) {
		t.Errorf("requests are %q, and operations have %q", there, named)
	}
}
