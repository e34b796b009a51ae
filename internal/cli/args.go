package cli

import (
	"fmt"
	"io"
	"strings"

	"carrel/internal/api"

	"github.com/spf13/cobra"
)

const plainStatusHelp = `
Exit status:
  0    done
  125  carrel refused or went wrong`

// noArgs refuses arguments and says what would be right.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no argument, got %q\nhint: %s", cmd.CommandPath(), args[0], usage(cmd))
}

// oneArg wants exactly one argument; what names it.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%q needs %s\nhint: %s", cmd.CommandPath(), what, usage(cmd))
		case 1:
			return nil
		}
		return fmt.Errorf("%q takes one argument, %s, got %d: %q\nhint: %s", cmd.CommandPath(), what, len(args), args, usage(cmd))
	}
}

func usage(cmd *cobra.Command) string { return strings.TrimSpace(cmd.UseLine()) }

// group makes a command that only holds others: alone it shows its help, with
// a word that is none of them it says which there are.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
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

// text is a string of any bytes in JSON.
type text = api.Text

// maxInput bounds what is read of standard input, in bytes.
const maxInput = 1 << 20

func readAllBounded(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("standard input has more than %d bytes", maxInput)
	}
	return string(b), err
}
