package doctorcmd

import (
	"fmt"
	"runtime"

	"carrel/internal/cli/cmdenv"

	"github.com/spf13/cobra"
)

func versionCommand(env *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the Go release and the platform",
		Long: `Prints the version, the Go release that built it and the platform.

Exit status:
  0    always
  125  wrong usage`,
		Example: "  carrel version",
		Args:    cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(env.Out, "carrel %s, %s, %s/%s\n", cmdenv.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
