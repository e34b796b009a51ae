package policy

import (
	"fmt"
	"slices"
	"strings"
)

// HostPreset is a named list of host rules: "preset:NAME" stands for all of
// them wherever a host rule may stand.
type HostPreset struct {
	Name  string
	Title string
	Hosts []string
}

// presetPrefix begins an entry that stands for a preset.
const presetPrefix = "preset:"

// BuiltinHostPresets are the package registries and git hosting that every
// installation knows, sorted by name. They hold what reading needs; hosts that
// only take uploads, and shared storage where anybody has a place, are left out.
// What goes over TLS cannot be held to reading: a login that comes with what a
// command reads could still publish to a listed host.
func BuiltinHostPresets() []HostPreset {
	return []HostPreset{
		{"crates", "crates.io, Rust's registry and toolchains", []string{
			"crates.io:443", "index.crates.io:443", "static.crates.io:443", "static.rust-lang.org:443"}},
		{"debian", "Debian's package archives", []string{
			"deb.debian.org:80,443", "security.debian.org:80,443", "ftp.debian.org:80,443", "snapshot.debian.org:80,443"}},
		{"github", "GitHub, over https and ssh", []string{
			"github.com:22,443", "ssh.github.com:443", "api.github.com:443", "codeload.github.com:443",
			"*.githubusercontent.com:443", "gist.github.com:22,443", "github-cloud.s3.amazonaws.com:443", "ghcr.io:443", "npm.pkg.github.com:443"}},
		{"gitlab", "GitLab.com, over https and ssh", []string{
			"gitlab.com:22,443", "altssh.gitlab.com:443", "registry.gitlab.com:443", "*.gitlab-static.net:443"}},
		{"go", "Go's module proxy, checksums and toolchains", []string{
			"proxy.golang.org:443", "sum.golang.org:443", "index.golang.org:443", "go.dev:443", "golang.org:443", "dl.google.com:443",
			"pkg.go.dev:443"}},
		{"npm", "npm's registry, Yarn's, and Node.js", []string{
			"registry.npmjs.org:443", "registry.yarnpkg.com:443", "repo.yarnpkg.com:443", "npm.jsr.io:443", "nodejs.org:443"}},
		{"pypi", "PyPI", []string{
			"pypi.org:443", "files.pythonhosted.org:443", "pypi.python.org:443"}},
		{"ubuntu", "Ubuntu's package archives", []string{
			"archive.ubuntu.com:80,443", "*.archive.ubuntu.com:80,443", "security.ubuntu.com:80,443", "ports.ubuntu.com:80,443",
			"ppa.launchpadcontent.net:80,443"}},
	}
}

// expandPreset returns the rules that an entry stands for, each with a source
// that names the preset; an entry that is none stands for itself.
func expandPreset(v Value[string], more []HostPreset) ([]Value[string], error) {
	name, ok := strings.CutPrefix(strings.Trim(v.V, " \t"), presetPrefix)
	if !ok {
		return []Value[string]{v}, nil
	}
	all := slices.Concat(more, BuiltinHostPresets())
	i := slices.IndexFunc(all, func(p HostPreset) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no host preset %q; there are %s", name, strings.Join(presetNames(all), ", "))
	}
	src := v.Source
	src.Text = "preset " + name
	if v.Source.Text != "" {
		src.Text += " by " + v.Source.Text
	}
	var out []Value[string]
	for _, h := range all[i].Hosts {
		out = append(out, Value[string]{V: h, Source: src})
	}
	return out, nil
}

func presetNames(all []HostPreset) []string {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
