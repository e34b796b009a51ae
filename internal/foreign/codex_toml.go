package foreign

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/jsontree"
	"carrel/sandbox/policyfile"

	"github.com/pelletier/go-toml/v2"
)

// maxTOMLDepth bounds how deep tables may nest.
const maxTOMLDepth = 16

// tomlTree reads TOML into the tree that the other forms have; it has no lines.
func tomlTree(data []byte) (*jsontree.Node, error) {
	if len(data) > jsontree.MaxSize {
		return nil, fmt.Errorf("it is larger than %d bytes", jsontree.MaxSize)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	var root map[string]any
	if err := toml.Unmarshal(data, &root); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return nil, fmt.Errorf("%d:%d: this is neither JSON nor TOML: %w", line, column, err)
		}
		return nil, fmt.Errorf("this is neither JSON nor TOML: %w", err)
	}
	return treeOf(root, 0)
}

func treeOf(v any, depth int) (*jsontree.Node, error) {
	if depth > maxTOMLDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxTOMLDepth)
	}
	n := &jsontree.Node{}
	switch v := v.(type) {
	case bool:
		n.Kind, n.True = jsontree.Bool, v
	case string:
		n.Kind, n.Text = jsontree.String, v
	case int64:
		n.Kind, n.Text = jsontree.Number, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Text = jsontree.Number, strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		n.Kind, n.Text = jsontree.String, fmt.Sprint(v)
	case []any:
		n.Kind = jsontree.List
		for _, item := range v {
			sub, err := treeOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, sub)
		}
	case map[string]any:
		n.Kind = jsontree.Object
		for _, name := range slices.Sorted(maps.Keys(v)) {
			sub, err := treeOf(v[name], depth+1)
			if err != nil {
				return nil, err
			}
			n.Members = append(n.Members, jsontree.Member{Name: name, Value: sub})
		}
	default:
		return nil, fmt.Errorf("a value of type %T is not known", v)
	}
	return n, nil
}

// codexPolicyKeys are the keys of the configuration that are a policy, or part
// of one. All others say how Codex itself works.
var codexPolicyKeys = []string{"sandbox_mode", "sandbox_workspace_write", "default_permissions", "permissions", "shell_environment_policy", "profile", "profiles"}

// configuration reads config.toml.
func (c *codex) configuration(n *jsontree.Node) {
	for _, m := range n.Members {
		switch {
		case !slices.Contains(codexPolicyKeys, m.Name):
		case m.Name == "shell_environment_policy":
			c.left(m.Value, m.Name, "the policy passes a few variables only: %s", strings.Join(passed, ", "))
		case m.Name == "profile":
			c.lose(m.Value, m.Name, "what the profile says is not read; it may restrict")
		case m.Name == "profiles":
			c.left(m.Value, m.Name, "only the settings outside of profiles are read")
		}
	}
	name, m := n.Get("default_permissions"), n.Get("sandbox_mode")
	if name != nil {
		if m != nil {
			c.lose(m, "sandbox_mode", "default_permissions are there, too: which of the two holds is not said")
		}
		c.profile(n, name)
		return
	}
	mode := "read-only"
	if m != nil {
		mode = m.Text
	} else {
		c.left(n, "sandbox_mode", "it says nothing of a sandbox; its default is read-only")
	}
	legacy := &jsontree.Node{Kind: jsontree.Object, Members: []jsontree.Member{{Name: "type", Value: &jsontree.Node{Kind: jsontree.String, Text: mode}}}}
	if w := n.Get("sandbox_workspace_write"); w != nil && mode == "workspace-write" {
		if w.Kind != jsontree.Object {
			c.lose(w, "sandbox_workspace_write", "want a table, got %s", w.Kind)
		}
		legacy.Members = append(legacy.Members, w.Members...)
	}
	c.legacy(legacy, legacy.Members[0].Value)
}

// profile reads the permissions that are the default.
func (c *codex) profile(n, name *jsontree.Node) {
	switch name.Text {
	case ":read-only":
		c.readEverything()
		return
	case ":danger-full-access":
		c.everything()
		c.out.Network.Mode = policyfile.Open
		return
	case ":workspace":
		c.readEverything()
		c.workspaceRoots(&codexWorkspace{slashTmp: true, tmpDir: true})
		return
	}
	var chosen *jsontree.Node
	if all := n.Get("permissions"); all != nil {
		chosen = all.Get(name.Text)
	}
	if chosen == nil {
		c.lose(name, "default_permissions", "there are no permissions of the name %q in this file", name.Text)
		return
	}
	key := "permissions." + name.Text
	c.object(chosen, key,
		member{"filesystem", c.fileSystemTable}, member{"network", c.networkTable}, ignored("description"),
		member{"workspace_roots", func(n *jsontree.Node, key string) {
			c.lose(n, key, "the working directory is the one root; what is taken away in others is not")
		}})
}

// fileSystemTable reads "PLACE" = "access", and tables of them below a place.
func (c *codex) fileSystemTable(n *jsontree.Node, key string) {
	if n.Kind != jsontree.Object {
		c.lose(n, key, "want a table, got %s", n.Kind)
		return
	}
	for _, m := range n.Members {
		full := key + "." + strconv.Quote(m.Name)
		switch {
		case m.Name == "glob_scan_max_depth":
		case m.Value.Kind == jsontree.Object && (m.Name == ":workspace_roots" || m.Name == ":project_roots"):
			for _, sub := range m.Value.Members {
				c.belowEntry(sub, full+"."+strconv.Quote(sub.Name))
			}
		case m.Value.Kind == jsontree.Object:
			c.lose(m.Value, full, "want an access, got a table")
		default:
			c.tableEntry(m, full)
		}
	}
}

// belowEntry reads a rule of a place in the working directory.
func (c *codex) belowEntry(m jsontree.Member, key string) {
	access, ok := codexAccess(m.Value)
	name := &jsontree.Node{Kind: jsontree.String, Text: m.Name}
	switch {
	case !ok:
		c.lose(m.Value, key, "want read, write or deny")
	case strings.HasPrefix(m.Name, ":") || isGlob(m.Name) && strings.ContainsAny(m.Name[:1], "/~"):
		c.miss(m.Value, key, access, "want a place below the working directory")
	case isGlob(m.Name):
		c.pattern(m.Value, name, key, access)
	default:
		place, err := c.below(name)
		if err != nil {
			c.miss(m.Value, key, access, "%v", err)
			return
		}
		c.entries = append(c.entries, codexEntry{place: place, access: access})
	}
}

// tableEntry reads one rule of the configuration.
func (c *codex) tableEntry(m jsontree.Member, key string) {
	place := m.Name
	access, ok := codexAccess(m.Value)
	if !ok {
		c.lose(m.Value, key, "want read, write or deny")
		return
	}
	if name, special := codexSpecial[place]; special {
		c.special(&jsontree.Node{Kind: jsontree.Object, Members: []jsontree.Member{{Name: "kind", Value: &jsontree.Node{Kind: jsontree.String, Text: name}}}}, key, access)
		return
	}
	switch {
	case !path.IsAbs(place) && !strings.HasPrefix(place, "~"):
		c.miss(m.Value, key, access, "%q is not known", place)
	case isGlob(place):
		c.pattern(m.Value, &jsontree.Node{Kind: jsontree.String, Text: place}, key, access)
	default:
		at, err := c.place(place)
		if err != nil {
			c.miss(m.Value, key, access, "%v", err)
			return
		}
		c.entries = append(c.entries, codexEntry{place: at, access: access})
	}
}

// codexSpecial are the places that the configuration names.
var codexSpecial = map[string]string{
	":root": "root", ":minimal": "minimal", ":workspace_roots": "project_roots", ":project_roots": "project_roots", ":tmpdir": "tmpdir", ":slash_tmp": "slash_tmp",
}

// networkTable reads what a profile says of the network. With listed domains
// only those are reached; without, a network that is on would be all of it.
func (c *codex) networkTable(n *jsontree.Node, key string) {
	on := false
	net := &c.out.Network
	c.object(n, key,
		c.flag("enabled", func(*jsontree.Node, string) { on = true }),
		member{"mode", func(n *jsontree.Node, key string) {
			if n.Text != "full" {
				c.lose(n, key, "%q: methods are not held over TLS", n.Text)
			}
		}},
		ignored("allow_local_binding"), // a loopback of one's own is there anyway
		member{"domains", func(n *jsontree.Node, key string) {
			for _, m := range n.Members {
				full := key + "." + strconv.Quote(m.Name)
				switch m.Value.Text {
				case "allow":
					c.host(m.Value, full, m.Name, &net.AllowHosts, true)
				case "deny":
					c.host(m.Value, full, withoutPort(m.Name), &net.DenyHosts, false)
				default:
					c.lose(m.Value, full, "want allow or deny")
				}
			}
		}},
		c.setting("unix_sockets", "sockets are granted by a rule of the policy: name those that you mean"),
		c.setting("proxy_url", "the network is filtered here without a proxy of one's own"),
	)
	switch {
	case !on:
		net.AllowHosts, net.DenyHosts = nil, nil
	case len(net.AllowHosts) > 0:
		net.Mode = policyfile.Filtered
	default:
		net.DenyHosts = nil
		c.left(n, key, "no domain is allowed that could be reached here")
	}
}

// withoutPort takes off what a rule of Codex does without: it is about a host.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Count(host, ":") == 1 || i > 0 && host[i-1] == ']' {
		return host[:i]
	}
	return host
}
