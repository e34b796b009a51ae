package desktopcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func a11yCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "a11y",
		Short: "See and use a desktop's programs through what they tell people who cannot see",
		Long: `GTK and Qt programs and Chromium (with --force-renderer-accessibility) tell what their
windows consist of: elements with roles, names, states and places. They can be found,
invoked and filled in without pictures and coordinates.
` + cmdline.PlainStatus,
		Example: `  carrel desktop a11y tree dev
  carrel desktop a11y find dev --role 'push button' --name '^Save$'
  carrel desktop a11y invoke dev :1.7:42
  carrel desktop a11y set dev :1.7:31 'new text'`,
	}
	return cmdline.Group(cmd, a11yLookCommand(env, false), a11yLookCommand(env, true),
		a11yDoCommand(env, api.ElementInvoke, "[ACTION]", "Invoke an element: press a button, choose an item", 2, 3),
		a11yDoCommand(env, api.ElementSet, "TEXT|NUMBER", "Set an element's text, or with --value its value", 3, 3),
		a11yDoCommand(env, api.ElementFocus, "", "Give an element the keyboard", 2, 2),
		a11yDoCommand(env, api.ElementScroll, "", "Scroll until an element is seen", 2, 2),
		a11yDoCommand(env, api.ElementText, "", "Print an element's text", 2, 2))
}

func a11yLookCommand(env *cmdenv.Env, find bool) *cobra.Command {
	t := &api.Tree{}
	var asJSON bool
	var timeout time.Duration
	use, short, example := "tree NAME [flags]", "Print all that is there", "  carrel desktop a11y tree dev --app gedit"
	if find {
		use, short, example = "find NAME [flags]", "Print the elements that fit", "  carrel desktop a11y find dev --role entry --state focused\n  carrel desktop a11y find dev --name Done --wait --timeout 20s\n  carrel desktop a11y find dev --role 'menu item' --name '^Save$' --hidden"
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Long: short + `, one line an element: its reference, role, name, states and place on the screen.
` + desktopHelp,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Lines, t.Millis = !asJSON, millis(timeout)
			t.Wait = t.Wait || t.Gone
			_, data, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Tree: t})
			if err != nil {
				return err
			}
			if !asJSON {
				for line := range strings.Lines(string(data)) {
					fmt.Fprintln(env.Out, show.Escape(strings.TrimSuffix(line, "\n")))
				}
				return nil
			}
			var out bytes.Buffer
			if err := json.Indent(&out, data, "", "  "); err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Out, strings.TrimSpace(out.String()))
			return err
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVar(&t.App, "app", "", "only of applications whose name matches this regular expression")
	cmd.Flags().IntVar(&t.Depth, "depth", 0, "only so many levels")
	cmd.Flags().BoolVar(&t.Hidden, "hidden", false, "also what does not show, as the items of a closed menu")
	if find {
		cmd.Flags().StringVar(&t.Role, "role", "", "with this role, as 'push button'")
		cmd.Flags().StringVar(&t.Name, "name", "", "whose name matches this regular expression")
		cmd.Flags().StringVar(&t.Text, "text", "", "whose text matches this regular expression")
		cmd.Flags().StringArrayVar(&t.States, "state", nil, "with this state; !focused is: without it")
		cmd.Flags().BoolVar(&t.Wait, "wait", false, "wait until there is one")
		cmd.Flags().BoolVar(&t.Gone, "gone", false, "wait until there is none")
		cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most so long (default 30s)")
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	return cmd
}

func a11yDoCommand(env *cmdenv.Env, do, takes, short string, least, most int) *cobra.Command {
	var value bool
	use := do + " NAME REF"
	if takes != "" {
		use += " " + takes
	}
	cmd := &cobra.Command{
		Use: use, Short: short,
		Long:    short + ". REF is an element's reference, as carrel desktop a11y tree tells it.\n" + desktopHelp,
		Example: "  carrel desktop a11y " + do + " dev :1.7:42" + map[string]string{api.ElementSet: " 'new text'"}[do],
		Args:    between(least, most, "a workspace, a reference and what belongs to it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := &api.Element{Ref: args[1], Do: do}
			switch {
			case do == api.ElementInvoke && len(args) == 3:
				e.Action = args[2]
			case do == api.ElementSet && value:
				n, err := strconv.ParseFloat(args[2], 64)
				if err != nil {
					return fmt.Errorf("value %q: want a number", args[2])
				}
				e.Value = &n
			case do == api.ElementSet:
				e.Text = &args[2]
			}
			if do == api.ElementText {
				_, text, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Element: e})
				if err == nil && show.IsTerminal(env.Out) {
					text = []byte(show.Escape(string(text)) + "\n")
				}
				if err == nil {
					_, err = env.Out.Write(text)
				}
				return err
			}
			said, _, err := doDesktop(cmd.Context(), env, args[0], &api.Desktop{Element: e})
			if err == nil && said.Text != "" {
				fmt.Fprintln(env.Out, show.Escape(said.Text))
			}
			return err
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	if do == api.ElementSet {
		cmd.Flags().BoolVar(&value, "value", false, "a number, for sliders and the like")
	}
	return cmd
}
