package gitconf

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Bounds of what is read. git itself follows includes to a depth of 10.
const (
	maxSourceBytes = 4 << 20
	maxSources     = 1000
	maxDepth       = 10
	maxSettings    = 100_000
	maxVariables   = 1000 // GIT_CONFIG_COUNT
)

// Files is what Load and Targets see of a file system. All paths are absolute.
type Files interface {
	// Read reads a file and follows links, as git does. It fails for one of more
	// than limit bytes.
	Read(path string, limit int) ([]byte, error)
	// Link gives the text of a symlink; ok is false for anything else.
	Link(path string) (text string, ok bool)
	// Dir and Regular tell the kind of a path that is no link.
	Dir(path string) bool
	Regular(path string) bool
	Missing(err error) bool
}

// Host is where to look.
type Host struct {
	Files        Files
	Env          func(name string) string
	Home         string
	Repositories []Repository
}

// Repository is a git directory and the working trees that its configuration
// is for.
type Repository struct {
	Dir   string
	Trees []string
}

// Value is a variable with the place where it stands.
type Value struct {
	Entry
	File  string   // "" for the environment
	Dir   string   // the git directory; "" for what holds in all of them
	Trees []string // where relative paths start
	User  bool     // it holds for every repository, those not in Host too
}

// Loaded is all configuration that git could read.
type Loaded struct {
	Values   []Value
	Problems []string // what could not be read to its end
	host     Host
}

// source is a file to read.
type source struct {
	path  string
	dir   string
	trees []string
	user  bool
	depth int
}

// Load reads every file that git would read for the repositories of a host, in
// any environment and on any branch: the system's, the user's, the
// repositories', config.worktree, and what they include. Conditions of includes
// are not looked at, nor whether an extension turns config.worktree on: both can
// become true later. So can the environment change, and the default places count
// beside those that it names.
func Load(h Host) *Loaded {
	l := &Loaded{host: h}
	queue := l.sources()
	seen := make(map[string]bool)
	for n := 0; len(queue) > 0; n++ {
		s := queue[0]
		queue = queue[1:]
		key := s.path + "\x00" + s.dir + "\x00" + strings.Join(s.trees, "\x00")
		if seen[key] {
			continue
		}
		seen[key] = true
		if len(seen) > maxSources || len(l.Values) > maxSettings {
			l.Problems = append(l.Problems, "there is more git configuration than is looked at")
			break
		}
		queue = append(queue, l.read(s)...)
	}
	l.environment()
	return l
}

// sources are the files that git reads without being told by another one.
func (l *Loaded) sources() []source {
	h := l.host
	var all []string
	for _, r := range h.Repositories {
		all = append(all, r.Trees...)
	}
	paths := []string{h.Env("GIT_CONFIG_SYSTEM"), "/etc/gitconfig", "/usr/local/etc/gitconfig", h.Env("GIT_CONFIG_GLOBAL")}
	if xdg := h.Env("XDG_CONFIG_HOME"); xdg != "" {
		paths = append(paths, xdg+"/git/config")
	}
	if h.Home != "" {
		paths = append(paths, h.Home+"/.config/git/config", h.Home+"/.gitconfig")
	}
	var list []source
	for _, p := range paths {
		if path.IsAbs(p) {
			list = append(list, source{path: p, trees: all, user: true})
		}
	}
	for _, r := range h.Repositories {
		for _, name := range []string{"config", "config.worktree"} {
			list = append(list, source{path: r.Dir + "/" + name, dir: r.Dir, trees: r.Trees})
		}
	}
	return list
}

// read takes one file and gives those that it includes.
func (l *Loaded) read(s source) []source {
	data, err := l.host.Files.Read(s.path, maxSourceBytes)
	if err != nil {
		if !l.host.Files.Missing(err) {
			l.Problems = append(l.Problems, fmt.Sprintf("git configuration %q: %v", s.path, err))
		}
		return nil
	}
	list, err := Parse(data)
	if err != nil {
		l.Problems = append(l.Problems, fmt.Sprintf("%q: %v", s.path, err))
	}
	var more []source
	for _, e := range list {
		v := Value{Entry: e, File: s.path, Dir: s.dir, Trees: s.trees, User: s.user}
		l.Values = append(l.Values, v)
		k, _ := Lookup(e.Name())
		if k.Kind != Config || e.Value == "" || s.depth == maxDepth {
			continue
		}
		for _, at := range l.absolute(e.Value, []string{path.Dir(s.path)}) {
			more = append(more, source{path: at, dir: s.dir, trees: s.trees, user: s.user, depth: s.depth + 1})
		}
	}
	return more
}

// environment adds the variables that the environment sets.
func (l *Loaded) environment() {
	env, trees := l.host.Env, []string{}
	for _, r := range l.host.Repositories {
		trees = append(trees, r.Trees...)
	}
	add := func(name, value string) {
		e := Entry{Value: value}
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 { // section and key in lower case, as in a file
			first := strings.IndexByte(name, '.')
			name = strings.ToLower(name[:first]) + name[first:dot] + strings.ToLower(name[dot:])
		}
		e.setName(name)
		l.Values = append(l.Values, Value{Entry: e, Trees: trees, User: true})
	}
	count, _ := strconv.Atoi(env("GIT_CONFIG_COUNT"))
	for i := range min(count, maxVariables) {
		add(env("GIT_CONFIG_KEY_"+strconv.Itoa(i)), env("GIT_CONFIG_VALUE_"+strconv.Itoa(i)))
	}
	for _, p := range parameters(env("GIT_CONFIG_PARAMETERS")) {
		name, value, _ := strings.Cut(p, "=")
		add(name, value)
	}
}

// parameters splits GIT_CONFIG_PARAMETERS, which holds 'key=value' and, since
// git 2.31, 'key'='value'.
func parameters(text string) []string {
	var list []string
	var b strings.Builder
	quoted, some := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted, some = !quoted, true
		case c == '\\' && !quoted && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == ' ' && !quoted:
			if some {
				list = append(list, b.String())
			}
			b.Reset()
			some = false
		default:
			b.WriteByte(c)
		}
	}
	if some {
		list = append(list, b.String())
	}
	return list
}

// absolute expands a path of a value: "~/", "~user/", "%(prefix)/" and the mark
// of an optional one; anything else starts at each of the bases.
func (l *Loaded) absolute(value string, bases []string) []string {
	value = strings.TrimPrefix(value, ":(optional)")
	switch {
	case value == "":
		return nil
	case value[0] == '~':
		user, rest, _ := strings.Cut(value[1:], "/")
		home := l.host.Home
		if user != "" {
			home = l.homeOf(user)
		}
		if home == "" {
			return nil
		}
		return []string{path.Clean(home + "/" + rest)}
	case strings.HasPrefix(value, "%(prefix)/"):
		rest := strings.TrimPrefix(value, "%(prefix)")
		return []string{path.Clean("/usr" + rest), path.Clean("/usr/local" + rest)}
	case path.IsAbs(value):
		return []string{value}
	}
	var list []string
	for _, b := range bases {
		list = append(list, b+"/"+value)
	}
	return list
}

// homeOf finds another user's home.
func (l *Loaded) homeOf(user string) string {
	data, err := l.host.Files.Read("/etc/passwd", maxSourceBytes)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(line, ":"); len(f) > 5 && f[0] == user {
			return f[5]
		}
	}
	return ""
}
