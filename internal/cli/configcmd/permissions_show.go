package configcmd

import (
	"fmt"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func permissionsShowCommand(env *cmdenv.Env) *cobra.Command {
	var permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [flags]",
		Short: "Show the ceiling that is in force here",
		Long: `Shows what holds a command that is started here: the ceiling of --permissions or of
a variable, what the process that started this handed on, and the operator's. For each
dimension what it allows and where that stands, and what a person should know of it.
` + cmdline.PlainStatus,
		Example: `  carrel permissions show
  carrel --permissions ceiling.json permissions show --json`,
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
			shown, err := explain.CeilingsOf(under, loaded.Layers, env.Getenv("HOME"))
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, shown)
			}
			shown.Print(env.Out)
			return nil
		},
	}
	cmd.Flags().StringVar(&permissions, "permissions", "", "ceiling file to show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "permissions")
	return cmd
}

func permissionsDiffCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Say what one ceiling allows more and less than another",
		Long: `Says for each dimension what the ceiling B allows more (+) and less (-) than A. It
compares what they mean, not how they are written.
` + cmdline.PlainStatus,
		Example: `  carrel permissions diff old.json new.json
  carrel permissions diff --json old.json new.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q takes two files, got %d: %q\nhint: %s", cmd.CommandPath(), len(args), args, cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return diffCeilings(env, args[0], args[1], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// comparedJSON is what permissions diff --json prints.
type comparedJSON struct {
	Same    bool          `json:"same"`
	From    string        `json:"from_hash"`
	To      string        `json:"to_hash"`
	Changes []changedJSON `json:"changes"`
}

type changedJSON struct {
	Dimension string     `json:"dimension"`
	From      api.Text   `json:"from"`
	To        api.Text   `json:"to"`
	More      []api.Text `json:"more"`
	Less      []api.Text `json:"less"`
}

func diffCeilings(env *cmdenv.Env, from, to string, asJSON bool) error {
	var both [2]*policy.Ceiling
	for i, file := range []string{from, to} {
		content, err := readCeilingFile(file)
		if err == nil {
			both[i], _, err = config.DecodeCeilings([]config.CeilingText{content})
		}
		if err != nil {
			return explain.Refused(env.Out, asJSON, err)
		}
	}
	out := comparedJSON{From: config.CeilingHash(both[0]), To: config.CeilingHash(both[1]), Changes: []changedJSON{}}
	out.Same = out.From == out.To
	for _, c := range policy.DiffCeilings(both[0], both[1]) {
		out.Changes = append(out.Changes, changedJSON{string(c.Dimension), api.Text(c.From), api.Text(c.To), show.NotNil(show.Texts(c.More)), show.NotNil(show.Texts(c.Less))})
	}
	if asJSON {
		return show.JSON(env.Out, out)
	}
	for _, c := range out.Changes {
		fmt.Fprintf(env.Out, "%s: %s -> %s\n", c.Dimension, show.OneLine(string(c.From)), show.OneLine(string(c.To)))
		for _, more := range c.More {
			fmt.Fprintf(env.Out, "  + %s\n", show.OneLine(string(more)))
		}
		for _, less := range c.Less {
			fmt.Fprintf(env.Out, "  - %s\n", show.OneLine(string(less)))
		}
	}
	if len(out.Changes) == 0 {
		fmt.Fprintln(env.Out, "both allow the same")
	}
	return nil
}
