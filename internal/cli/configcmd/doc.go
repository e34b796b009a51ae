// Package configcmd holds the commands about what is asked for before anything runs: config,
// preset, profile and permissions for the files that say it, and explain for what they come to.
// import takes over the policy files of other tools.
//
// A command reads a file through packages config, profile and foreign, or has a policy
// decided as carrel run does, and prints the result. What a file may say is known to those
// packages, and what follows from it to packages policy and explain.
package configcmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "import", Make: importCommand},
		{Name: "explain", Make: explainCommand},
		{Name: "config", Make: configCommand},
		{Name: "preset", Make: presetCommand},
		{Name: "profile", Make: profileCommand},
		{Name: "permissions", Make: permissionsCommand},
	}
}
