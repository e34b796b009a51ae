package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/policy"
)

const (
	maxGitFile    = 1 << 20 // bytes of one configuration file
	maxGitFiles   = 64      // files read through includes
	maxGitDepth   = 10      // as Git itself
	maxGitEntries = 10000
	maxGitIgnore  = 1 << 20
)

// git writes one ~/.gitconfig from the configuration of the system, the XDG
// place and home, with includes resolved for this project, and with everything
// left out that runs a command, names a credential or reads another file. The
// other places are emptied, so that nothing of them shows through.
func (in *inspector) git() {
	in.view.Env["GIT_TERMINAL_PROMPT"] = "0"
	entries := in.gitEntries()
	keep, signing := filterGit(entries)
	if signing && in.o.Git.Format == "" {
		in.note("signing of commits is off inside: the keys are not there")
	}
	in.systemFile("/etc/gitconfig", []byte("# Written by carrel: see ~/.gitconfig.\n"), "merged into ~/.gitconfig")
	if in.o.Home == "" {
		return
	}
	if xdg := in.expand("$CONFIG/git/config"); in.o.HomeMode == policy.HomeFull && in.h.walk(xdg).found {
		in.homeFile(xdg, []byte("# Written by carrel: see ~/.gitconfig.\n"), 0o644, "merged into ~/.gitconfig")
	}
	keep = append(keep, in.gitSafeDirectories(entries)...)
	keep = append(keep, gitClosing()...)
	keep = append(keep, in.o.Git.entries(entries)...)
	in.homeFile(in.expand("~/.gitconfig"), formatGitConfig(keep), 0o644, "Git identity and settings, without helpers and commands")
	in.gitSideFile(entries, "core.excludesfile", "ignore", "files that Git ignores")
	in.gitSideFile(entries, "core.attributesfile", "attributes", "attributes of files for Git")
}

// gitEntries reads the host's configuration in Git's order: system, XDG, home.
func (in *inspector) gitEntries() []gitEntry {
	r := &gitReader{in: in, gitDir: in.gitDir()}
	system := in.env["GIT_CONFIG_SYSTEM"]
	if system == "" {
		system = "/etc/gitconfig"
	}
	if in.env["GIT_CONFIG_NOSYSTEM"] == "" {
		r.file(system, 0)
	}
	if !in.wantsHome() {
		return r.entries
	}
	if global := in.env["GIT_CONFIG_GLOBAL"]; global != "" {
		r.file(global, 0)
		return r.entries
	}
	r.file(in.expand("$CONFIG/git/config"), 0)
	r.file(in.expand("~/.gitconfig"), 0)
	return r.entries
}

// gitSafeDirectories trusts the project and what the user trusts by name. A
// "*" is left out.
func (in *inspector) gitSafeDirectories(entries []gitEntry) []gitEntry {
	safe := func(dir string) gitEntry { return gitEntry{section: "safe", key: "directory", value: dir} }
	list := []gitEntry{safe(in.o.Project)}
	for _, e := range entries {
		if e.name() != "safe.directory" {
			continue
		}
		if e.value == "" { // resets the list
			list = list[:1]
		} else if path.IsAbs(e.value) && !strings.Contains(e.value, "*") {
			list = append(list, safe(e.value))
		}
	}
	return list
}

// gitClosing resets what other configuration files might ask for.
func gitClosing() []gitEntry {
	return []gitEntry{
		{section: "credential", key: "helper"},
		{section: "core", key: "askpass"},
	}
}

// entries lead git to what stands for credentials. Whoever signs outside by habit does
// so inside.
func (g GitKeys) entries(host []gitEntry) []gitEntry {
	var out []gitEntry
	if g.Helper != "" {
		out = append(out, gitEntry{section: "credential", key: "helper", value: g.Helper})
	}
	if g.GPG != "" {
		out = append(out, gitEntry{section: "gpg", key: "program", value: g.GPG})
	}
	if g.Format == "" {
		return out
	}
	out = append(out, gitEntry{section: "gpg", key: "format", value: g.Format}, gitEntry{section: "user", key: "signingkey", value: g.SigningKey})
	for _, section := range []string{"commit", "tag"} {
		for _, e := range slices.Backward(host) {
			if e.name() == section+".gpgsign" {
				if on := strings.ToLower(e.value); e.noValue || on == "true" || on == "yes" || on == "on" || on == "1" {
					out = append(out, gitEntry{section: section, key: "gpgsign", value: "true"})
				}
				break
			}
		}
	}
	return out
}

// gitSideFile copies a file that the configuration names, or Git's default one,
// to the default place, where Git finds it without being told.
func (in *inspector) gitSideFile(entries []gitEntry, variable, name, reason string) {
	if !in.wantsHome() {
		return
	}
	target := in.expand("$CONFIG/git/" + name)
	from := target
	for _, e := range entries {
		if e.name() == variable && !e.noValue {
			from = in.gitPath(e.value, in.o.Home)
		}
	}
	if !path.IsAbs(from) {
		return
	}
	data, at, err := in.h.load(path.Clean(from), maxGitIgnore)
	if err != nil || in.hidden.covers(at.path) && at.path != target {
		return
	}
	in.homeFile(target, data, 0o644, reason)
}

// gitPath expands a path of a configuration file that lies in dir. Paths below
// other users' homes and Git's own prefix are not followed.
func (in *inspector) gitPath(p, dir string) string {
	switch {
	case strings.HasPrefix(p, "~/") && in.o.Home != "":
		return in.o.Home + p[1:]
	case strings.HasPrefix(p, "~"), strings.HasPrefix(p, "%("), strings.HasPrefix(p, ":("), p == "":
		return ""
	case path.IsAbs(p):
		return p
	}
	return dir + "/" + p
}

// formatGitConfig writes entries so that Git reads back exactly the same.
func formatGitConfig(entries []gitEntry) []byte {
	var b strings.Builder
	b.WriteString("# Written by carrel from the host's configuration; changes here are lost.\n")
	head := ""
	for _, e := range entries {
		if h := gitHeader(e); h != head {
			b.WriteString(h + "\n")
			head = h
		}
		if e.noValue {
			b.WriteString("\t" + e.key + "\n")
		} else {
			b.WriteString("\t" + e.key + " = " + quoteGitValue(e.value) + "\n")
		}
	}
	return []byte(b.String())
}

func gitHeader(e gitEntry) string {
	if !e.hasSub {
		return "[" + e.section + "]"
	}
	return fmt.Sprintf(`[%s "%s"]`, e.section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.sub))
}

func quoteGitValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(v) + `"`
}
