package machine

import (
	"context"
	"io"

	"carrel/internal/sandbox"
)

// Backend makes and starts the machine of a project. One is made for each run.
type Backend interface {
	// Version names the program that runs machines, with its version.
	Version() string
	// Tell says where to tell what takes long, a line at a time.
	Tell(to func(text string))
	// System says what system machines have, and which user commands are there.
	System() (System, uint32)
	// Raise makes the machine where there is none, starts it where it does not run, and readies it
	// for commands: nothing of an earlier one lives there, and the relay is there. A machine with the
	// system of this host shows that as the plan does.
	Raise(ctx context.Context, plan *sandbox.Plan, relay io.Reader) (Guest, error)
}

// System is what system a machine has.
type System int

const (
	SystemOwn    System = iota // one of its own, which stays: places of this host are put into it
	SystemServed               // this host's, for one run: it is served as the project is
	SystemShown                // this host's, for one run: the backend shows it, and a request tells of no user or process
)

// Guest is a machine that runs. What is started there ends when it is closed, and has ended then.
type Guest interface {
	// Name tells it from others, for the person.
	Name() string
	// Mount shows places of the host there, and returns when the machine has shown that they are
	// those that are served. It is called once, before the others.
	Mount(ctx context.Context, places []Mounted, files Files) (io.Closer, error)
	// Listen listens at addresses there, as the relay does, and carries what connects over a stream.
	Listen(ctx context.Context, addresses []string, serve Serve) (io.Closer, error)
	// Agent starts what starts commands there, see package guestagent.
	Agent(ctx context.Context, serve Serve) (io.Closer, error)
	// Has says whether a command finds a program there by its name.
	Has(ctx context.Context, program string) bool
	// Shell is a command of this host that gives the person a shell there as its root.
	Shell() string
	// Close lets go of it. Whether it runs on is its backend's.
	Close() error
}

// Serve answers what comes over a stream from a machine, until in ends.
type Serve func(in io.Reader, out io.Writer) error

// Mounted is a place of this host that a machine is shown: its path in the file system that is
// served, where it is in the machine, and its inode on this host.
type Mounted struct {
	From, To string
	Inode    uint64
}
