package taskcmd

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/taskop"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// mergeFlags are those of task merge and task review.
type mergeFlags struct {
	request     taskop.MergeRequest
	yes, asJSON bool
}

func (f *mergeFlags) register(cmd *cobra.Command) {
	r := &f.request
	cmd.Flags().StringVar(&r.Into, "into", "", "the branch (default: the one that the task began on)")
	cmd.Flags().StringVar(&r.Commit, "commit", "", "make a commit with this message of what is in none yet")
	cmd.Flags().StringVar(&r.Message, "message", "", "the message of the merge, or of the one commit")
	cmd.Flags().StringVar(&r.Check, "check", "", "a shell command that has to succeed in the task's worktree first, behind its walls")
	cmd.Flags().BoolVar(&r.Keep, "keep", false, "let the task go on afterwards")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print what was done as JSON")
}

func mergeCommand(env *cmdenv.Env) *cobra.Command {
	f := new(mergeFlags)
	cmd := &cobra.Command{
		Use:   "merge NAME [flags]",
		Short: "Take a task's work over into its branch, and end the task",
		Long: `Merges the task's branch into the one that it began on, or another. All is looked at
first: whether something is in no commit, whether the two fit together, the check, and
you: a person approves at a terminal, or says --yes in a script of theirs. Git merges
behind walls then, where that branch is checked out, without hooks and as one step
that carrel undo takes back there. The task's worktree and branch go, unless --keep.
` + cmdline.PlainStatus,
		Example: `  carrel task merge fix-login
  carrel task merge fix-login --check 'make test' --squash --message 'Fix it'
  carrel task merge fix-login --rebase --keep --yes`,
		Args: cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.request.Name = args[0]
			f.request.Approve = func(p *taskop.Preview) ([]taskop.Part, error) { return nil, f.approve(env, p) }
			return f.merge(env, cmd)
		},
		ValidArgsFunction: completeTask(env),
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.request.Squash, "squash", false, "as one commit")
	cmd.Flags().BoolVar(&f.request.Rebase, "rebase", false, "put the task's commits on top of the branch")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "you approve, in a script of yours; refused where an agent has started it")
	cmd.MarkFlagsMutuallyExclusive("squash", "rebase")
	return cmd
}

func reviewCommand(env *cmdenv.Env) *cobra.Command {
	f := new(mergeFlags)
	cmd := &cobra.Command{
		Use:   "review NAME [flags]",
		Short: "Go through a task's work piece by piece, and take over what is good",
		Long: `Shows each piece of the task's work at your terminal and asks: y takes it over, n leaves
it, a and d say the same for the rest of the file, q stops and changes nothing. If all of
it is taken, the task is merged as carrel task merge does it; else the pieces become one
commit, and the task goes on with what is left.
` + cmdline.PlainStatus,
		Example: "  carrel task review fix-login\n  carrel task review fix-login --check 'make test' --message 'Fix it'",
		Args:    cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !show.IsTerminal(env.Out) || !isTerminal(os.Stdin) {
				return fmt.Errorf("a review needs a person at a terminal\nhint: `carrel task diff %s` shows the work", args[0])
			}
			f.request.Name = args[0]
			f.request.Approve = func(p *taskop.Preview) ([]taskop.Part, error) { return f.choose(env, p) }
			return f.merge(env, cmd)
		},
		ValidArgsFunction: completeTask(env),
	}
	f.register(cmd)
	return cmd
}

func (f *mergeFlags) merge(env *cmdenv.Env, cmd *cobra.Command) error {
	t, err := operator(env)
	if err != nil {
		return err
	}
	done, err := t.Merge(cmd.Context(), &f.request)
	if done == nil {
		return err
	}
	if f.asJSON {
		return errors.Join(show.JSON(env.Out, done), err)
	}
	fmt.Fprintf(env.Out, "merged %s into %s: %.12s to %.12s\n", done.Name, done.Branch, done.Before, done.After)
	if done.Path != "" && len(done.Steps) > 0 {
		fmt.Fprintf(env.Out, "  in %s, step %d: `carrel undo` there takes it back\n",
			show.OneLine(show.QuoteIf(string(done.Path))), done.Steps[len(done.Steps)-1])
	}
	if done.Kept {
		fmt.Fprintf(env.Out, "  the task goes on\n")
	} else {
		fmt.Fprintf(env.Out, "  the task is over; its branch was at %s\n", done.Head)
	}
	return err
}

// person refuses what an agent has started: its word is not its user's.
func person(env *cmdenv.Env, what string) error {
	c := env.Caller()
	if why := c.ByAgent(); why != nil {
		return why
	}
	if c.Inside() {
		return &api.Denial{Code: api.CodeInside, Operation: what, Message: "a program inside a workspace cannot approve a merge",
			Rule: "approval", Source: "built in",
			Hint: "the person it works for types `carrel " + what + "` outside"}
	}
	return nil
}

// approve asks the person whether to merge.
func (f *mergeFlags) approve(env *cmdenv.Env, p *taskop.Preview) error {
	if err := person(env, "task merge"); err != nil {
		return err
	}
	if f.yes {
		return nil
	}
	question := fmt.Sprintf("%s\n%s of %s go into %s. Type %s to merge: ", show.Escape(strings.TrimRight(p.Stat, "\n")),
		show.Count(p.Commits, "commit", "commits"), p.From, show.OneLine(p.Into), p.Name)
	typed, err := supervisor.Confirm(question, p.Name)
	if err == nil && !typed {
		err = errors.New("nothing was merged: another word was typed")
	}
	return err
}

// choose goes through the pieces with the person.
func (f *mergeFlags) choose(env *cmdenv.Env, p *taskop.Preview) ([]taskop.Part, error) {
	if err := person(env, "task review"); err != nil {
		return nil, err
	}
	in := bufio.NewReader(os.Stdin)
	chosen, err := askParts(p.Parts, func(i int, part taskop.Part) (string, error) {
		fmt.Fprintf(env.Out, "%s", paintDiff(env, part.Head+part.Text))
		fmt.Fprintf(env.Out, "take it over (%d of %d)? [y,n,a,d,q] ", i+1, len(p.Parts))
		line, err := in.ReadString('\n')
		return strings.TrimSpace(line), err
	})
	switch {
	case err != nil:
		return nil, err
	case len(chosen) == 0:
		return nil, errors.New("nothing was chosen, and nothing was merged")
	case len(chosen) == len(p.Parts):
		return nil, nil
	}
	return chosen, nil
}

// askParts asks for each part, or for what is left of its file at once.
func askParts(all []taskop.Part, ask func(i int, part taskop.Part) (string, error)) (chosen []taskop.Part, err error) {
	decided, file := "", ""
	for i := 0; i < len(all); i++ {
		part := all[i]
		if part.File != file {
			decided, file = "", part.File
		}
		answer := decided
		for !slices.Contains([]string{"y", "n", "a", "d"}, answer) {
			if answer, err = ask(i, part); err != nil {
				return nil, fmt.Errorf("the review was broken off, and nothing was merged: %w", err)
			}
			if answer == "q" {
				return nil, errors.New("the review was stopped, and nothing was merged")
			}
		}
		if answer == "a" || answer == "d" {
			decided = answer
		}
		if answer == "y" || answer == "a" {
			chosen = append(chosen, part)
		}
	}
	return chosen, nil
}
