package machine

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"carrel/internal/config"
	"carrel/internal/interceptor"
	"carrel/internal/lima"
	"carrel/internal/qemu"
	"carrel/internal/sandbox"
)

// VM makes machines by QEMU, one for each run, which ends with that. Their system is this host's.
type VM struct {
	config qemu.Config
	tell   func(text string)
}

// chooseVM finds QEMU and what a machine boots from, and decides what runs it.
func chooseVM(w Wish, set *config.VM) (*Machine, error) {
	fail := func(err error) (*Machine, error) { return nil, fmt.Errorf("backend vm: %w", err) }
	if err := w.carriesVM(); err != nil {
		return nil, err
	}
	b := &VM{config: qemu.Config{CPUs: int(number(set.CPUs, defaultCPUs)), Memory: number(set.Memory, defaultMemory), User: uint32(w.UID)}}
	if w.UID == 0 { // who is root there could change what serves it
		b.config.User = lima.AgentID
	}
	var err error
	if b.config.Program, err = qemu.Find(context.Background(), text(set.QEMU), w.getenv); err != nil {
		return fail(err)
	}
	if b.config.Image, err = qemu.Boot(text(set.Kernel), text(set.Initrd), w.getenv); err != nil {
		return fail(err)
	}
	if b.config.Accel, err = qemu.Choose(qemu.Accel(text(set.Accel))); err != nil {
		return fail(err)
	}
	return &Machine{Backend: b}, nil
}

// Version implements [Backend].
func (b *VM) Version() string {
	return "QEMU " + b.config.Program.Version + ", " + string(b.config.Accel)
}

// Tell implements [Backend].
func (b *VM) Tell(to func(text string)) { b.tell = to }

// System implements [Backend].
func (b *VM) System() (System, uint32) { return SystemServed, b.config.User }

// Raise implements [Backend].
func (b *VM) Raise(ctx context.Context, plan *sandbox.Plan, relay io.Reader) (Guest, error) {
	var err error
	if b.config.Init, err = io.ReadAll(relay); err != nil {
		return nil, fmt.Errorf("reading the relay: %w", err)
	}
	m, err := qemu.Start(ctx, b.config)
	if err != nil {
		return nil, fmt.Errorf("starting a machine by %s: %w", b.config.Program.Path, err)
	}
	return &vmGuest{b, plan, m}, nil
}

// vmGuest is a machine of QEMU that runs.
type vmGuest struct {
	*VM
	plan *sandbox.Plan
	m    *qemu.Machine
}

func (g *vmGuest) Name() string { return "QEMU" }

func (g *vmGuest) Shell() string { return "carrel shell --backend vm" }

func (g *vmGuest) Close() error { return g.m.Close() }

// Has says that it has a program: those there are this host's, in which it was found.
func (g *vmGuest) Has(context.Context, string) bool { return true }

func (g *vmGuest) Mount(ctx context.Context, places []Mounted, files Files) (io.Closer, error) {
	r, err := g.m.Mount(ctx, func(in io.Reader, out io.Writer) error { return files.Serve(interceptor.Stream(in, out)) })
	if err != nil {
		return nil, err
	}
	served := make(map[string]string, len(places))
	for _, p := range places {
		served[p.To] = p.From
	}
	if err := g.m.Build(ctx, g.plan, served); err != nil {
		_ = r.Close() // the machine ends with it
		return nil, err
	}
	return r, nil
}

func (g *vmGuest) Listen(ctx context.Context, addresses []string, serve Serve) (io.Closer, error) {
	return relayed(g.m.Relay(ctx, qemu.PortNetwork, append([]string{"-listen"}, addresses...), serve))
}

func (g *vmGuest) Agent(ctx context.Context, serve Serve) (io.Closer, error) {
	user := strconv.FormatUint(uint64(g.config.User), 10)
	return relayed(g.m.Relay(ctx, qemu.PortCommands, []string{"-serve", user}, serve))
}

// relayed keeps a relay that is not there from being one that is not nil.
func relayed(r *qemu.Relay, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
