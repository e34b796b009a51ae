package jsonapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/jsontree"
	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

// Version is that of the protocol.
const Version = 1

// MaxLine bounds a request, in bytes with the newline. What is longer is refused while it
// is read, and never kept.
const MaxLine = 1 << 20

// Codes of errors.
const (
	CodeMalformed = "malformed_json"
	CodeOperation = "unknown_operation"
	CodeMissing   = "missing_field"
	CodeInvalid   = "invalid_field"
	CodeOversized = "oversized_message"
	CodeVersion   = "unsupported_protocol_version"
	CodeOutside   = "path_outside_root"
	CodeNoID      = "missing_request_id"
	CodeIO        = "io_error"

	// Ours.
	CodeRefused  = "carrel.refused"  // the policy, the ceiling, the control or a person says no; carrel has the refusal
	CodeConflict = "carrel.conflict" // an undo would destroy what somebody else has changed; conflicts lists it
	CodeBusy     = "carrel.busy"     // too many requests wait, or commands run
)

// codes are all of them, for the manual.
var codes = []struct{ code, about string }{
	{CodeMalformed, "the line is no JSON object that can be read in one way only"},
	{CodeNoID, "`request_id` is missing"},
	{CodeOperation, "there is no such `type`"},
	{CodeMissing, "`field` is missing"},
	{CodeInvalid, "`field` is not what it has to be, or not known; `session` where there is none, or one already"},
	{CodeOversized, "the line has more than 1 MiB"},
	{CodeVersion, "`protocol_version` is not one of `supported`"},
	{CodeOutside, "the path leads out of the working directories"},
	{CodeIO, "reading or writing went wrong"},
	{CodeRefused, "the policy, a ceiling, the control or a missing person says no: `carrel` says which rule, from where, and what would allow it"},
	{CodeConflict, "another program or person changed what the undo would replace: `conflicts` lists it, nothing was changed"},
	{CodeBusy, "too much waits or runs at once"},
}

// Problem is the error of a response.
type Problem struct {
	Code      string           `json:"code"`
	Message   string           `json:"message"`
	Field     string           `json:"field,omitempty"`
	Supported []int            `json:"supported,omitempty"` // versions
	Conflicts []map[string]any `json:"conflicts,omitempty"`
	Carrel    *api.Denial      `json:"carrel,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

func missing(field string) *Problem {
	return &Problem{Code: CodeMissing, Field: field, Message: fmt.Sprintf("the field %q is missing", field)}
}

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Code: CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// problemOf makes what a response says of an error.
func problemOf(err error) *Problem {
	var p *Problem
	var d *api.Denial
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &d) && d.Code == op.CodeFailed:
		return &Problem{Code: CodeIO, Message: strings.TrimSuffix(d.Message+"; "+d.Hint, "; ")}
	case errors.As(err, &d):
		return &Problem{Code: CodeRefused, Message: d.Message, Carrel: d}
	}
	return &Problem{Code: CodeIO, Message: err.Error()}
}

// request is one line.
type request struct {
	kind    string
	id      json.RawMessage // as it was written, a string or a number
	payload json.RawMessage
}

// response is what a request is answered with.
type response struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"request_id"`
	Status  string          `json:"status"`
	Payload any             `json:"payload,omitempty"`
	Error   *Problem        `json:"error,omitempty"`
}

// event is what nobody asked for.
type event struct {
	Type    string `json:"type"`
	Payload any    `json:"payload"`
}

// maxID bounds a request's id, in bytes as it is written.
const maxID = 256

// parse reads a line. With a problem the request has the id, where there was one.
func parse(line []byte) (request, *Problem) {
	var r request
	tree, err := jsontree.Parse(line)
	if err != nil {
		return r, &Problem{Code: CodeMalformed, Message: "the line is not JSON that is understood: " + err.Error()}
	}
	if tree.Kind != jsontree.Object {
		return r, &Problem{Code: CodeMalformed, Message: "the line is " + tree.Kind.String() + ", not an object"}
	}
	var parts map[string]json.RawMessage // names stand once each: the tree has seen to it
	if err := json.Unmarshal(line, &parts); err != nil {
		return r, &Problem{Code: CodeMalformed, Message: "the line is not understood"}
	}
	switch id := tree.Get("request_id"); {
	case id == nil || id.Kind == jsontree.Null:
		return r, &Problem{Code: CodeNoID, Field: "request_id", Message: "the field \"request_id\" is missing"}
	case id.Kind != jsontree.String && id.Kind != jsontree.Number || id.Text == "" || len(parts["request_id"]) > maxID:
		return r, invalid("request_id", "request_id is a string or a number of 1 to %d bytes", maxID)
	}
	r.id = parts["request_id"]
	switch kind := tree.Get("type"); {
	case kind == nil:
		return r, missing("type")
	case kind.Kind != jsontree.String:
		return r, invalid("type", "type is a string, not %s", kind.Kind)
	default:
		r.kind = kind.Text
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if name != "type" && name != "request_id" && name != "payload" {
			return r, invalid(name, "a request has type, request_id and payload, and no %q", name)
		}
	}
	if p := tree.Get("payload"); p != nil && p.Kind != jsontree.Null {
		if p.Kind != jsontree.Object {
			return r, invalid("payload", "payload is an object, not %s", p.Kind)
		}
		r.payload = parts["payload"]
	}
	return r, nil
}

// decode reads a payload into a value that its schema describes. What is not known is
// refused by its name: who means more than is understood must not believe that it was
// obeyed.
func decode(payload json.RawMessage, schema *jsonschema.Schema, in any) *Problem {
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(payload, &given); err != nil {
		return invalid("payload", "the payload is not understood")
	}
	if p := known(given, schema, ""); p != nil {
		return p
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if err := d.Decode(in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return invalid(wrong.Field, "%s is of another type than a %s", wrong.Field, wrong.Value)
		}
		return invalid("payload", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// known checks the names of an object and of the objects in it; letter by letter, as the
// decoder does not.
func known(given map[string]json.RawMessage, schema *jsonschema.Schema, within string) *Problem {
	for _, name := range schema.Required {
		if v, ok := given[name]; !ok || string(v) == "null" {
			return missing(within + name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		of := schema.Properties[name]
		if of == nil {
			return invalid(within+name, "there is no field %q here; there are %s", within+name, fields(schema))
		}
		if p := knownBelow(given[name], of, within+name); p != nil {
			return p
		}
	}
	return nil
}

func knownBelow(value json.RawMessage, schema *jsonschema.Schema, name string) *Problem {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case len(schema.Properties) > 0 && json.Unmarshal(value, &object) == nil && object != nil:
		return known(object, schema, name+".")
	case schema.Items != nil && json.Unmarshal(value, &list) == nil:
		for i, one := range list {
			if p := knownBelow(one, schema.Items, fmt.Sprintf("%s[%d]", name, i)); p != nil {
				return p
			}
		}
	}
	return nil
}

func fields(schema *jsonschema.Schema) string {
	if len(schema.Properties) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
}
