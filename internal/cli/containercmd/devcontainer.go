package containercmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/devcontainer"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// devcontainerJSON is what is taken of a project's file.
type devcontainerJSON struct {
	File      string                 `json:"file"`
	Use       string                 `json:"use"` // off, read or run
	Image     string                 `json:"image,omitempty"`
	User      string                 `json:"user,omitempty"`
	Env       map[string]string      `json:"env"`
	Drop      []string               `json:"drop"`
	Lifecycle []lifecycleJSON        `json:"lifecycle"`
	Ignored   []devcontainer.Ignored `json:"ignored"`
}

type lifecycleJSON struct {
	When string   `json:"when"`
	Name string   `json:"name,omitempty"`
	Argv []string `json:"argv"`
}

func devcontainerCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devcontainer [flags]",
		Short: "Show what is taken of the project's devcontainer.json, and what is not",
		Long: `Reads .devcontainer/devcontainer.json or .devcontainer.json of the project. It is the
project's file, so it chooses only among what your configuration allows: images by
container.images, variables by container.project_env, lifecycle commands by
"container.devcontainer: run". The rest is listed with the reason why it is not taken.
` + status,
		Example: "  carrel container devcontainer\n  carrel container devcontainer --json",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts := env.ConfigOptions()
			loaded, err := config.Load(opts)
			if err != nil {
				return err
			}
			use := config.DevcontainerRead
			if set := loaded.Settings.Devcontainer; set != nil {
				use = set.V
			}
			c, err := devcontainer.Read(devcontainer.Options{Project: opts.Project, Image: loaded.Settings.ImageAllowed,
				Env: loaded.Settings.ProjectMaySet, Run: use == config.DevcontainerRun})
			if err != nil {
				return err
			}
			return showDevcontainer(env, c, use, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func showDevcontainer(env *cmdenv.Env, c *devcontainer.Config, use string, asJSON bool) error {
	if asJSON {
		out := devcontainerJSON{c.File, use, c.Image, c.User, c.Env, show.NotNil(c.Drop), []lifecycleJSON{}, show.NotNil(c.Ignored)}
		for _, l := range c.Lifecycle {
			out.Lifecycle = append(out.Lifecycle, lifecycleJSON(l))
		}
		return show.JSON(env.Out, out)
	}
	if c.File == "" {
		fmt.Fprintln(env.Out, "the project has no devcontainer.json")
		return nil
	}
	line := func(what, text string) { fmt.Fprintf(env.Out, "%s: %s\n", what, show.OneLine(text)) }
	line("file", show.QuoteIf(c.File))
	if use == config.DevcontainerOff {
		line("container.devcontainer", "off: nothing of it is used")
	}
	if c.Image != "" {
		line("image", c.Image)
	}
	if c.User != "" {
		line("user", c.User)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		line("variable", name+"="+c.Env[name])
	}
	for _, name := range c.Drop {
		line("dropped variable", name)
	}
	for _, l := range c.Lifecycle {
		line(strings.TrimSpace(l.When+" "+l.Name), strings.Join(l.Argv, " "))
	}
	for _, i := range c.Ignored {
		line("not taken", i.String())
	}
	return nil
}
