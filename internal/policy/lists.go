package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// devices is the union of what the layers ask for, below the ceilings.
func (d *decision) devices() {
	var note string
	d.out.Devices, note = d.union(union{
		dim: DimDevices, word: "device", want: "a clean absolute path", is: isCleanAbs,
		asked: func(r *Request) []Value[string] { return r.Devices }, bound: func(c *Ceiling) []Value[string] { return c.Devices },
	})
	d.reason(DimDevices, listText(d.out.Devices, "none"), listSource(d.out.Devices), note)
}

// union describes a list to which every layer adds, but for the project.
type union struct {
	dim        Dimension
	word, want string // what an entry is called, and has to be
	is         func(string) bool
	asked      func(*Request) []Value[string]
	bound      func(*Ceiling) []Value[string] // empty: no limit
}

// union gives the list, and a note of what ceilings have left out.
func (d *decision) union(u union) (out []Value[string], note string) {
	for _, l := range d.layers {
		for _, v := range u.asked(&l.Request) {
			v = stamp(l, v)
			if !u.is(v.V) {
				d.fail(u.dim, v.Source, "%s %s is not %s", u.word, printable(v.V), u.want)
				continue
			}
			i := slices.IndexFunc(d.ceilings, func(c *Ceiling) bool { return len(u.bound(c)) > 0 && !holds(u.bound(c), v.V) })
			if i >= 0 {
				note = d.beyond(u.dim, v, u.bound(d.ceilings[i])[0].Source, "other "+u.word+"s only", note)
				continue
			}
			out = addValue(out, v)
		}
	}
	for _, l := range d.project {
		for _, v := range u.asked(&l.Request) {
			d.ignored(stamp(l, v).Source, "the "+u.word+" "+printable(v.V)+" widens")
		}
	}
	return out, note
}

// beyond refuses an explicit value, or drops another and says so.
func (d *findings) beyond(dim Dimension, v Value[string], by Source, allowed, note string) string {
	if v.Source.Layer.explicit() {
		d.refuse(dim, v.Source, by, printable(v.V), allowed)
		return note
	}
	return joinNotes(note, fmt.Sprintf("%s (%s) is left out by the ceiling %s", printable(v.V), v.Source, by))
}

// programs takes the strongest list; ceilings and the project cut it down.
func (d *decision) programs() {
	var out []Value[string]
	note := ""
	for _, l := range d.layers {
		if l.Request.ProgramsAllow != nil && out == nil {
			out = d.programList(l)
		}
	}
	asked := out
	for _, c := range d.ceilings {
		if len(c.ProgramsAllow) == 0 {
			continue
		}
		for _, v := range asked {
			if !covered(c.ProgramsAllow, v.V) {
				note = d.beyond(DimPrograms, v, c.ProgramsAllow[0].Source, listText(c.ProgramsAllow, "none"), note)
			}
		}
		out = narrowPrograms(out, c.ProgramsAllow)
	}
	for _, l := range d.project {
		if l.Request.ProgramsAllow == nil {
			continue
		}
		list := d.programList(l)
		for _, v := range list {
			if out != nil && !covered(out, v.V) {
				d.ignored(v.Source, "the program "+printable(v.V)+" is not allowed by anyone else")
			}
		}
		out = narrowPrograms(out, list)
		note = joinNotes(note, "tightened by the project file")
	}
	d.out.Programs = out
	value := "no limit"
	if out != nil {
		value = listText(out, "none")
	}
	d.reason(DimPrograms, value, listSource(out), note)
}

// programList stamps and checks one layer's list; never nil.
func (d *findings) programList(l Layer) []Value[string] {
	out := []Value[string]{}
	for _, v := range l.Request.ProgramsAllow {
		v = stamp(l, v)
		bare := v.V != "" && v.V != "." && v.V != ".." && !strings.ContainsAny(v.V, "/\x00")
		if !bare && !isCleanAbs(v.V) {
			d.fail(DimPrograms, v.Source, "program %q is neither a name nor a clean absolute path", v.V)
			continue
		}
		out = addValue(out, v)
	}
	return out
}

// narrowPrograms is what both lists allow; nil is no limit.
func narrowPrograms(have, limit []Value[string]) []Value[string] {
	if have == nil {
		return slices.Clone(limit)
	}
	out := []Value[string]{}
	for _, v := range have {
		if covered(limit, v.V) {
			out = addValue(out, v)
		}
	}
	for _, v := range limit {
		if covered(have, v.V) {
			out = addValue(out, v)
		}
	}
	return out
}

// covered tells whether a list allows the program: it holds the same entry, or
// the bare name of an absolute path.
func covered(list []Value[string], program string) bool {
	return holds(list, program) || path.IsAbs(program) && holds(list, path.Base(program))
}

func holds(list []Value[string], s string) bool {
	return slices.ContainsFunc(list, func(v Value[string]) bool { return v.V == s })
}

// addValue appends unless a stronger layer listed the same already.
func addValue(list []Value[string], v Value[string]) []Value[string] {
	if holds(list, v.V) {
		return list
	}
	return append(list, v)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// listText shows a list as a person would write it.
func listText(list []Value[string], empty string) string {
	if len(list) == 0 {
		return empty
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = printable(v.V)
	}
	return strings.Join(words, ", ")
}

func listSource(list []Value[string]) Source {
	if len(list) == 0 {
		return builtIn
	}
	return list[0].Source
}

func envText(e Env) string {
	return fmt.Sprintf("%d passed, %d set, %d dropped", len(e.Pass), len(e.Set), len(e.Drop))
}

// envSource is the strongest layer that says anything of the environment.
func envSource(e Env) Source {
	best := builtIn
	for _, list := range [][]Value[string]{e.Pass, e.Drop} {
		for _, v := range list {
			if v.Source.before(best) {
				best = v.Source
			}
		}
	}
	for _, v := range e.Set {
		if v.Source.before(best) {
			best = v.Source
		}
	}
	return best
}
