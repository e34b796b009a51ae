package machine

import (
	"context"
	"fmt"
	"io"

	"carrel/internal/lima"
	"carrel/internal/sandbox"
)

// Lima makes machines by limactl. They run on when a workspace ends.
type Lima struct {
	Program *lima.Program
	Spec    *lima.Spec
}

// Version implements [Backend].
func (b *Lima) Version() string { return "limactl " + b.Program.Version }

// Tell implements [Backend].
func (b *Lima) Tell(to func(text string)) { b.Program.Tell = to }

// System implements [Backend].
func (b *Lima) System() (System, uint32) { return SystemOwn, lima.AgentID }

// Raise implements [Backend].
func (b *Lima) Raise(ctx context.Context, _ *sandbox.Plan, relay io.Reader) (Guest, error) {
	m, err := b.Program.Raise(ctx, b.Spec)
	if err != nil {
		return nil, err
	}
	// A run with another state directory has not seen the lock there, and would end what runs.
	alone, err := take(m.Dir + "/carrel.lock")
	if err != nil {
		return nil, err
	}
	if err := b.Program.Ready(ctx, m, b.Spec, relay); err != nil {
		alone.Close()
		return nil, err
	}
	return &limaGuest{b.Program, m, alone}, nil
}

// limaGuest is a machine of Lima that runs.
type limaGuest struct {
	program *lima.Program
	m       *lima.Machine
	alone   io.Closer
}

func (g *limaGuest) Name() string { return g.m.Name }

func (g *limaGuest) Shell() string { return fmt.Sprintf("limactl shell %s sudo sh", g.m.Name) }

func (g *limaGuest) Close() error { return g.alone.Close() }

func (g *limaGuest) Has(ctx context.Context, program string) bool {
	return g.program.Has(ctx, g.m, program)
}

func (g *limaGuest) Listen(ctx context.Context, addresses []string, serve Serve) (io.Closer, error) {
	return closer(g.program.StartListening(ctx, g.m, addresses, lima.Serve(serve)))
}

func (g *limaGuest) Agent(ctx context.Context, serve Serve) (io.Closer, error) {
	return closer(g.program.StartAgent(ctx, g.m, lima.Serve(serve)))
}

// closer keeps a relay that is not there from being one that is not nil.
func closer(r *lima.Relay, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
