package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// PermissionsFlag names a ceiling's file, before any command or among those of one.
const PermissionsFlag = "--permissions"

// ExplainFlagErrors says in our words what is wrong with flags, and what to do, for a
// command and all below it.
func ExplainFlagErrors(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if near := nearFlag(cmd, err); near != "" {
			return fmt.Errorf("%w\nhint: did you mean %s?", FlagError(err), near)
		}
		return fmt.Errorf("%w\nhint: %s --help", FlagError(err), cmd.CommandPath())
	})
	return cmd
}

// nearFlag gives the flag of a command that an unknown one is nearest to, "" for none.
func nearFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	if names := all.SuggestionsFor(unknown.GetSpecifiedName()); len(names) > 0 {
		return "--" + names[0]
	}
	return ""
}

// FlagError says in our words what is wrong with a flag.
func FlagError(err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return fmt.Errorf("--%s %q: %s", value.GetFlag().Name, value.GetValue(), wantedValue(value))
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		flag := "-" + unknown.GetSpecifiedShortnames()
		if strings.Trim(flag, "-0123456789.") == "" {
			return fmt.Errorf("%q: want a number of 1 or more", flag)
		}
		if len(flag) > 2 {
			flag = fmt.Sprintf("-%s in %s", unknown.GetSpecifiedName(), flag)
		}
		return fmt.Errorf("unknown flag: %s", flag)
	case errors.As(err, &unknown) && "--"+unknown.GetSpecifiedName() == PermissionsFlag:
		return fmt.Errorf("%s does not stand here: carrel %s FILE COMMAND holds any command to a ceiling", PermissionsFlag, PermissionsFlag)
	}
	return err
}

// wantedValue says what a flag takes, or what its own check has found.
func wantedValue(e *pflag.InvalidValueError) string {
	switch e.GetFlag().Value.Type() {
	case "int", "int64", "uint", "uint64":
		return "want a whole number"
	case "bool":
		return "want true or false"
	case "duration":
		return "want a time like 30s"
	}
	return e.Unwrap().Error()
}

// OneOf refuses more than one of some flags.
func OneOf(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...) // completion goes by that
	checkFlags(cmd, func() error {
		var given []string
		for _, n := range names {
			if cmd.Flags().Changed(n) {
				given = append(given, "--"+n)
			}
		}
		if len(given) > 1 {
			return fmt.Errorf("%s: want one of them only", strings.Join(given, " and "))
		}
		return nil
	})
}

// NotEmpty refuses flags with an empty value: it would count as none, and more would
// be done than was asked for.
func NotEmpty(cmd *cobra.Command, names ...string) {
	checkFlags(cmd, func() error {
		for _, n := range names {
			f := cmd.Flags().Lookup(n)
			list, isList := f.Value.(pflag.SliceValue)
			if f.Changed && (!isList && f.Value.String() == "" || isList && (len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), ""))) {
				return fmt.Errorf(`--%s "": it is empty; give it a value or leave it out`, n)
			}
		}
		return nil
	})
}

// checkFlags has something looked at before a command runs.
func checkFlags(cmd *cobra.Command, check func() error) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return check()
	}
}

// Cause is an error without the operation and the path, which the caller names.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// CompleteFlag registers words for a flag that the command may not have.
func CompleteFlag(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if cmd.Flags().Lookup(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, words) // an error means that it has words already
	}
}
