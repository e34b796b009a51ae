package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// AddHost writes a host rule into network.allow_hosts, or deny_hosts, of the
// user's configuration file, as [AddPreset] writes a preset. One that is there
// already is no error. A rule that is none is left for the decoder to refuse.
func AddHost(file string, deny bool, rule string) error {
	key := "allow_hosts"
	if deny {
		key = "deny_hosts"
	}
	change := func(root *yaml.Node) error {
		network := section(root, "network")
		if network.Kind == yaml.ScalarNode { // a mode alone
			mode := *network
			*network = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode("mode"), &mode}}
		}
		i := keyIndex(network, key)
		if i < 0 {
			network.Content = append(network.Content, textNode(key), listNode([]string{rule}))
			return nil
		}
		list := network.Content[i+1]
		if list.Kind != yaml.SequenceNode { // null
			network.Content[i+1] = listNode([]string{rule})
			return nil
		}
		if !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return n.Value == rule }) {
			list.Content = append(list.Content, textNode(rule))
		}
		return nil
	}
	return edit(file, Options{}, "network."+key, change)
}

// sameButBelow compares what both files set outside of a key.
func sameButBelow(key string, a, b []Setting) bool {
	rest := func(list []Setting) []Setting {
		return slices.DeleteFunc(slices.Clone(list), func(s Setting) bool {
			below, ok := strings.CutPrefix(s.Key, key)
			return ok && (below == "" || below[0] == '.' || below[0] == '[')
		})
	}
	long := func(key string) string {
		if key == "network" { // a mode alone
			return "network.mode"
		}
		return key
	}
	return slices.EqualFunc(rest(a), rest(b), func(x, y Setting) bool { return long(x.Key) == long(y.Key) && x.Value == y.Value })
}
