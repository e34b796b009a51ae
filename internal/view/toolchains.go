package view

import (
	"path"
	"strings"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// tool is one row of the toolchain table.
type tool struct {
	name   string
	env    []string // variables that name the root; the first one set wins
	list   bool     // the variable holds several directories, as GOPATH does
	places []string // roots to look for, see inspector.expand; all that exist count
	read   []string // what of the root is shown; nil: all of it
	files  []string // configuration files of the root, shown only if free of secrets
	caches []toolCache
	hide   []string // secrets within the root, wherever the root is
	run    []string // variables set inside when the tool is there, "NAME=value"
}

// toolCache is a directory of a tool that is written in normal use.
type toolCache struct {
	sub     string // below the root; "" is the root itself
	name    string // Cache.Name; made unique per root
	env     string // variable that moves it, "" if none
	create  bool
	private bool
	keep    bool
}

const maxConfigFile = 256 << 10 // bytes of a tool's configuration file

// toolchains shows every tool of the table that the host has.
func (in *inspector) toolchains() {
	table := toolTable()
	for i := range table {
		in.tool(&table[i])
	}
	in.pathNotes()
}

func (in *inspector) tool(t *tool) {
	for i, root := range in.roots(t) {
		if root != "" {
			in.toolRoot(t, root, i)
		}
	}
}

// roots returns where a tool is looked for: the directories its variable
// names, else its usual places. A place that is not there is "", so that the
// others keep their numbers, which name their caches.
func (in *inspector) roots(t *tool) []string {
	var roots []string
	for _, name := range t.env {
		v := in.env[name]
		if v == "" {
			continue
		}
		dirs := []string{v}
		if t.list {
			dirs = strings.Split(v, ":")
		}
		for _, d := range dirs {
			if path.IsAbs(d) {
				roots = append(roots, path.Clean(d))
			}
		}
		break
	}
	if len(roots) > 0 {
		return roots
	}
	for _, p := range t.places {
		if in.missing(p) && !t.creates() {
			p = ""
		}
		roots = append(roots, in.expand(p))
	}
	return roots
}

// creates tells whether a tool has caches to create where there is nothing.
func (t *tool) creates() bool {
	for _, c := range t.caches {
		if c.create || c.env != "" {
			return true
		}
	}
	return false
}

// toolRoot shows one root of a tool. Caches come with the root, or alone: a
// cache to create needs no root.
func (in *inspector) toolRoot(t *tool, root string, nth int) {
	if !in.wantsHome() && in.o.Home != "" && pathname.Within(root, in.o.Home) {
		return
	}
	at := in.h.walk(root)
	if at.found && !in.mayShow(t.name, root, at) {
		return
	}
	if at.isDir() {
		in.readTool(t, root, at)
	}
	if in.wantsHome() {
		for _, c := range t.caches {
			in.toolCache(t, c, root, nth)
		}
	}
	if at.isDir() {
		for _, kv := range t.run {
			name, value, _ := strings.Cut(kv, "=")
			in.view.Env[name] = value
		}
	}
}

// mayShow refuses roots that would show far more than a tool.
func (in *inspector) mayShow(name, root string, at place) bool {
	switch {
	case in.tooBroad(at.path):
		in.note("toolchain %s: %q leads to %q, which is too broad to show", name, root, at.path)
		return false
	case in.hidden.covers(at.path):
		in.note("toolchain %s: %q lies in a place that holds secrets", name, at.path)
		return false
	}
	return !in.inSystem(at.path) || len(at.hops) > 0
}

// readTool shows a root, or the named parts of it, read-only. What lies in the
// project has the rules of the project.
func (in *inspector) readTool(t *tool, root string, at place) {
	if pathname.Within(at.path, in.o.Project) {
		return
	}
	reason := "toolchain " + t.name
	if t.read == nil {
		in.show(root, reason)
	}
	for _, sub := range t.read {
		in.show(path.Join(root, sub), reason)
	}
	for _, sub := range t.files {
		in.showClean(path.Join(root, sub), reason)
	}
	for _, sub := range t.hide {
		if strings.IndexByte(sub, '*') >= 0 {
			in.denyPattern(path.Join(root, sub), "credentials of "+t.name, denyOne)
		} else {
			in.deny(path.Join(root, sub), "credentials of "+t.name, false)
		}
	}
}

// show adds a read rule for an existing place and the links that lead to it.
func (in *inspector) show(p, reason string) {
	at := in.h.walk(p)
	if !at.found || !at.isDir() && !at.isFile() || in.tooBroad(at.path) || in.hidden.covers(at.path) {
		return
	}
	in.link(at.hops)
	if !in.inSystem(at.path) && !pathname.Within(at.path, in.o.Project) {
		in.rule(at.path, policy.Read, reason)
	}
}

// showClean shows a configuration file unless something in it looks secret.
func (in *inspector) showClean(p, reason string) {
	data, at, err := in.h.load(p, maxConfigFile)
	if err != nil {
		return
	}
	if looksSecret(data) {
		in.note("%s is not shown: it seems to hold a password or token", in.tilde(at.path))
		return
	}
	in.show(p, reason)
}

// looksSecret searches a configuration file for what only secrets are called.
func looksSecret(data []byte) bool {
	text := strings.ToLower(string(data))
	for _, word := range []string{"token", "password", "passwd", "_auth", "secret", "credential", "private key", "apikey", "api_key"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return hasUserinfo(text)
}

// toolCache lists a cache that exists or is to be created.
func (in *inspector) toolCache(t *tool, c toolCache, root string, nth int) {
	p := path.Join(root, c.sub)
	if v := in.env[c.env]; c.env != "" && path.IsAbs(v) {
		p = path.Clean(v)
	}
	in.cache(p, c, cacheName(c.name, nth), "cache of "+t.name)
}

func cacheName(name string, nth int) string {
	if nth == 0 {
		return name
	}
	return name + "-" + string(rune('a'+nth%26))
}

// cache adds a Cache at the canonical place of p.
func (in *inspector) cache(p string, c toolCache, name, reason string) {
	at := in.h.walk(p)
	switch {
	case !at.isDir() && (at.found || !c.create):
		return
	case !pathname.Within(at.path, in.o.Home) && !at.isDir(): // nowhere to create it
		return
	case !at.isDir() && in.shown(path.Dir(at.path)): // no mount point in a read-only tree
		return
	case pathname.Within(at.path, in.o.Project), in.inSystem(at.path), in.tooBroad(at.path), in.hidden.covers(at.path):
		return
	case in.seen["c"+at.path]:
		return
	}
	in.seen["c"+at.path] = true
	in.link(at.hops)
	in.view.Caches = append(in.view.Caches, Cache{
		Path: at.path, Name: name, Reason: reason, Create: c.create, Private: c.private, Keep: c.keep,
	})
}

// pathNotes says which directories of the outside PATH stay out of sight.
func (in *inspector) pathNotes() {
	if !in.wantsHome() || in.o.HomeMode == policy.HomeFull {
		return
	}
	for _, dir := range strings.Split(in.env["PATH"], ":") {
		if !path.IsAbs(dir) {
			continue
		}
		at := in.h.walk(path.Clean(dir))
		if !at.isDir() || !pathname.Within(at.path, in.o.Home) || pathname.Within(at.path, in.o.Project) || in.shown(at.path) {
			continue
		}
		if key := "p" + at.path; !in.seen[key] {
			in.seen[key] = true
			in.note("%s is on PATH and not shown; --read %s shows it", in.tilde(at.path), in.tilde(at.path))
		}
	}
}

// shown tells whether a read rule or a cache covers p.
func (in *inspector) shown(p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if in.seen[string(rune('0'+policy.Read))+p] || in.seen["c"+p] {
			return true
		}
	}
	return false
}
