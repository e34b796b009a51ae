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
	typeTime                          // a time, also without quotes
	typeCount                         // a whole number
	typeList                          // a list of text
	typePorts                         // a list of text or whole numbers
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
	word string            // the object types: a mapping may also be written as this sub-key's value
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
	projects *[]ProjectSection
	mount    *policy.Mount
	mounts   *[]DefinedMount // extra_mounts
	commands *[]HostCommand  // host_commands
	decoder  *decoder

	definition *Definition
	defined    *DefinedMount // of a definition, or of extra_mounts
	command    *Command
	host       *HostCommand
	credential *policy.CredentialUse
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
