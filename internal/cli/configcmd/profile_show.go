package configcmd

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/explain"
	"carrel/internal/profile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// listedProfile is one line of profile list. A file with mistakes is listed
// with them, and without what it says.
type listedProfile struct {
	Name        string   `json:"name"`
	Description api.Text `json:"description,omitempty"`
	Network     string   `json:"network,omitempty"`
	Cwd         api.Text `json:"cwd,omitempty"`
	Setup       int      `json:"setup"`
	Apps        int      `json:"apps"`
	Strict      bool     `json:"strict"`
	File        api.Text `json:"file"`
	Error       api.Text `json:"error,omitempty"`
}

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
			list, err := listProfiles(env)
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			if asJSON {
				return show.JSON(env.Out, show.NotNil(list))
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

func listProfiles(env *cmdenv.Env) ([]listedProfile, error) {
	dir := profileDir(env)
	if dir == "" {
		return nil, errors.New("there is no place for profiles: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	names, err := profile.List(dir)
	if err != nil {
		return nil, err
	}
	var out []listedProfile
	for _, name := range names {
		one := listedProfile{Name: name, File: api.Text(profile.File(dir, name))}
		p, err := profile.Load(dir, name)
		switch {
		case errors.Is(err, profile.ErrNone): // deleted meanwhile
			continue
		case err != nil:
			one.Error = api.Text(err.Error())
		default:
			one.Description, one.Cwd, one.Strict = api.Text(p.Description), api.Text(p.Cwd), p.Strict
			one.Setup, one.Apps = len(p.Setup), len(p.Apps)
			if p.Request.Network != nil {
				one.Network = string(p.Request.Network.V)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// shownProfile is what profile show prints. Values of variables are sizes
// unless they are asked for.
type shownProfile struct {
	Name        string         `json:"name"`
	Description api.Text       `json:"description,omitempty"`
	File        api.Text       `json:"file"`
	Digest      string         `json:"digest"` // of what it says, whatever its comments
	Width       int            `json:"width,omitempty"`
	Height      int            `json:"height,omitempty"`
	Cwd         api.Text       `json:"cwd,omitempty"`
	Env         []shownEnv     `json:"env"`
	Mounts      []shownMount   `json:"mounts"`
	Setup       []shownCommand `json:"setup"`
	Apps        []shownCommand `json:"apps"`
	Strict      bool           `json:"strict"`
	Values      []setting      `json:"values"` // what it asks of the policy
}

type shownEnv struct {
	Name  api.Text  `json:"name"`
	Bytes int       `json:"bytes"`
	Value *api.Text `json:"value,omitempty"`
}

type shownMount struct {
	Host      api.Text `json:"host_path"`
	Workspace api.Text `json:"workspace_path"`
	Mode      string   `json:"mode"`
}

type shownCommand struct {
	Name    string     `json:"name,omitempty"`
	Command []api.Text `json:"command"`
	Cwd     api.Text   `json:"cwd,omitempty"`
	Env     []shownEnv `json:"env"`
	Timeout string     `json:"timeout,omitempty"`
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
			dir := profileDir(env)
			p, err := profile.Load(dir, args[0])
			if err != nil {
				return explain.Refused(env.Out, asJSON, noProfile(err))
			}
			x := showProfile(p, profile.File(dir, p.Name), values)
			if asJSON {
				return show.JSON(env.Out, x)
			}
			x.print(env)
			return nil
		},
	}
	cmd.Flags().BoolVar(&values, "values", false, "show the values of variables")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func showProfile(p *profile.Profile, file string, values bool) *shownProfile {
	x := &shownProfile{Name: p.Name, Description: api.Text(p.Description), File: api.Text(file), Digest: p.Digest(), Width: p.Width, Height: p.Height,
		Cwd: api.Text(p.Cwd), Env: shownVariables(p.Env, values), Mounts: []shownMount{}, Strict: p.Strict, Values: []setting{},
		Setup: shownCommands(p.Setup, values), Apps: shownCommands(p.Apps, values)}
	for _, m := range p.Mounts {
		mode := "read_only"
		if m.Write {
			mode = "read_write"
		}
		x.Mounts = append(x.Mounts, shownMount{Host: api.Text(m.Host), Workspace: api.Text(m.Workspace), Mode: mode})
	}
	own := map[string]bool{"description": true, "size": true, "cwd": true, "env": true, "mounts": true, "setup": true, "apps": true, "strict": true}
	for _, v := range p.Settings {
		first, _, _ := strings.Cut(v.Key, ".")
		if own[first] {
			continue
		}
		said := v.Value
		if strings.HasPrefix(v.Key, "environment.set.") && !values {
			said = fmt.Sprintf("(%s)", show.Count(len(said), "byte", "bytes"))
		}
		x.Values = append(x.Values, setting{Key: api.Text(v.Key), Value: api.Text(said), Source: explain.SourceOf(v.Source), where: place(v.Source.File, v.Source.Line)})
	}
	return x
}

func shownVariables(list []profile.EnvVar, values bool) []shownEnv {
	out := []shownEnv{}
	for _, v := range list {
		one := shownEnv{Name: api.Text(v.Name), Bytes: len(v.Value)}
		if values {
			value := api.Text(v.Value)
			one.Value = &value
		}
		out = append(out, one)
	}
	return out
}

func shownCommands(list []profile.Command, values bool) []shownCommand {
	out := []shownCommand{}
	for _, c := range list {
		one := shownCommand{Name: c.Name, Command: show.Texts(c.Argv), Cwd: api.Text(c.Cwd), Env: shownVariables(c.Env, values)}
		if c.Timeout > 0 {
			one.Timeout = c.Timeout.String()
		}
		out = append(out, one)
	}
	return out
}

func (x *shownProfile) print(env *cmdenv.Env) {
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
		row("variable", v.line())
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

func (v shownEnv) line() string {
	if v.Value != nil {
		return string(v.Name) + "=" + show.QuoteIf(string(*v.Value))
	}
	return fmt.Sprintf("%s (%s)", v.Name, show.Count(v.Bytes, "byte", "bytes"))
}

func printCommands(t *show.Table, label string, list []shownCommand) {
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
			more = append(more, "with "+v.line())
		}
		if len(more) > 0 {
			line += " (" + strings.Join(more, ", ") + ")"
		}
		t.Row(label, line)
	}
}
