package historycmd

import (
	"errors"
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/inside"
	"carrel/internal/inside/mark"

	"github.com/spf13/cobra"
)

// stepCommand is for programs inside: an agent's hooks.
func stepCommand(env *cmdenv.Env) *cobra.Command {
	var f markFlags
	begin := &cobra.Command{
		Use:     "begin [--label TEXT]",
		Short:   "A step begins here",
		Long:    "Ends the open step, if there is one; what is changed from now on is a new one.\n" + cmdline.PlainStatus,
		Example: "  carrel step begin --label 'edit src/main.go'",
		Args:    cmdline.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return markStep(env, inside.OpStepBegin, &f) },
	}
	begin.Flags().StringVar(&f.label, "label", "", "what `carrel history` shows for it")
	f.registerEvent(begin)
	end := &cobra.Command{
		Use:     "end",
		Short:   "The step ends here",
		Long:    "Ends the step that began with `carrel step begin`.\n" + cmdline.PlainStatus,
		Example: "  carrel step end",
		Args:    cmdline.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return markStep(env, inside.OpStepEnd, &f) },
	}
	end.Flags().BoolVar(&f.all, "all", false, "whatever step is open")
	f.registerEvent(end)
	note := &cobra.Command{
		Use:   "note --event",
		Short: "An agent's hook says how the agent stands",
		Long: `Reads the event of an agent's hook and says whether the agent is working, waits for a
person or is done. No step begins or ends.
` + cmdline.PlainStatus,
		Example: "  carrel step note --event <event.json",
		Args:    cmdline.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return markStep(env, inside.OpStepNote, &f) },
	}
	f.registerEvent(note)
	return cmdline.Group(&cobra.Command{
		Use:   "step",
		Short: "Inside a workspace: say where a step of the history begins and ends",
		Long: `Says, from inside a workspace, where a step of its history begins and ends, as
an agent's hooks do around each tool (` + "`carrel hooks`" + `). It is only a mark: without
it a run is one step, or the bursts of an interactive agent are. Steps that
overlap are one.
` + cmdline.PlainStatus,
		Example: `  carrel step begin --label 'npm install'
  carrel step end`,
	}, begin, end, note)
}

type markFlags struct {
	label      string
	all, event bool
}

func (f *markFlags) registerEvent(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.event, "event", false, "standard input is the event of an agent's hook, which says more")
}

func markStep(env *cmdenv.Env, op string, f *markFlags) error {
	if !env.Caller().Inside() {
		return errors.New("there is no workspace around this: `carrel step` is for programs inside one")
	}
	m := inside.Mark{Label: f.label, All: f.all}
	if f.event {
		mark.Describe(&m, env.In)
	}
	if err := inside.Step(op, m); err != nil {
		return fmt.Errorf("marking a step: %w", err)
	}
	return nil
}
