package gui

import (
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Config is what a desktop needs of the workspace that it is for.
type Config struct {
	Dirs    []string    // where its directory may be, the best place first
	Size    policy.Size // of the screen when a server starts
	GL      bool        // the server has OpenGL
	Watch   bool        // people may watch with VNC as long as the desktop lasts
	Runtime string      // the runtime directory of programs inside
	Keymaps string      // a directory for the compiled keyboard map; "" compiles it at each start

	// Environ is the environment of programs inside, asked once they can be started.
	Environ func() []string
	// Raise raises walls of their own around the display's programs: of the host they
	// see what the policy grants, and the mounts.
	Raise func(pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Walls, error)
	// Below gives the processes of the workspace of a stage.
	Below func(stage int) []int
	Note  func(format string, args ...any)
}
