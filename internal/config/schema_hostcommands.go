package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/policy"
)

// maxHostCommands bounds the host commands of one file.
const maxHostCommands = 256

// Networks of a host command.
const (
	HostNetworkWorkspace = "workspace" // what the workspace has
	HostNetworkClosed    = "closed"
)

// Toolchains are the words for the environment that commands are started in.
var Toolchains = []string{"auto", "devbox", "nix", "off"}

// HostCommand is a command that programs inside call and that runs in walls of its own.
type HostCommand struct {
	Name   string
	Source policy.Source

	Args    []ArgPattern // one of them has to match; none: any arguments
	Env     []string     // variables of the caller that it gets, names or patterns with '*' at the end
	Network string       // HostNetworkWorkspace, HostNetworkClosed, or "" for Hosts
	Hosts   []policy.Value[string]
	Timeout time.Duration // 0 is no limit
	Ask     bool          // a person is asked before each call

	Toolchain   string   // one of Toolchains, "" for what is said for all
	SecretEnv   []string // variables of the person's own that it gets
	SecretFiles []string // files of the person's own that it sees, absolute or in ~
}

// Alone says whether a command cannot share walls with others: it reaches or sees what
// they do not.
func (c *HostCommand) Alone() bool {
	return c.Network != HostNetworkWorkspace || len(c.SecretEnv)+len(c.SecretFiles) > 0
}

// ArgPattern is a pattern for all arguments of a call: one word for each, in which '*'
// stands for any bytes; "**" as the last word stands for any further arguments.
type ArgPattern struct {
	Words []string
	Text  string // as it was written
}

// Matches says whether the arguments are as the pattern has them.
func (a ArgPattern) Matches(args []string) bool {
	for i, w := range a.Words {
		if w == "**" {
			return true
		}
		if i >= len(args) || !starMatch(w, args[i]) {
			return false
		}
	}
	return len(args) == len(a.Words)
}

// starMatch matches a whole text against a pattern whose only wildcard is '*'.
func starMatch(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	last := parts[len(parts)-1]
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok || len(rest) < len(last) || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = rest[:len(rest)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return true
}

// callersNever are variables by which a caller would choose what else runs: a pattern
// never means one of them, and the first of them nobody can list.
var callersNever = []string{"PATH", "HOME", "LD_*", "CARREL*", "BASH_ENV", "BASH_FUNC_*", "ENV", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS", "PYTHON*", "PERL5*", "PERLLIB", "RUBY*", "NODE_OPTIONS", "NODE_PATH",
	"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "GIT_*", "SSH_*", "EDITOR", "VISUAL", "PAGER", "MAKEFLAGS", "RUSTC_WRAPPER", "GCONV_PATH"}

func isOf(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, any := strings.CutSuffix(p, "*")
		return p == name || any && strings.HasPrefix(name, prefix)
	})
}

// Passes says whether the command gets a variable of its caller.
func (c *HostCommand) Passes(name string) bool {
	if isOf(callersNever, name) {
		return slices.Contains(c.Env, name)
	}
	return isOf(c.Env, name)
}

// hostCommandsField is the key of the commands that leave the walls. It is in no preset
// and no project file: whoever sets it chooses what runs on the person's own ground.
func hostCommandsField() field {
	return field{key: "host_commands", typ: typeObjects, in: userFiles, word: "name",
		doc:  "Commands that programs inside can call as if they were installed there, and that run in walls of their own: each a name alone, or a mapping.",
		sub:  hostCommandFields(),
		open: openHostCommand}
}

func hostCommandFields() []field {
	list := func(of func(*HostCommand) *[]string) func(t *target, v value) {
		return func(t *target, v value) { l := of(t.host); *l = append(*l, v.text) }
	}
	return []field{
		{key: "name", typ: typeText, need: true, check: badHostCommand,
			doc: "The command's name, as it is called inside and found in your PATH.",
			put: func(t *target, v value) { t.host.Name = v.text }},
		{key: "args", typ: typeList, check: badArgPattern,
			doc: "Patterns of all arguments, of which one has to match: a word for each argument, * in it for any text, ** at the end for any more of them. Any arguments where it is not said.",
			put: func(t *target, v value) {
				t.host.Args = append(t.host.Args, ArgPattern{strings.Fields(v.text), v.text})
			}},
		{key: "env", typ: typeList, check: badPassed,
			doc: "Variables that the call takes along from inside, beside TERM, COLORTERM, LANG, LC_*, TZ, NO_COLOR and CI; * may end a name.",
			put: list(func(c *HostCommand) *[]string { return &c.Env })},
		{key: "network", typ: typeEnum, enum: []string{HostNetworkWorkspace, HostNetworkClosed},
			doc: "workspace: what the workspace reaches; closed: nothing.",
			put: func(t *target, v value) { t.host.Network = v.text }},
		{key: "hosts", typ: typeList, check: badHost(true),
			doc: "What the command reaches instead of what the workspace does, written as network.allow_hosts.",
			put: func(t *target, v value) { t.host.Hosts = append(t.host.Hosts, *textValue[string](v)) }},
		{key: "timeout", typ: typeDuration,
			doc: "How long one call may take: 30s, 5m. No limit where it is not said.",
			put: func(t *target, v value) { t.host.Timeout = time.Duration(v.number) }},
		{key: "ask", typ: typeBool,
			doc: "true: each call waits until you have approved it.",
			put: func(t *target, v value) { t.host.Ask = v.flag }},
		{key: "toolchain", typ: typeEnum, enum: Toolchains,
			doc: "As the key toolchain, for this command.",
			put: func(t *target, v value) { t.host.Toolchain = v.text }},
		{key: "credentials", typ: typeObject,
			doc: "What of yours this command gets, and nothing else does. It has walls of its own then.",
			sub: []field{
				{key: "env", typ: typeList, check: badSecretName,
					doc: "Names of your variables.",
					put: list(func(c *HostCommand) *[]string { return &c.SecretEnv })},
				{key: "files", typ: typeList, check: func(v value) string { return badHostPlace(v.text) },
					doc: "Files of yours, absolute or in ~, which it can read.",
					put: list(func(c *HostCommand) *[]string { return &c.SecretFiles })},
			}},
	}
}

func openHostCommand(t *target, v value) *target {
	*t.commands = append(*t.commands, HostCommand{Source: v.source})
	inner := *t
	inner.host = &(*t.commands)[len(*t.commands)-1]
	return &inner
}

func badArgPattern(v value) string {
	words := strings.Fields(v.text)
	for i, w := range words {
		if strings.Contains(w, "**") && (w != "**" || i != len(words)-1) {
			return quoted(v.text) + " has ** where it cannot stand: it is the last word or none"
		}
	}
	return ""
}

// badPassed refuses variables that make a program run something else.
func badPassed(v value) string {
	name, _ := strings.CutSuffix(v.text, "*")
	switch {
	case name == "" || strings.ContainsAny(name, "*=\x00 "):
		return quoted(v.text) + " is not the name of a variable"
	case name == "PATH" || name == "HOME" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "CARREL"):
		return quoted(v.text) + " is not the caller's to say"
	}
	return ""
}

func badSecretName(v value) string {
	if v.text == "" || strings.ContainsAny(v.text, "*=\x00 ") {
		return quoted(v.text) + " is not the name of a variable"
	}
	return ""
}

func badAddress(v value) string {
	if _, err := netip.ParseAddr(v.text); err != nil {
		return quoted(v.text) + " is not an IP address"
	}
	return ""
}

// commandsMeet refuses two entries of one name in a file, and settles each one's network.
func (d *decoder) commandsMeet(list []HostCommand) {
	if len(list) > maxHostCommands {
		d.problems = append(d.problems, at(list[maxHostCommands].Source, "more than "+strconv.Itoa(maxHostCommands)+" host commands stand in this file"))
		return
	}
	for i := range list {
		c := &list[i]
		if len(c.Hosts) > 0 && c.Network != "" {
			d.problems = append(d.problems, at(c.Source, fmt.Sprintf("%q has network and hosts: hosts alone says what it reaches", c.Name)))
		}
		if c.Network == "" && len(c.Hosts) == 0 {
			c.Network = HostNetworkWorkspace
		}
		for _, before := range list[:i] {
			if c.Name == before.Name && c.Name != "" {
				d.problems = append(d.problems, at(c.Source, quoted(c.Name)+" is listed in line "+lineOf(before.Source)+" already"))
			}
		}
	}
}

// commands takes a file's host commands. What the operator has said of one, the user does
// not say otherwise.
func (l *loader) commands(r *decoded) {
	for _, c := range r.commands {
		if i := slices.IndexFunc(l.out.Commands, func(o HostCommand) bool { return o.Name == c.Name }); i >= 0 {
			l.out.Warnings = append(l.out.Warnings, policy.Warning{Source: c.Source,
				Message: fmt.Sprintf("ignored: %s says what the host command %q is", l.out.Commands[i].Source, c.Name)})
			continue
		}
		l.out.Commands = append(l.out.Commands, c)
	}
}
