package doctorcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

type purgeFlags struct {
	project                string
	gone, all, dryRun, yes bool
}

func purgeCommand(env *cmdenv.Env) *cobra.Command {
	f := &purgeFlags{}
	cmd := &cobra.Command{
		Use:   "purge --project DIR|--gone|--all [flags]",
		Short: "Remove what Carrel keeps of a project, or all that it keeps",
		Long: `Removes for good what the state directory keeps: the history with all steps that can
be undone, the private copies of agents' state with their conversations, caches, and
records. Files of the project stay as they are, and so does your configuration.

--project takes a directory, or an id of carrel projects. --gone is about the projects
whose directory is not there any more. --all removes the state directory itself, with
logs and stopped workspaces, and says what else there is of Carrel.

It asks before it does so; --yes says yes. Nothing that is in use is removed.
` + cmdline.PlainStatus,
		Example: `  carrel purge --project .
  carrel purge --gone --dry-run
  carrel purge --all`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error { return purge(env, f) },
	}
	cmd.Flags().StringVar(&f.project, "project", "", "the project of this directory, or the one with this id")
	cmd.Flags().BoolVar(&f.gone, "gone", false, "all projects whose directory is gone")
	cmd.Flags().BoolVar(&f.all, "all", false, "everything")
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "d", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmdline.OneOf(cmd, "project", "gone", "all")
	cmdline.NotEmpty(cmd, "project")
	return cmd
}

func purge(env *cmdenv.Env, f *purgeFlags) error {
	if err := mayLook(env, "purge"); err != nil {
		return err
	}
	if f.project == "" && !f.gone && !f.all {
		return errors.New("want --project DIR, --gone or --all; `carrel projects` lists what is kept")
	}
	s := state(env)
	if !f.dryRun {
		s.FinishRemovals()
	}
	list, err := s.Kept()
	if err != nil {
		return err
	}
	if list, err = f.chosen(list); err != nil {
		return err
	}
	if f.all && !exists(s.Root()) || !f.all && len(list) == 0 {
		fmt.Fprintln(env.Out, "nothing is kept")
		return tellElse(env, f)
	}
	if f.dryRun {
		if err := printProjects(env, list, false); err != nil {
			return err
		}
		return tellElse(env, f)
	}
	if why := env.Caller().ByAgent(); why != nil {
		why.Operation, why.Message = "purge", "only a person or their script may remove what is kept: "+why.Subject
		why.Hint = "type `carrel purge` yourself, in a terminal of your own outside the workspace"
		return why
	}
	if !f.yes {
		if err := f.ask(list); err != nil {
			return err
		}
	}
	if f.all {
		if err := s.RemoveAll(); errors.Is(err, statedir.ErrPaused) {
			return fmt.Errorf("nothing was removed: %w\nhint: `carrel ps` names it, `carrel resume --project DIR` ends that", err)
		} else if errors.Is(err, statedir.ErrTasks) {
			return fmt.Errorf("nothing was removed: %w\nhint: `carrel task list --all` names them, `carrel task drop NAME` throws one away", err)
		} else if err != nil {
			return whoUses(env, "", err)
		}
		fmt.Fprintf(env.Out, "removed %s\n", show.OneLine(show.QuoteIf(s.Root())))
		return tellElse(env, f)
	}
	for _, p := range list {
		if err := s.Remove(p.ID); err != nil {
			return whoUses(env, p.ID, err)
		}
		fmt.Fprintf(env.Out, "removed %s of %s\n", show.Size(p.Bytes()), show.OneLine(nameOf(p)))
	}
	return nil
}

// chosen are the projects that are meant.
func (f *purgeFlags) chosen(list []statedir.Kept) ([]statedir.Kept, error) {
	if f.all {
		return list, nil
	}
	if f.gone {
		var out []statedir.Kept
		for _, p := range list {
			if p.Gone {
				out = append(out, p)
			}
		}
		return out, nil
	}
	for _, p := range list {
		if p.ID == f.project {
			return []statedir.Kept{p}, nil
		}
	}
	at, err := filepath.Abs(f.project)
	if err != nil {
		return nil, err
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		for _, p := range list {
			if p.Path == dir || sameDir(p.Path, dir) {
				return []statedir.Kept{p}, nil
			}
		}
		// A project may be around a directory, but not around a name that is none.
		if dir == filepath.Dir(dir) || !isDir(at) {
			return nil, fmt.Errorf("--project %q: nothing is kept of it\nhint: `carrel projects` lists what is kept", f.project)
		}
	}
}

// ask asks the person at the terminal.
func (f *purgeFlags) ask(list []statedir.Kept) error {
	var size int64
	names := make([]string, len(list))
	for i, p := range list {
		size += p.Bytes()
		names[i] = show.OneLine(nameOf(p))
	}
	what, word := "what is kept of "+strings.Join(names, ", "), "purge"
	if f.all {
		what = fmt.Sprintf("all that Carrel keeps, of %d projects", len(list))
	} else if len(list) == 1 {
		word = show.TypedName(cmp.Or(list[0].Path, list[0].ID))
	}
	question := "Remove %s, %s? No step of it can be undone any more. Type %s: "
	typed, err := supervisor.Confirm(fmt.Sprintf(question, what, show.Size(size), word), word)
	if err != nil {
		return errors.New("what is removed cannot be brought back, and there is no terminal to ask at\n" +
			"hint: --dry-run shows what would go, --yes does it")
	}
	if !typed {
		return fmt.Errorf("that is not %q; nothing was removed", word)
	}
	return nil
}

// whoUses says which workspace uses what was to be removed, of a project or of any.
func whoUses(env *cmdenv.Env, id string, err error) error {
	if !errors.Is(err, statedir.ErrUsed) {
		return err
	}
	entries, _ := env.Caller().Running()
	for _, e := range entries {
		if id == "" || statedir.ProjectID(e.Project) == id {
			return fmt.Errorf("nothing was removed: %w: %s\nhint: carrel stop %s", err, show.QuoteIf(e.Project), e.ID)
		}
	}
	return fmt.Errorf("nothing was removed: %w\nhint: carrel ps", err)
}

// tellElse says what there is of Carrel outside of the state directory.
func tellElse(env *cmdenv.Env, f *purgeFlags) error {
	if !f.all {
		return nil
	}
	config := env.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(env.Getenv("HOME"), ".config")
	}
	if config = filepath.Join(config, "carrel"); exists(config) {
		fmt.Fprintf(env.Out, "your configuration stays: %s\n", show.OneLine(show.QuoteIf(config)))
	}
	fmt.Fprintln(env.Out, "what `carrel agent setup` and `carrel hooks install` have put into settings of agents stays;\n"+
		"`carrel agent remove` and `carrel hooks remove` take it out")
	return nil
}

// sameDir says whether two names are those of one directory.
func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
