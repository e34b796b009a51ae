package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Backend is where a workspace runs, and with that what holds its policy.
// Widening order: vm < lima < gvisor < container < process < none.
type Backend string

const (
	BackendVM        Backend = "vm"        // in a virtual machine that has this machine's system
	BackendLima      Backend = "lima"      // in a virtual machine of its own
	BackendGvisor    Backend = "gvisor"    // on a kernel of its own, gVisor, with this machine's programs
	BackendContainer Backend = "container" // behind walls, in a container with a system of its own
	BackendProcess   Backend = "process"   // behind walls, on this machine
	BackendNone      Backend = "none"      // on this machine as its user, without walls
)

func backendRank(b Backend) int {
	return rankOf(b, BackendVM, BackendLima, BackendGvisor, BackendContainer, BackendProcess, BackendNone)
}

// backend comes first: without walls, most of what could be asked for is held by
// nothing. It never follows from anything: somebody has to say none, and no
// ceiling may hold, since none of what it limits would be.
func (d *decision) backend() {
	wrong := len(d.errs)
	c := settle(d, dimension[Backend]{
		name: DimBackend, initial: BackendProcess,
		wider: byRank(backendRank), known: inRank(backendRank), text: func(b Backend) string { return string(b) },
		asked: func(r *Request) *Value[Backend] { return r.Backend },
		bound: d.wallsBound,
	})
	c = isolated(d, c)
	d.out.Backend = c.V
	if c.V != BackendProcess || c.note != "" {
		because(d, DimBackend, string(c.V), c)
	}
	if c.V == BackendNone && len(d.errs) == wrong {
		d.withoutWalls(c.Source)
	}
}

// wallsBound is the bound of every ceiling: it can be held by walls alone. The
// operator's file has a block that may be empty, which is no ceiling; a file that
// somebody names is one, whatever it says.
func (d *decision) wallsBound(c *Ceiling) *Value[Backend] {
	if slices.Contains(d.empty, c) {
		return nil
	}
	src := c.Source
	if src.Layer == 0 {
		src = Source{Layer: LayerCeiling, Text: "the ceiling"}
	}
	return &Value[Backend]{V: BackendProcess, Source: src}
}

// withoutWalls takes out of the layers what nothing holds, and says so: to who
// asked for it together with none, and to the operator's file, by a refusal; to
// files that were written for workspaces with walls, by a warning. Then the one
// who said none asks for all that its user has.
func (d *decision) withoutWalls(said Source) {
	for i := range d.layers {
		d.stripLayer(&d.layers[i], said)
	}
	for i := range d.project {
		d.stripLayer(&d.project[i], said)
	}
	said.Text = "no walls: " + said.Text
	at := slices.IndexFunc(d.layers, func(l Layer) bool { return l.Kind > said.Layer })
	if at < 0 {
		at = len(d.layers)
	}
	d.layers = slices.Insert(d.layers, at, Layer{Kind: said.Layer, Name: "no walls", Request: Request{
		Network: &Value[NetworkMode]{V: NetOpen, Source: said},
		Display: &Value[DisplayMode]{V: DisplayHost, Source: said},
		Home:    &Value[HomeMode]{V: HomeFull, Source: said},
		Nested:  &Value[Nesting]{V: NestedFull, Source: said},
		Files:   []FileRequest{{Place: "/", Access: Write, Source: said}},
	}})
}

func (d *decision) stripLayer(l *Layer, said Source) {
	held, lost := d.withoutHeldByWalls(l.Request, l.Kind)
	l.Request = held
	for _, v := range lost {
		src := v.Source
		src.Layer = l.Kind
		switch l.Kind {
		case LayerDefault:
		case LayerUser, LayerProject:
			d.warn(src, "not held: %s; there are no walls (%s)", v.V, said)
		default:
			d.errs = append(d.errs, &RequestError{Dimension: DimBackend, Source: src,
				Message: fmt.Sprintf("%s cannot be held: there are no walls (%s)", v.V, said),
				Hint:    "leave one of them out"})
		}
	}
}

// withoutHeldByWalls parts a request into what holds without walls (what may be
// changed with the history kept, variables, limits, the history itself) and what
// takes something away that only walls do; what grants is had anyway. Of defaults
// the project stays, and what keeps carrel's own files.
func (d *decision) withoutHeldByWalls(r Request, kind LayerKind) (held Request, lost []Value[string]) {
	held = Request{
		Persona: r.Persona, Backend: r.Backend, History: r.History, Timeout: r.Timeout, Memory: r.Memory, Pids: r.Pids,
		EnvPass: r.EnvPass, EnvSet: r.EnvSet, EnvDrop: r.EnvDrop,
	}
	lose := func(src Source, format string, args ...any) {
		lost = append(lost, Value[string]{V: fmt.Sprintf(format, args...), Source: src})
	}
	for _, f := range r.Files {
		switch {
		case kind == LayerDefault && (f.Place == ":project" || f.Place == d.scope.Project || f.Access == Deny && !f.Glob):
			held.Files = append(held.Files, f)
		case kind != LayerDefault && f.Access == Write && !f.Glob:
			held.Files = append(held.Files, f)
		case f.Access == Deny:
			lose(f.Source, "deny %s", printable(f.Place))
		case f.Glob:
			lose(f.Source, "protect %s", printable(f.Place))
		}
	}
	if v := r.Network; v != nil && v.V != NetOpen {
		lose(v.Source, "network %s", printable(string(v.V)))
	}
	if v := r.Display; v != nil && v.V != DisplayHost {
		lose(v.Source, "display %s", printable(string(v.V)))
	}
	if v := r.AllowDesktopGUI; v != nil && !v.V {
		lose(v.Source, "a desktop that is not shown")
	}
	if v := r.VirtualDisplay; v != nil && v.V {
		lose(v.Source, "a virtual display")
	}
	if v := r.Home; v != nil && v.V != HomeFull {
		lose(v.Source, "home %s", printable(string(v.V)))
	}
	if v := r.Nested; v != nil && v.V != NestedFull {
		lose(v.Source, "nested %s", printable(string(v.V)))
	}
	if v := r.Secrets; v != nil && v.V != SecretsMasked {
		lose(v.Source, "secrets %s", printable(string(v.V)))
	}
	for _, list := range []struct {
		what   string
		values []Value[string]
	}{{"only these hosts", r.AllowHosts}, {"without these hosts", r.DenyHosts}, {"only these programs", r.ProgramsAllow}} {
		if len(list.values) > 0 {
			lose(list.values[0].Source, "%s (%s)", list.what, someOf(list.values))
		}
	}
	if r.ProgramsAllow != nil && len(r.ProgramsAllow) == 0 {
		lose(Source{Text: "programs.allow"}, "no program at all")
	}
	return held, lost
}

// someOf lists values for a message.
func someOf(values []Value[string]) string {
	const most = 4
	var out []string
	for _, v := range values[:min(len(values), most)] {
		out = append(out, printable(v.V))
	}
	if len(values) > most {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}
