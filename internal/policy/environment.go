package policy

import (
	"strings"

	"carrel/internal/policy/pathglob"
)

// Lookup decides one variable that exists outside: whether it shows inside and
// with which value, and which rule says so (nil: none does, so it is not
// passed). The strongest layer that speaks of the name decides; in one layer
// drop beats set beats pass. What a project file drops is gone, whoever
// passes it.
//
// A name that does not exist outside is looked up the same way: it is inside
// where Set holds it and Lookup passes it.
func (e Env) Lookup(name, outside string) (value string, pass bool, rule *Value[string]) {
	drop := bestName(e.Drop, name)
	if drop != nil && drop.Source.Layer == LayerProject {
		return "", false, drop
	}
	rank := func(v *Value[string]) LayerKind {
		if v == nil {
			return LayerDefault + 1
		}
		return v.Source.Layer
	}
	var set *Value[string]
	if v, ok := e.Set[name]; ok {
		set = &v
	}
	passed := bestName(e.Pass, name)
	switch {
	case drop != nil && rank(drop) <= rank(set) && rank(drop) <= rank(passed):
		return "", false, drop
	case set != nil && rank(set) <= rank(passed):
		return set.V, true, set
	case passed != nil:
		return outside, true, passed
	}
	return "", false, nil
}

// bestName returns the strongest entry that matches the name; a project's drop
// comes first because nothing passes it.
func bestName(list []Value[string], name string) *Value[string] {
	var best *Value[string]
	for i := range list {
		v := &list[i]
		if !nameMatches(v.V, name) {
			continue
		}
		if v.Source.Layer == LayerProject {
			return v
		}
		if best == nil || v.Source.before(best.Source) {
			best = v
		}
	}
	return best
}

func nameMatches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		return false
	}
	seg, err := pathglob.Component(pattern)
	return err == nil && seg.Match(name)
}

// environment gathers the rules of all layers; the project may only drop.
func (d *decision) environment() {
	env := Env{Set: map[string]Value[string]{}}
	for _, l := range d.layers {
		r := l.Request
		env.Pass = append(env.Pass, d.names(l, r.EnvPass)...)
		env.Drop = append(env.Drop, d.names(l, r.EnvDrop)...)
		for _, name := range sortedKeys(r.EnvSet) {
			v := stamp(l, r.EnvSet[name])
			if !d.goodName(name, v.Source) || !d.goodValue(name, v) {
				continue
			}
			if _, stronger := env.Set[name]; !stronger {
				env.Set[name] = v
			}
		}
	}
	for _, l := range d.project {
		for _, v := range l.Request.EnvPass {
			d.ignored(stamp(l, v).Source, "passing the variable "+printable(v.V)+" widens")
		}
		for _, name := range sortedKeys(l.Request.EnvSet) {
			d.ignored(stamp(l, l.Request.EnvSet[name]).Source, "setting the variable "+printable(name)+" widens")
		}
		env.Drop = append(env.Drop, d.names(l, l.Request.EnvDrop)...)
	}
	d.out.Env = env
	d.reason(DimEnv, envText(env), envSource(env), "")
}

// names stamps the good names of one layer and reports the others.
func (d *findings) names(l Layer, list []Value[string]) []Value[string] {
	var out []Value[string]
	for _, v := range list {
		v = stamp(l, v)
		if !d.goodName(v.V, v.Source) {
			continue
		}
		if _, err := pathglob.Component(v.V); err != nil {
			d.fail(DimEnv, v.Source, "variable name pattern %q: %s", v.V, err)
			continue
		}
		out = append(out, v)
	}
	return out
}

func (d *findings) goodName(name string, src Source) bool {
	if name == "" || strings.ContainsAny(name, "=\x00") || len(name) > maxPlace {
		d.fail(DimEnv, src, "%q is not the name of a variable", name)
		return false
	}
	return true
}

func (d *findings) goodValue(name string, v Value[string]) bool {
	if strings.Contains(v.V, "\x00") {
		d.fail(DimEnv, v.Source, "the value of %s holds a NUL byte", name)
		return false
	}
	return true
}
