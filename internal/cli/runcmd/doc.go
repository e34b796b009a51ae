// Package runcmd holds the commands that start a program: run, shell and the names of agents in
// walls of their own, sandbox under one policy file; exec, launch, terminal and attach in a
// workspace that stays.
//
// A command turns flags into a request, hands its streams over, tells afterwards what was
// refused and what changed, and ends as the program did. Packages workspace, lowlevel and
// attach do the rest.
package runcmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "run", Make: runCommand},
		{Name: "shell", Make: shellCommand},
		{Name: "sandbox", Make: sandboxCommand},
		{Name: "exec", Make: execCommand},
		{Name: "launch", Make: launchCommand},
		{Name: "terminal", Make: terminalCommand},
		{Name: "attach", Make: attachCommand},
	}
}
