package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// scalar reads one value of a scalar type.
func (d *decoder) scalar(n *yaml.Node, path string, f *field) (value, bool) {
	v := value{source: d.source(n, path)}
	switch f.typ {
	case typeBool:
		return d.boolean(n, path, v)
	case typeSize, typeCount, typeDuration:
		return d.quantity(n, path, f, v)
	}
	if f.typ == typeTime && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" && d.plain(n, path) {
		v.text = n.Value
		return v, true
	}
	text, ok := d.text(n, path)
	if !ok {
		return v, false
	}
	v.text = text
	if f.typ == typeEnum {
		if canonical, ok := f.also[text]; ok {
			v.text = canonical
		}
		if !slices.Contains(f.enum, v.text) {
			d.fail(n, path, "%q is not one of %s%s", text, strings.Join(f.enum, ", "), didYouMean(text, f.enum))
			return v, false
		}
	}
	return v, true
}

// boolean accepts exactly true and false: yes, on and True mean other things
// in other versions of YAML.
func (d *decoder) boolean(n *yaml.Node, path string, v value) (value, bool) {
	if !d.plain(n, path) {
		return v, false
	}
	plain := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool"
	if !plain || n.Value != "true" && n.Value != "false" {
		d.fail(n, path, "want true or false, got %s", describeNode(n))
		return v, false
	}
	v.flag, v.text = n.Value == "true", n.Value
	return v, true
}

// quantity reads a size, a duration or a count, as text or as a number.
func (d *decoder) quantity(n *yaml.Node, path string, f *field, v value) (value, bool) {
	if !d.plain(n, path) {
		return v, false
	}
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!int" && tag != "!!float" {
		d.fail(n, path, "want %s, got %s", quantityForm(f.typ), describeNode(n))
		return v, false
	}
	var err error
	switch f.typ {
	case typeSize:
		v.number, err = ParseSize(n.Value)
	case typeCount:
		v.number, err = ParseCount(n.Value)
	default:
		var duration, problem = ParseDuration(n.Value)
		v.number, err = int64(duration), problem
	}
	if err != nil {
		d.fail(n, path, "%v", err)
		return v, false
	}
	v.text = n.Value
	return v, true
}

func quantityForm(t fieldType) string {
	switch t {
	case typeSize:
		return "a size like 512MiB"
	case typeDuration:
		return "a duration like 30s"
	}
	return "a whole number"
}
