package jsonapi

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"carrel/internal/fileops"
	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

// Operation is one request of the protocol.
type Operation struct {
	Name    string
	About   string
	In, Out *jsonschema.Schema

	// pace says when it is carried out, beside the requests before it.
	pace pace
	// control says when the session's workspace refuses it.
	control op.Control
	run     func(ctx context.Context, c *call, payload json.RawMessage) (any, error)
}

// pace is how a request is carried out beside others.
type pace int

const (
	inOrder  pace = iota // when all that came before it and is in order is done
	fromHere             // begins in order, and what comes after it does not wait for it
	atOnce               // waits for nothing
)

// define makes an entry of a function with a type for what it takes and one for what it
// gives. Both have to be structs; a schema that cannot be made is nil, which New refuses.
func define[In, Out any](name, about string, when pace, run func(ctx context.Context, c *call, in In) (Out, error)) Operation {
	o := Operation{Name: name, About: about, pace: when, In: schemaOf[In](), Out: schemaOf[Out]()}
	if is := op.OfRequest(name); is != nil {
		o.control = is.Control
	}
	o.run = func(ctx context.Context, c *call, payload json.RawMessage) (any, error) {
		var in In
		if p := decode(payload, o.In, &in); p != nil {
			return nil, p
		}
		return run(ctx, c, in)
	}
	return o
}

// Event is one event of the protocol.
type Event struct {
	Name    string
	About   string
	Payload *jsonschema.Schema
}

func describe[T any](name, about string) Event { return Event{name, about, schemaOf[T]()} }

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "a string, or {\"base64\": \"...\"} where it is not UTF-8"},
		reflect.TypeFor[directoryName]():   {Types: []string{"integer", "string"}},
		reflect.TypeFor[fileops.Path]():    {Type: "string"},
		reflect.TypeFor[map[string]any]():  {Type: "object", Description: "as the command line prints it with --json"},
	}})
	if err != nil {
		return nil
	}
	plainLists(s)
	return s
}

// plainLists takes null out of the types of lists: we never write it.
func plainLists(s *jsonschema.Schema) {
	if i := slices.Index(s.Types, "null"); i >= 0 {
		if s.Types = slices.Delete(slices.Clone(s.Types), i, i+1); len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
	for _, p := range s.Properties {
		plainLists(p)
	}
	if s.Items != nil {
		plainLists(s.Items)
	}
}

// Operations are all requests, those of the older system first.
func Operations() []Operation {
	return slices.Concat(sessionOps(), undoOps(), agentOps(), fileOps(), safeguardOps(), ownOps())
}

// Events are all events, those of the older system first.
func Events() []Event {
	return []Event{
		describe[stepCompleted]("event.step_completed", "a command has ended, with the step of the history that it made"),
		describe[output]("event.agent_output", "a piece of what an agent says that agent.prompt has started"),
		describe[output]("event.terminal_output", "a piece of what a command of agent.execute says"),
		describe[said]("event.warning", "something is weaker than one may think"),
		describe[said]("event.error", "a fault that no request is answered with"),
		describe[held]("event.safeguard_triggered", "everything stands still until safeguard.confirm, or the time is over, which is no"),
		describe[outsideChange]("event.external_modification", "another program or person changed what a step left: undoing the step would destroy that"),
		describe[recovered]("event.recovery", "a session before this one was cut off; its step was closed as it was found"),
		describe[otherVersion]("event.undo_version_mismatch", "another version wrote the history; undo.discard begins a new one"),
		describe[answered]("event.carrel.approval", "something waits for a person, or was answered"),
		describe[refused]("event.carrel.denial", "something inside was refused"),
	}
}

// Payloads of events.
type (
	stepCompleted struct {
		CommandID string            `json:"command_id"`
		StepID    uint64            `json:"step_id"`        // 0 where nothing was changed
		StepIDs   []uint64          `json:"step_ids"`       // a large one is several
		Affected  []json.RawMessage `json:"affected_paths"` // absolute
		Left      int               `json:"affected_left_out,omitempty"`
		ExitCode  int               `json:"exit_code"`
		Signal    string            `json:"signal,omitempty"`
	}
	output struct {
		CommandID string `json:"command_id"`
		Stream    string `json:"stream"`
		Data      string `json:"data"`
		Encoding  string `json:"encoding,omitempty"` // base64 where the piece is not UTF-8
		Lost      uint64 `json:"lost,omitempty"`     // bytes before it that this client was too slow for
	}
	said struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		CommandID string `json:"command_id,omitempty"`
	}
	held struct {
		StepID    uint64   `json:"step_id"`
		ID        string   `json:"safeguard_id"`
		Kind      string   `json:"kind"` // delete_threshold, overwrite_large_file, rename_over_existing; carrel.user for those of the user's configuration
		Sample    []string `json:"sample_paths"`
		Message   string   `json:"message"`
		CommandID string   `json:"command_id,omitempty"`
		Operation string   `json:"operation"`
		Path      string   `json:"path"`
		Deadline  string   `json:"deadline"` // RFC 3339
	}
	outsideChange struct {
		Affected  []json.RawMessage `json:"affected_paths"`
		BarrierID uint64            `json:"barrier_id"`
		Barriers  []map[string]any  `json:"barriers"` // path, why, step
	}
	recovered struct {
		Restored int      `json:"paths_restored"` // always 0: nothing is taken back unasked
		Deleted  int      `json:"paths_deleted"`
		Steps    []uint64 `json:"step_ids"`
		Message  string   `json:"message"`
	}
	otherVersion struct {
		Expected string `json:"expected_version"`
		Found    string `json:"found_version"`
		Message  string `json:"message"`
	}
	answered struct {
		ID       string `json:"approval_id"`
		Waiting  bool   `json:"waiting"`
		Answer   string `json:"answer,omitempty"`
		What     string `json:"operation"`
		Subject  string `json:"subject"`
		Reason   string `json:"reason,omitempty"`
		Deadline string `json:"deadline"`
	}
	refused struct {
		Denial map[string]any `json:"denial"`
	}
)
