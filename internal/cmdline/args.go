package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// PlainStatus ends the help of a command that has no other exit status.
const PlainStatus = `
Exit status:
  0    done
  125  carrel refused or went wrong`

// CommandStatus ends the help of a command that ends as another one did.
const CommandStatus = `
Exit status:
  the command's own, or 128+N when signal N ended it
  124  the time given by --timeout was over
  125  carrel refused or went wrong
  126  the command was found and could not be run
  127  the command was not found inside`

// NoArgs refuses arguments and says what would be right.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no argument, got %q\nhint: %s", cmd.CommandPath(), args[0], Usage(cmd))
}

// OneArg wants exactly one argument; what names it.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%q needs %s\nhint: %s", cmd.CommandPath(), what, Usage(cmd))
		case 1:
			return nil
		}
		return fmt.Errorf("%q takes one argument, %s, got %d: %q\nhint: %s", cmd.CommandPath(), what, len(args), args, Usage(cmd))
	}
}

// Usage is the line of a command, as its help has it.
func Usage(cmd *cobra.Command) string { return strings.TrimSpace(cmd.UseLine()) }

// Group makes a command that only holds others: alone it shows its help, with
// a word that is none of them it says which there are.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		names := make([]string, len(children))
		for i, c := range children {
			names[i] = c.Name()
		}
		return fmt.Errorf("%q has no command %q\nhint: there are %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// TwoArgs wants a workspace and something in it.
func TwoArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			return nil
		}
		return fmt.Errorf("%q takes a workspace and %s, got %q\nhint: %s", cmd.CommandPath(), what, args, Usage(cmd))
	}
}

// AtMostOne wants one argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%q takes one argument at most, %s, got %d: %q\nhint: %s", cmd.CommandPath(), what, len(args), args, Usage(cmd))
		}
		return nil
	}
}

// MaximumArgs wants n arguments at most.
func MaximumArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("%q takes %d argument at most, got %d: %q\nhint: %s", cmd.CommandPath(), n, len(args), args, Usage(cmd))
		}
		return nil
	}
}

// CommandAfterName has a command read "NAME [flags] COMMAND ARG...", with or without "--"
// before COMMAND, whose own flags stay its own; see [NameAndCommand].
func CommandAfterName(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
			return fmt.Errorf("%q needs the name of a workspace\nhint: %s", cmd.CommandPath(), Usage(cmd))
		}
		if err := cmd.Flags().Parse(args[1:]); err != nil {
			return cmd.FlagErrorFunc()(cmd, err)
		}
		if help, _ := cmd.Flags().GetBool("help"); help {
			return pflag.ErrHelp
		}
		return nil
	}
}

// NameAndCommand parts the arguments of [CommandAfterName].
func NameAndCommand(cmd *cobra.Command, args []string) (string, []string) {
	return args[0], cmd.Flags().Args()
}

// FirstArg completes the first argument only.
func FirstArg(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cmd, args, toComplete)
	}
}
