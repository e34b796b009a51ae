package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/config"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
)

func (a *app) presetAddCommand() *cobra.Command {
	f := &runFlags{}
	var description string
	var replace bool
	cmd := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND [ARG...]",
		Short: "Save a command as a preset",
		Long: `Writes a preset into your configuration file; comments and other keys stay as
they are. A person drives it (persona human) unless --persona agent says
otherwise.
` + plainStatusHelp,
		Example: `  carrel preset add fix --persona agent -- claude -p "make the tests pass"
  carrel preset add demo --description "The demo" -- ./demo --fast`,
		Args: addArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := f.presetKeys(cmd)
			if err != nil {
				return err
			}
			if len(keys) > 0 {
				return unsavable(keys)
			}
			return a.addPreset(config.NewPreset{
				Name: args[0], Command: args[1:], Persona: policy.Persona(f.persona), Description: description,
				Replace: replace, Builtin: builtinNames(),
			})
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&description, "description", "", "one line for preset list")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a preset of that name")
	for _, flag := range []string{"preset", "json", "permissions"} { // they belong to one run
		_ = cmd.Flags().MarkHidden(flag)
	}
	cmd.ValidArgsFunction = firstArg(cobra.NoFileCompletions)
	a.registerCompletions(cmd)
	return cmd
}

// addArgs wants a name, "--", and a command.
func addArgs(cmd *cobra.Command, args []string) error {
	switch at := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || at == 0:
		return fmt.Errorf("no name given\nhint: %s", usage(cmd))
	case at < 0 && len(args) > 1:
		return fmt.Errorf("%q stands before no --, so its flags would be read as ours\nhint: carrel preset add %s -- %s", args[1], args[0], strings.Join(args[1:], " "))
	case len(args) == 1:
		return fmt.Errorf("preset %q has no command\nhint: %s", args[0], usage(cmd))
	case at > 1:
		return fmt.Errorf("one name stands before --, got %d: %q\nhint: %s", at, args[:at], usage(cmd))
	}
	return nil
}

func (a *app) addPreset(p config.NewPreset) error {
	if p.Persona != "" && p.Persona != policy.Human && p.Persona != policy.Agent {
		return fmt.Errorf("--persona %q is not one of %s", string(p.Persona), strings.Join(personaWords, ", "))
	}
	file := config.UserFile(a.configOptions())
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
	fmt.Fprintf(a.out, "preset %s is in %s\n", p.Name, oneLine(quoteIf(file)))
	return nil
}

func (a *app) presetRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a preset of your own",
		Long:    "Takes a preset out of your configuration file; comments and other keys stay.\n" + plainStatusHelp,
		Example: "  carrel preset remove demo",
		Args:    oneArg("the name of a preset of your own"),
		ValidArgsFunction: firstArg(func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.ownPresetNames(), cobra.ShellCompDirectiveNoFileComp
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if _, ok := agents.BuiltinPreset(name); ok {
				return fmt.Errorf("preset %q is built in and cannot be removed", name)
			}
			file := config.UserFile(a.configOptions())
			if file == "" {
				return fmt.Errorf("preset %q: %w", name, config.ErrNoPreset)
			}
			if err := config.RemovePreset(file, name); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "preset %s is gone from %s\n", name, oneLine(quoteIf(file)))
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

// presetKey is one key of a preset with its value as YAML.
type presetKey struct{ name, value string }

// presetKeys turns the run flags that were given into the keys that mean the
// same in a preset.
func (f *runFlags) presetKeys(cmd *cobra.Command) ([]presetKey, error) {
	for _, flag := range []string{"preset", "json", "permissions"} {
		if cmd.Flags().Changed(flag) {
			return nil, fmt.Errorf("--%s belongs to one run and cannot stand in a preset", flag)
		}
	}
	if _, err := f.request(cmd); err != nil { // sizes and times
		return nil, err
	}
	var keys []presetKey
	list := func(name string, values []string) {
		if len(values) > 0 {
			keys = append(keys, presetKey{name, yamlList(values)})
		}
	}
	word := func(name, value string) {
		if value != "" {
			keys = append(keys, presetKey{name, strconv.Quote(value)})
		}
	}
	list("read", f.read)
	list("write", f.write)
	list("deny", f.deny)
	list("protect", f.protect)
	list("devices", f.device)
	word("network", f.network)
	word("display", f.display)
	word("home", f.home)
	word("nested", f.nested)
	keys = append(keys, f.environmentKeys()...)
	return append(keys, f.resourceKeys(cmd)...), nil
}

func (f *runFlags) environmentKeys() []presetKey {
	var pass, set []string
	for _, e := range f.env {
		name, value, ok := strings.Cut(e, "=")
		if ok {
			set = append(set, strconv.Quote(name)+": "+strconv.Quote(value))
			continue
		}
		pass = append(pass, name)
	}
	var parts []string
	if len(pass) > 0 {
		parts = append(parts, "pass: "+yamlList(pass))
	}
	if len(set) > 0 {
		parts = append(parts, "set: {"+strings.Join(set, ", ")+"}")
	}
	if len(parts) == 0 {
		return nil
	}
	return []presetKey{{"environment", "{" + strings.Join(parts, ", ") + "}"}}
}

func (f *runFlags) resourceKeys(cmd *cobra.Command) []presetKey {
	var parts []string
	if f.timeout != "" {
		parts = append(parts, "timeout: "+strconv.Quote(f.timeout))
	}
	if f.memory != "" {
		parts = append(parts, "memory: "+strconv.Quote(f.memory))
	}
	if cmd.Flags().Changed("pids") {
		parts = append(parts, fmt.Sprintf("pids: %d", f.pids))
	}
	if len(parts) == 0 {
		return nil
	}
	return []presetKey{{"resources", "{" + strings.Join(parts, ", ") + "}"}}
}

func yamlList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// unsavable says how to write down by hand what the editor of the
// configuration cannot write.
func unsavable(keys []presetKey) error {
	var b strings.Builder
	b.WriteString("a preset's policy is not written by this command yet; nothing was changed\nhint: add the preset without these flags, then put below its name in your configuration:")
	for _, k := range keys {
		fmt.Fprintf(&b, "\n    %s: %s", k.name, k.value)
	}
	return errors.New(b.String())
}
