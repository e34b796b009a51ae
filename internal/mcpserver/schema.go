package mcpserver

import (
	"encoding/json"
	"reflect"

	"carrel/internal/fileops"

	"github.com/google/jsonschema-go/jsonschema"
)

// anyJSON is JSON of whatever form the command line gives it.
type anyJSON struct{ json.RawMessage }

// MarshalJSON implements [json.Marshaler]; nothing is null.
func (f anyJSON) MarshalJSON() ([]byte, error) {
	if len(f.RawMessage) == 0 {
		return []byte("null"), nil
	}
	return f.RawMessage, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *anyJSON) UnmarshalJSON(b []byte) error { return f.RawMessage.UnmarshalJSON(b) }

// typeSchemas are those of types that say less than is meant. A schema that is true,
// which stands for anything, is not understood by every client.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[fileops.Path]():    {Type: "string"},
	reflect.TypeFor[anyJSON]():         {Description: "as the command line gives it"},
	reflect.TypeFor[map[string]any]():  {Type: "object", Description: "as the command line gives it"},
}
