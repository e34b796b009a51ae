package config

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"carrel/internal/policy"
)

// fieldType is what a key's value looks like.
type fieldType uint8

const (
	typeEnum     fieldType = iota + 1 // one word of a list
	typeBool                          // true or false
	typeText                          // any text
	typeSize                          // "512MiB" or a number of bytes
	typeDuration                      // "30s"
	typeCount                         // a whole number
	typeList                          // a list of text
	typeMap                           // names to text
	typeObject                        // a mapping with keys of its own
	typeObjects                       // a list of such mappings
	typeNamed                         // names to such mappings
)

// kinds is a set of the files that a key may stand in.
type kinds uint8

func in(list ...Kind) kinds {
	var set kinds
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

func (s kinds) has(k Kind) bool { return s&(1<<k) != 0 }

// field is one row of the schema table.
type field struct {
	key  string
	doc  string
	typ  fieldType
	in   kinds             // 0: wherever the mapping that holds it may stand
	enum []string          // of typeEnum
	also map[string]string // other words for those of enum
	sub  []field           // of the object types
	word string            // typeObject that may also be written as this sub-key's value
	need bool              // typeObjects: an entry without it is a mistake

	put   func(t *target, v value)         // scalars, and each entry of a list or map
	check func(v value) string             // what is wrong with an entry, "" if nothing
	open  func(t *target, v value) *target // objects: where their fields go
}

// value is one checked value with its source.
type value struct {
	name   string // of typeMap and typeNamed: the key
	text   string
	number int64
	flag   bool
	source policy.Source
}

// target is what the fields of one mapping fill in.
type target struct {
	request  *policy.Request
	ceiling  *policy.Ceiling
	settings *Settings
	preset   *Preset
	presets  *[]Preset
	mount    *policy.Mount
	decoder  *decoder
}

// mapping decodes one mapping against its fields.
func (d *decoder) mapping(n *yaml.Node, path string, fields []field, t *target) {
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
		f := find(fields, name)
		if f == nil || !d.belongs(k, join(path, name), f) {
			if f == nil {
				d.unknown(k, path, name, fields)
			}
			continue
		}
		d.field(v, join(path, name), f, t)
	}
	for i := range fields {
		if fields[i].need && seen[fields[i].key] == nil {
			d.fail(n, path, "the key %s is missing", fields[i].key)
		}
	}
}

// key reads a key and refuses a second one of the same name.
func (d *decoder) key(k *yaml.Node, path string, seen map[string]*yaml.Node) (string, bool) {
	if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
		d.fail(k, path, "a merge key (<<) is not possible here")
		return "", false
	}
	name, ok := d.text(k, path)
	if !ok {
		return "", false
	}
	if first := seen[name]; first != nil {
		d.fail(k, join(path, name), "the key stands twice, first in line %d", first.Line)
		return "", false
	}
	seen[name] = k
	return name, true
}

// belongs tells whether the key may stand in this kind of file. In a project's
// file the keys of the user are ignored, anywhere else they are a mistake.
func (d *decoder) belongs(k *yaml.Node, path string, f *field) bool {
	if f.in == 0 || f.in.has(d.kind) {
		return true
	}
	if d.kind == KindProject {
		d.warnings = append(d.warnings, policy.Warning{
			Source:  d.source(k, path),
			Message: "ignored: this key belongs to the user, a project file cannot set it",
		})
		return false
	}
	d.fail(k, path, "this key belongs in the %s file", owner(f.in))
	return false
}

func owner(s kinds) string {
	for _, k := range []Kind{KindUser, KindOperator, KindCeiling, KindProject} {
		if s.has(k) {
			return k.String()
		}
	}
	return "no"
}

func (d *decoder) unknown(k *yaml.Node, path, name string, fields []field) {
	var known []string
	for _, f := range fields {
		if f.in == 0 || f.in.has(d.kind) {
			known = append(known, f.key)
		}
	}
	where := "here"
	if path != "" {
		where = "in " + path
	}
	d.fail(k, "", "unknown key %q %s%s", name, where, suggest(name, known))
}

// suggest names the nearest key, or all of them where none is near.
func suggest(name string, known []string) string {
	if s := didYouMean(name, known); s != "" {
		return s
	}
	return "; there are " + strings.Join(known, ", ")
}

func find(fields []field, key string) *field {
	for i := range fields {
		if fields[i].key == key {
			return &fields[i]
		}
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

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
	case typeList:
		d.list(n, path, f, t)
	default:
		if v, ok := d.scalar(n, path, f); ok {
			d.take(path, f, v, t)
		}
	}
}

func emptyForm(typ fieldType) string {
	if typ == typeList || typ == typeObjects {
		return "[]"
	}
	return "{}"
}

// object decodes a mapping, or the one word that may stand for it.
func (d *decoder) object(n *yaml.Node, path string, f *field, t *target) {
	if f.word != "" && n.Kind == yaml.ScalarNode {
		inner := find(f.sub, f.word)
		if v, ok := d.scalar(n, path, inner); ok {
			d.take(path, inner, v, d.opened(n, path, f, t))
		}
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
		d.mapping(entry, path, f.sub, d.opened(entry, path, f, t))
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

// list decodes a list of texts. An empty list is told too, with no text: it
// can mean something, as for programs.allow.
func (d *decoder) list(n *yaml.Node, path string, f *field, t *target) {
	if !d.sequence(n, path) {
		return
	}
	if f.open != nil {
		t = f.open(t, value{source: d.source(n, path), number: int64(len(n.Content))})
	}
	for _, entry := range n.Content {
		if text, ok := d.text(entry, path); ok {
			d.take(path, f, value{text: text, source: d.source(entry, path)}, t)
		}
	}
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
