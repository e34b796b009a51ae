package configcmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/op/profileop"
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

// completeProfile names the profiles.
func completeProfile(env *cmdenv.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, err := profileop.Names(env.Caller())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
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
			if len(args) > 1 {
				return cmdline.OneArg("the name of a profile")(cmd, args)
			}
			path, err := profileop.Path(env.Caller(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, map[string]api.Text{"path": api.Text(path)})
			}
			fmt.Fprintln(env.Out, show.OneLine(path))
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
			gone, err := profileop.Delete(env.Caller(), args[0], dry)
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			switch {
			case asJSON:
				return show.JSON(env.Out, gone)
			case dry:
				fmt.Fprintf(env.Out, "profile %s would be deleted: %s\n", gone.Name, show.OneLine(show.QuoteIf(string(gone.File))))
			default:
				fmt.Fprintf(env.Out, "profile %s is deleted\n", gone.Name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be deleted, and delete nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
