package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scope is whose settings are edited.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Host is what has to be known of the machine.
type Host struct {
	Home    string                   // the user's home directory, absolute
	Getenv  func(name string) string // the user's environment
	State   string                   // our directory for the record and the leases
	Program string                   // absolute path of carrel
	Inside  string                   // carrel's path as commands in a workspace see it
	Project string                   // the project of the scope Project
}

// client is one row of the table. What is said here was tried with the programs.
type client struct {
	name, title string
	variable    string   // names its directory
	own         []string // its own file and shell tools, as its hooks name them
	deny        []string // those that its settings can deny by name
	places      func(h Host, s Scope) places
}

// places are the files of a client in one scope; "" where it has none.
type places struct {
	dir      string   // is there when the client was used
	servers  string   // where MCP servers are registered
	toml     bool     // servers and hooks are TOML
	key      []string // of the servers in there
	settings string   // what it denies, and its hooks
	hooks    string   // where hooks stand; JSON where it ends so
	skill    string
	plugin   string
	blocker  string // a file whose being there takes all own tools away
}

// env is what the variable of a client says, "" where it has none.
func (c *client) env(h Host) string {
	if c.variable == "" {
		return ""
	}
	return h.Getenv(c.variable)
}

// as is the host with the client's variable as it was.
func (h Host) as(c *client, value string) Host {
	now := h.Getenv
	h.Getenv = func(name string) string {
		if name == c.variable {
			return value
		}
		return now(name)
	}
	return h
}

// keep takes the files that were used before, where a client has a choice: another one may
// have come since.
func (p *places) keep(s *setup) {
	if filepath.Dir(s.Servers) == filepath.Dir(p.servers) && exists(s.Servers) {
		p.servers = s.Servers
	}
	if filepath.Dir(s.Hooks) == filepath.Dir(p.hooks) && exists(s.Hooks) {
		p.hooks = s.Hooks
	}
}

var table = []client{
	{
		// Claude Code 2.1.197. What is denied by name is not offered to the model.
		// Names that it does not know it warns of, so MultiEdit is not here.
		name: "claude", title: "Claude Code", variable: "CLAUDE_CONFIG_DIR",
		own:  []string{"Read", "Edit", "Write", "Glob", "Grep", "Bash", "Monitor"},
		deny: []string{"Read", "Edit", "Write", "Glob", "Grep", "Bash", "Monitor"},
		places: func(h Host, s Scope) places {
			dir, servers := filepath.Join(h.Home, ".claude"), filepath.Join(h.Home, ".claude.json")
			settings := "settings.json"
			if v := h.Getenv("CLAUDE_CONFIG_DIR"); v != "" {
				dir, servers = filepath.Clean(v), filepath.Join(v, ".claude.json")
			}
			if s == Project {
				// The local settings are one person's; the others may be everybody's.
				dir, servers, settings = filepath.Join(h.Project, ".claude"), filepath.Join(h.Project, ".mcp.json"), "settings.local.json"
			}
			at := filepath.Join(dir, settings)
			return places{dir: dir, servers: servers, key: []string{"mcpServers"}, settings: at, hooks: at, skill: skillIn(dir)}
		},
	},
	{
		// Codex 0.169.0. features.shell_tool leaves apply_patch and view_image; with
		// no environment to run in, all three refuse. That file is the user's only.
		// It hands servers few variables.
		name: "codex", title: "Codex", variable: "CODEX_HOME",
		own: []string{"Bash", "apply_patch", "view_image", "exec_command", "write_stdin", "shell"},
		places: func(h Host, s Scope) places {
			dir, blocker := filepath.Join(h.Home, ".codex"), ""
			if v := h.Getenv("CODEX_HOME"); v != "" {
				dir = filepath.Clean(v)
			}
			if blocker = filepath.Join(dir, "environments.toml"); s == Project {
				dir, blocker = filepath.Join(h.Project, ".codex"), ""
			}
			config := filepath.Join(dir, "config.toml")
			p := places{dir: dir, servers: config, toml: true, key: []string{"mcp_servers"}, hooks: config, skill: skillIn(dir), blocker: blocker}
			if at := filepath.Join(dir, "hooks.json"); exists(at) {
				p.hooks = at // it warns when both hold hooks
			}
			return p
		},
	},
	{
		// Gemini CLI 0.61.0. tools.exclude and policies take MCP tools of the same
		// name away too (carrel's read_file), so its own are refused by a hook.
		name: "gemini", title: "Gemini CLI", variable: "",
		own: []string{"run_shell_command", "write_file", "replace", "read_file", "read_many_files", "glob", "grep_search", "search_file_content", "list_directory", "read_background_output", "list_background_processes"},
		places: func(h Host, s Scope) places {
			dir := filepath.Join(h.Home, ".gemini")
			if s == Project {
				dir = filepath.Join(h.Project, ".gemini")
			}
			at := filepath.Join(dir, "settings.json")
			return places{dir: dir, servers: at, key: []string{"mcpServers"}, hooks: at, skill: skillIn(dir)}
		},
	},
	{
		// OpenCode 1.18.33. It has no hooks but those of plugins.
		name: "opencode", title: "OpenCode", variable: "XDG_CONFIG_HOME",
		own: []string{"bash", "edit", "write", "read", "glob", "grep", "list", "patch", "multiedit", "apply_patch", "lsp"},
		places: func(h Host, s Scope) places {
			dir := filepath.Join(h.Home, ".config", "opencode")
			if v := h.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(v) {
				dir = filepath.Join(v, "opencode")
			}
			at := dir
			if s == Project {
				at, dir = h.Project, filepath.Join(h.Project, ".opencode")
			}
			config := filepath.Join(at, "opencode.json")
			if c := filepath.Join(at, "opencode.jsonc"); !exists(config) && exists(c) {
				config = c
			}
			return places{dir: dir, servers: config, key: []string{"mcp"}, skill: skillIn(dir), plugin: filepath.Join(dir, "plugin", "carrel.js")}
		},
	},
}

// Names lists the clients.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.name
	}
	return names
}

// Present tells whether the user has used a client.
func (h Host) Present(name string) bool {
	c, err := named(name)
	return err == nil && exists(c.places(h, User).dir)
}

func named(name string) (*client, error) {
	i := slices.IndexFunc(table, func(c client) bool { return c.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is no client that carrel knows\nhint: there are %s; for others see docs/mcp.md", name, strings.Join(Names(), ", "))
	}
	return &table[i], nil
}

func skillIn(dir string) string { return filepath.Join(dir, "skills", "carrel", "SKILL.md") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
