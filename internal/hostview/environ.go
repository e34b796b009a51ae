package hostview

import (
	"path"
	"sort"
	"strings"

	"carrel/internal/policy"
	"carrel/internal/secrets"
)

// Environ builds the environment inside from the one outside.
//
// A variable comes in when its name is on the allow-list below, or when
// rules.Pass names it. The list and globs in Pass never bring in names that
// look like secrets, variables that make programs load code, or values with a
// user and password in an address; only a Pass of the exact name does. extra
// (what the defaults and the caller need) and rules.Set come on top, in this
// order; rules.Drop (names or globs) then removes from all of it. CARREL=1 is
// always there.
//
// Values are kept byte for byte. An entry without "=", with an empty name or
// with a NUL byte is dropped; of several entries with one name the last counts,
// as it does for os/exec and for shells. env is sorted by name; dropped holds
// the names of outside variables that were well-formed and did not get in,
// sorted, each once.
func Environ(outside []string, rules policy.Env, extra map[string]string) (env []string, dropped []string) {
	from := environMap(outside)
	out := make(map[string]string, len(from))
	for name, value := range from {
		if passes(name, value, rules.Pass) {
			out[name] = value
		}
	}
	for name, value := range extra {
		put(out, name, value)
	}
	for name, v := range rules.Set {
		put(out, name, v.V)
	}
	for name := range out {
		if matchesAny(rules.Drop, name) {
			delete(out, name)
		}
	}
	out["CARREL"] = "1"
	return flatten(out), missing(from, out)
}

// environMap reads "NAME=value" entries; see Environ for what is dropped.
func environMap(entries []string) map[string]string {
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok {
			put(m, name, value)
		}
	}
	return m
}

// put stores a variable that the kernel could carry.
func put(m map[string]string, name, value string) {
	if name != "" && !strings.ContainsAny(name, "=\x00") && strings.IndexByte(value, 0) < 0 {
		m[name] = value
	}
}

func flatten(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for _, name := range sortedKeys(m) {
		list = append(list, name+"="+m[name])
	}
	return list
}

func missing(from, out map[string]string) []string {
	var list []string
	for _, name := range sortedKeys(from) {
		if _, ok := out[name]; !ok {
			list = append(list, name)
		}
	}
	return list
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// passes decides about one variable from outside.
func passes(name, value string, pass []policy.Value[string]) bool {
	byGlob := allowed(name)
	for _, p := range pass {
		if p.V == name {
			return true
		}
		byGlob = byGlob || isGlob(p.V) && matches(p.V, name)
	}
	return byGlob && !secrets.Variable(name) && !loadsCode(name) && !hasUserinfo(value)
}

// PassedBy is the source of the rule by which a variable comes in: of its very name
// rather than of a pattern.
func PassedBy(name string, pass []policy.Value[string]) (src policy.Source, ok bool) {
	for _, p := range pass {
		if p.V == name {
			return p.Source, true
		}
		if !ok && isGlob(p.V) && matches(p.V, name) {
			src, ok = p.Source, true
		}
	}
	return src, ok
}

func matchesAny(patterns []policy.Value[string], name string) bool {
	for _, p := range patterns {
		if p.V == name || isGlob(p.V) && matches(p.V, name) {
			return true
		}
	}
	return false
}

func isGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// matches compares a name with a glob; a broken glob matches nothing.
func matches(pattern, name string) bool {
	// A variable name may hold a slash, at which "*" of path.Match would stop.
	name = strings.ReplaceAll(name, "/", "\x01")
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// hasUserinfo finds "scheme://user:password@" in a value. A user alone, as in
// ssh://git@host, is no secret.
func hasUserinfo(value string) bool {
	for rest := value; ; {
		i := strings.Index(rest, "://")
		if i < 0 {
			return false
		}
		rest = rest[i+3:]
		authority := rest
		if end := strings.IndexAny(authority, "/?# \t\n,"); end >= 0 {
			authority = authority[:end]
		}
		if at := strings.LastIndexByte(authority, '@'); at > 0 && strings.IndexByte(authority[:at], ':') >= 0 {
			return true
		}
	}
}

// allowed tells whether a name is on the allow-list.
func allowed(name string) bool {
	if allowedNames()[name] || toolVariables()[name] {
		return true
	}
	for _, prefix := range allowedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// loadsCode tells whether a variable makes common programs run or load code,
// or changes which host, key or configuration Git uses.
func loadsCode(name string) bool {
	if codeNames()[name] {
		return true
	}
	for _, prefix := range codePrefixes {
		if strings.HasPrefix(name, prefix) {
			return !allowedNames()[name]
		}
	}
	return false
}
