// Package op is what can be asked of carrel, apart from how it is asked: the command line, the
// Model Context Protocol and JSON Lines read a request in their own form, and call one typed
// function. They write its answer in their own form. An operation of one kind has a package
// below this one: historyop for what runs have changed.
//
// This package holds what all operations share: who asks ([Caller]), which workspaces there
// are for that caller, what stands against a change, and how an error is told to a program
// ([ForProgram]).
//
// It imports no surface. It prints nothing, and starts no program.
package op

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// Caller is who asks for an operation.
type Caller struct {
	Dir     string   // its working directory, absolute; "" is that of this process
	Environ []string // its variables
	Version string   // of this program

	// Ceilings are those that all it asks for is held to, as they were read once. They are
	// never nil without an error.
	Ceilings func() ([]config.CeilingText, error)

	// Notice is told what stands beside an answer, such as a step that was interrupted, as
	// one line that a terminal may show. Where it is nil, nothing is told.
	Notice func(text string)
}

// Getenv gives the last value of name among the caller's variables.
func (c *Caller) Getenv(name string) string { return Variable(c.Environ, name) }

// Variable gives the last value of name in an environment.
func Variable(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if len(v) > len(name) && v[:len(name)] == name && v[len(name)] == '=' {
			return v[len(name)+1:]
		}
	}
	return ""
}

// Tell gives the caller a notice.
func (c *Caller) Tell(text string) {
	if c.Notice != nil {
		c.Notice(text)
	}
}

// At is the caller in another directory.
func (c *Caller) At(dir string) *Caller {
	there := *c
	there.Dir = dir
	return &there
}

// Abs makes a path absolute that may be relative to the caller's directory.
func (c *Caller) Abs(path string) (string, error) {
	if c.Dir != "" && !filepath.IsAbs(path) {
		return filepath.Join(c.Dir, path), nil
	}
	return filepath.Abs(path)
}

// In is the directory that a caller means by a name, "" for its own.
func (c *Caller) In(dir string) string {
	if c.Dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(c.Dir, dir)
}

// ProjectOf is the project that a directory belongs to; "" means the caller's own.
func (c *Caller) ProjectOf(dir string) (string, error) { return decide.ProjectOf(c.In(dir), c.Getenv) }

// IsDirectory checks the directory of a project, "" for the caller's own.
func IsDirectory(project string) error {
	if project == "" {
		return nil
	}
	st, err := os.Stat(project)
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("--project %q: %w", project, path.Err)
	case err != nil:
		return fmt.Errorf("--project %q: %w", project, err)
	case !st.IsDir():
		return fmt.Errorf("--project %q: it is no directory", project)
	}
	return nil
}

// Session is what the caller's ceilings mean, without the operator's.
func (c *Caller) Session() (ceilings.Under, error) {
	texts, err := c.Ceilings()
	if err != nil {
		return ceilings.Under{}, err
	}
	one, _, err := config.DecodeCeilings(texts)
	return ceilings.Under{Session: one}, err
}

// Held has entries of the registry carry the ceiling that the caller is held to: a
// supervisor under another one refuses them.
func (c *Caller) Held(entries []supervisor.Entry) ([]supervisor.Entry, error) {
	u, err := c.Session()
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Ceiling = u.Hash()
	}
	return entries, nil
}

// MayUndo refuses what the caller's ceilings do not let be done with the history.
func (c *Caller) MayUndo(op string, need policy.UndoMode) error {
	u, err := c.Session()
	if err != nil {
		return err
	}
	return u.CheckUndo(op, need)
}

// Inside says whether this program runs behind the walls of a workspace.
func (c *Caller) Inside() bool { return c.Getenv(decide.EnvInside) == "1" }

// ByAgent refuses this process where a known agent or something behind walls has started
// it, nil elsewhere. The agent is marked, so that what it starts later is known too.
func (c *Caller) ByAgent() *api.Denial {
	return supervisor.ByAgent(os.Getpid(), func(p supervisor.Process) string {
		return agents.Running(p.Name, p.Exe, p.Argv, c.Getenv("HOME"), c.Getenv("PATH"))
	})
}
