package policyfile

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/policy"
)

// Check says everything that is wrong with a policy, whatever the machine is
// like; nil if nothing is. Parse does the same.
func (p *Policy) Check() error {
	if problems := p.check(); len(problems) > 0 {
		return problems
	}
	return nil
}

// checker gathers problems.
type checker struct{ problems Problems }

func (c *checker) fail(key, format string, args ...any) {
	c.problems = append(c.problems, &Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

func (p *Policy) check() Problems {
	c := &checker{}
	if p.Cwd != "" {
		c.path("cwd", p.Cwd)
	}
	if len(p.Files) > policy.MaxRules {
		c.fail("files", "%d rules are more than %d", len(p.Files), policy.MaxRules)
		return c.problems
	}
	for i, r := range p.Files {
		c.rule(fmt.Sprintf("files[%d]", i), r)
	}
	c.environment(p.Environment)
	c.network(p.Network)
	c.paths("unix_sockets", p.UnixSockets)
	c.paths("programs", p.Programs)
	c.paths("devices", p.Devices)
	oneOf(c, "nested", p.Nested, "", NestedNone, NestedUserns, NestedFull)
	limits := map[string]int64{"memory": p.Limits.Memory, "pids": p.Limits.Pids, "timeout": int64(p.Limits.Timeout)}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		if limits[key] < 0 {
			c.fail("limits."+key, "it is negative; 0 is no limit")
		}
	}
	return c.problems
}

func (c *checker) rule(key string, r Rule) {
	switch {
	case (r.Path == "") == (r.Glob == ""):
		c.fail(key, "want one of path and glob")
		return
	case r.Access == "":
		c.fail(key, "access is missing: want read, write or deny for a path, deny or protect for a glob")
		return
	case r.Glob != "":
		oneOf(c, key+".access", r.Access, Deny, Protect)
		c.glob(key+".glob", r.Glob)
	default:
		oneOf(c, key+".access", r.Access, Read, Write, Deny)
		c.place(key+".path", r)
	}
	oneOf(c, key+".if_missing", r.Missing, "", Refuse, Skip)
}

// place checks the path of a rule.
func (c *checker) place(key string, r Rule) {
	name, rest, deeper := strings.Cut(r.Path, "/")
	switch {
	case !strings.HasPrefix(r.Path, ":"):
		c.path(key, r.Path)
	case name == Tmp && (deeper || r.Access != Write):
		c.fail(key, "%s is a private directory: want it alone and with write; /tmp is the machine's", Tmp)
	case name != Tmp && name != Cwd && name != System:
		c.fail(key, "%q is no place: there are %s, %s and %s", name, Cwd, System, Tmp)
	case deeper:
		c.path(key, "/"+rest)
	}
}

// glob checks a pattern, by what compiles it later.
func (c *checker) glob(key, glob string) {
	if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, Cwd+"/") {
		c.fail(key, "%q: want an absolute pattern, or one that begins with %s/", glob, Cwd)
		return
	}
	rest := glob[strings.IndexByte(glob, '/'):]
	if _, err := policy.Resolve(policy.Scope{Cwd: "/", Project: "/"}, policy.FileRequest{Place: rest, Glob: true, Access: policy.Deny}); err != nil {
		c.fail(key, "%q: %v", glob, err)
	}
}

// path wants the one spelling that an absolute path has.
func (c *checker) path(key, p string) {
	switch {
	case strings.IndexByte(p, 0) >= 0:
		c.fail(key, "%q holds a NUL byte", p)
	case len(p) > 4096:
		c.fail(key, "it is longer than 4096 bytes")
	case !path.IsAbs(p):
		c.fail(key, "%q is not an absolute path", p)
	case path.Clean(p) != p:
		c.fail(key, "%q: write it as %q", p, path.Clean(p))
	}
}

func (c *checker) paths(key string, list []string) {
	for i, p := range list {
		c.path(fmt.Sprintf("%s[%d]", key, i), p)
	}
}

func (c *checker) environment(e Environment) {
	name := func(key, name string) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.fail(key, "%q is not the name of a variable", name)
		}
		if !utf8.ValidString(name) {
			c.fail(key, "%q is not UTF-8, which names have to be", name)
		}
	}
	for i, n := range e.Pass {
		key := fmt.Sprintf("environment.pass[%d]", i)
		name(key, n)
		if strings.ContainsAny(n, `*?[\`) {
			c.fail(key, "%q: want a name; there are no patterns here", n)
		}
		if _, both := e.Set[n]; both {
			c.fail(key, "%q is in set, too", n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(e.Set)) {
		name("environment.set", n)
		if strings.IndexByte(e.Set[n], 0) >= 0 {
			c.fail("environment.set."+n, "the value holds a NUL byte")
		}
	}
}

func (c *checker) network(n Network) {
	oneOf(c, "network.mode", n.Mode, "", Closed, Local, Filtered, Open)
	hosts := func(key string, list []string, allow bool) {
		for i, h := range list {
			key := fmt.Sprintf("network.%s[%d]", key, i)
			if strings.HasPrefix(strings.TrimSpace(h), "preset:") {
				c.fail(key, "%q: there are no presets here; list the hosts", h)
			} else if err := policy.CheckHostRule(h, allow); err != nil {
				c.fail(key, "%v", err)
			}
		}
		if len(list) > 0 && n.Mode != Filtered {
			c.fail("network."+key, "it is of effect with \"mode\": \"filtered\" only")
		}
	}
	hosts("allow_hosts", n.AllowHosts, true)
	hosts("deny_hosts", n.DenyHosts, false)
	ports := map[string]int{"host_ports": len(n.HostPorts), "publish": len(n.Publish)}
	for _, key := range slices.Sorted(maps.Keys(ports)) {
		if ports[key] > 0 && n.Mode != Local && n.Mode != Filtered {
			c.fail("network."+key, "it is of effect with \"mode\": \"local\" or \"filtered\" only")
		}
	}
	for i, port := range n.HostPorts {
		if port == 0 {
			c.fail(fmt.Sprintf("network.host_ports[%d]", i), "0 is no port: want 1 to 65535")
		}
	}
	for i, p := range n.Publish {
		if p.Inside == 0 || p.Host == 0 {
			c.fail(fmt.Sprintf("network.publish[%d]", i), "0 is no port: want 1 to 65535")
		}
	}
}

// oneOf checks a word; the empty one stands for a default.
func oneOf[T ~string](c *checker, key string, have T, words ...T) {
	if slices.Contains(words, have) {
		return
	}
	var names []string
	for _, w := range words {
		if w != "" {
			names = append(names, string(w))
		}
	}
	c.fail(key, "%q is not known: want %s", string(have), strings.Join(names, ", "))
}
