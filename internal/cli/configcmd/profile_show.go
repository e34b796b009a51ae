package configcmd

import (
	"fmt"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/op/profileop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func profileListCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the profiles",
		Long:  "Lists your profiles. One with mistakes is listed with the first of them.\n" + cmdline.PlainStatus,
		Example: `  carrel profile list
  carrel profile list --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := profileop.List(env.Caller())
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			if asJSON {
				return show.JSON(env.Out, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(env.Out, "no profile is saved; carrel profile template prints one to begin with")
				return nil
			}
			t := &show.Table{}
			t.Row("NAME", "NETWORK", "SETUP", "APPS", "DESCRIPTION")
			for _, p := range list {
				if p.Error != "" {
					first, _, _ := strings.Cut(string(p.Error), "\n")
					t.Row(p.Name, "-", "-", "-", "MISTAKE: "+first)
					continue
				}
				t.Row(p.Name, show.Dash(p.Network), fmt.Sprint(p.Setup), fmt.Sprint(p.Apps), string(p.Description))
			}
			t.Print(env.Out, "")
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func profileShowCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, values bool
	cmd := &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Show one profile",
		Long: `Shows everything that a profile says. Of variables the name and the size of the
value are shown; --values shows the values too.
` + cmdline.PlainStatus,
		Example: `  carrel profile show dev
  carrel profile show dev --values --json`,
		Args:              cmdline.OneArg("the name of a profile"),
		ValidArgsFunction: cmdline.FirstArg(completeProfile(env)),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := profileop.Show(env.Caller(), args[0], values)
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			if asJSON {
				return show.JSON(env.Out, x)
			}
			printProfile(env, x)
			return nil
		},
	}
	cmd.Flags().BoolVar(&values, "values", false, "show the values of variables")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func printProfile(env *cmdenv.Env, x *profileop.Shown) {
	t := &show.Table{}
	row := func(label, v string) {
		if v != "" {
			t.Row(label, v)
		}
	}
	row("name", x.Name)
	row("description", string(x.Description))
	row("file", show.QuoteIf(string(x.File)))
	row("digest", x.Digest)
	if x.Width > 0 {
		row("size", fmt.Sprintf("%dx%d", x.Width, x.Height))
	}
	if x.Cwd != "" {
		row("directory", show.QuoteIf(string(x.Cwd)))
	}
	for _, v := range x.Env {
		row("variable", variableLine(v))
	}
	for _, m := range x.Mounts {
		line := show.QuoteIf(string(m.Host))
		if m.Workspace != m.Host {
			line += " at " + show.QuoteIf(string(m.Workspace))
		}
		row("mount", line+", "+m.Mode)
	}
	printCommands(t, "setup", x.Setup)
	printCommands(t, "app", x.Apps)
	if x.Strict {
		row("strict", "what cannot be held wholly refuses the start")
	}
	for _, v := range x.Values {
		row("asks for", string(v.Key)+": "+show.QuoteIf(string(v.Value)))
	}
	t.Print(env.Out, "")
}

func variableLine(v profileop.Variable) string {
	if v.Value != nil {
		return string(v.Name) + "=" + show.QuoteIf(string(*v.Value))
	}
	return fmt.Sprintf("%s (%s)", v.Name, show.Count(v.Bytes, "byte", "bytes"))
}

func printCommands(t *show.Table, label string, list []profileop.Command) {
	for _, c := range list {
		line := show.Words(c.Command)
		if c.Name != "" {
			line = c.Name + ": " + line
		}
		var more []string
		if c.Cwd != "" {
			more = append(more, "in "+show.QuoteIf(string(c.Cwd)))
		}
		if c.Timeout != "" {
			more = append(more, "within "+c.Timeout)
		}
		for _, v := range c.Env {
			more = append(more, "with "+variableLine(v))
		}
		if len(more) > 0 {
			line += " (" + strings.Join(more, ", ") + ")"
		}
		t.Row(label, line)
	}
}
