package jsonapi

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaID names the schema of version 1.
const SchemaID = "urn:carrel:json-lines:1"

// Schema describes every line of the protocol: "request" is one of those that are taken,
// "line" one of those that are written, and "result.NAME" the payload of the response to
// a request that went well.
func Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{ID: SchemaID, Schema: "https://json-schema.org/draft/2020-12/schema", Title: "The JSON Lines protocol of carrel stdio, version 1",
		Defs: map[string]*jsonschema.Schema{}, AnyOf: []*jsonschema.Schema{{Ref: "#/$defs/request"}, {Ref: "#/$defs/line"}}}
	s.Defs["request_id"] = &jsonschema.Schema{Types: []string{"string", "number"}, Description: "comes back with the response"}
	request, line := &jsonschema.Schema{Description: "one line of input"}, &jsonschema.Schema{Description: "one line of output"}
	var results []*jsonschema.Schema
	for _, o := range Operations() {
		envelope := object(o.About, map[string]*jsonschema.Schema{"type": constant(o.Name), "request_id": {Ref: "#/$defs/request_id"}, "payload": o.In}, "type", "request_id")
		if len(o.In.Required) > 0 {
			envelope.Required = append(envelope.Required, "payload")
		}
		request.OneOf = append(request.OneOf, envelope)
		s.Defs["result."+o.Name] = o.Out
		results = append(results, &jsonschema.Schema{Ref: "#/$defs/result." + o.Name})
	}
	s.Defs["answered_id"] = &jsonschema.Schema{Types: []string{"string", "number", "null"}, Description: "of the request; null where it has none that can be read"}
	line.OneOf = append(line.OneOf,
		object("to a request that went well", map[string]*jsonschema.Schema{"type": constant("response"), "request_id": {Ref: "#/$defs/answered_id"}, "status": constant("ok"), "payload": {AnyOf: results}}, "type", "request_id", "status", "payload"),
		object("to one that did not", map[string]*jsonschema.Schema{"type": constant("response"), "request_id": {Ref: "#/$defs/answered_id"}, "status": constant("error"), "error": schemaOf[Problem]()}, "type", "request_id", "status", "error"))
	for _, e := range Events() {
		line.OneOf = append(line.OneOf, object(e.About, map[string]*jsonschema.Schema{"type": constant(e.Name), "payload": e.Payload}, "type", "payload"))
	}
	s.Defs["request"], s.Defs["line"] = request, line
	return s
}

// SchemaText is the schema as a text that is the same each time.
func SchemaText() ([]byte, error) {
	text, err := json.MarshalIndent(Schema(), "", "  ")
	return append(text, '\n'), err
}

func constant(text string) *jsonschema.Schema {
	var v any = text
	return &jsonschema.Schema{Const: &v}
}

func object(about string, properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: about, Properties: properties, Required: slices.Clone(required), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}
