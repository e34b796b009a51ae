package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/strictjson"
	"carrel/internal/tools"

	"github.com/google/jsonschema-go/jsonschema"
)

// Effect says what a tool does.
type Effect string

// Effects. A tool has one of them, whatever its arguments.
const (
	Looks    Effect = "looks"    // changes nothing
	Acts     Effect = "acts"     // changes something that can be changed back
	Destroys Effect = "destroys" // may end or remove something for good
)

// Control says when a workspace that is not active keeps a tool from working.
type Control string

// Kinds of control.
const (
	Always     Control = "always_allowed"
	Observes   Control = "observation_allowed"
	Steers     Control = "control_plane_allowed"
	WhenActive Control = "blocked_when_not_active"
	OrDryRun   Control = "blocked_when_not_active_unless_dry_run"
	OrInside   Control = "conditional_output_path" // blocked where it is to write a file outside
	SafetyStop Control = "safety_stop_allowed"
)

// Tool is one entry of the table.
type Tool struct {
	Name       string
	Set        string // one of [Sets]
	About      string // for the model
	Effect     Effect
	Idempotent bool // a second call with the same arguments changes nothing more
	Open       bool // reaches what lies outside of the workspace
	Control    Control
	Brief      bool // never waits for anything: it has its turn whatever others wait for
	In, Out    *jsonschema.Schema

	starts bool // a workspace, and nothing else
	shows  bool // its answer is text or a picture, see [shown]

	run func(ctx context.Context, c *call, arguments json.RawMessage) (any, error)
}

// Sets are the sets of tools in which they can be chosen.
var Sets = []string{"files", "workspace", "desktop", "profiles", "control"}

// define makes an entry of a function with a type for what it takes and one for what it
// gives. Both have to be structs.
func define[In, Out any](t Tool, run func(ctx context.Context, c *call, in In) (Out, error)) Tool {
	t.In, t.Out = schemaOf[In](), schemaOf[Out]()
	if t.In == nil || t.Out == nil {
		t.In = nil
		return t
	}
	plainLists(t.In)
	if _, t.shows = any(*new(Out)).(shown); !t.shows {
		t.Out.Properties["cut"] = cutSchema
	}
	t.run = func(ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
		var in In
		if err := t.decode(arguments, &in); err != nil {
			return nil, err
		}
		return run(ctx, c, in)
	}
	return t
}

// schemaOf gives nil for a type that has no schema; [New] says so.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: typeSchemas})
	if err != nil {
		return nil
	}
	return s
}

// plainLists takes null out of the types of lists: some clients know no list of types.
func plainLists(s *jsonschema.Schema) {
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		plainLists(p)
	}
	if s.Items != nil {
		plainLists(s.Items)
	}
}

// decode reads the arguments of a call. What is not known is an error that names it: a
// caller that means more than is understood must not believe that it was obeyed.
func (t *Tool) decode(arguments json.RawMessage, in any) error {
	if a := bytes.TrimSpace(arguments); len(a) == 0 || string(a) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := strictjson.Check(arguments); err != nil {
		return t.badArguments("", "the arguments are not understood: "+err.Error())
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return t.badArguments("", "the arguments are no JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if t.In.Properties[name] == nil {
			return t.badArguments(name, fmt.Sprintf("there is no parameter %q", name))
		}
	}
	for _, name := range t.In.Required {
		if _, ok := given[name]; !ok {
			return t.badArguments(name, fmt.Sprintf("the parameter %q is missing", name))
		}
	}
	if err := strictjson.Decode(arguments, in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return t.badArguments(wrong.Field, fmt.Sprintf("the parameter %q cannot be a %s", wrong.Field, wrong.Value))
		}
		return t.badArguments("", err.Error())
	}
	return nil
}

func (t *Tool) badArguments(subject, message string) error {
	names := slices.Sorted(maps.Keys(t.In.Properties))
	hint := t.Name + " takes no parameters"
	if len(names) > 0 {
		hint = fmt.Sprintf("%s takes: %s", t.Name, strings.Join(names, ", "))
	}
	return &api.Denial{Code: tools.CodeArguments, Operation: t.Name, Subject: subject, Message: message, Rule: "parameters", Source: "built in", Hint: hint}
}
