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
	"carrel/internal/op"
	"carrel/internal/strictjson"

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
type Control = op.Control

// Kinds of control that tools in another system's words have.
const (
	Observes   = op.Observes
	WhenActive = op.WhenActive
	OrDryRun   = op.OrDryRun
)

// effectOf is what the protocol calls the effect of an operation.
func effectOf(o *op.Operation) Effect {
	switch {
	case o.Effect == op.Looks:
		return Looks
	case o.Final:
		return Destroys
	}
	return Acts
}

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
	ownID  bool // of a profile: its id names no workspace

	run func(ctx context.Context, c *call, arguments json.RawMessage) (any, error)
}

// Sets are the sets of tools in which they can be chosen.
var Sets = []string{"files", "workspace", "desktop", "profiles", "control"}

// define makes an entry of a function with a type for what it takes and one for what it
// gives. Both have to be structs. What it does and when it is refused is that of its operation.
func define[In, Out any](t Tool, run func(ctx context.Context, c *call, in In) (Out, error)) Tool {
	if o := op.OfTool(t.Name); o != nil {
		t.Effect, t.Control = effectOf(o), o.Control
	}
	t.In, t.Out = schemaOf[In](), schemaOf[Out]()
	if t.In == nil || t.Out == nil {
		t.In = nil
		return t
	}
	plainLists(t.In)
	setChoices(t.In, choices()[t.Name])
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
	if err := t.checkKnown(t.In, "", arguments); err != nil {
		return err
	}
	for _, name := range t.In.Required {
		if _, ok := given[name]; !ok {
			return t.badArguments(name, fmt.Sprintf("the parameter %q is missing", name))
		}
	}
	if err := strictjson.Decode(arguments, in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			name := parameterOf(wrong.Field)
			return t.badArguments(name, fmt.Sprintf("the parameter %q cannot be %s", name, withArticle(wrong.Value)))
		}
		return t.badArguments("", err.Error())
	}
	return nil
}

// checkKnown refuses a name that a schema does not have, and a word that is none of its
// choices, also below.
func (t *Tool) checkKnown(s *jsonschema.Schema, at string, value json.RawMessage) error {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0 || string(value) == "null":
	case value[0] == '{' && (s == t.In || s.Properties != nil):
		var given map[string]json.RawMessage
		if err := json.Unmarshal(value, &given); err != nil {
			return t.badArguments(at, "the arguments are not understood: "+err.Error())
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			below := strings.TrimPrefix(at+"."+name, ".")
			p := s.Properties[name]
			if p == nil {
				return t.bad(s, below, fmt.Sprintf("there is no parameter %q", below))
			}
			if string(given[name]) == `""` && p.Enum != nil && slices.Contains(s.Required, name) {
				return t.bad(nil, below, fmt.Sprintf("%s is %s", below, choicesOf(p)))
			}
			if err := t.checkKnown(p, below, given[name]); err != nil {
				return err
			}
		}
	case value[0] == '[' && s.Items != nil:
		var given []json.RawMessage
		if err := json.Unmarshal(value, &given); err != nil {
			return t.badArguments(at, "the arguments are not understood: "+err.Error())
		}
		for i := range given {
			if err := t.checkKnown(s.Items, fmt.Sprintf("%s[%d]", at, i), given[i]); err != nil {
				return err
			}
		}
	case value[0] == '"' && s.Enum != nil:
		var word string
		if err := json.Unmarshal(value, &word); err != nil || !isChoice(s, at, word) {
			return t.bad(nil, at, fmt.Sprintf("%s is %s, not %q", at, choicesOf(s), word))
		}
	}
	return nil
}

// bad is badArguments for what is below a parameter, with the names that stand there.
func (t *Tool) bad(s *jsonschema.Schema, at, message string) error {
	if s == nil || s == t.In {
		return t.badArguments(at, message)
	}
	d := t.denial(at, message)
	where := at[:strings.LastIndexByte(at, '.')]
	d.Hint = fmt.Sprintf("%s takes: %s", where, strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
	return d
}

func (t *Tool) badArguments(subject, message string) error {
	d := t.denial(subject, message)
	d.Hint = t.Name + " takes no parameters"
	if names := slices.Sorted(maps.Keys(t.In.Properties)); len(names) > 0 {
		d.Hint = fmt.Sprintf("%s takes: %s", t.Name, strings.Join(names, ", "))
	}
	return d
}

func (t *Tool) denial(subject, message string) *api.Denial {
	return &api.Denial{Code: op.CodeArguments, Operation: t.Name, Subject: subject, Message: message, Rule: "parameters",
		Source: "built in"}
}
