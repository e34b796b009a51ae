package profileop

import (
	"cmp"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/profile"
	"carrel/internal/show"
)

// SaveRequest is a text that becomes a profile, or several.
type SaveRequest struct {
	Name    string // that it gets; "" for the name that a foreign profile has itself, or Usual
	Usual   string // of one that has no name of its own
	Text    []byte
	From    string // what messages call the text
	Replace bool   // take the place of a profile of that name
	DryRun  bool   // check everything, and write nothing
}

// Saved is one profile that is, or would be, saved.
type Saved struct {
	Name    string   `json:"name"`
	File    api.Text `json:"file"`
	Action  string   `json:"action"` // create, replace
	Changed bool     `json:"changed"`
	Saved   bool     `json:"saved"`
	DryRun  bool     `json:"dry_run"`
	Lost    []Loss   `json:"lost,omitempty"`
}

// Loss is something of a foreign profile that has no form here.
type Loss = profile.Loss

// Put checks a profile, and saves it as it stands, comments too.
func Put(c *op.Caller, in SaveRequest) ([]Saved, error) {
	if err := profile.CheckName(in.Name); err != nil {
		return nil, err
	}
	p, err := profile.Parse(in.Name, in.Text, in.From)
	if err != nil {
		return nil, err
	}
	return save(c, in, []*profile.Profile{p}, []profile.Item{{Name: in.Name, Text: in.Text}}, nil)
}

// Import saves what an export wrote, as Put does, or what profiles of agent-workspace-linux
// mean. It also gives what of these has no form here.
func Import(c *op.Caller, in SaveRequest) ([]Saved, []Loss, error) {
	if !profile.IsForeign(in.Text) {
		if in.Name = cmp.Or(in.Name, in.Usual); in.Name == "" {
			return nil, nil, fmt.Errorf("%s has no name\nhint: give it one with --name", in.From)
		}
		if err := profile.CheckName(in.Name); err != nil {
			return nil, nil, fmt.Errorf("%w\nhint: --name gives another", err)
		}
		saved, err := Put(c, in)
		return saved, nil, err
	}
	list, lost, err := profile.Foreign(in.Text, in.From)
	if err != nil {
		return nil, nil, err
	}
	if in.Name != "" {
		if len(list) != 1 {
			return nil, nil, fmt.Errorf("--name %q: %q holds %s, which have names of their own", in.Name, in.From, show.Count(len(list), "profile", "profiles"))
		}
		for i := range lost {
			lost[i].Profile = in.Name
		}
		list[0].Name = in.Name
	}
	items, list, err := written(list, in.From)
	if err != nil {
		return nil, nil, err
	}
	saved, err := save(c, in, list, items, lost)
	return saved, lost, err
}

// save checks profiles against the ceilings and saves all or none.
func save(c *op.Caller, in SaveRequest, list []*profile.Profile, items []profile.Item, lost []Loss) ([]Saved, error) {
	if err := allowed(c, list...); err != nil {
		return nil, err
	}
	done, err := profile.Put(dirOf(c), items, in.Replace, in.DryRun)
	if errors.Is(err, profile.ErrExists) {
		return nil, fmt.Errorf("%w\nhint: --replace takes its place", err)
	}
	if err != nil {
		return nil, err
	}
	var out []Saved
	for _, s := range done {
		one := Saved{Name: s.Name, File: api.Text(s.File), Action: "create", Changed: !s.Same, Saved: !in.DryRun, DryRun: in.DryRun}
		if s.Replaced {
			one.Action = "replace"
		}
		for _, l := range lost {
			if l.Profile == s.Name {
				one.Lost = append(one.Lost, l)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// written gives profiles their text, and reads it as it will be read later.
func written(list []*profile.Profile, from string) ([]profile.Item, []*profile.Profile, error) {
	var items []profile.Item
	var out []*profile.Profile
	for _, p := range list {
		data, err := config.EncodeDefinition(&p.Definition)
		if err != nil {
			return nil, nil, err
		}
		again, err := profile.Parse(p.Name, data, from+", profile "+p.Name)
		if err != nil {
			return nil, nil, err
		}
		items, out = append(items, profile.Item{Name: p.Name, Text: data}), append(out, again)
	}
	return items, out, nil
}

// Validate finds each mistake of a text that is to be a profile. What a ceiling allows is not
// looked at.
func Validate(text []byte, from string) ([]config.Problem, error) {
	var err error
	if profile.IsForeign(text) {
		_, _, err = profile.Foreign(text, from)
	} else {
		_, err = profile.Parse("", text, from)
	}
	problems := config.ProblemsOf(err)
	if problems != nil {
		err = nil
	}
	return problems, err
}
