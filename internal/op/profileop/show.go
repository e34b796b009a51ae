package profileop

import (
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/explain"
	"carrel/internal/op"
	"carrel/internal/profile"
	"carrel/internal/show"
)

// Shown is everything that a profile says. Values of variables are sizes unless they were
// asked for.
type Shown struct {
	Name        string            `json:"name"`
	Description api.Text          `json:"description,omitempty"`
	File        api.Text          `json:"file"`
	Digest      string            `json:"digest"` // of what it says, whatever its comments
	Width       int               `json:"width,omitempty"`
	Height      int               `json:"height,omitempty"`
	Cwd         api.Text          `json:"cwd,omitempty"`
	Env         []Variable        `json:"env"`
	Mounts      []Mount           `json:"mounts"`
	Setup       []Command         `json:"setup"`
	Apps        []Command         `json:"apps"`
	Strict      bool              `json:"strict"`
	Values      []explain.Setting `json:"values"` // what it asks of the policy
}

// Variable is one variable of a profile or of a command of it.
type Variable struct {
	Name  api.Text  `json:"name"`
	Bytes int       `json:"bytes"`
	Value *api.Text `json:"value,omitempty"`
}

// Mount is a directory of the host that a profile shows.
type Mount struct {
	Host      api.Text `json:"host_path"`
	Workspace api.Text `json:"workspace_path"`
	Mode      string   `json:"mode"`
}

// Command is one that a profile starts.
type Command struct {
	Name    string     `json:"name,omitempty"`
	Command []api.Text `json:"command"`
	Cwd     api.Text   `json:"cwd,omitempty"`
	Env     []Variable `json:"env"`
	Timeout string     `json:"timeout,omitempty"`
}

// Show says everything that a profile says, with the values of its variables or without.
func Show(c *op.Caller, name string, values bool) (*Shown, error) {
	dir := dirOf(c)
	p, err := profile.Load(dir, name)
	if err != nil {
		return nil, none(err)
	}
	return shownOf(p, profile.File(dir, p.Name), values), nil
}

func shownOf(p *profile.Profile, file string, values bool) *Shown {
	x := &Shown{Name: p.Name, Description: api.Text(p.Description), File: api.Text(file), Digest: p.Digest(), Width: p.Width, Height: p.Height,
		Cwd: api.Text(p.Cwd), Env: variables(p.Env, values), Mounts: []Mount{}, Strict: p.Strict, Values: []explain.Setting{},
		Setup: commands(p.Setup, values), Apps: commands(p.Apps, values)}
	for _, m := range p.Mounts {
		mode := "read_only"
		if m.Write {
			mode = "read_write"
		}
		x.Mounts = append(x.Mounts, Mount{Host: api.Text(m.Host), Workspace: api.Text(m.Workspace), Mode: mode})
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
		x.Values = append(x.Values, explain.SettingOf(v.Key, said, v.Source))
	}
	return x
}

func variables(list []profile.EnvVar, values bool) []Variable {
	out := []Variable{}
	for _, v := range list {
		one := Variable{Name: api.Text(v.Name), Bytes: len(v.Value)}
		if values {
			value := api.Text(v.Value)
			one.Value = &value
		}
		out = append(out, one)
	}
	return out
}

func commands(list []profile.Command, values bool) []Command {
	out := []Command{}
	for _, c := range list {
		one := Command{Name: c.Name, Command: show.Texts(c.Argv), Cwd: api.Text(c.Cwd), Env: variables(c.Env, values)}
		if c.Timeout > 0 {
			one.Timeout = c.Timeout.String()
		}
		out = append(out, one)
	}
	return out
}
