// Package doctorcmd holds the commands about this machine and this program: doctor, which
// prints what package doctor has found out about walls here and what to do about the rest,
// and version.
package doctorcmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "doctor", Make: doctorCommand},
		{Name: "version", Make: versionCommand},
	}
}
