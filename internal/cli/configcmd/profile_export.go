package configcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/op/profileop"
	"carrel/internal/outfile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// exportedJSON is what profile export --json prints; without an output the
// profile itself is in it.
type exportedJSON struct {
	Name     string    `json:"name"`
	Output   api.Text  `json:"output,omitempty"`
	Replaced bool      `json:"replaced"`
	Yaml     *api.Text `json:"yaml,omitempty"`
}

func profileExportCommand(env *cmdenv.Env) *cobra.Command {
	var output string
	var replace, asJSON bool
	cmd := &cobra.Command{
		Use:   "export [flags] NAME",
		Short: "Print a profile, or write it into a file",
		Long: `Prints a profile as it stands, with the values of its variables, or writes it into
a file that only you can read; a directory gets NAME.yaml. A file that exists is
replaced with --replace only.
` + cmdline.PlainStatus,
		Example: `  carrel profile export dev >dev.yaml
  carrel profile export dev --output ~/backup/
  carrel profile export dev --output dev.yaml --replace`,
		Args:              cmdline.OneArg("the name of a profile"),
		ValidArgsFunction: cmdline.FirstArg(completeProfile(env)),
		RunE: func(_ *cobra.Command, args []string) error {
			if replace && output == "" {
				return errors.New("--replace says what becomes of a file that is there, and no --output is given")
			}
			return explain.Refused(env.Out, asJSON, exportProfile(env, args[0], output, replace, asJSON))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write into this file, or into NAME.yaml in this directory")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a file that is there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "output")
	return cmd
}

func exportProfile(env *cmdenv.Env, name, output string, replace, asJSON bool) error {
	got, err := profileop.Export(env.Caller(), name)
	if err != nil {
		return err
	}
	if output == "" {
		if asJSON {
			yaml := api.Text(got.Text)
			return show.JSON(env.Out, exportedJSON{Name: name, Yaml: &yaml})
		}
		_, err := env.Out.Write(got.Text)
		return err
	}
	if st, err := os.Stat(output); err == nil && st.IsDir() {
		output = filepath.Join(output, name+".yaml")
	}
	replaced, err := outfile.Export(output, got.Text, replace)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, exportedJSON{Name: name, Output: api.Text(output), Replaced: replaced})
	}
	fmt.Fprintf(env.Out, "profile %s is in %s\n", name, show.OneLine(show.QuoteIf(output)))
	return nil
}
