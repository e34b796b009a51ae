package configcmd

import (
	"fmt"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func presetCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "preset",
		Short: "List and edit named commands",
		Long: `A preset is a named command with a persona: carrel run --preset NAME. The
built-in ones start known agents (persona agent) and your shell (persona human);
their personas are fixed. Your own stand in your configuration file, and a person
drives them unless you say --persona agent.
` + cmdline.PlainStatus,
		Example: `  carrel preset list
  carrel preset add review --description "Code review" -- claude /review
  carrel run --preset review
  carrel preset remove review`,
	}, presetListCommand(env), presetShowCommand(env), presetAddCommand(env), presetRemoveCommand(env))
}

// namedPreset is a preset of either origin, as it is printed.
type namedPreset struct {
	Name        string            `json:"name"`
	Description api.Text          `json:"description,omitempty"`
	Persona     policy.Persona    `json:"persona"`
	Fixed       bool              `json:"persona_fixed"` // built in: cannot be changed
	Command     []api.Text        `json:"command"`       // empty: the user's shell
	Agent       string            `json:"agent,omitempty"`
	Origin      string            `json:"origin"` // built-in, user, operator
	Where       api.Text          `json:"where,omitempty"`
	Values      []explain.Setting `json:"values,omitempty"` // what it asks for
}

// presets lists the built-in presets, then the others in the order of their file.
func presets(loaded *config.Loaded) []namedPreset {
	var out []namedPreset
	for _, b := range agents.BuiltinPresets() {
		out = append(out, namedPreset{Name: b.Name, Description: api.Text(b.Title), Persona: b.Persona, Fixed: true,
			Command: show.Texts(b.Command), Agent: b.Agent, Origin: "built-in"})
	}
	for _, p := range loaded.Presets {
		out = append(out, namedPreset{Name: p.Name, Description: api.Text(p.Description), Persona: p.Persona,
			Command: show.Texts(p.Command), Origin: originOf(loaded, p), Where: api.Text(explain.Place(p.Source)), Values: valuesOf(loaded, p)})
	}
	return out
}

func originOf(loaded *config.Loaded, p config.Preset) string {
	for _, f := range loaded.Files {
		if f.Path == p.Source.File {
			return f.Kind.String()
		}
	}
	return config.KindUser.String()
}

// valuesOf are the keys of a preset beside the three that have columns.
func valuesOf(loaded *config.Loaded, p config.Preset) []explain.Setting {
	var out []explain.Setting
	for _, v := range config.Show(loaded) {
		key, ok := strings.CutPrefix(v.Key, "presets."+p.Name+".")
		if !ok || v.Source.File != p.Source.File || key == "command" || key == "description" || key == "persona" {
			continue
		}
		out = append(out, explain.SettingOf(key, v.Value, v.Source))
	}
	return out
}

func readPresets(env *cmdenv.Env) ([]namedPreset, error) {
	loaded, _, err := decide.ReadSettings(decide.Request{Environ: env.Environ})
	if err != nil {
		return nil, err
	}
	return presets(loaded), nil
}

func presetListCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List all presets",
		Long:  "Lists the built-in presets and those of the configuration.\n" + cmdline.PlainStatus,
		Example: `  carrel preset list
  carrel preset list --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := readPresets(env)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, list)
			}
			t := &show.Table{}
			t.Row("NAME", "PERSONA", "FROM", "COMMAND", "DESCRIPTION")
			for _, p := range list {
				t.Row(p.Name, string(p.Persona), p.Origin, p.commandLine(), string(p.Description))
			}
			t.Print(env.Out, "")
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *namedPreset) commandLine() string {
	if len(p.Command) == 0 && p.Origin == "built-in" {
		return "(your shell)"
	}
	return show.Dash(show.Words(p.Command))
}

func presetShowCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Show one preset",
		Long:  "Shows the command, the persona, and everything that a preset asks for.\n" + cmdline.PlainStatus,
		Example: `  carrel preset show claude
  carrel preset show review --json`,
		Args:              cmdline.OneArg("the name of a preset"),
		ValidArgsFunction: cmdline.FirstArg(policyflags.CompletePreset(env)),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := readPresets(env)
			if err != nil {
				return err
			}
			p, err := findPreset(list, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, p)
			}
			p.print(env)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *namedPreset) print(env *cmdenv.Env) {
	t := &show.Table{}
	t.Row("name", p.Name)
	if p.Description != "" {
		t.Row("description", string(p.Description))
	}
	t.Row("command", p.commandLine())
	persona := string(p.Persona)
	if p.Fixed {
		persona += " (fixed)"
	}
	t.Row("persona", persona)
	if p.Agent != "" {
		t.Row("agent", p.Agent)
	}
	from := p.Origin
	if p.Where != "" {
		from += ", " + string(p.Where)
	}
	t.Row("from", from)
	for _, v := range p.Values {
		t.Row("asks for", string(v.Key)+": "+show.QuoteIf(string(v.Value)))
	}
	t.Print(env.Out, "")
}

func findPreset(list []namedPreset, name string) (*namedPreset, error) {
	names := make([]string, len(list))
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
		names[i] = list[i].Name
	}
	return nil, fmt.Errorf("there is no preset %q\nhint: there are %s", name, strings.Join(names, ", "))
}
