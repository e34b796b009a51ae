package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
)

// Advice is something about a ceiling that a person should know: it is right, and may
// not mean what it looks like.
type Advice struct {
	Dimension Dimension
	Subject   string // the entry that it is about, "" for the whole
	Message   string
	Source    Source
}

// Surroundings are what advice about a ceiling has to know of the machine.
type Surroundings struct {
	File string // the ceiling's own, absolute, "" where it is none
	Home string // absolute, "" where it is not known
}

// Advice tells what a person should know of one ceiling, without those beside it.
func (c *Ceiling) Advice(around Surroundings) []Advice {
	var out []Advice
	say := func(dim Dimension, subject string, src Source, format string, args ...any) {
		out = append(out, Advice{Dimension: dim, Subject: subject, Message: fmt.Sprintf(format, args...), Source: src})
	}
	if c.Permissions().open() {
		say("", "", Source{Layer: LayerCeiling, File: around.File}, "the ceiling sets no limit")
	}
	for _, v := range c.ProgramsAllow {
		if what := followsOn(path.Base(v.V)); what != "" {
			say(DimPrograms, v.V, v.Source, "%s is %s, and allows arbitrary execution: what it is told to run is held by the files, the network and this list, not by its arguments", printable(v.V), what)
		}
		if !path.IsAbs(v.V) {
			say(DimPrograms, v.V, v.Source, "%s has no directory: which program that is depends on PATH; an absolute path is one program", printable(v.V))
		}
	}
	for _, m := range c.Mounts {
		if around.Home != "" && pathname.Within(around.Home, m.HostPath) {
			say(DimFiles, m.HostPath, m.Source, "%s holds a whole home directory: keys, tokens and the start files of shells are in it", printable(m.HostPath))
		}
	}
	if m := c.writesOwnFile(around.File); m != nil {
		say(DimFiles, m.HostPath, m.Source, "the ceiling's own file lies in %s, which it lets be written: what runs under it can change it for the next start", printable(m.HostPath))
	}
	if mode := networkBound(c); mode != nil && networkRank(mode.V) < networkRank(NetFiltered) {
		for _, v := range c.AllowHosts {
			say(DimHosts, v.V, v.Source, "%s is never reached: network %s reaches no host", printable(v.V), mode.V)
		}
	}
	if n := c.Network; n != nil && n.V == NetOpen && len(c.AllowHosts)+len(c.DenyHosts) > 0 {
		say(DimNetwork, string(n.V), n.Source, "the network is filtered at most, as hosts are listed")
	}
	return out
}

// writesOwnFile gives the mount that lets the ceiling's file be written, nil for none.
func (c *Ceiling) writesOwnFile(file string) *Mount {
	if file == "" {
		return nil
	}
	for i := range c.Mounts {
		m := &c.Mounts[i]
		deeper := func(o Mount) bool { // a mount below it that takes that away
			return !o.Write && pathname.Within(file, o.HostPath) && pathname.Within(o.HostPath, m.HostPath) && o.HostPath != m.HostPath
		}
		if m.Write && pathname.Within(file, m.HostPath) && !slices.ContainsFunc(c.Mounts, deeper) {
			return m
		}
	}
	return nil
}

// followsOn says what kind of program starts whatever it is told to, "" for others.
func followsOn(name string) string {
	name = strings.TrimRight(name, "0123456789.-")
	for what, names := range delegating {
		if slices.Contains(names, name) {
			return what
		}
	}
	return ""
}

// delegating are programs whose arguments or input are programs.
var delegating = map[string][]string{
	"a shell":              {"sh", "bash", "zsh", "dash", "ksh", "mksh", "fish", "tcsh", "csh", "ash", "busybox", "toybox", "pwsh", "nu", "elvish", "xonsh"},
	"an interpreter":       {"python", "pypy", "ruby", "perl", "php", "lua", "luajit", "tclsh", "wish", "expect", "node", "nodejs", "deno", "bun", "awk", "gawk", "mawk", "java", "jshell", "julia", "Rscript", "R", "ghci", "guile", "osascript", "gdb", "emacs", "vim", "vi", "nvim", "ed", "sed"},
	"a package runner":     {"npm", "npx", "pnpm", "yarn", "bunx", "pip", "pipx", "uv", "uvx", "gem", "bundle", "cargo", "go", "make", "cmake", "ninja", "gradle", "gradlew", "mvn", "ant", "bazel", "just", "task", "composer", "poetry", "rake", "nix"},
	"a program launcher":   {"env", "xargs", "find", "nice", "nohup", "setsid", "timeout", "watch", "script", "strace", "ltrace", "sudo", "doas", "su", "ssh", "git", "tmux", "screen", "parallel", "time", "stdbuf", "unshare", "nsenter", "chroot", "flock", "ld.so", "ld-linux-x86-64.so", "ld-linux-aarch64.so", "entr"},
	"a network tool":       {"socat", "nc", "ncat", "netcat"},
	"a container's engine": {"docker", "podman", "nerdctl", "bwrap", "runc", "crun"},
}
