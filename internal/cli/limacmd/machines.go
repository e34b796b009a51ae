package limacmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/lima"
	"carrel/internal/machine"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

// machineJSON is one machine of a list.
type machineJSON struct {
	Name      string   `json:"name"`
	Status    string   `json:"status"`
	Workspace string   `json:"workspace"`
	Project   api.Text `json:"project,omitempty"`
	Template  string   `json:"template"`
}

// projects are the directories of projects that something is kept of, by their ids.
func projects(env *cmdenv.Env) (map[string]statedir.Kept, error) {
	path := statedir.Path(env.Getenv)
	if path == "" {
		return nil, statedir.ErrNone
	}
	list, err := statedir.At(path).Kept()
	known := make(map[string]statedir.Kept, len(list))
	for _, k := range list {
		known[k.ID] = k
	}
	return known, err
}

// projectOf is the directory of the project that a machine was made for, "" where that is not known.
func projectOf(m lima.Machine, known map[string]statedir.Kept) string {
	return cmp.Or(m.Project, known[m.Workspace].Path)
}

// needed says whether the project of a machine is there. Of one that is mounted nothing need be
// kept here: the machine keeps its history.
func needed(m lima.Machine, known map[string]statedir.Kept) bool {
	if m.Project != "" {
		_, err := os.Lstat(m.Project)
		return !errors.Is(err, fs.ErrNotExist)
	}
	k, ok := known[m.Workspace]
	return ok && !k.Gone
}

func listCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list [flags]",
		Short:   "List the machines that Carrel made",
		Long:    "Lists the machines that Carrel made, with the projects that they belong to.\n" + cmdline.PlainStatus,
		Example: "  carrel lima list\n  carrel lima list --json",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			p, err := find(ctx, env, "lima list")
			if err != nil {
				return err
			}
			list, err := p.List(ctx)
			if err != nil {
				return err
			}
			known, err := projects(env)
			if err != nil {
				return err
			}
			return printMachines(env, list, known, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func printMachines(env *cmdenv.Env, list []lima.Machine, known map[string]statedir.Kept, asJSON bool) error {
	if asJSON {
		out := []machineJSON{}
		for _, m := range list {
			out = append(out, machineJSON{m.Name, m.Status, m.Workspace, api.Text(projectOf(m, known)), m.Mark})
		}
		return show.JSON(env.Out, out)
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "there is no machine of Carrel's; carrel run --backend lima makes one")
		return nil
	}
	t := &show.Table{}
	t.Row("MACHINE", "STATUS", "PROJECT")
	for _, m := range list {
		t.Row(show.OneLine(m.Name), show.OneLine(m.Status), show.Dash(show.OneLine(projectOf(m, known))))
	}
	t.Print(env.Out, "")
	return nil
}

func shellCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell [flags] [-- COMMAND [ARG...]]",
		Short: "Run a shell, or a command, in the machine of this project",
		Long: `Runs a shell or COMMAND in the machine of this project, as the user without rights as whom
all commands run there. The machine has to run. The project is there only while a run or a
workspace with --backend lima is; what is started here ends when that one does.
` + cmdline.CommandStatus,
		Example: "  carrel lima shell\n  carrel lima shell -- uname -a",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			p, err := find(ctx, env, "lima shell")
			if err != nil {
				return err
			}
			m, err := p.Find(ctx, statedir.ProjectID(env.ConfigOptions().Project))
			if err != nil {
				return err
			}
			if m == nil || m.Status != "Running" {
				return &advice.Error{Err: errors.New("the machine of this project is not there, or does not run"),
					Hint: "carrel run --backend lima -- COMMAND makes and starts it"}
			}
			if len(args) == 0 {
				args = []string{"/bin/sh"}
			}
			c := p.Command(ctx, m, "/", args)
			c.Stdin, c.Stdout, c.Stderr = env.In, env.Out, env.Err
			err = c.Run()
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
				env.Status = exit.ExitCode()
				return nil
			}
			return err
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func recreateCommand(env *cmdenv.Env) *cobra.Command {
	var network string
	var within bool
	cmd := &cobra.Command{
		Use:   "recreate [flags]",
		Short: "Make the machine of this project anew",
		Long: `Takes the machine of this project away, and makes it anew of your configuration as it is
now. What is in the machine and not in the project is lost. --inside is for the machine of
carrel lima carrel, with the history that it keeps.
` + cmdline.PlainStatus,
		Example: "  carrel lima recreate\n  carrel lima recreate --network open\n  carrel lima recreate --inside",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			p, err := find(ctx, env, "lima recreate")
			if err != nil {
				return err
			}
			if within {
				m, err := recreateInside(ctx, env, p)
				if err == nil {
					fmt.Fprintln(env.Out, show.OneLine(m.Name))
				}
				return err
			}
			src := policy.Source{Layer: policy.LayerCommandLine, Text: "carrel lima recreate"}
			flags := policy.Request{Backend: &policy.Value[policy.Backend]{V: policy.BackendLima, Source: src}}
			if network != "" {
				flags.Network = &policy.Value[policy.NetworkMode]{V: policy.NetworkMode(network), Source: src}
			}
			d, err := decide.Prepare(decide.Request{Argv: []string{"/bin/sh"}, Flags: flags, Default: policy.Agent, Environ: env.Environ})
			if err != nil {
				return err
			}
			if err := d.PreviewEngine(); err != nil {
				return err
			}
			state := statedir.Path(env.Getenv)
			if state == "" {
				return statedir.ErrNone
			}
			made, ok := d.Machine.Backend.(*machine.Lima)
			if !ok {
				return fmt.Errorf("the machine of this project is %s's", d.Machine.Version())
			}
			alone, err := d.Machine.Take(statedir.At(state).Project(d.Place.Project))
			if err != nil {
				return err
			}
			defer alone.Close()
			m, err := made.Program.Recreate(ctx, made.Spec)
			if err == nil {
				fmt.Fprintln(env.Out, show.OneLine(m.Name))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&within, "inside", false, "the machine where Carrel works, of carrel lima carrel")
	cmd.Flags().StringVar(&network, "network", "", "as of carrel run; closed, local and filtered are one kind of machine, open another")
	cmdline.OneOf(cmd, "inside", "network")
	_ = cmd.RegisterFlagCompletionFunc("network", cobra.FixedCompletions([]string{"closed", "local", "filtered", "open"}, cobra.ShellCompDirectiveNoFileComp)) // it is there
	return cmd
}

func pruneCommand(env *cmdenv.Env) *cobra.Command {
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove the machines of projects that are gone",
		Long: `Removes the machines whose projects are not there any more, or of which nothing is kept.
Machines that Carrel has not made stay.
` + cmdline.PlainStatus,
		Example: "  carrel lima prune --dry-run\n  carrel lima prune",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			p, err := find(ctx, env, "lima prune")
			if err != nil {
				return err
			}
			known, err := projects(env)
			if err != nil {
				return err
			}
			kept := func(m lima.Machine) bool { return needed(m, known) }
			if !dryRun {
				gone, err := p.Prune(ctx, kept)
				return errors.Join(err, printPruned(env, show.NotNil(gone), false, asJSON))
			}
			list, err := p.List(ctx)
			if err != nil {
				return err
			}
			gone := []string{}
			for _, m := range list {
				if !kept(m) {
					gone = append(gone, m.Name)
				}
			}
			return printPruned(env, gone, true, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "d", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print their names as JSON, one list")
	return cmd
}

func printPruned(env *cmdenv.Env, out []string, dry, asJSON bool) error {
	if asJSON {
		return show.JSON(env.Out, out)
	}
	if len(out) == 0 {
		fmt.Fprintln(env.Out, "there is nothing to remove")
	}
	word := "removed"
	if dry {
		word = "would remove"
	}
	for _, p := range out {
		fmt.Fprintf(env.Out, "%s machine %s\n", word, show.OneLine(p))
	}
	return nil
}
