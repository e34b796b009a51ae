package namedcmd

import (
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/inside"

	"github.com/spf13/cobra"
)

// connectCommand is for programs inside that speak to a host by a pair of pipes.
func connectCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "connect HOST PORT",
		Short: "Inside a workspace: join standard input and output with a host",
		Long: `Connects to a host through the proxy of a filtered network and joins it with
standard input and output, as ssh wants of a ProxyCommand. Listed names on listed
ports are reached without it; it is for hosts that a person is asked about, for
addresses, and for the reason of a refusal.
` + cmdline.PlainStatus,
		Example: `  ssh -o 'ProxyCommand carrel connect %h %p' git@github.com
  carrel connect example.com 443`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fmt.Errorf("%q takes a host and a port, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			return inside.Connect(args[0], args[1], env.In, env.Out)
		},
	}
	return cmd
}
