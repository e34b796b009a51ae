package sentry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"carrel/internal/advice"
	"carrel/internal/fuserelay"
	"carrel/internal/guestagent"
	"carrel/internal/gvisor"
	"carrel/internal/hostfacts"
	"carrel/internal/interceptor"
	"carrel/internal/machine"
	"carrel/internal/sandbox"
)

// backend makes sandboxes, one for each run.
type backend struct {
	program *os.File // carrel-gvisor
}

// Choose finds the program that runs sandboxes. engine and image are what is asked of other backends.
func Choose(engine, image string) (*machine.Machine, error) {
	refused := func(err error, hint string) (*machine.Machine, error) {
		return nil, &advice.Error{Err: fmt.Errorf("backend gvisor: %w", err), Hint: hint}
	}
	switch {
	case engine != "":
		return refused(errors.New("--engine "+engine+": gVisor makes the walls"), "leave --engine out")
	case image != "":
		return refused(errors.New("--image "+image+": the system is this machine's"), "leave --image out")
	case runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		return refused(errors.New("gVisor runs on amd64 and arm64, and this is "+runtime.GOARCH), "use another backend")
	}
	program, err := hostfacts.GvisorProgram()
	if err != nil {
		return refused(err, "build it with carrel: `make install`, or go build -o DIRECTORY ./cmd/...")
	}
	if err := hostfacts.OpensFUSE(); err != nil {
		return refused(err, "have root give it to all users, as most distributions do: chmod 666 /dev/fuse; `carrel doctor` says more")
	}
	return &machine.Machine{Backend: &backend{program: program}}, nil
}

// Version implements [machine.Backend].
func (b *backend) Version() string { return "runsc " + gvisor.Version }

// Tell implements [machine.Backend]: nothing takes long.
func (b *backend) Tell(func(string)) {}

// System implements [machine.Backend]. Whatever the user of a command, the sandbox asks as its own.
func (b *backend) System() (machine.System, uint32) { return machine.SystemShown, 0 }

// Raise implements [machine.Backend]. The sandbox is started when it is known what is mounted there.
func (b *backend) Raise(_ context.Context, plan *sandbox.Plan, relay io.Reader) (machine.Guest, error) {
	program, ok := relay.(*os.File)
	if !ok {
		return nil, errors.New("carrel-relay is no file that a sandbox can be shown")
	}
	return &guest{backend: b, plan: plan, relay: program}, nil
}

// guest is a sandbox.
type guest struct {
	backend *backend
	plan    *sandbox.Plan
	relay   *os.File
	sandbox *gvisor.Sandbox // nil before Mount
	agent   *gvisor.Process // what starts commands
}

func (g *guest) Name() string { return "the sandbox" }

// Has implements [machine.Guest]: programs are this machine's, and were looked for before.
func (g *guest) Has(context.Context, string) bool { return true }

func (g *guest) Shell() string { return "sudo sh" }

func (g *guest) Close() error {
	if g.sandbox == nil {
		return nil
	}
	return g.sandbox.Close()
}

// Processes in a sandbox.
const starts = 2 // what carries connections, and what starts commands

// Mount implements [machine.Guest].
func (g *guest) Mount(_ context.Context, places []machine.Mounted, files machine.Files) (io.Closer, error) {
	o := gvisor.Options{Program: g.backend.program, Relay: g.relay, Plan: g.plan, Starts: starts}
	for _, p := range places {
		o.Served = append(o.Served, fuserelay.Place{From: p.From, To: p.To})
		o.Inodes = append(o.Inodes, p.Inode)
	}
	var err error
	if g.sandbox, err = gvisor.Start(o); err != nil {
		return nil, err
	}
	device, err := g.sandbox.Device()
	if err != nil {
		return nil, err
	}
	m := &mount{g.sandbox, device, make(chan error, 1)}
	go func() { m.served <- files.Serve(interceptor.Device(int(device.Fd()))) }()
	if err := g.sandbox.Mounted(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	uid, gid := g.plan.UID, g.plan.GID
	g.agent, err = g.sandbox.Start("-serve", guestagent.Own, strconv.FormatUint(uint64(uid), 10), strconv.FormatUint(uint64(gid), 10))
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// mount is what is served to a sandbox. It is unmounted with that.
type mount struct {
	sandbox *gvisor.Sandbox
	device  *os.File
	served  chan error
}

// unmountTime is how long the kernel may take to unmount what a sandbox has seen.
const unmountTime = 5 * time.Second

func (m *mount) Close() error {
	if err := m.sandbox.Close(); err != nil {
		return err
	}
	late := time.NewTimer(unmountTime)
	defer late.Stop()
	select {
	case err := <-m.served:
		return errors.Join(err, m.device.Close())
	case <-late.C:
		return errors.New("what is served is still mounted")
	}
}

// Listen implements [machine.Guest].
func (g *guest) Listen(_ context.Context, addresses []string, serve machine.Serve) (io.Closer, error) {
	p, err := g.sandbox.Start(append([]string{"-listen"}, addresses...)...)
	if err != nil {
		return nil, err
	}
	return g.answer(p, serve)
}

// Agent implements [machine.Guest]. It was started with the sandbox: both processes come up at a time.
func (g *guest) Agent(_ context.Context, serve machine.Serve) (io.Closer, error) {
	return g.answer(g.agent, serve)
}

// process is carrel-relay in a sandbox, and what answers it here.
type process struct {
	guest  *guest
	p      *gvisor.Process
	served chan error
}

// answer answers carrel-relay, and returns when that says that it is ready.
func (g *guest) answer(p *gvisor.Process, serve machine.Serve) (io.Closer, error) {
	one := &process{g, p, make(chan error, 1)}
	go func() { one.served <- serve(p.Out, p.In) }()
	if err := p.Ready(); err != nil {
		return nil, errors.Join(g.sandbox.Failed(fmt.Errorf("carrel-relay: %w", err)), one.Close())
	}
	return one, nil
}

// Close ends the sandbox: no process in it is of use without the other.
func (p *process) Close() error {
	err := p.guest.sandbox.Close()
	for _, c := range []io.Closer{p.p.In, p.p.Err} {
		c.Close()
	}
	serving := <-p.served
	p.p.Out.Close()
	if gone := new(gvisor.Gone); errors.As(serving, &gone) { // which the network has told
		serving = nil
	}
	return errors.Join(err, serving)
}
