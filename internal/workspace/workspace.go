// Package workspace runs one workspace from request to result: it gathers, has the policy
// decided, plans, starts the walls, answers for it as its supervisor, and ends it.
//
// It holds no rule of its own: what is allowed is package policy's word, how it
// is held is the mechanisms'. Everything that comes from inside the walls is
// untrusted here: its bytes are bounded, parsed once, and escaped before a
// terminal shows them. Surfaces (cli, mcpserver and jsonapi) import this
// package; it imports no surface.
package workspace

import (
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/profile"
)

// Request is one command to run, as a surface understood it.
type Request struct {
	Argv    []string
	Flags   policy.Request   // what the command line asks for
	Default policy.Persona   // the surface's default: agent for run, human for shell
	Agent   string           // name of the agent that Argv has to start, or nothing is started; "": Argv starts what it starts
	For     string           // name of an agent that the workspace is for whatever Argv is: it gets its home and its hosts; "" for none
	Preset  string           // "" for none
	Profile string           // the name of a saved workspace, "" for none; not with Preset
	Draft   *profile.Profile // instead of Profile: one that is not saved
	// Ceilings, unless nil, are those that a surface has read: no other file and no
	// variable is asked. Else Permissions is the ceiling's file, and "" means
	// CARREL_PERMISSIONS or none.
	Ceilings    []config.CeilingText
	Permissions string
	// Engine is what the command line wants to make the walls, one of
	// config.Engines; "" leaves it to the configuration.
	Engine string
	// Size is that of the virtual display, see policy.ParseSize; "" leaves it to the
	// configuration.
	Size string
	// PromptsOff starts the agent with its own questions off, whatever the
	// configuration says. It is refused for a command that is none.
	PromptsOff bool
	Environ    []string // the outside environment
	Cwd        string   // "" means the process's
	Version    string   // of this program, for generated files

	// Stays says that this is for [Prepared.Serve]: Argv names the agent that it is for,
	// or nothing.
	Stays bool

	// Exact makes Flags the whole policy: see there. nil for everybody else.
	Exact *Exact
}

// EnvInside is set to 1 for every command inside.
const EnvInside = "CARREL"
