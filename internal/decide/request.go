// Package decide makes of a [Request] a [Decision]: what one command, or one workspace that
// stays, may do, by which engine its walls are made, and the plan that they are made from.
//
// It gathers the configuration, the profile, the agent and what the host shows, and has package
// policy decide. It checks that what was decided can be held here, and compiles the plan. Each
// of these stages is a type that embeds the one before it, from what is asked to the Decision:
// see stages.go.
//
// Nothing is started, and but for our own directories nothing is written. What a decision
// says about a path is asked here, too: by `carrel explain`, and by an undo.
//
// It holds no rule of its own: what is allowed is package policy's word, how it is held is
// the mechanisms'. It imports no surface, and not package session, which starts what was
// decided.
package decide

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
	// Restores asks for the policy that an undo is held to: nothing starts, and whether a
	// ceiling has expired is looked at by package projecthistory.
	Restores bool
	// Engine is what the command line wants to make the walls, one of
	// config.Engines; "" leaves it to the configuration.
	Engine string
	// Image is the container's that the command line wants; "" leaves it to the
	// configuration.
	Image string
	// Size is that of the virtual display, see policy.ParseSize; "" leaves it to the
	// configuration.
	Size string
	// VM is what the command line wants machines of backend vm to be made of. It is refused with
	// another backend.
	VM config.VM
	// PromptsOff starts the agent with its own questions off, whatever the
	// configuration says. It is refused for a command that is none.
	PromptsOff bool
	Environ    []string // the outside environment
	Cwd        string   // "" means Here, or the directory of a profile
	Here       string   // where who asks is; "" means the process's directory
	Version    string   // of this program, for generated files

	// Stays says that this is for a workspace that stays: Argv names the agent that it is for,
	// or nothing. Shell says that Argv begins with the shell of who asks: a machine has its own.
	Stays, Shell bool

	// Exact makes Flags the whole policy: see there. nil for everybody else.
	Exact *Exact
}

// EnvInside is set to 1 for every command inside.
const EnvInside = "CARREL"
