package config

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// outsideKeys say where Carrel runs what it runs, which is settled when it works in a machine.
var outsideKeys = []string{"backend", "lima", "vm"}

// Inside gives the text of a configuration file as it counts in a machine where Carrel works: all
// of it but the keys that lead there.
func Inside(text []byte) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if len(file.Content) == 0 { // it is empty
		return text, nil
	}
	top := file.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("the configuration is not a list of keys with values")
	}
	for i := 0; i+1 < len(top.Content); {
		if slices.Contains(outsideKeys, top.Content[i].Value) {
			top.Content = slices.Delete(top.Content, i, i+2)
		} else {
			i += 2
		}
	}
	out, err := yaml.Marshal(&file)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration for the machine: %w", err)
	}
	return out, nil
}

// Backend gives the backend that the configuration names, "" for none: the operator's before the
// user's.
func (l *Loaded) Backend() string {
	for _, layer := range l.Layers {
		if v := layer.Request.Backend; v != nil {
			return string(v.V)
		}
	}
	return ""
}
