package hostview

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/gitconf"
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
	in.out.view.Env["GIT_TERMINAL_PROMPT"] = "0"
	entries := in.gitEntries()
	keep, signing := filterGit(entries)
	if signing && in.o.Git.Format == "" {
		in.out.note("signing of commits is off inside: the keys are not there")
	}
	in.systemFile("/etc/gitconfig", []byte("# Written by carrel: see ~/.gitconfig.\n"), "merged into ~/.gitconfig")
	if in.o.Home == "" {
		return
	}
	if xdg := in.base.expand("$CONFIG/git/config"); in.o.HomeMode == policy.HomeFull && in.h.walk(xdg).found {
		in.out.homeFile(xdg, []byte("# Written by carrel: see ~/.gitconfig.\n"), 0o644, "merged into ~/.gitconfig")
	}
	keep = append(keep, in.o.gitSafeDirectories(entries)...)
	keep = append(keep, gitClosing()...)
	keep = append(keep, in.o.Git.entries(entries)...)
	in.out.homeFile(in.base.expand("~/.gitconfig"), formatGitConfig(keep), 0o644, "Git identity and settings, without helpers and commands")
	in.gitSideFile(entries, "core.excludesfile", "ignore", "files that Git ignores")
	in.gitSideFile(entries, "core.attributesfile", "attributes", "attributes of files for Git")
}

// gitEntries reads the host's configuration in Git's order: system, XDG, home.
func (in *inspector) gitEntries() []gitconf.Entry {
	r := &gitReader{in: in, gitDir: in.gitDir()}
	system := in.env["GIT_CONFIG_SYSTEM"]
	if system == "" {
		system = "/etc/gitconfig"
	}
	if in.env["GIT_CONFIG_NOSYSTEM"] == "" {
		r.file(system, 0)
	}
	if !in.o.wantsHome() {
		return r.entries
	}
	if global := in.env["GIT_CONFIG_GLOBAL"]; global != "" {
		r.file(global, 0)
		return r.entries
	}
	r.file(in.base.expand("$CONFIG/git/config"), 0)
	r.file(in.base.expand("~/.gitconfig"), 0)
	return r.entries
}

// gitSafeDirectories trusts the project and what the user trusts by name. A
// "*" is left out.
func (o *Options) gitSafeDirectories(entries []gitconf.Entry) []gitconf.Entry {
	safe := func(dir string) gitconf.Entry { return gitconf.Entry{Section: "safe", Key: "directory", Value: dir} }
	list := []gitconf.Entry{safe(o.Project)}
	for _, e := range entries {
		if e.Name() != "safe.directory" {
			continue
		}
		if e.Value == "" { // resets the list
			list = list[:1]
		} else if path.IsAbs(e.Value) && !strings.Contains(e.Value, "*") {
			list = append(list, safe(e.Value))
		}
	}
	return list
}

// gitClosing resets what other configuration files might ask for.
func gitClosing() []gitconf.Entry {
	return []gitconf.Entry{
		{Section: "credential", Key: "helper"},
		{Section: "core", Key: "askpass"},
	}
}

// entries lead git to what stands for credentials. Whoever signs outside by habit does
// so inside.
func (g GitKeys) entries(host []gitconf.Entry) []gitconf.Entry {
	var out []gitconf.Entry
	if g.Helper != "" {
		out = append(out, gitconf.Entry{Section: "credential", Key: "helper", Value: g.Helper})
	}
	if g.GPG != "" {
		out = append(out, gitconf.Entry{Section: "gpg", Key: "program", Value: g.GPG})
	}
	if g.Format == "" {
		return out
	}
	out = append(out, gitconf.Entry{Section: "gpg", Key: "format", Value: g.Format}, gitconf.Entry{Section: "user", Key: "signingkey", Value: g.SigningKey})
	for _, section := range []string{"commit", "tag"} {
		for _, e := range slices.Backward(host) {
			if e.Name() == section+".gpgsign" {
				if on := strings.ToLower(e.Value); e.NoValue || on == "true" || on == "yes" || on == "on" || on == "1" {
					out = append(out, gitconf.Entry{Section: section, Key: "gpgsign", Value: "true"})
				}
				break
			}
		}
	}
	return out
}

// gitSideFile copies a file that the configuration names, or Git's default one,
// to the default place, where Git finds it without being told.
func (in *inspector) gitSideFile(entries []gitconf.Entry, variable, name, reason string) {
	if !in.o.wantsHome() {
		return
	}
	target := in.base.expand("$CONFIG/git/" + name)
	from := target
	for _, e := range entries {
		if e.Name() == variable && !e.NoValue {
			from = in.o.gitPath(e.Value, in.o.Home)
		}
	}
	if !path.IsAbs(from) {
		return
	}
	data, at, err := in.h.load(path.Clean(from), maxGitIgnore)
	if err != nil || in.secrets.hidden.covers(at.path) && at.path != target {
		return
	}
	in.out.homeFile(target, data, 0o644, reason)
}

// gitPath expands a path of a configuration file that lies in dir. Paths below
// other users' homes and Git's own prefix are not followed.
func (o *Options) gitPath(p, dir string) string {
	switch {
	case strings.HasPrefix(p, "~/") && o.Home != "":
		return o.Home + p[1:]
	case strings.HasPrefix(p, "~"), strings.HasPrefix(p, "%("), strings.HasPrefix(p, ":("), p == "":
		return ""
	case path.IsAbs(p):
		return p
	}
	return dir + "/" + p
}

// formatGitConfig writes entries so that Git reads back exactly the same.
func formatGitConfig(entries []gitconf.Entry) []byte {
	var b strings.Builder
	b.WriteString("# Written by carrel from the host's configuration; changes here are lost.\n")
	head := ""
	for _, e := range entries {
		if h := gitHeader(e); h != head {
			b.WriteString(h + "\n")
			head = h
		}
		if e.NoValue {
			b.WriteString("\t" + e.Key + "\n")
		} else {
			b.WriteString("\t" + e.Key + " = " + quoteGitValue(e.Value) + "\n")
		}
	}
	return []byte(b.String())
}

func gitHeader(e gitconf.Entry) string {
	if !e.HasSub {
		return "[" + e.Section + "]"
	}
	return fmt.Sprintf(`[%s "%s"]`, e.Section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.Sub))
}

func quoteGitValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(v) + `"`
}
