package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"carrel/internal/policy"
	"carrel/internal/safefile"

	"go.yaml.in/yaml/v4"
)

var (
	// ErrPresetExists is the reason why AddPreset refuses a name.
	ErrPresetExists = errors.New("there is a preset of that name")
	// ErrNoPreset is the reason why RemovePreset finds nothing to remove.
	ErrNoPreset = errors.New("there is no preset of that name")
)

// NewPreset is what AddPreset writes.
type NewPreset struct {
	Name        string
	Command     []string
	Persona     policy.Persona // "" is left out, so human
	Description string
	Keys        []PresetKey // what else it asks for, in order
	Replace     bool        // an existing preset of that name goes
	Builtin     []string    // names that cannot be taken
}

// PresetKey is one more key of a preset with its value: a list, a count, or
// text where both are nil.
type PresetKey struct {
	Path  []string // "read", or "environment", "set", "NAME"
	List  []string
	Count *int64
	Text  string
}

// AddPreset writes a preset into the user's configuration file, which need not
// exist. Comments and the order of keys stay; blank lines may go. A file with
// mistakes is left alone and they are returned. Two callers at once both get
// their preset in.
func AddPreset(file string, p NewPreset) error {
	if msg := badPresetName(p.Name); msg != "" {
		return errors.New(msg)
	}
	opts := Options{BuiltinPresets: p.Builtin}
	return edit(file, opts, "presets", func(root *yaml.Node) error {
		presets := section(root, "presets")
		if i := keyIndex(presets, p.Name); i >= 0 {
			if !p.Replace {
				return fmt.Errorf("preset %q: %w", p.Name, ErrPresetExists)
			}
			presets.Content[i+1] = p.node()
			return nil
		}
		presets.Content = append(presets.Content, textNode(p.Name), p.node())
		return nil
	})
}

// RemovePreset takes a preset out of the user's configuration file, as
// AddPreset puts it in.
func RemovePreset(file, name string) error {
	return edit(file, Options{}, "presets", func(root *yaml.Node) error {
		at := keyIndex(root, "presets")
		if at < 0 {
			return fmt.Errorf("preset %q: %w", name, ErrNoPreset)
		}
		presets := root.Content[at+1]
		i := keyIndex(presets, name)
		if i < 0 {
			return fmt.Errorf("preset %q: %w", name, ErrNoPreset)
		}
		presets.Content = slices.Delete(presets.Content, i, i+2)
		if len(presets.Content) == 0 {
			root.Content = slices.Delete(root.Content, at, at+2)
		}
		return nil
	})
}

func (p NewPreset) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key string, v *yaml.Node) { n.Content = append(n.Content, textNode(key), v) }
	if p.Description != "" {
		add("description", textNode(p.Description))
	}
	if p.Persona != "" {
		add("persona", textNode(string(p.Persona)))
	}
	add("command", listNode(p.Command))
	for _, k := range p.Keys {
		at := n
		for _, name := range k.Path[:len(k.Path)-1] {
			at = section(at, name)
		}
		at.Content = append(at.Content, textNode(k.Path[len(k.Path)-1]), k.node())
	}
	return n
}

func (k PresetKey) node() *yaml.Node {
	switch {
	case k.List != nil:
		return listNode(k.List)
	case k.Count != nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(*k.Count, 10)}
	}
	return textNode(k.Text)
}

func listNode(words []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, w := range words {
		n.Content = append(n.Content, textNode(w))
	}
	return n
}

// edit changes the file under a lock: read, change what is at a key, check, replace.
func edit(file string, opts Options, key string, change func(root *yaml.Node) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("creating the directory of %q: %w", file, err)
	}
	unlock, err := lockFile(file + ".lock")
	if err != nil {
		return fmt.Errorf("locking %q: %w", file, err)
	}
	defer unlock()
	// A symlink, as people keep them for their dot files, stays one.
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	old, err := readTrusted(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Problems{readProblem(file, err)}
	}
	text, err := edited(old, file, opts, key, change)
	if err != nil {
		return err
	}
	return safefile.Write(file, text, safefile.Options{})
}

// edited returns the changed text, after decoding it again: what the change
// did not mean to touch must read as before.
func edited(old []byte, file string, opts Options, key string, change func(root *yaml.Node) error) ([]byte, error) {
	before, problems := decodeFile(old, file, KindUser, Options{})
	if len(problems) > 0 {
		return nil, problems
	}
	doc, _ := parse(old, file)
	var head []byte
	if doc == nil { // nothing, or comments alone, which belong to no node
		head = old
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
	}
	if err := change(doc.Content[0]); err != nil {
		return nil, err
	}
	body, err := yaml.Dump(doc, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("writing %q as YAML: %w", file, err)
	}
	if n := len(head); n > 0 && head[n-1] != '\n' {
		head = append(head, '\n')
	}
	text := append(slices.Clip(head), body...)
	after, problems := decodeFile(text, file, KindUser, opts)
	if len(problems) > 0 {
		return nil, problems
	}
	if !sameButBelow(key, before.values, after.values) {
		return nil, fmt.Errorf("editing %q would change other settings: edit it by hand", file)
	}
	return text, nil
}

// section returns the mapping at a key of the root, made if it is not there.
func section(root *yaml.Node, key string) *yaml.Node {
	if i := keyIndex(root, key); i >= 0 {
		n := root.Content[i+1]
		if len(n.Content) == 0 && root.Style&yaml.FlowStyle == 0 {
			n.Style &^= yaml.FlowStyle // "presets: {}" becomes a block
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	root.Content = append(root.Content, textNode(key), n)
	return n
}

func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if isText(mapping.Content[i], key) {
			return i
		}
	}
	return -1
}
