package reviewcmd

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/reviewop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// maxListed bounds the lines of one kind; --json names all.
const maxListed = 50

type applyFlags struct {
	request     reviewop.ApplyRequest
	ask, asJSON bool
}

func applyCommand(env *cmdenv.Env) *cobra.Command {
	f := new(applyFlags)
	cmd := &cobra.Command{
		Use:   "apply [ID] [PATH...] [flags]",
		Short: "Make the changes of a layer in the project, as one step",
		Long: `Makes what a layer changes, the newest without ID, in the project: all of it, or PATHs and
what is in them. It goes through the project's policy as one step, which carrel undo
takes back; what the policy refuses is named and left out. A layer of which nothing is
left is forgotten.

Nothing at all is changed where others have changed one of the paths since the layer
began: all such paths are listed, and --skip-conflicts or --force say what becomes of
them.

Exit status:
  0    done
  1    some paths were not applied; they are named
  125  carrel refused or went wrong`,
		Example: `  carrel review apply
  carrel review apply 1f2e3d src docs/page.md
  carrel review apply --ask
  carrel review apply --skip-conflicts`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.request.ID, f.request.Paths = split(args)
			return f.apply(env, cmd)
		},
		ValidArgsFunction: completeLayer(env),
	}
	cmd.Flags().BoolVar(&f.ask, "ask", false, "ask about each path at the terminal")
	cmd.Flags().BoolVar(&f.request.Skip, "skip-conflicts", false, "leave out what others have changed")
	cmd.Flags().BoolVar(&f.request.Force, "force", false, "replace what others have changed; an undo brings it back")
	cmd.Flags().BoolVarP(&f.request.Dry, "dry-run", "d", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print what was done as JSON")
	cmdline.OneOf(cmd, "skip-conflicts", "force")
	return cmd
}

func (f *applyFlags) apply(env *cmdenv.Env, cmd *cobra.Command) error {
	r, err := reviews(env)
	if err != nil {
		return err
	}
	if f.ask {
		if !show.IsTerminal(env.Out) || !term.IsTerminal(int(os.Stdin.Fd())) {
			return errors.New("--ask needs a person at a terminal\nhint: name the paths that you want: carrel review apply ID PATH")
		}
		f.request.Choose = asking(env, bufio.NewReader(os.Stdin))
	}
	done, err := r.Apply(cmd.Context(), &f.request)
	if done == nil {
		return err
	}
	if f.asJSON {
		err = errors.Join(show.JSON(env.Out, done), err)
	} else if err == nil {
		tellApplied(env, done)
	}
	if err == nil && len(done.Conflicts)+len(done.Failed)+len(done.Refused) > 0 {
		env.Status = 1
	}
	return err
}

// asking asks the person about each change. a and d answer for all that follow.
func asking(env *cmdenv.Env, in *bufio.Reader) func(*reviewop.Change) (bool, error) {
	decided := ""
	return func(c *reviewop.Change) (bool, error) {
		answer := decided
		for !strings.Contains("ynad", answer) || len(answer) != 1 {
			fmt.Fprintf(env.Out, "%s %s: apply it? [y,n,a,d,q] ", c.What, show.OneLine(show.QuoteIf(here(env, c))))
			line, err := in.ReadString('\n')
			if err != nil {
				return false, fmt.Errorf("the review was broken off, and nothing was applied: %w", err)
			}
			if answer = strings.TrimSpace(line); answer == "q" {
				return false, errors.New("the review was stopped, and nothing was applied")
			}
		}
		if answer == "a" || answer == "d" {
			decided = answer
		}
		return answer == "y" || answer == "a", nil
	}
}

func tellApplied(env *cmdenv.Env, done *reviewop.Applied) {
	list := func(what string, n int, line func(int) string) {
		for i := range min(n, maxListed) {
			fmt.Fprintf(env.Out, "%s: %s\n", what, show.OneLine(line(i)))
		}
		if n > maxListed {
			fmt.Fprintf(env.Out, "%s: %d more; --json names them all\n", what, n-maxListed)
		}
	}
	change := func(all []reviewop.Change, why func(*reviewop.Change) string) func(int) string {
		return func(i int) string { return show.QuoteIf(here(env, &all[i])) + ": " + why(&all[i]) }
	}
	list("conflict", len(done.Conflicts), change(done.Conflicts, func(c *reviewop.Change) string { return c.Conflict }))
	list("left out", len(done.Refused), change(done.Refused, func(c *reviewop.Change) string { return c.Refused }))
	list("not applied", len(done.Failed), func(i int) string {
		return show.QuoteIf(here(env, &reviewop.Change{Path: done.Failed[i].Path})) + ": " + done.Failed[i].Why
	})
	if done.More > 0 {
		fmt.Fprintf(env.Out, "not applied: %d more\n", done.More)
	}
	switch n := len(done.Applied); {
	case n == 0 && len(done.Conflicts) > 0:
		fmt.Fprintf(env.Out, "nothing was applied: %s; --skip-conflicts leaves them out, --force replaces them\n",
			show.Count(len(done.Conflicts), "conflict", "conflicts"))
	case n == 0:
		fmt.Fprintln(env.Out, "there is nothing to apply")
	case done.Dry:
		list("would be "+"applied", n, change(done.Applied, func(c *reviewop.Change) string { return c.What }))
	default:
		text := fmt.Sprintf("applied %s of layer %s", show.Count(n-len(done.Failed)-done.More, "path", "paths"), done.ID)
		if len(done.Steps) > 0 {
			text += fmt.Sprintf(" as step %d: `carrel undo` takes it back", done.Steps[len(done.Steps)-1])
		}
		fmt.Fprintln(env.Out, text)
	}
	if done.Dropped {
		fmt.Fprintf(env.Out, "layer %s is forgotten: nothing of it is left\n", done.ID)
	} else if done.Left > 0 && !done.Dry && len(done.Applied) > 0 {
		fmt.Fprintf(env.Out, "layer %s has %s left\n", done.ID, show.Count(done.Left, "change", "changes"))
	}
}

func dropCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drop ID...",
		Short:   "Forget layers, and what was changed in them",
		Long:    "Removes layers for good. The project stays as it is.\n" + cmdline.PlainStatus,
		Example: "  carrel review drop 1f2e3d",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := reviews(env)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return errors.New("which layer?\nhint: `carrel review list` names them")
			}
			for _, id := range args {
				if err := r.Drop(id); err != nil {
					return err
				}
				fmt.Fprintf(env.Out, "layer %s is forgotten\n", show.OneLine(id))
			}
			return nil
		},
		ValidArgsFunction: completeLayer(env),
	}
	return cmd
}
