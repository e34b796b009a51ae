package gitconf

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxLinks bounds the links that one path is followed through, maxTargets all
// targets.
const (
	maxLinks   = 40
	maxTargets = 20_000
)

// Target is a path that a value names, whether there is something or not.
type Target struct {
	Path string // without links on the way
	Rest string // for every repository, known or not: the path below its working tree
	Near bool   // of Rest: only below working trees, as it is a repository's own value
	Tree bool   // what lies below counts too
	Link bool   // it is a link on the way to what the value names
	Key  string // "" for what a link leads to
	File string // "" for the environment
	Line int
	Kind Kind
	Why  string
}

// Names says which key of which file names the target.
func (t *Target) Names() string {
	switch {
	case t.File == "":
		return t.Key + " in the environment"
	case t.Key == "":
		return "the link " + printable(t.File)
	}
	return fmt.Sprintf("%s in %s, line %d", printable(t.Key), printable(t.File), t.Line)
}

// printable quotes what a terminal would not show as it is.
func printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}

// Targets gives what all values name, in the order of the values.
func (l *Loaded) Targets() []Target {
	var out []Target
	values := l.Values
	for i := range values {
		v := &values[i]
		if k, ok := Lookup(v.Name()); ok && k.Kind != Setting {
			out = l.add(out, v, k)
		} else if command := helper(v); command != "" {
			c := *v
			c.Value = command
			out = l.add(out, &c, Key{Kind: Shell, Why: "git fetch and push run it"})
		}
	}
	for _, k := range environment {
		if text := l.host.Env(k.Pattern); text != "" {
			v := &Value{Entry: Entry{Key: k.Pattern, Value: text}, User: true}
			for _, r := range l.host.Repositories {
				v.Trees = append(v.Trees, r.Trees...)
			}
			out = l.add(out, v, k)
		}
	}
	if len(out) > maxTargets {
		l.Problems = append(l.Problems, "git's configuration names more paths than are looked at")
		out = out[:maxTargets]
	}
	return out
}

// helper gives the command of an address that is one, "ext::COMMAND", "" for any other.
func helper(v *Value) string {
	text := v.Value
	switch name := v.Name(); {
	case strings.HasPrefix(name, "url.") && strings.HasSuffix(name, "insteadof"):
		text = v.Sub
	case strings.HasPrefix(name, "remote.") && (strings.HasSuffix(name, "url") || name == "remote.pushdefault"):
	case strings.HasPrefix(name, "branch.") && strings.HasSuffix(name, "remote"):
	default:
		return ""
	}
	command, _ := strings.CutPrefix(text, "ext::")
	if command == text {
		return ""
	}
	return command
}

// add appends what one value names.
func (l *Loaded) add(out []Target, v *Value, k Key) []Target {
	if len(out) > maxTargets {
		return out
	}
	base := Target{Key: v.Name(), File: v.File, Line: v.Line, Kind: k.Kind, Why: k.Why}
	bases := v.Trees
	switch {
	case k.Kind == Config && v.File == "":
		return out // git refuses it in the environment
	case k.Kind == Config:
		bases = []string{path.Dir(v.File)}
	case v.Dir != "" && (k.Kind == Directory || len(bases) == 0):
		bases = append(slices.Clone(bases), v.Dir) // bare ones, and the receiving end of a push, work there
	}
	for _, n := range l.named(v, k.Kind) {
		if rest, ok := strings.CutPrefix(n.path, gitDirMark+"/"); ok {
			for _, r := range l.host.Repositories {
				out = l.place(out, base, r.Dir+"/"+rest, n.dir)
			}
			continue
		}
		for _, at := range l.absolute(n.path, bases) {
			out = l.place(out, base, at, n.dir)
		}
		if rest := path.Clean(n.path); (v.User || len(v.Trees) > 0 && (n.dir || strings.Contains(rest, "/"))) && k.Kind != Config && anywhere(rest) {
			t := base
			t.Rest, t.Tree, t.Near = rest, n.dir, !v.User
			out = append(out, t)
		}
	}
	return out
}

// anywhere tells whether a path means another file in each working tree.
func anywhere(rest string) bool {
	return rest != "." && rest != ".." && !path.IsAbs(rest) && !strings.HasPrefix(rest, "~") &&
		!strings.HasPrefix(rest, "%(") && !strings.HasPrefix(rest, "../")
}

// named gives the paths of a value as it names them.
func (l *Loaded) named(v *Value, kind Kind) []named {
	text := v.Value
	shell := func(text string) []named {
		return command(text, l.host.Home, func(name string) bool {
			return slices.ContainsFunc(v.Trees, func(b string) bool { return l.host.Files.Regular(b + "/" + name) })
		})
	}
	switch kind {
	case Directory:
		return []named{{text, true}}
	case Config, File, Program:
		if kind == Program && !strings.Contains(text, "/") {
			return nil // a name for PATH
		}
		return []named{{text, false}}
	case Alias:
		if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "!"); ok {
			return shell(rest)
		}
		return shell("git " + text)
	case Helper:
		if rest, ok := strings.CutPrefix(text, "!"); ok {
			return shell(rest)
		}
		if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") {
			return shell(text)
		}
		return shell("git-credential-" + text)
	case Shell:
		if slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(text)) {
			return nil
		}
		return shell(text)
	}
	return nil
}

// place appends a path and the links on the way to it. A directory that is only
// an argument of a command is no target: what is in it is the command's business.
func (l *Loaded) place(out []Target, base Target, at string, dir bool) []Target {
	links, final := Follow(l.host.Files, at)
	for _, link := range links {
		t := base
		t.Path, t.Link = link, true
		out = append(out, t)
	}
	if !dir && l.host.Files.Dir(final) && (base.Kind == Shell || base.Kind == Alias || base.Kind == Helper) {
		return out
	}
	if dir && l.holdsTree(final) {
		for _, hook := range hookNames {
			base.Path = path.Join(final, hook)
			out = append(out, base)
		}
		return out
	}
	base.Path, base.Tree = final, dir
	return append(out, base)
}

// holdsTree tells whether a directory holds a whole working tree, in which people
// work: only the names of hooks count in it.
func (l *Loaded) holdsTree(dir string) bool {
	return slices.ContainsFunc(l.host.Repositories, func(r Repository) bool {
		return slices.ContainsFunc(r.Trees, func(tree string) bool {
			return tree == dir || strings.HasPrefix(tree, strings.TrimSuffix(dir, "/")+"/")
		})
	})
}

// hookNames are the hooks that git runs.
var hookNames = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
	commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
	reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change
	p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit`)

// Follow gives the links on the way to a path, and where they lead. What does
// not exist is taken as it is written.
func Follow(files Files, at string) (links []string, final string) {
	rest := strings.Split(at, "/")
	final = "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			final = path.Dir(final)
			continue
		}
		next := path.Join(final, name)
		text, ok := files.Link(next)
		if !ok {
			final = next
			continue
		}
		links = append(links, next)
		if len(links) > maxLinks {
			return links, next
		}
		if path.IsAbs(text) {
			final = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return links, final
}
