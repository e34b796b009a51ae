package cli

import (
	"errors"
	"fmt"

	"carrel/internal/inside"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// stepCommand is for programs inside: an agent's hooks.
func (a *app) stepCommand() *cobra.Command {
	var label string
	begin := &cobra.Command{
		Use:     "begin [--label TEXT]",
		Short:   "A step begins here",
		Long:    "Ends the open step, if there is one; what is changed from now on is a new one.\n" + plainStatusHelp,
		Example: "  carrel step begin --label 'edit src/main.go'",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.step(true, label) },
	}
	begin.Flags().StringVar(&label, "label", "", "what `carrel history` shows for it")
	end := &cobra.Command{
		Use:     "end",
		Short:   "The step ends here",
		Long:    "Ends the step that began with `carrel step begin`.\n" + plainStatusHelp,
		Example: "  carrel step end",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.step(false, "") },
	}
	return explainFlagErrors(group(&cobra.Command{
		Use:   "step",
		Short: "Inside a workspace: say where a step of the history begins and ends",
		Long: `Says, from inside a workspace, where a step of its history begins and ends, as
an agent's hooks do around each tool (` + "`carrel hooks`" + `). It is only a mark: without
it a run is one step, or the bursts of an interactive agent are. Steps that
overlap are one.
` + plainStatusHelp,
		Example: `  carrel step begin --label 'npm install'
  carrel step end`,
	}, begin, end))
}

func (a *app) step(begin bool, label string) error {
	if a.getenv(workspace.EnvInside) != "1" {
		return errors.New("there is no workspace around this: `carrel step` is for programs inside one")
	}
	if err := inside.Step(begin, label); err != nil {
		return fmt.Errorf("marking a step: %w", err)
	}
	return nil
}
