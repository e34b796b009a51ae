package config

import (
	"errors"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Grants are what the user's file lists for one project, each as it is written there.
type Grants struct {
	Hosts, Read, Write, Env []string
}

// lists are the places in a project's section, each with what is listed there.
func (g *Grants) lists() []grantList {
	return []grantList{{[]string{"network", "allow_hosts"}, g.Hosts}, {[]string{"read"}, g.Read},
		{[]string{"write"}, g.Write}, {[]string{"environment", "pass"}, g.Env}}
}

type grantList struct {
	key    []string
	values []string
}

// AddGrants writes grants into the section of a project in the user's configuration
// file, as [AddPreset] writes a preset. What is there already is no error.
func AddGrants(file, project string, g Grants) error {
	if msg := badProjectPath(project); msg != "" {
		return errors.New(msg)
	}
	return edit(file, Options{}, "projects", func(root *yaml.Node) error {
		at := section(section(root, "projects"), project)
		for _, l := range g.lists() {
			for _, v := range l.values {
				addTo(at, l.key, v)
			}
		}
		return nil
	})
}

// RemoveGrants takes grants out of the section of a project, and the section with its
// last key. Where some are not there it returns them, and the file stays as it is.
func RemoveGrants(file, project string, g Grants) (missing []string, err error) {
	err = edit(file, Options{}, "projects", func(root *yaml.Node) error {
		missing = nil
		for _, l := range g.lists() {
			for _, v := range l.values {
				if !removeFrom(root, append([]string{"projects", project}, l.key...), v) {
					missing = append(missing, v)
				}
			}
		}
		if len(missing) > 0 {
			return errMissing
		}
		return nil
	})
	if errors.Is(err, errMissing) {
		err = nil
	}
	return missing, err
}

var errMissing = errors.New("it is not there")

// ProjectSections are those of the user's configuration file, in its order.
func ProjectSections(opts Options) ([]ProjectSection, error) {
	l := &loader{opts: Options{Home: opts.Home, ConfigHome: opts.ConfigHome}, out: &Loaded{}}
	r := l.trusted(filepath.Clean(UserFile(opts)), KindUser)
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	if r == nil {
		return nil, nil
	}
	return r.projects, nil
}

// addTo appends a value to the list at a key of a mapping, unless it is there.
func addTo(at *yaml.Node, key []string, value string) {
	last := key[len(key)-1]
	for _, name := range key[:len(key)-1] {
		if at = section(at, name); at.Kind == yaml.ScalarNode { // a mode alone
			mode := *at
			*at = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode("mode"), &mode}}
		}
	}
	i := keyIndex(at, last)
	if i < 0 {
		at.Content = append(at.Content, textNode(last), listNode([]string{value}))
		return
	}
	list := at.Content[i+1]
	if list.Kind != yaml.SequenceNode { // null
		at.Content[i+1] = listNode([]string{value})
		return
	}
	if !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return isText(n, value) }) {
		list.Content = append(list.Content, textNode(value))
	}
}

// removeFrom takes a value out of the list at a key of a mapping, and each part of the
// key that holds nothing then. It reports whether the value was there.
func removeFrom(at *yaml.Node, key []string, value string) bool {
	if at.Kind == yaml.SequenceNode && len(key) == 0 {
		n := len(at.Content)
		at.Content = slices.DeleteFunc(at.Content, func(n *yaml.Node) bool { return isText(n, value) })
		return len(at.Content) < n
	}
	if at.Kind != yaml.MappingNode || len(key) == 0 {
		return false
	}
	i := keyIndex(at, key[0])
	if i < 0 || !removeFrom(at.Content[i+1], key[1:], value) {
		return false
	}
	if len(at.Content[i+1].Content) == 0 {
		at.Content = slices.Delete(at.Content, i, i+2)
	}
	return true
}
