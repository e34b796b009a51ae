package profileop

import (
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/op"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/show"
)

// Checked is what a profile would get here, where nothing is refused.
type Checked struct {
	Profile *Shown          `json:"profile"`
	Decided *explain.Answer `json:"decided"`
	Missing []api.Text      `json:"missing"` // programs that are not found here
}

// Check decides a profile for the caller's directory exactly as its start does, and each of
// its commands. It starts nothing and writes nothing.
func Check(c *op.Caller, name string) (*Checked, error) {
	dir := dirOf(c)
	saved, err := profile.Load(dir, name)
	if err != nil {
		return nil, none(err)
	}
	under, err := c.Ceilings()
	if err != nil {
		return nil, err
	}
	req := decide.Request{Draft: saved, Default: policy.Agent, Ceilings: under, Environ: c.Environ, Here: c.Dir}
	if _, err := decide.Prepare(req); err != nil { // with no command, so that it speaks of none
		return nil, err
	}
	for _, command := range slices.Concat(saved.Setup, saved.Apps) {
		req.Argv = command.Argv
		if _, err := decide.Prepare(req); err != nil {
			return nil, fmt.Errorf("%s: %w", show.Words(show.Texts(command.Argv)), err)
		}
	}
	if len(req.Argv) == 0 {
		req.Argv = []string{decide.UserShell(c.Getenv)}
	}
	p, err := decide.Prepare(req)
	if err != nil {
		return nil, err
	}
	for _, preview := range []func() error{p.PreviewEngine, p.Preview, p.StrictlyHeld} {
		if err := preview(); err != nil {
			return nil, err
		}
	}
	x, err := explain.Of(p, explain.Question{})
	if err != nil {
		return nil, err
	}
	return &Checked{Profile: shownOf(saved, profile.File(dir, name), false), Decided: x, Missing: show.Texts(p.Missing())}, nil
}

// TemplateRequest is which template is wanted, and what stands in it.
type TemplateRequest = profile.Template

// Kinds are the words of the templates.
var Kinds = profile.Kinds

// Written is a template that was filled in.
type Written struct {
	Kind string   `json:"kind"`
	Yaml api.Text `json:"yaml"`
}

// Template writes a profile to begin with. What the caller's ceilings do not allow is refused.
func Template(c *op.Caller, t TemplateRequest) (*Written, error) {
	for _, dir := range []*string{&t.Project, &t.DataDir} {
		if *dir == "" {
			continue
		}
		full, err := c.Abs(*dir)
		if err != nil {
			return nil, fmt.Errorf("finding the working directory: %w", err)
		}
		*dir = full
	}
	data, err := t.Write()
	if err != nil {
		return nil, err
	}
	p, err := profile.Parse(t.Kind, data, "template "+t.Kind)
	if err == nil {
		err = allowed(c, p)
	}
	if err != nil {
		return nil, err
	}
	return &Written{Kind: t.Kind, Yaml: api.Text(data)}, nil
}

// allowed refuses profiles that ask for more than the caller's ceilings allow.
func allowed(c *op.Caller, list ...*profile.Profile) error {
	under, err := c.Ceilings()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := decide.CheckProfile(p, decide.Request{Environ: c.Environ, Ceilings: under, Here: c.Dir}); err != nil {
			return err
		}
	}
	return nil
}
