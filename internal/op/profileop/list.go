// Package profileop has the operations of saved profiles: what there is, what one of them says
// and would get here, a template, and saving, exchanging and deleting them.
//
// A profile comes and goes as text: which file it stands in is the surface's business. What a
// ceiling of the caller does not allow is neither saved nor printed as a template.
package profileop

import (
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/profile"
)

// dirOf is where the caller's profiles are kept, "" for nowhere.
func dirOf(c *op.Caller) string { return profile.Dir(c.Getenv) }

// Names are those of the profiles.
func Names(c *op.Caller) ([]string, error) { return profile.List(dirOf(c)) }

// Path is that directory, or the file that the profile of a name has or would have.
func Path(c *op.Caller, name string) (string, error) {
	dir := dirOf(c)
	if dir == "" {
		return "", errNoPlace
	}
	if name == "" {
		return dir, nil
	}
	return profile.File(dir, name), profile.CheckName(name)
}

var errNoPlace = errors.New("there is no place for profiles: neither XDG_CONFIG_HOME nor HOME is an absolute path")

// none adds to an error where the names are.
func none(err error) error {
	if errors.Is(err, profile.ErrNone) {
		return fmt.Errorf("%w\nhint: `carrel profile list` names them", err)
	}
	return err
}

// Listed is one profile of a list. A file with mistakes is listed with them, and without
// what it says.
type Listed struct {
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

// List lists the profiles. It is never nil without an error.
func List(c *op.Caller) ([]Listed, error) {
	dir := dirOf(c)
	if dir == "" {
		return nil, errNoPlace
	}
	names, err := profile.List(dir)
	if err != nil {
		return nil, err
	}
	out := []Listed{}
	for _, name := range names {
		one := Listed{Name: name, File: api.Text(profile.File(dir, name))}
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

// Exported is a profile as it stands.
type Exported struct {
	Name string
	Text []byte
}

// Export gives the text of a profile, with the values of its variables.
func Export(c *op.Caller, name string) (Exported, error) {
	text, err := profile.Text(dirOf(c), name)
	return Exported{Name: name, Text: text}, none(err)
}

// Deleted is a profile that is, or would be, there no more.
type Deleted struct {
	Name    string   `json:"name"`
	File    api.Text `json:"file"`
	Deleted bool     `json:"deleted"`
	DryRun  bool     `json:"dry_run"`
}

// Delete deletes the file of a profile.
func Delete(c *op.Caller, name string, dry bool) (Deleted, error) {
	dir := dirOf(c)
	if err := profile.Delete(dir, name, dry); err != nil {
		return Deleted{}, none(err)
	}
	return Deleted{Name: name, File: api.Text(profile.File(dir, name)), Deleted: !dry, DryRun: dry}, nil
}
