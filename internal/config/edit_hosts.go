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
	return edit(file, Options{}, "network."+key, func(root *yaml.Node) error {
		addTo(root, []string{"network", key}, rule)
		return nil
	})
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
