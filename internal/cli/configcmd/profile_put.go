package configcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/op/profileop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// saveFlags are what put and import share.
type saveFlags struct {
	name, permissions    string
	replace, dry, asJSON bool
}

func (f *saveFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a profile of that name")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "check everything and say what would be done, and write nothing")
	cmd.Flags().StringVar(&f.permissions, "permissions", "", "ceiling file: the most that may be granted")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "permissions")
}

func profilePutCommand(env *cmdenv.Env) *cobra.Command {
	f := &saveFlags{}
	cmd := &cobra.Command{
		Use:   "put [flags] NAME FILE",
		Short: "Save a profile from a file or standard input",
		Long: `Checks FILE as carrel profile validate does, and against the ceiling, and saves it
as it stands, comments too. "-" is standard input. Values of variables come by the
file alone, never by an argument that other users could see. A profile that exists
is replaced with --replace only.
` + cmdline.PlainStatus,
		Example: `  carrel profile put dev dev.yaml
  carrel profile template project-dev | carrel profile put dev -
  carrel profile put dev dev.yaml --replace --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q needs a NAME and a FILE, or - for standard input; got %d\nhint: %s", cmd.CommandPath(), len(args), cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return explain.Refused(env.Out, f.asJSON, putProfile(env, f, args[0], args[1]))
		},
	}
	f.register(cmd)
	return cmd
}

func putProfile(env *cmdenv.Env, f *saveFlags, name, file string) error {
	data, err := readProfileFile(env, file)
	if err != nil {
		return err
	}
	saved, err := profileop.Put(env.CallerUnder(f.permissions), f.request(name, data, file))
	if err != nil {
		return err
	}
	return tellSaved(env, f, saved, nil)
}

func (f *saveFlags) request(name string, data []byte, file string) profileop.SaveRequest {
	return profileop.SaveRequest{Name: name, Text: data, From: fileName(file), Replace: f.replace, DryRun: f.dry}
}

func tellSaved(env *cmdenv.Env, f *saveFlags, saved []profileop.Saved, lost []profileop.Loss) error {
	if f.asJSON {
		return show.JSON(env.Out, saved)
	}
	for _, l := range lost {
		fmt.Fprintf(env.Err, "carrel: not carried over: %s\n", show.OneLine(l.String()))
	}
	for _, s := range saved {
		what := map[string]string{"create": "is saved in", "replace": "is replaced in"}[s.Action]
		if f.dry {
			what = map[string]string{"create": "would be saved in", "replace": "would be replaced in"}[s.Action]
		}
		fmt.Fprintf(env.Out, "profile %s %s %s\n", s.Name, what, show.OneLine(show.QuoteIf(string(s.File))))
	}
	return nil
}

func profileImportCommand(env *cmdenv.Env) *cobra.Command {
	f := &saveFlags{}
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Save exported profiles, or those of agent-workspace-linux",
		Long: `Saves what carrel profile export wrote, under the name of the file or --name. "-"
is standard input, which needs --name.

A profile of agent-workspace-linux (JSON with an id), or its whole profiles.json, is
carried over; what has no form here is listed on standard error, and by --json. A
key that is not known is an error: it may be a restriction.

Exit status:
  0    done
  1    done, and something was not carried over
  125  carrel refused or went wrong`,
		Example: `  carrel profile import dev.yaml
  carrel profile import ~/.config/agent-workspace-linux/profiles.json --dry-run
  carrel profile import --name review - <review.yaml`,
		Args: cmdline.OneArg("a FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			return explain.Refused(env.Out, f.asJSON, importProfiles(env, f, args[0]))
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "the name that it gets")
	cmdline.NotEmpty(cmd, "name")
	return cmd
}

func importProfiles(env *cmdenv.Env, f *saveFlags, file string) error {
	data, err := readProfileFile(env, file)
	if err != nil {
		return err
	}
	in := f.request(f.name, data, file)
	if file != "-" {
		base := filepath.Base(file)
		in.Usual = strings.TrimSuffix(base, filepath.Ext(base))
	}
	saved, lost, err := profileop.Import(env.CallerUnder(f.permissions), in)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		env.Status = exitLost
	}
	return tellSaved(env, f, saved, lost)
}
