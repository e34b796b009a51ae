package configcmd

import (
	"fmt"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func configShowCommand(env *cmdenv.Env) *cobra.Command {
	var permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [flags]",
		Short: "Show every value that a file or a variable sets, and where",
		Long: `Shows each file that was looked for, and each value that stands in one of them or
in a CARREL_ variable, with its place. What comes of them, defaults and flags
included, is what carrel explain shows.
` + cmdline.PlainStatus,
		Example: `  carrel config show
  carrel config show --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			under, err := env.Ceilings(permissions)
			if err != nil {
				return err
			}
			loaded, _, err := decide.ReadSettings(decide.Request{Environ: env.Environ, Ceilings: under})
			if err != nil {
				return err
			}
			s := settingsOf(loaded)
			if asJSON {
				return show.JSON(env.Out, s)
			}
			printSettings(env, s)
			return nil
		},
	}
	cmd.Flags().StringVar(&permissions, "permissions", "", "ceiling file to show with the others")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// settings are what config show prints.
type settings struct {
	Files    []fileStatus      `json:"files"`
	Values   []explain.Setting `json:"values"`
	Warnings []explain.Warning `json:"warnings"`
}

type fileStatus struct {
	Kind    string   `json:"kind"`
	Path    api.Text `json:"path"`
	Present bool     `json:"present"`
}

func settingsOf(l *config.Loaded) settings {
	s := settings{Files: []fileStatus{}, Values: []explain.Setting{}, Warnings: explain.WarningsOf(l.Warnings)}
	for _, f := range l.Files {
		s.Files = append(s.Files, fileStatus{Kind: f.Kind.String(), Path: api.Text(f.Path), Present: f.Present})
	}
	for _, v := range config.Show(l) {
		s.Values = append(s.Values, explain.SettingOf(v.Key, v.Value, v.Source))
	}
	return s
}

func printSettings(env *cmdenv.Env, s settings) {
	files := &show.Table{}
	for _, f := range s.Files {
		state := "not there"
		if f.Present {
			state = "read"
		}
		files.Row(f.Kind, state, show.QuoteIf(string(f.Path)))
	}
	files.Print(env.Out, "")
	if len(s.Values) > 0 {
		fmt.Fprintln(env.Out)
		values := &show.Table{}
		values.Row("KEY", "VALUE", "WHERE")
		for _, v := range s.Values {
			values.Row(string(v.Key), show.QuoteIf(string(v.Value)), v.Where)
		}
		values.Print(env.Out, "")
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(env.Out, "\nwarning: %s: %s\n", show.OneLine(string(w.Where)), show.OneLine(string(w.Message)))
	}
}
