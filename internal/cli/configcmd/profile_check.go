package configcmd

import (
	"fmt"
	"io"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/op/profileop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func profileCheckCommand(env *cmdenv.Env) *cobra.Command {
	var permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [flags] NAME",
		Short: "Say what a profile would get here, and what would be refused",
		Long: `Decides a profile for the present directory exactly as its start does, against the
ceiling and your configuration, and stops there: nothing is started and nothing is
written. Each command of it is decided too. See carrel explain for what is printed.

Exit status:
  0    decided
  125  the start would be refused, or something went wrong`,
		Example: `  carrel profile check dev
  carrel profile check dev --permissions ceiling.yaml --json`,
		Args:              cmdline.OneArg("the name of a profile"),
		ValidArgsFunction: cmdline.FirstArg(completeProfile(env)),
		RunE: func(_ *cobra.Command, args []string) error {
			return explain.Refused(env.Out, asJSON, checkProfile(env, args[0], permissions, asJSON))
		},
	}
	cmd.Flags().StringVar(&permissions, "permissions", "", "ceiling file: the most that may be granted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything that was decided as JSON")
	cmdline.NotEmpty(cmd, "permissions")
	return cmd
}

func checkProfile(env *cmdenv.Env, name, permissions string, asJSON bool) error {
	c, err := profileop.Check(env.CallerUnder(permissions), name)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, c)
	}
	printProfile(env, c.Profile)
	fmt.Fprintln(env.Out)
	c.Decided.Print(env.Out, false)
	for _, name := range c.Missing {
		fmt.Fprintf(env.Out, "warning: %s is not found here, outside; unless the setup brings it, it cannot be started\n", show.OneLine(show.QuoteIf(string(name))))
	}
	return nil
}

func profileValidateCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [flags] FILE",
		Short: "Report every mistake in a file",
		Long: `Reports each mistake of a profile in FILE as FILE:LINE:COLUMN: message, and saves
nothing. "-" is standard input. What a ceiling allows is not looked at: see put
--dry-run and check.

Exit status:
  0    no mistakes
  125  there are mistakes, or the file cannot be read`,
		Example: `  carrel profile validate dev.yaml
  carrel profile template project-dev | carrel profile validate -`,
		Args: cmdline.OneArg("a FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := readProfileFile(env, args[0])
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			found := &findings{Checked: []string{fileName(args[0])}}
			problems, err := profileop.Validate(data, fileName(args[0]))
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			found.add(problems...)
			return reportFindings(env, found, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the mistakes as JSON")
	return cmd
}

func profileTemplateCommand(env *cmdenv.Env) *cobra.Command {
	var t profileop.TemplateRequest
	var permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "template [flags] KIND",
		Short: "Print a profile to begin with",
		Long: `Prints a profile on standard output, to be changed and saved with put. KIND is one of

  project-dev         a project, all toolchains of your home, their registries
  browser-session     a browser whose directory lasts: needs --data-dir
  restricted-browser  a browser that reaches the hosts of --allow-host, keeps nothing

What a ceiling does not allow is refused here already.
` + cmdline.PlainStatus,
		Example: `  carrel profile template project-dev --project . | carrel profile put shop -
  carrel profile template browser-session --data-dir ~/sessions/mail >mail.yaml
  carrel profile template restricted-browser --allow-host '**.example.com' \
    >docs.yaml`,
		Args:      cmdline.OneArg("a KIND: " + strings.Join(profileop.Kinds, ", ")),
		ValidArgs: profileop.Kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			t.Kind = args[0]
			return explain.Refused(env.Out, asJSON, printTemplate(env, t, permissions, asJSON))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&t.Project, "project", "", "the project of project-dev; without it the one where it is started")
	fs.StringVar(&t.DataDir, "data-dir", "", "where the browser of browser-session keeps its logins")
	fs.StringArrayVar(&t.Hosts, "allow-host", nil, "reach this host (as for carrel run)")
	fs.StringVar(&t.Browser, "browser", "", "the program of the browser (default chromium)")
	fs.StringVar(&permissions, "permissions", "", "ceiling file: the most that may be granted")
	fs.BoolVar(&asJSON, "json", false, `print {"kind": ..., "yaml": ...}`)
	cmdline.NotEmpty(cmd, "project", "data-dir", "allow-host", "browser", "permissions")
	cmdline.CompleteFlag(cmd, "allow-host", policyflags.CompleteHost)
	return cmd
}

func printTemplate(env *cmdenv.Env, t profileop.TemplateRequest, permissions string, asJSON bool) error {
	written, err := profileop.Template(env.CallerUnder(permissions), t)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, written)
	}
	_, err = io.WriteString(env.Out, string(written.Yaml))
	return err
}
