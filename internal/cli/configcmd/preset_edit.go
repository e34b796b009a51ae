package configcmd

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func presetAddCommand(env *cmdenv.Env) *cobra.Command {
	f := &policyflags.Flags{}
	var description string
	var replace bool
	cmd := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND [ARG...]",
		Short: "Save a command as a preset",
		Long: `Writes a preset into your configuration file; comments and other keys stay as
they are. A person drives it (persona human) unless --persona agent says
otherwise. The other flags become the preset's policy.
` + cmdline.PlainStatus,
		Example: `  carrel preset add fix --persona agent -- claude -p "make the tests pass"
  carrel preset add demo --description Demo --network local -- ./demo --fast`,
		Args: addArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := f.PresetKeys(cmd)
			if err != nil {
				return err
			}
			return addPreset(env, config.NewPreset{
				Name: args[0], Command: args[1:], Persona: policy.Persona(f.Persona), Description: description,
				Keys: keys, Replace: replace, Builtin: builtinNames(),
			})
		},
	}
	f.Register(cmd.Flags())
	cmd.Flags().StringVar(&description, "description", "", "one line for preset list")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a preset of that name")
	for _, flag := range policyflags.OneRun {
		_ = cmd.Flags().MarkHidden(flag)
	}
	cmd.ValidArgsFunction = cmdline.FirstArg(cobra.NoFileCompletions)
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

// addArgs wants a name, "--", and a command.
func addArgs(cmd *cobra.Command, args []string) error {
	switch at := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || at == 0:
		return fmt.Errorf("no name given\nhint: %s", cmdline.Usage(cmd))
	case at < 0 && len(args) > 1:
		return fmt.Errorf("%q stands before no --, so its flags would be read as ours\nhint: carrel preset add %s -- %s", args[1], args[0], strings.Join(args[1:], " "))
	case len(args) == 1:
		return fmt.Errorf("preset %q has no command\nhint: %s", args[0], cmdline.Usage(cmd))
	case at > 1:
		return fmt.Errorf("one name stands before --, got %d: %q\nhint: %s", at, args[:at], cmdline.Usage(cmd))
	}
	return nil
}

func addPreset(env *cmdenv.Env, p config.NewPreset) error {
	if p.Persona != "" && p.Persona != policy.Human && p.Persona != policy.Agent {
		return fmt.Errorf("--persona %q is not one of %s", string(p.Persona), strings.Join(policyflags.PersonaWords, ", "))
	}
	file := config.UserFile(env.ConfigOptions())
	if file == "" {
		return errors.New("there is no place for your configuration: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	err := config.AddPreset(file, p)
	if errors.Is(err, config.ErrPresetExists) {
		return fmt.Errorf("%w\nhint: --replace takes its place", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "preset %s is in %s\n", p.Name, show.OneLine(show.QuoteIf(file)))
	return nil
}

func presetRemoveCommand(env *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a preset of your own",
		Long:    "Takes a preset out of your configuration file; comments and other keys stay.\n" + cmdline.PlainStatus,
		Example: "  carrel preset remove demo",
		Args:    cmdline.OneArg("the name of a preset of your own"),
		ValidArgsFunction: cmdline.FirstArg(func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return policyflags.OwnPresetNames(env), cobra.ShellCompDirectiveNoFileComp
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if _, ok := agents.BuiltinPreset(name); ok {
				return fmt.Errorf("preset %q is built in and cannot be removed", name)
			}
			file := config.UserFile(env.ConfigOptions())
			if file == "" {
				return fmt.Errorf("preset %q: %w", name, config.ErrNoPreset)
			}
			if err := config.RemovePreset(file, name); err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "preset %s is gone from %s\n", name, show.OneLine(show.QuoteIf(file)))
			return nil
		},
	}
}

func builtinNames() []string {
	var names []string
	for _, b := range agents.BuiltinPresets() {
		names = append(names, b.Name)
	}
	return names
}
