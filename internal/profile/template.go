package profile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/config"
	"carrel/internal/policy"
)

// Template is what a template is made for.
type Template struct {
	Kind    string   // one of Kinds
	Project string   // of project-dev: absolute; "" is wherever it is started
	DataDir string   // of browser-session: where the browser keeps its things, absolute
	Hosts   []string // that are reached, as in network.allow_hosts
	Browser string   // the program
}

// Kinds are the words of the templates.
var Kinds = []string{"project-dev", "browser-session", "restricted-browser"}

// registries are what the usual toolchains fetch from.
var registries = []string{"preset:github", "preset:go", "preset:crates", "preset:npm", "preset:pypi",
	"repo.maven.apache.org:443", "repo1.maven.org:443", "plugins.gradle.org:443", "services.gradle.org:443", "downloads.gradle.org:443",
	"rubygems.org:443", "index.rubygems.org:443", "api.nuget.org:443", "repo.packagist.org:443", "repo.hex.pm:443"}

// Write gives the text of a profile, with comments that say what can be
// changed.
func (t Template) Write() ([]byte, error) {
	def, about, err := t.definition()
	if err != nil {
		return nil, err
	}
	text, err := config.EncodeDefinition(def)
	if err != nil {
		return nil, err
	}
	return append([]byte(about), text...), nil
}

func (t Template) definition() (*config.Definition, string, error) {
	switch t.Kind {
	case "project-dev":
		return t.projectDev()
	case "browser-session":
		return t.browserSession()
	case "restricted-browser":
		return t.restrictedBrowser()
	}
	return nil, "", fmt.Errorf("there is no template %q; there are %s", t.Kind, strings.Join(Kinds, ", "))
}

func (t Template) projectDev() (*config.Definition, string, error) {
	if t.DataDir != "" || t.Browser != "" {
		return nil, "", errors.New("template project-dev starts no browser: --data-dir and --browser belong to the others")
	}
	def := &config.Definition{Description: "Development with the usual toolchains", Cwd: t.Project}
	def.Request.Home = &policy.Value[policy.HomeMode]{V: policy.HomeToolchains}
	def.Request.Nested = &policy.Value[policy.Nesting]{V: policy.NestedUserns}
	filtered(def, append(slices.Clone(registries), t.Hosts...))
	return def, `# The project can be changed, with a history that undo goes back in. Toolchains
# of your home that exist (Go, Rust, Node.js, Python, Java, Ruby, .NET and the
# like) show read-only, their caches as private copies of this project.
# carrel profile check NAME says what that is on this machine.
# Without cwd the project is the one that the workspace is started in. Add
# host_ports: [5432] to network for a database of the host, publish: [5173] for
# a server that your browser should reach; setup: and apps: for what to start.
`, nil
}

func (t Template) browserSession() (*config.Definition, string, error) {
	if t.DataDir == "" {
		return nil, "", errors.New("template browser-session needs the directory in which the browser keeps its session\nhint: carrel profile template browser-session --data-dir ~/browser-session")
	}
	if t.Project != "" {
		return nil, "", errors.New("template browser-session has no project: --project belongs to project-dev")
	}
	def := t.browser(t.DataDir, "A browser whose logins last")
	def.Cwd = t.DataDir
	def.Mounts = []Mount{{Host: t.DataDir, Workspace: t.DataDir, Write: true}}
	def.Request.History = &policy.Value[policy.HistoryMode]{V: policy.HistoryOff}
	if len(t.Hosts) > 0 {
		filtered(def, t.Hosts)
	} else {
		def.Request.Network = &policy.Value[policy.NetworkMode]{V: policy.NetOpen}
	}
	return def, `# What the browser keeps (logins, cookies) is in the one directory that shows
# here, and whoever drives this workspace acts with those logins. Do not give it
# your own browser's directory. Its changes are not recorded: a browser writes
# without end, and going back in a login helps nobody.
# display: host shows the window on your desktop.
`, nil
}

func (t Template) restrictedBrowser() (*config.Definition, string, error) {
	if t.DataDir != "" || t.Project != "" {
		return nil, "", errors.New("template restricted-browser keeps nothing and has no project: leave --data-dir and --project out")
	}
	if len(t.Hosts) == 0 {
		return nil, "", errors.New("template restricted-browser needs the hosts that may be reached\nhint: carrel profile template restricted-browser --allow-host example.com")
	}
	def := t.browser("/tmp/browser", "A browser that reaches the listed hosts and keeps nothing")
	def.Request.Home = &policy.Value[policy.HomeMode]{V: policy.HomeNone}
	filtered(def, t.Hosts)
	def.Request.Files = []policy.FileRequest{{Place: ":project/**", Glob: true, Access: policy.Read}}
	return def, `# The browser's directory is in the private /tmp and gone with the workspace.
# Pages load from more hosts than their own: carrel net log says which were
# refused. The directory where it is started can be read, but not changed: use an
# empty one. display: host shows the window on your desktop.
`, nil
}

func (t Template) browser(dataDir, about string) *config.Definition {
	program := t.Browser
	if program == "" {
		program = "chromium"
	}
	argv := []string{program, "--user-data-dir=" + dataDir, "--no-first-run", "--no-default-browser-check"}
	if strings.Contains(path.Base(program), "firefox") {
		argv = []string{program, "--profile", dataDir, "--no-remote"}
	}
	def := &config.Definition{Description: about, Width: 1280, Height: 800, Strict: true,
		Apps: []Command{{Name: "browser", Argv: argv}}}
	def.Request.Nested = &policy.Value[policy.Nesting]{V: policy.NestedUserns} // for the browser's own sandbox
	def.Request.Display = &policy.Value[policy.DisplayMode]{V: policy.DisplayVirtual}
	return def
}

func filtered(def *config.Definition, hosts []string) {
	def.Request.Network = &policy.Value[policy.NetworkMode]{V: policy.NetFiltered}
	for _, h := range hosts {
		if !slices.ContainsFunc(def.Request.AllowHosts, func(v policy.Value[string]) bool { return v.V == h }) {
			def.Request.AllowHosts = append(def.Request.AllowHosts, policy.Value[string]{V: h})
		}
	}
}
