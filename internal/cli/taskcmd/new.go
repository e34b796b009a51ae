package taskcmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/op/taskop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// maxPromptFile bounds a prompt that is read from a file, in bytes.
const maxPromptFile = 1 << 20

// newFlags are those of task new.
type newFlags struct {
	policyflags.Flags
	request        taskop.NewRequest
	profile        string
	promptFile     string
	attach, orOpen bool
}

func newCommand(env *cmdenv.Env) *cobra.Command {
	f := new(newFlags)
	cmd := &cobra.Command{
		Use:   "new NAME [flags] [-- COMMAND [ARG...]]",
		Short: "Begin a task: a branch, a worktree, a workspace and its agent",
		Long: `Makes the branch task/NAME where you are, a worktree of it, and a workspace with that
as its project. The agent works in a terminal there, with the prompt; COMMAND takes its
place where one is given, and {prompt} in a word of it stands for the prompt. Without
both nothing is started: carrel shell NAME opens a shell there.

Files that git does not have are not in a new worktree. --include takes them over from
yours; --with-changes takes over what is in no commit yet. All flags of carrel start say
what the workspace may do.
` + cmdline.PlainStatus,
		Example: `  carrel task new fix-login --agent claude --prompt 'Fix the login test.'
  carrel task new docs --agent codex --prompt-file docs.md --base main
  carrel task new ui --include node_modules --publish 5173 --agent claude
  carrel task new quick -- claude -p '{prompt}' --prompt 'Say what this is.'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) == 0 || at != 1 && len(args) > 1 || at == 0 {
				return fmt.Errorf("%q takes the name of the task, and a command behind --, got %q\nhint: %s", cmd.CommandPath(), args,
					cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(env, cmd, args) },
	}
	f.Register(cmd.Flags())
	f.RegisterNoPrompts(cmd.Flags())
	r := &f.request
	own := cmd.Flags()
	own.StringVar(&f.profile, "profile", "", "start its workspace from a profile (see carrel profile list)")
	own.StringVar(&r.Purpose, "purpose", "", "say what it is for")
	own.StringVar(&r.Agent, "agent", "", "the agent that works on it: claude, codex, gemini, ...")
	own.StringVar(&r.Base, "base", "", "begin at this branch or commit (default: where you are)")
	own.StringVar(&r.Prompt, "prompt", "", "what it is to do")
	own.StringVar(&f.promptFile, "prompt-file", "", "a file with what it is to do; - reads standard input")
	own.StringArrayVar(&r.Include, "include", nil, "take over a file or directory that git does not have; patterns as *.local work")
	own.BoolVar(&r.WithChanges, "with-changes", false, "take over what is in no commit here")
	own.Bool("coordinator", false, "let its agent give tasks to others, merge what they do into its own branch, and drop them")
	own.BoolVar(&f.orOpen, "or-open", false, "go on with the task where there is one of that name")
	own.BoolVar(&f.attach, "attach", false, "sit down at its agent's terminal at once")
	own.Lookup("json").Usage = "print the task as JSON"
	cmd.MarkFlagsMutuallyExclusive("prompt", "prompt-file")
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

func (f *newFlags) run(env *cmdenv.Env, cmd *cobra.Command, args []string) error {
	r := f.request
	r.Name, r.Argv = args[0], args[1:]
	_, err := f.Request(cmd)
	if err != nil { // a mistake in a flag is told before anything is made
		return err
	}
	if f.promptFile != "" {
		text, err := readPrompt(env, f.promptFile)
		if err != nil {
			return err
		}
		r.Prompt = text
	}
	if r.Words, err = policyflags.Words(cmd.Flags(), ownFlags); err != nil {
		return err
	}
	t, err := operatorUnder(env, f.Permissions)
	if err != nil {
		return err
	}
	made, err := t.New(cmd.Context(), &r)
	if exists := (*api.Denial)(nil); f.orOpen && errors.As(err, &exists) && exists.Code == api.CodeExists {
		if _, e := t.Status(cmd.Context(), r.Name); e == nil {
			return openTask(cmd.Context(), env, r.Name, f.JSON)
		}
	}
	if err != nil {
		return err
	}
	if f.JSON {
		return show.JSON(env.Out, made)
	}
	fmt.Fprintf(env.Out, "began %s on %s in %s\n", made.Name, made.Branch, show.OneLine(show.QuoteIf(string(made.Path))))
	if f.attach && made.App != "" && show.IsTerminal(env.Out) && isTerminal(os.Stdin) {
		return sitDown(cmd.Context(), env, made)
	}
	return nil
}

func readPrompt(env *cmdenv.Env, name string) (string, error) {
	if name == "-" {
		return cmdenv.ReadText(env.In)
	}
	st, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("--prompt-file: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxPromptFile {
		return "", fmt.Errorf("--prompt-file %q: want a file of at most %d bytes", name, maxPromptFile)
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// ownFlags are those of task new that carrel start does not have, or that this command says itself.
var ownFlags = []string{"agent", "purpose", "base", "prompt", "prompt-file", "include", "with-changes", "attach", "or-open", "json",
	"help", "permissions"}

// printTask shows one task in full.
func printTask(env *cmdenv.Env, one *api.Task) {
	t := &show.Table{}
	row := func(name, value string) {
		if value != "" {
			t.Row(name, value)
		}
	}
	state := one.State
	if one.Exit != nil {
		state += fmt.Sprintf(" (exit %d)", *one.Exit)
	}
	if one.Pending > 0 {
		state += fmt.Sprintf(", %s", show.Count(one.Pending, "approval waits", "approvals wait"))
	}
	row("task", one.Name)
	row("state", state)
	row("branch", one.Branch)
	row("into", one.Into)
	row("commits", fmt.Sprint(one.Commits))
	row("changed", sizeText(one.Diff))
	row("worktree", show.QuoteIf(string(one.Path)))
	row("workspace", one.Workspace)
	row("agent", strings.TrimSpace(one.Agent+" "+one.App))
	row("asked for by", one.Parent)
	row("began", one.Created.Format("2006-01-02 15:04:05"))
	t.Print(env.Out, "")
}

func sizeText(d *api.TaskDiff) string {
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("%s, +%d -%d", show.Count(d.Files, "file", "files"), d.Added, d.Removed)
	if d.Unsaved {
		text += ", some in no commit"
	}
	return text
}
