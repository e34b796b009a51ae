package machine

import (
	"context"
	"io"
	"iter"
	"maps"
	"net"
	"slices"
	"sync/atomic"

	"carrel/internal/broker"
	"carrel/internal/guest"
	"carrel/internal/interceptor"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/streams"
)

// Run is a workspace in a machine, with what decides about its changes of the project.
type Run struct {
	machine *Machine
	masks   map[string]bool
	shown   map[string][]byte // what stands for the content of files

	Decider  broker.Decider
	Recorder broker.Recorder
	Refused  broker.Refused
	Policy   *policy.Effective
	Hidden   func() []string        // secrets that came meanwhile, as far as they are known
	Came     func(path string) bool // whether a path leads to one
	Alone    func() (func(), error)
	Relay    io.Reader // the program
	Note     func(format string, args ...any)
	Lost     func(text string) // is told at once what of a machine that runs has ended
	// Ports are those of this host that programs reach at their own loopback, by Dial.
	Ports []uint16
	// Program is that of the agent, which the machine has to have, and Install how it is installed.
	Program, Install string
	Dial             func(ctx context.Context, port uint16) (interface {
		net.Conn
		CloseWrite() error
	}, error)

	*guest.Host // its commands and their processes
	agent       io.Closer
	server      *interceptor.Server
	helpers     []string   // paths in the machine that lead to the supervisor
	listeners   []*carried // of what they connect to
	mux         atomic.Pointer[streams.Mux]
	home        []own
	system      system // of this host's, where the machine has it
	roots       []Place
	user        uint32 // of commands there
	alike       bool   // no request tells of its user or process
}

// Hold keeps all changes of the project waiting, whatever runs in the machine, or lets them go.
func (r *Run) Hold(hold bool) { r.server.Hold(hold) }

// NewRun is a command that is to work in a project, as a plan shows that.
func (m *Machine) NewRun(project string, plan *sandbox.Plan) *Run {
	r := &Run{machine: m, helpers: helpers(plan)}
	var shows System
	switch shows, r.user = m.System(); shows {
	case SystemOwn:
		r.roots, r.home = append([]Place{{project, project}}, m.Places...), homeOf(plan)
	case SystemServed:
		r.system, r.roots, r.home = systemOf(plan)
	case SystemShown:
		r.alike = true
		for _, root := range plan.Roots {
			r.roots = append(r.roots, Place{root, root})
		}
	}
	r.masks, r.shown = make(map[string]bool), make(map[string][]byte)
	for _, mount := range plan.Mounts {
		switch mount.Kind {
		case sandbox.MountMask:
			r.masks[mount.Target] = true
		case sandbox.MountData:
			r.shown[mount.Target] = append([]byte{}, mount.Data...) // not nil: it may be empty
		}
	}
	return r
}

// masked says what of the project a machine sees as a name and nothing else: what is denied,
// what a mask would lie on behind walls, and secrets that came meanwhile.
func (r *Run) masked(path string) bool {
	if r.ownAt(path) != nil {
		return false
	}
	access := r.Policy.Lookup(path).Access
	seen := visible(access) || access == policy.Unset && r.system.reads(path)
	return !seen || r.masks[path] || slices.Contains(r.Hidden(), path) || r.Came(path)
}

// standIn is what a machine is shown of a file in place of its content, nil for its content.
func (r *Run) standIn(path string) []byte { return r.shown[path] }

// Seen says whether a machine can read what a file of this host holds.
func (r *Run) Seen(path string) bool { return !r.masked(path) && r.standIn(path) == nil }

// hiddenIn gives what a change would give another path, and that is hidden by the one it has; "" for
// nothing. Behind walls a mount would go with it.
func (r *Run) hiddenIn(ch *broker.Change) string {
	if ch.Op != broker.OpRename && ch.Op != broker.OpExchange && ch.Op != broker.OpLink {
		return ""
	}
	for at := range r.hiddenPaths() {
		if pathname.Within(at, ch.Path) || ch.Op == broker.OpExchange && pathname.Within(at, ch.To) {
			return at
		}
	}
	return ""
}

func (r *Run) hiddenPaths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, all := range []iter.Seq[string]{maps.Keys(r.masks), maps.Keys(r.shown), slices.Values(r.Hidden())} {
			for at := range all {
				if !yield(at) {
					return
				}
			}
		}
	}
}

func visible(a policy.Access) bool { return a == policy.Read || a == policy.Write }

// Raise starts the machine where it does not run, and gives what commands are started by there. The
// project is there then, and what is carried of the network.
func (r *Run) Raise(ctx context.Context, plan *sandbox.Plan) (stage *sandbox.Stage, err error) {
	g, err := r.machine.Raise(ctx, plan, r.Relay)
	if err != nil {
		return nil, err
	}
	var ends []func()
	end := func() {
		for _, one := range slices.Backward(ends) {
			one()
		}
	}
	ending := func(what string, c io.Closer) {
		ends = append(ends, func() {
			if err := c.Close(); err != nil {
				r.Note("%s %s: %v", what, g.Name(), err)
			}
		})
	}
	defer func() {
		if stage == nil {
			end()
		}
	}()
	ending("letting go of", g)
	server, places, err := r.serve()
	if err != nil {
		return nil, err
	}
	ends = append(ends, server.Close)
	// A command that is ended by a signal ends first: what serves it has a context of its own.
	own := context.WithoutCancel(ctx)
	mounted, err := g.Mount(own, places, server)
	if err != nil {
		return nil, err
	}
	ending("the relay in", mounted)
	if err := r.programThere(ctx, g); err != nil {
		return nil, err
	}
	unlisten, err := r.listen(ctx, g)
	if err != nil {
		return nil, err
	}
	ends = append(ends, unlisten)
	if r.Host, err = guest.New(); err != nil {
		return nil, err
	}
	if r.agent, err = g.Agent(own, r.Host.Serve); err != nil {
		r.Host.Abandon()
		return nil, err
	}
	ending("what starts commands in", r.agent)
	r.server = server
	return sandbox.StageElsewhere(plan, r.Host.Control(), end), nil
}

// End ends all that runs in the machine.
func (r *Run) End() { _ = r.agent.Close() }

// serve makes what serves the project and the other places to a machine, and says where they are in it.
func (r *Run) serve() (server *interceptor.Server, places []Mounted, err error) {
	c := interceptor.Config{
		Decider: homeApart{r}, Recorder: homeApart{r}, Refused: r.Refused, Masked: r.masked, StandIn: r.standIn,
		UID: r.user, GID: r.user, Alone: r.Alone, Labels: !r.alike, Unmapped: r.alike,
	}
	served := r.roots
	for _, o := range r.home {
		served = append(served, o.Place)
	}
	c.Roots, places, err = pin(served, r.system.kept...)
	defer closeRoots(c.Roots)
	if err != nil {
		return nil, nil, err
	}
	server, err = interceptor.New(c)
	return server, places, err
}
