package configcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/profile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func profileCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "profile",
		Short: "Save, check and exchange workspaces under a name",
		Long: `A profile is a saved workspace: where it works, what it may do, what of the host
shows inside, what is run first and what is started. Each is one file of yours,
~/.config/carrel/profiles/NAME.yaml. What you say on the command line and in your
configuration stands above it, and no profile goes beyond the ceiling.
` + cmdline.PlainStatus,
		Example: `  carrel profile template project-dev | carrel profile put dev -
  carrel profile check dev
  carrel profile export dev --output dev.yaml
  carrel profile import dev.yaml --replace`,
	}, profileListCommand(env), profileShowCommand(env), profilePathCommand(env), profileCheckCommand(env), profileValidateCommand(env),
		profileTemplateCommand(env), profilePutCommand(env), profileImportCommand(env), profileExportCommand(env), profileDeleteCommand(env))
}

func profileDir(env *cmdenv.Env) string { return profile.Dir(env.Getenv) }

// completeProfile names the profiles.
func completeProfile(env *cmdenv.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, err := profile.List(profileDir(env))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// noProfile adds to an error where the names are.
func noProfile(err error) error {
	if errors.Is(err, profile.ErrNone) {
		return fmt.Errorf("%w\nhint: carrel profile list names them", err)
	}
	return err
}

// readProfileFile reads a bounded regular file, or standard input.
func readProfileFile(env *cmdenv.Env, file string) ([]byte, error) {
	const most = 1 << 20
	r := env.In
	if file != "-" {
		f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is not waited for
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", file, cmdline.Cause(err))
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return nil, fmt.Errorf("reading %q: it is no regular file; give - for standard input", file)
		}
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	if len(data) > most {
		return nil, fmt.Errorf("reading %q: it is larger than 1 MiB", file)
	}
	return data, nil
}

// fileName is what messages call a file, or standard input.
func fileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func profilePathCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "path [flags] [NAME]",
		Short: "Print where profiles are kept",
		Long:  "Prints the directory of the profiles, or the file that NAME has or would have.\n" + cmdline.PlainStatus,
		Example: `  carrel profile path
  $EDITOR "$(carrel profile path dev)"`,
		ValidArgsFunction: cmdline.FirstArg(completeProfile(env)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := profileDir(env)
			if dir == "" {
				return errors.New("there is no place for profiles: neither XDG_CONFIG_HOME nor HOME is an absolute path")
			}
			if len(args) > 1 {
				return cmdline.OneArg("the name of a profile")(cmd, args)
			}
			if len(args) == 1 {
				if err := profile.CheckName(args[0]); err != nil {
					return err
				}
				dir = profile.File(dir, args[0])
			}
			if asJSON {
				return show.JSON(env.Out, map[string]api.Text{"path": api.Text(dir)})
			}
			fmt.Fprintln(env.Out, show.OneLine(dir))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func profileDeleteCommand(env *cmdenv.Env) *cobra.Command {
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "delete [flags] NAME",
		Short: "Delete a profile",
		Long:  "Deletes the file of a profile. A workspace that runs by it goes on as it is.\n" + cmdline.PlainStatus,
		Example: `  carrel profile delete --dry-run dev
  carrel profile delete dev`,
		Args:              cmdline.OneArg("the name of a profile"),
		ValidArgsFunction: cmdline.FirstArg(completeProfile(env)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := profileDir(env)
			if err := profile.Delete(dir, args[0], dry); err != nil {
				return explain.Refused(env.Out, asJSON, noProfile(err))
			}
			file := profile.File(dir, args[0])
			switch {
			case asJSON:
				return show.JSON(env.Out, deletedJSON{Name: args[0], File: api.Text(file), Deleted: !dry, DryRun: dry})
			case dry:
				fmt.Fprintf(env.Out, "profile %s would be deleted: %s\n", args[0], show.OneLine(show.QuoteIf(file)))
			default:
				fmt.Fprintf(env.Out, "profile %s is deleted\n", args[0])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be deleted, and delete nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

type deletedJSON struct {
	Name    string   `json:"name"`
	File    api.Text `json:"file"`
	Deleted bool     `json:"deleted"`
	DryRun  bool     `json:"dry_run"`
}
