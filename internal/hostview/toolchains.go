package hostview

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
	places []string // roots to look for, see bases.expand; all that exist count
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

// toolFinder shows the tools of the table.
type toolFinder struct {
	o       Options
	h       *host
	env     map[string]string
	base    bases
	secrets *secretFinder
	out     *collector
}

// all shows every tool of the table that the host has.
func (f *toolFinder) all() {
	table := toolTable()
	for i := range table {
		f.tool(&table[i])
	}
	f.pathNotes()
}

func (f *toolFinder) tool(t *tool) {
	for i, root := range f.roots(t) {
		if root != "" {
			f.toolRoot(t, root, i)
		}
	}
}

// roots returns where a tool is looked for: the directories its variable
// names, else its usual places. A place that is not there is "", so that the
// others keep their numbers, which name their caches.
func (f *toolFinder) roots(t *tool) []string {
	var roots []string
	for _, name := range t.env {
		v := f.env[name]
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
		if f.base.missing(f.h, p) && !t.creates() {
			p = ""
		}
		roots = append(roots, f.base.expand(p))
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
func (f *toolFinder) toolRoot(t *tool, root string, nth int) {
	if !f.o.wantsHome() && f.o.Home != "" && pathname.Within(root, f.o.Home) {
		return
	}
	at := f.h.walk(root)
	if at.found && !f.mayShow(t.name, root, at) {
		return
	}
	if at.isDir() {
		f.readTool(t, root, at)
	}
	if f.o.wantsHome() {
		for _, c := range t.caches {
			f.toolCache(t, c, root, nth)
		}
	}
	if at.isDir() {
		for _, kv := range t.run {
			name, value, _ := strings.Cut(kv, "=")
			f.out.view.Env[name] = value
		}
	}
}

// mayShow refuses roots that would show far more than a tool.
func (f *toolFinder) mayShow(name, root string, at place) bool {
	switch {
	case f.o.tooBroad(at.path):
		f.out.note("toolchain %s: %q leads to %q, which is too broad to show", name, root, at.path)
		return false
	case f.secrets.hidden.covers(at.path):
		f.out.note("toolchain %s: %q lies in a place that holds secrets", name, at.path)
		return false
	}
	return !f.out.inSystem(at.path) || len(at.hops) > 0
}

// readTool shows a root, or the named parts of it, read-only. What lies in the
// project has the rules of the project.
func (f *toolFinder) readTool(t *tool, root string, at place) {
	if pathname.Within(at.path, f.o.Project) {
		return
	}
	reason := "toolchain " + t.name
	if t.read == nil {
		f.show(root, reason)
	}
	for _, sub := range t.read {
		f.show(path.Join(root, sub), reason)
	}
	for _, sub := range t.files {
		f.showClean(path.Join(root, sub), reason)
	}
	for _, sub := range t.hide {
		if strings.IndexByte(sub, '*') >= 0 {
			f.secrets.denyPattern(path.Join(root, sub), "credentials of "+t.name, f.secrets.denyOne)
		} else {
			f.secrets.deny(path.Join(root, sub), "credentials of "+t.name, false)
		}
	}
}

// show adds a read rule for an existing place and the links that lead to it.
func (f *toolFinder) show(p, reason string) {
	at := f.h.walk(p)
	if !at.found || !at.isDir() && !at.isFile() || f.o.tooBroad(at.path) || f.secrets.hidden.covers(at.path) {
		return
	}
	f.out.link(at.hops)
	if !f.out.inSystem(at.path) && !pathname.Within(at.path, f.o.Project) {
		f.out.rule(at.path, policy.Read, reason)
	}
}

// showClean shows a configuration file unless something in it looks secret.
func (f *toolFinder) showClean(p, reason string) {
	data, at, err := f.h.load(p, maxConfigFile)
	if err != nil {
		return
	}
	if looksSecret(data) {
		f.out.note("%s is not shown: it seems to hold a password or token", f.o.tilde(at.path))
		return
	}
	f.show(p, reason)
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
func (f *toolFinder) toolCache(t *tool, c toolCache, root string, nth int) {
	p := path.Join(root, c.sub)
	if v := f.env[c.env]; c.env != "" && path.IsAbs(v) {
		p = path.Clean(v)
	}
	f.cache(p, c, cacheName(c.name, nth), "cache of "+t.name)
}

func cacheName(name string, nth int) string {
	if nth == 0 {
		return name
	}
	return name + "-" + string(rune('a'+nth%26))
}

// cache adds a Cache at the canonical place of p.
func (f *toolFinder) cache(p string, c toolCache, name, reason string) {
	at := f.h.walk(p)
	switch {
	case !at.isDir() && (at.found || !c.create):
		return
	case !pathname.Within(at.path, f.o.Home) && !at.isDir(): // nowhere to create it
		return
	case !at.isDir() && f.out.shown(path.Dir(at.path)): // no mount point in a read-only tree
		return
	case pathname.Within(at.path, f.o.Project), f.out.inSystem(at.path), f.o.tooBroad(at.path), f.secrets.hidden.covers(at.path):
		return
	case f.out.seen["c"+at.path]:
		return
	}
	f.out.seen["c"+at.path] = true
	f.out.link(at.hops)
	f.out.view.Caches = append(f.out.view.Caches, Cache{
		Path: at.path, Name: name, Reason: reason, Create: c.create, Private: c.private, Keep: c.keep,
	})
}

// pathNotes says which directories of the outside PATH stay out of sight.
func (f *toolFinder) pathNotes() {
	if !f.o.wantsHome() || f.o.HomeMode == policy.HomeFull {
		return
	}
	for _, dir := range strings.Split(f.env["PATH"], ":") {
		if !path.IsAbs(dir) {
			continue
		}
		at := f.h.walk(path.Clean(dir))
		if !at.isDir() || !pathname.Within(at.path, f.o.Home) || pathname.Within(at.path, f.o.Project) || f.out.shown(at.path) {
			continue
		}
		if key := "p" + at.path; !f.out.seen[key] {
			f.out.seen[key] = true
			f.out.note("%s is on PATH and not shown; --read %s shows it", f.o.tilde(at.path), f.o.tilde(at.path))
		}
	}
}
