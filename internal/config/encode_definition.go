package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"carrel/internal/policy"
)

// DecodeDefinition reads a definition as it stands in a file; file names it in
// messages and sources. The error is a [Problems] with all mistakes.
func DecodeDefinition(data []byte, file string) (*Definition, error) {
	d, problems := decodeFile(data, file, KindProfile, Options{})
	if len(problems) > 0 {
		return nil, problems
	}
	if d.saved == nil { // nothing but comments
		return &Definition{}, nil
	}
	d.saved.Settings = d.values
	return d.saved, nil
}

// EncodeDefinition writes a definition in its one canonical form: what two
// files mean alike has the same bytes, whatever their comments, their spacing
// and the order of their keys. [DecodeDefinition] reads it back.
func EncodeDefinition(def *Definition) ([]byte, error) {
	n := newMapping()
	n.text("description", def.Description)
	if def.Width > 0 {
		size := newMapping()
		size.number("width", int64(def.Width))
		size.number("height", int64(def.Height))
		n.put("size", size.node)
	}
	n.text("cwd", def.Cwd)
	n.variables("env", def.Env)
	n.request(&def.Request)
	mounts := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, m := range def.Mounts {
		one := newMapping()
		one.text("host_path", m.Host)
		if m.Workspace != m.Host {
			one.text("workspace_path", m.Workspace)
		}
		if m.Write {
			one.text("mode", "read_write")
		}
		mounts.Content = append(mounts.Content, one.node)
	}
	n.filled("mounts", mounts)
	n.filled("setup", commandNodes(def.Setup))
	n.filled("apps", commandNodes(def.Apps))
	if def.Strict {
		n.flag("strict", &policy.Value[bool]{V: true})
	}
	if len(n.node.Content) == 0 {
		return []byte("{}\n"), nil
	}
	out, err := yaml.Dump(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{n.node}}, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("writing a profile as YAML: %w", err)
	}
	return out, nil
}

func commandNodes(list []Command) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, c := range list {
		n := newMapping()
		n.text("name", c.Name)
		n.put("command", listNode(c.Argv))
		n.text("cwd", c.Cwd)
		n.variables("env", c.Env)
		if c.Timeout > 0 {
			n.text("timeout", c.Timeout.String())
		}
		out.Content = append(out.Content, n.node)
	}
	return out
}

// mapping collects the keys of one mapping; what says nothing is left out.
type mapping struct{ node *yaml.Node }

func newMapping() mapping { return mapping{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m mapping) put(key string, v *yaml.Node) {
	m.node.Content = append(m.node.Content, textNode(key), v)
}

func (m mapping) filled(key string, v *yaml.Node) {
	if len(v.Content) > 0 {
		m.put(key, v)
	}
}

func (m mapping) text(key, v string) {
	if v != "" {
		m.put(key, textNode(v))
	}
}

func (m mapping) number(key string, v int64) {
	m.put(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)})
}

func (m mapping) flag(key string, v *policy.Value[bool]) {
	if v != nil {
		m.put(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.V)})
	}
}

// list writes a list that is there; an empty one only where that means something.
func (m mapping) list(key string, list []string) {
	if len(list) > 0 {
		m.put(key, listNode(list))
	}
}

func (m mapping) variables(key string, list []EnvVar) {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	inner := newMapping()
	for _, v := range sorted {
		inner.put(v.Name, textNode(v.Value))
	}
	m.filled(key, inner.node)
}

// request writes the keys of a policy.
func (m mapping) request(r *policy.Request) {
	word(m, "persona", r.Persona)
	word(m, "agent_home", r.AgentHome)
	word(m, "isolation", r.Isolation)
	network := newMapping()
	word(network, "mode", r.Network)
	network.list("allow_hosts", words(r.AllowHosts))
	network.list("deny_hosts", words(r.DenyHosts))
	network.list("host_ports", wordsBy(r.HostPorts, func(p uint16) string { return strconv.Itoa(int(p)) }))
	network.list("publish", wordsBy(r.Publish, func(p policy.Publish) string { return fmt.Sprintf("%d:%d", p.Inside, p.Host) }))
	network.list("unix_sockets", words(r.UnixSockets))
	word(network, "on_unknown", r.OnUnknown)
	m.filled("network", network.node)
	display := newMapping()
	word(display, "mode", r.Display)
	display.flag("allow_desktop_gui", r.AllowDesktopGUI)
	display.flag("virtual_display", r.VirtualDisplay)
	display.flag("watch_vnc", r.WatchVNC)
	word(display, "clipboard", r.Clipboard)
	m.filled("display", display.node)
	virtual := newMapping()
	word(virtual, "sound", r.Sound)
	word(virtual, "notify", r.Notify)
	m.filled("virtual_commands", virtual.node)
	env := newMapping()
	env.list("pass", words(r.EnvPass))
	var set []EnvVar
	for _, name := range sortedKeys(r.EnvSet) {
		set = append(set, EnvVar{Name: name, Value: r.EnvSet[name].V})
	}
	env.variables("set", set)
	env.list("drop", words(r.EnvDrop))
	m.filled("environment", env.node)
	word(m, "home", r.Home)
	word(m, "nested", r.Nested)
	word(m, "history", r.History)
	word(m, "secrets", r.Secrets)
	m.list("devices", words(r.Devices))
	if r.ProgramsAllow != nil {
		programs := newMapping()
		programs.put("allow", listNode(words(r.ProgramsAllow)))
		m.put("programs", programs.node)
	}
	resources := newMapping()
	if r.Timeout != nil {
		resources.text("timeout", durationText(r.Timeout.V))
	}
	if r.Memory != nil {
		resources.number("memory", r.Memory.V)
	}
	if r.Pids != nil {
		resources.number("pids", r.Pids.V)
	}
	m.filled("resources", resources.node)
	m.files(r.Files)
}

// files writes grants and patterns by what they do, as the keys are.
func (m mapping) files(list []policy.FileRequest) {
	by := make(map[string][]string)
	for _, f := range list {
		key := f.Access.String()
		if f.Glob && f.Access == policy.Read {
			key = "protect"
		}
		by[key] = append(by[key], f.Place)
	}
	for _, key := range []string{"read", "write", "deny", "protect"} {
		m.list(key, by[key])
	}
}

func durationText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}

func word[T ~string](m mapping, key string, v *policy.Value[T]) {
	if v != nil {
		m.text(key, string(v.V))
	}
}

func words(list []policy.Value[string]) []string {
	return wordsBy(list, func(s string) string { return s })
}

func wordsBy[T any](list []policy.Value[T], text func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v.V)
	}
	return out
}
