package config

import "go.yaml.in/yaml/v4"

// field decodes the value of one key.
func (d *decoder) field(n *yaml.Node, path string, f *field, t *target) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value != "~" && f.typ > typeCount {
		d.fail(n, path, "nothing stands here: leave the key out, or write %s", emptyForm(f.typ))
		return
	}
	switch f.typ {
	case typeObject:
		d.object(n, path, f, t)
	case typeObjects:
		d.objects(n, path, f, t)
	case typeNamed, typeMap:
		d.named(n, path, f, t)
	case typeList, typePorts:
		d.list(n, path, f, t)
	default:
		if v, ok := d.scalar(n, path, f); ok {
			d.take(path, f, v, t)
		}
	}
}

func emptyForm(typ fieldType) string {
	if typ == typeList || typ == typePorts || typ == typeObjects {
		return "[]"
	}
	return "{}"
}

// object decodes a mapping, or the one text that may stand for it.
func (d *decoder) object(n *yaml.Node, path string, f *field, t *target) {
	if f.word != "" && n.Kind == yaml.ScalarNode {
		inner := find(f.sub, f.word)
		if v, ok := d.scalar(n, path, inner); ok {
			d.take(path, inner, v, d.opened(n, path, f, t))
		}
		return
	}
	if f.word != "" && n.Kind != yaml.MappingNode && f.typ == typeObjects {
		d.fail(n, path, "want text or a mapping, got %s", describeNode(n))
		return
	}
	d.mapping(n, path, f.sub, d.opened(n, path, f, t))
}

func (d *decoder) opened(n *yaml.Node, path string, f *field, t *target) *target {
	if f.open == nil {
		return t
	}
	return f.open(t, value{source: d.source(n, path)})
}

func (d *decoder) objects(n *yaml.Node, path string, f *field, t *target) {
	if !d.sequence(n, path) {
		return
	}
	for _, entry := range n.Content {
		d.object(entry, path, f, t)
	}
}

func (d *decoder) sequence(n *yaml.Node, path string) bool {
	if !d.plain(n, path) {
		return false
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "want a list, got %s", describeNode(n))
		return false
	}
	return true
}

// list decodes a list of texts or ports. An empty list is told too, with no text: it
// can mean something, as for programs.allow.
func (d *decoder) list(n *yaml.Node, path string, f *field, t *target) {
	if !d.sequence(n, path) {
		return
	}
	if f.open != nil {
		t = f.open(t, value{source: d.source(n, path), number: int64(len(n.Content))})
	}
	for _, entry := range n.Content {
		if text, ok := d.entry(entry, path, f); ok {
			d.take(path, f, value{text: text, source: d.source(entry, path)}, t)
		}
	}
}

// entry reads one entry of a list; a port may be written without quotes.
func (d *decoder) entry(n *yaml.Node, path string, f *field) (string, bool) {
	if f.typ == typePorts && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && d.plain(n, path) {
		return n.Value, true
	}
	return d.text(n, path)
}

// named decodes a mapping whose keys are names that the writer chose.
func (d *decoder) named(n *yaml.Node, path string, f *field, t *target) {
	if !d.plain(n, path) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "want a mapping, got %s", describeNode(n))
		return
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name, ok := d.key(k, path, seen)
		if !ok {
			continue
		}
		at := join(path, name)
		if f.typ == typeMap {
			if text, ok := d.text(v, at); ok {
				d.take(at, f, value{name: name, text: text, source: d.source(v, at)}, t)
			}
			continue
		}
		head := value{name: name, text: name, source: d.source(k, at)}
		if msg := f.check(head); msg != "" {
			d.fail(k, at, "%s", msg)
			continue
		}
		d.mapping(v, at, f.sub, f.open(t, head))
	}
}

// take checks one value, hands it over and keeps it for config show.
func (d *decoder) take(path string, f *field, v value, t *target) {
	if f.check != nil {
		if msg := f.check(v); msg != "" {
			d.problems = append(d.problems, Problem{
				File: d.file, Line: v.source.Line, Column: v.source.Column, Key: path, Message: msg,
			})
			return
		}
	}
	f.put(t, v)
	d.values = append(d.values, Setting{Key: path, Value: v.text, Source: v.source})
}
