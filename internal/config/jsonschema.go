package config

import (
	"encoding/json"
	"fmt"
)

// SchemaOf is the JSON Schema (draft 2020-12) of one kind of file, made from the table
// that decodes it.
func SchemaOf(kind Kind) []byte {
	top := objectSchema(fieldsOf(kind), kind)
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = fmt.Sprintf("Carrel %s configuration", kind)
	out, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil // maps, slices and strings always marshal
	}
	return append(out, '\n')
}

type jsonObject = map[string]any

func objectSchema(fields []field, kind Kind) jsonObject {
	properties := jsonObject{}
	required := []string{}
	for i := range fields {
		f := &fields[i]
		if f.in != 0 && !f.in.has(kind) {
			continue
		}
		properties[f.key] = fieldSchema(f, kind)
		if f.need {
			required = append(required, f.key)
		}
	}
	out := jsonObject{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func fieldSchema(f *field, kind Kind) jsonObject {
	s := typeSchema(f, kind)
	s["description"] = f.doc
	return s
}

func typeSchema(f *field, kind Kind) jsonObject {
	text := jsonObject{"type": "string"}
	switch f.typ {
	case typeEnum:
		words := append([]string{}, f.enum...)
		return jsonObject{"enum": append(words, sortedKeys(f.also)...)}
	case typeBool:
		return jsonObject{"type": "boolean"}
	case typeSize:
		return jsonObject{"type": []string{"string", "integer"}, "pattern": sizePattern, "minimum": 0}
	case typeDuration:
		return jsonObject{"type": "string", "pattern": durationPattern}
	case typeTime:
		return jsonObject{"type": "string", "format": "date-time"}
	case typeCount:
		return jsonObject{"type": "integer", "minimum": 0}
	case typeList:
		return jsonObject{"type": "array", "items": text}
	case typePorts:
		return jsonObject{"type": "array", "items": jsonObject{"type": []string{"string", "integer"}, "pattern": portsPattern, "minimum": 1, "maximum": 65535}}
	case typeMap:
		return jsonObject{"type": "object", "additionalProperties": text}
	case typeObjects:
		entry := objectSchema(f.sub, kind)
		if f.word != "" {
			entry = jsonObject{"anyOf": []any{typeSchema(find(f.sub, f.word), kind), entry}}
		}
		return jsonObject{"type": "array", "items": entry}
	case typeNamed:
		return jsonObject{"type": "object", "additionalProperties": objectSchema(f.sub, kind)}
	case typeObject:
		object := objectSchema(f.sub, kind)
		if f.word == "" {
			return object
		}
		return jsonObject{"anyOf": []any{typeSchema(find(f.sub, f.word), kind), object}}
	}
	return text
}

const (
	portsPattern    = `^[1-9][0-9]{0,4}(:[1-9][0-9]{0,4})?$`
	sizePattern     = `^[0-9]+(\.[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?$`
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
)
