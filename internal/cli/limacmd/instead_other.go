//go:build !linux

package limacmd

import (
	"carrel/internal/cli/cmdenv"
	"carrel/internal/config"
	"carrel/internal/machine/linuxcarrel"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
)

// Instead does a command line in place of this program, where walls are needed and the
// configuration names the machine that has them.
func Instead(env *cmdenv.Env, args []string) (done bool, err error) {
	if linuxcarrel.Here(args) {
		return false, nil
	}
	opts := env.ConfigOptions()
	loaded, err := config.Load(opts)
	if err != nil || loaded.Backend() != string(policy.BackendLima) { // the command tells of a mistake itself
		return false, nil
	}
	return true, inside(&cobra.Command{}, env, loaded, opts, args)
}
