package cmdenv

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/cmdline"
	"carrel/internal/config"

	"github.com/spf13/cobra"
)

// ceiling is what this process is held to. Its file is read once; everything that is
// decided here, and the supervisor that is started from here, gets what was read then.
type ceiling struct {
	leading string // the value of the flag before the command, "" for none

	read bool
	flag string // with which it was read

	handed func() ([]config.CeilingText, error) // by what started this process
	texts  []config.CeilingText
	fails  error
}

// CutCeiling takes --permissions FILE from before the command, also where a shell asks
// how a line goes on, and gives the other arguments.
func (e *Env) CutCeiling(args []string) ([]string, error) {
	c := &e.ceiling
	if len(args) > 3 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) && args[1] == cmdline.PermissionsFlag {
		return append([]string{args[0]}, args[3:]...), nil
	}
	for len(args) > 0 {
		value, joined := strings.CutPrefix(args[0], cmdline.PermissionsFlag+"=")
		switch {
		case joined:
			args = args[1:]
		case args[0] != cmdline.PermissionsFlag:
			return args, nil
		case len(args) == 1:
			return nil, fmt.Errorf("%s needs a FILE\nhint: carrel %s ceiling.json COMMAND", cmdline.PermissionsFlag, cmdline.PermissionsFlag)
		default:
			value, args = args[1], args[2:]
		}
		if value == "" {
			return nil, fmt.Errorf("%s is empty\nhint: name a file, or leave it out", cmdline.PermissionsFlag)
		}
		if c.leading != "" {
			return nil, fmt.Errorf("%s is given twice: %q and %q\nhint: one ceiling, in one file", cmdline.PermissionsFlag, c.leading, value)
		}
		c.leading = value
	}
	return args, nil
}

// NamedCeiling says that a ceiling was given before the command.
func (e *Env) NamedCeiling() bool { return e.ceiling.leading != "" }

// Ceilings are those that the session is held to: what was handed on, and the file of
// the flag or of a variable. They are never nil without an error. flag is that of the
// command itself, "" for none.
func (e *Env) Ceilings(flag string) ([]config.CeilingText, error) {
	c := &e.ceiling
	if flag != "" && c.leading != "" {
		return nil, fmt.Errorf("%s is given before the command (%q) and after it (%q)\nhint: one of them", cmdline.PermissionsFlag, c.leading, flag)
	}
	if !c.read || c.flag != flag {
		if c.read && flag == "" {
			return c.texts, c.fails // of a command that has a flag of its own
		}
		c.read, c.flag = true, flag
		c.texts, c.fails = e.readCeilings(flag + c.leading)
	}
	return c.texts, c.fails
}

func (e *Env) readCeilings(file string) ([]config.CeilingText, error) {
	if e.ceiling.handed == nil { // the descriptor can be read once
		e.ceiling.handed = sync.OnceValues(func() ([]config.CeilingText, error) { return ceilings.Handed(e.Getenv) })
	}
	texts, err := e.ceiling.handed()
	if err != nil {
		return nil, err
	}
	if e.Supervises {
		if texts == nil {
			return nil, errors.New("a supervisor is handed its ceilings, and this one was not")
		}
		return texts, nil
	}
	cwd, _ := os.Getwd() // "": a relative name is refused
	named, err := config.NamedCeiling(config.Options{Permissions: file, Environ: e.Environ, Cwd: cwd})
	if err != nil {
		return nil, err
	}
	if named != nil {
		texts = append(slices.Clone(texts), *named)
	}
	if texts == nil {
		texts = []config.CeilingText{}
	}
	return texts, nil
}

// UnderNoCeiling refuses what cannot be held to one.
func (e *Env) UnderNoCeiling(operation, hint string) error {
	u, err := e.Caller().Session()
	if err != nil || !u.Session.Restricted() {
		return err
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: operation, Subject: operation, Rule: "ceiling", Source: u.Hash(),
		Message: fmt.Sprintf("ceiling: %s runs exactly the policy that it is given, and does not take it from under the ceiling that holds here", operation), Hint: hint}
}
