package profile

import (
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"carrel/internal/config"
	"carrel/internal/jsontree"
	"carrel/internal/policy"
)

// Loss is something of an imported profile that is not, or not so, in ours.
type Loss struct {
	Profile string `json:"profile"`
	Line    int    `json:"line"`
	Key     string `json:"key"`
	Why     string `json:"why"`
}

// String is one line about the loss.
func (l Loss) String() string {
	return fmt.Sprintf("profile %s: line %d: %s: %s", l.Profile, l.Line, l.Key, l.Why)
}

// IsForeign says whether a text is a profile of agent-workspace-linux: a JSON
// object with an id, or its whole file of them.
func IsForeign(data []byte) bool {
	n, err := jsontree.Parse(data)
	return err == nil && n.Kind == jsontree.Object && (n.Get("id") != nil || n.Get("profiles") != nil)
}

// Foreign reads profiles of agent-workspace-linux: one JSON object
//
//	{"id", "description", "width", "height", "cwd", "env": [{"name", "value"}],
//	 "mounts": [{"host_path", "workspace_path", "mode": "read_only"|"read_write"}],
//	 "network": {"mode": "inherit_host"|"disabled"|"local_only", "allow_hosts"},
//	 "require_enforced_policy", "setup_commands": [{"name", "command", "cwd", "env"}],
//	 "startup_apps": [as setup_commands]}
//
// or {"profiles": [...]} of them. What has another form here is returned as
// losses. A key that is not known is an error, since it may be a restriction;
// the error is a [config.Problems]. file names the text in messages.
func Foreign(data []byte, file string) ([]*Profile, []Loss, error) {
	root, err := jsontree.Parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s:%w", file, err)
	}
	f := &foreignReader{file: file}
	list := []*jsontree.Node{root}
	if all := root.Get("profiles"); all != nil {
		f.keys(root, "", "profiles")
		list = f.list(root, "profiles")
	}
	var out []*Profile
	for _, n := range list {
		if p := f.profile(n); p != nil {
			out = append(out, p)
		}
	}
	if len(f.problems) > 0 {
		return nil, nil, f.problems
	}
	return out, f.lost, nil
}

type foreignReader struct {
	file, id string
	problems config.Problems
	lost     []Loss
}

func (f *foreignReader) fail(n *jsontree.Node, key, format string, args ...any) {
	f.problems = append(f.problems, config.Problem{File: f.file, Line: n.Line, Column: n.Column, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (f *foreignReader) lose(n *jsontree.Node, key, format string, args ...any) {
	f.lost = append(f.lost, Loss{Profile: f.id, Line: n.Line, Key: key, Why: fmt.Sprintf(format, args...)})
}

func (f *foreignReader) profile(n *jsontree.Node) *Profile {
	if n.Kind != jsontree.Object {
		f.fail(n, "", "want a profile, an object, got %s", n.Kind)
		return nil
	}
	f.id = f.text(n, "id")
	if err := CheckName(f.id); err != nil {
		at := n
		if id := n.Get("id"); id != nil {
			at = id
		}
		f.fail(at, "id", "%v", err)
		return nil
	}
	f.keys(n, "", "id", "description", "width", "height", "cwd", "env", "mounts", "network", "require_enforced_policy", "setup_commands", "startup_apps")
	p := &Profile{Name: f.id}
	p.Description = f.text(n, "description")
	p.Width, p.Height = f.pixels(n, "width"), f.pixels(n, "height")
	if (p.Width == 0) != (p.Height == 0) {
		f.lose(n, "width, height", "a size here has both: it is left out")
		p.Width, p.Height = 0, 0
	}
	f.mounts(n, p)
	p.Env = f.variables(n)
	p.Cwd = f.place(n, "cwd")
	f.network(n, p)
	if strict := n.Get("require_enforced_policy"); strict != nil && strict.Kind != jsontree.Null {
		if strict.Kind != jsontree.Bool {
			f.fail(strict, "require_enforced_policy", "want true or false, got %s", strict.Kind)
		}
		p.Strict = strict.True
	}
	p.Setup, p.Apps = f.commands(n, "setup_commands"), f.commands(n, "startup_apps")
	return p
}

func (f *foreignReader) mounts(n *jsontree.Node, p *Profile) {
	for _, m := range f.list(n, "mounts") {
		if !f.object(m, "mounts", "host_path", "workspace_path", "mode") {
			continue
		}
		host, inside := f.place(m, "host_path"), f.place(m, "workspace_path")
		mode := f.text(m, "mode")
		if mode != "" && mode != "read_only" && mode != "read_write" {
			f.fail(m.Get("mode"), "mounts.mode", "%q is neither read_only nor read_write", mode)
		}
		if host == "" {
			f.fail(m, "mounts", "the key host_path is missing")
			continue
		}
		if inside == "" {
			inside = host
		}
		one := Mount{Host: host, Workspace: inside, Write: mode == "read_write"}
		for i, before := range p.Mounts {
			if before.Workspace == inside {
				f.fail(m, "mounts.workspace_path", "%q is the place of another mount too", inside)
			}
			if before.Host == host && before.Write != one.Write {
				f.lose(m, "mounts.mode", "%q has one mode wherever it shows: read_only", host)
				one.Write, p.Mounts[i].Write = false, false
			}
		}
		p.Mounts = append(p.Mounts, one)
	}
}

func (f *foreignReader) network(n *jsontree.Node, p *Profile) {
	net := n.Get("network")
	if net == nil || net.Kind == jsontree.Null {
		p.Request.Network = &policy.Value[policy.NetworkMode]{V: policy.NetOpen} // what it means there
		return
	}
	if !f.object(net, "network", "mode", "allow_hosts") {
		return
	}
	modes := map[string]policy.NetworkMode{"": policy.NetOpen, "inherit_host": policy.NetOpen, "disabled": policy.NetClosed, "local_only": policy.NetLocal}
	word := f.text(net, "mode")
	mode, ok := modes[word]
	if !ok {
		f.fail(net, "network.mode", "%q is not one of inherit_host, disabled, local_only", word)
		return
	}
	p.Request.Network = &policy.Value[policy.NetworkMode]{V: mode}
	for _, h := range f.list(net, "allow_hosts") {
		if h.Kind != jsontree.String {
			f.fail(h, "network.allow_hosts", "want a string, got %s", h.Kind)
			continue
		}
		port, why := loopbackPort(h.Text)
		switch {
		case mode != policy.NetLocal:
			f.lose(h, "network.allow_hosts", "%q: the mode is %s, so a list of hosts says nothing", h.Text, mode)
		case why != "":
			f.lose(h, "network.allow_hosts", "%q: %s", h.Text, why)
		default:
			p.Request.HostPorts = append(p.Request.HostPorts, policy.Value[uint16]{V: port})
		}
	}
}

// loopbackPort finds the port of an entry that names this machine: here ports
// of the host's loopback are listed one by one.
func loopbackPort(entry string) (port uint16, why string) {
	s := strings.ToLower(strings.TrimSpace(entry))
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	s, _, _ = strings.Cut(s, "/")
	host, number := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (!strings.Contains(s[:i], ":") || strings.HasSuffix(s[:i], "]")) {
		host, number = s[:i], s[i+1:]
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return 0, "it is not this machine"
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return 0, "it names no port, and here ports of the host are listed one by one: add them to network.host_ports; what listens inside is reached without"
	}
	return uint16(n), ""
}

func (f *foreignReader) commands(n *jsontree.Node, key string) []Command {
	var out []Command
	for _, c := range f.list(n, key) {
		if !f.object(c, key, "name", "command", "cwd", "env") {
			continue
		}
		cmd := Command{Name: f.text(c, "name"), Cwd: f.place(c, "cwd"), Env: f.variables(c)}
		for _, a := range f.list(c, "command") {
			if a.Kind != jsontree.String || strings.IndexByte(a.Text, 0) >= 0 {
				f.fail(a, key+".command", "want a string without NUL bytes, got %s", a.Kind)
				continue
			}
			cmd.Argv = append(cmd.Argv, a.Text)
		}
		if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
			f.fail(c, key+".command", "there is no program")
		}
		if cmd.Name != "" && CheckName(cmd.Name) != nil {
			f.lose(c, key+".name", "%q is left out: a name has letters, digits, dots, dashes and underscores", cmd.Name)
			cmd.Name = ""
		}
		for _, before := range out {
			if cmd.Name != "" && before.Name == cmd.Name {
				f.lose(c, key+".name", "%q is left out: it stands twice", cmd.Name)
				cmd.Name = ""
			}
		}
		out = append(out, cmd)
	}
	return out
}

func (f *foreignReader) variables(n *jsontree.Node) []EnvVar {
	var out []EnvVar
	for _, e := range f.list(n, "env") {
		if !f.object(e, "env", "name", "value") {
			continue
		}
		v := EnvVar{Name: f.text(e, "name"), Value: f.text(e, "value")}
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.IndexByte(v.Value, 0) >= 0 {
			f.fail(e, "env", "%q is not the name of a variable, or its value holds a NUL byte", v.Name)
			continue
		}
		for _, before := range out {
			if before.Name == v.Name {
				f.fail(e, "env", "%q stands twice", v.Name)
			}
		}
		out = append(out, v)
	}
	return out
}

// place reads an absolute path.
func (f *foreignReader) place(n *jsontree.Node, key string) string {
	p := f.text(n, key)
	if p == "" {
		return ""
	}
	if !path.IsAbs(p) || strings.Contains("/"+p+"/", "/../") {
		f.fail(n.Get(key), key, "%q is not an absolute path without ..", p)
		return ""
	}
	return path.Clean(p)
}

func (f *foreignReader) pixels(n *jsontree.Node, key string) int {
	v := n.Get(key)
	if v == nil || v.Kind == jsontree.Null {
		return 0
	}
	i, err := strconv.Atoi(v.Text)
	if v.Kind != jsontree.Number || err != nil || i < 1 || i > config.MaxPixels {
		f.fail(v, key, "want a number of pixels from 1 to %d", config.MaxPixels)
		return 0
	}
	return i
}

func (f *foreignReader) text(n *jsontree.Node, key string) string {
	v := n.Get(key)
	if v == nil || v.Kind == jsontree.Null {
		return ""
	}
	if v.Kind != jsontree.String || strings.IndexByte(v.Text, 0) >= 0 {
		f.fail(v, key, "want a string without NUL bytes, got %s", v.Kind)
		return ""
	}
	return v.Text
}

func (f *foreignReader) list(n *jsontree.Node, key string) []*jsontree.Node {
	v := n.Get(key)
	if v == nil || v.Kind == jsontree.Null {
		return nil
	}
	if v.Kind != jsontree.List {
		f.fail(v, key, "want a list, got %s", v.Kind)
		return nil
	}
	return v.Items
}

func (f *foreignReader) object(n *jsontree.Node, at string, known ...string) bool {
	if n.Kind != jsontree.Object {
		f.fail(n, at, "want an object, got %s", n.Kind)
		return false
	}
	f.keys(n, at+".", known...)
	return true
}

// keys refuses what is not known.
func (f *foreignReader) keys(n *jsontree.Node, prefix string, known ...string) {
next:
	for _, m := range n.Members {
		for _, k := range known {
			if m.Name == k {
				continue next
			}
		}
		f.problems = append(f.problems, config.Problem{File: f.file, Line: m.Line, Column: m.Column, Message: fmt.Sprintf("unknown key %q: it may be a restriction; take it out if it is none", prefix+m.Name)})
	}
}
