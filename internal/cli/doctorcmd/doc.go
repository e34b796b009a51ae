// Package doctorcmd holds the commands about this machine and this program: doctor, which prints
// what package doctor has found out about walls here and what to do about the rest; projects and
// purge, which list and remove what is kept of projects, and version.
package doctorcmd

import (
	"slices"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/containercmd"
	"carrel/internal/cli/limacmd"
	"carrel/internal/cli/vmcmd"
)

// Commands are the commands of this package, and those about the container engines and
// virtual machines of this one.
func Commands() []cmdenv.Command {
	return append([]cmdenv.Command{
		{Name: "doctor", Make: doctorCommand},
		{Name: "projects", Make: projectsCommand},
		{Name: "purge", Make: purgeCommand},
		{Name: "version", Make: versionCommand},
	}, slices.Concat(containercmd.Commands(), limacmd.Commands(), vmcmd.Commands())...)
}
