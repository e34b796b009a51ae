package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// ceiling is what this process is held to. Its file is read once; everything that is
// decided here, and the supervisor that is started from here, gets what was read then.
type ceiling struct {
	leading string // the value of the flag before the command, "" for none

	read bool
	flag string // with which it was read

	handed func() ([]config.CeilingText, error) // by whoever started this process
	texts  []config.CeilingText
	fails  error
}

// cutLeading takes --permissions FILE from before the command, also where a shell asks
// how a line goes on.
func (c *ceiling) cutLeading(args []string) ([]string, error) {
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

// ceilings are those that the session is held to: what was handed on, and the file of
// the flag or of a variable. They are never nil without an error. flag is that of the
// command itself, "" for none.
func (a *app) ceilings(flag string) ([]config.CeilingText, error) {
	c := &a.ceiling
	if flag != "" && c.leading != "" {
		return nil, fmt.Errorf("%s is given before the command (%q) and after it (%q)\nhint: one of them", cmdline.PermissionsFlag, c.leading, flag)
	}
	if !c.read || c.flag != flag {
		if c.read && flag == "" {
			return c.texts, c.fails // of a command that has a flag of its own
		}
		c.read, c.flag = true, flag
		c.texts, c.fails = a.readCeilings(flag + c.leading)
	}
	return c.texts, c.fails
}

func (a *app) readCeilings(file string) ([]config.CeilingText, error) {
	if a.ceiling.handed == nil { // the descriptor can be read once
		a.ceiling.handed = sync.OnceValues(func() ([]config.CeilingText, error) { return workspace.HandedCeilings(a.getenv) })
	}
	texts, err := a.ceiling.handed()
	if err != nil {
		return nil, err
	}
	if a.supervises {
		if texts == nil {
			return nil, errors.New("a supervisor is handed its ceilings, and this one was not")
		}
		return texts, nil
	}
	cwd, _ := os.Getwd() // "": a relative name is refused
	named, err := config.NamedCeiling(config.Options{Permissions: file, Environ: a.environ, Cwd: cwd})
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

// session is what the session's ceilings mean, without the operator's.
func (a *app) session() (workspace.UnderCeilings, error) {
	texts, err := a.ceilings("")
	if err != nil {
		return workspace.UnderCeilings{}, err
	}
	c, _, err := config.DecodeCeilings(texts)
	return workspace.UnderCeilings{Session: c}, err
}

// held has entries of the registry carry the ceiling that the caller is held to: a
// supervisor under another one refuses them.
func (a *app) held(entries []supervisor.Entry) ([]supervisor.Entry, error) {
	u, err := a.session()
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Ceiling = u.Hash()
	}
	return entries, nil
}

// sameCeiling refuses to take away what is left of a workspace that was started under
// another ceiling than the caller's.
func (a *app) sameCeiling(op string, d api.Desk) error {
	u, err := a.session()
	if err != nil || u.Session == nil {
		return err
	}
	own, from := "", "none"
	if d.Ceiling != nil && d.Ceiling.Hash != "" {
		own, from = d.Ceiling.Hash, d.Ceiling.Hash+" ("+d.Ceiling.Source+")"
	}
	if own == u.Hash() {
		return nil
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: u.Hash(), Rule: "ceiling", Source: from,
		Message: fmt.Sprintf("ceiling: the caller is held to %q, and workspace %q was started under %s", u.Hash(), d.Name, from),
		Hint:    "`carrel stop` and `carrel status` work"}
}

// stoppedSame is sameCeiling for a workspace by its name; one that is not there is told
// by whoever looks for it.
func (a *app) stoppedSame(op, name string) error {
	if named.CheckName(name) != nil {
		return nil
	}
	d, err := named.Read(statedir.Path(a.getenv), name)
	if err != nil {
		return nil
	}
	return a.sameCeiling(op, d)
}

// underNoCeiling refuses what cannot be held to one.
func (a *app) underNoCeiling(op, hint string) error {
	u, err := a.session()
	if err != nil || !u.Session.Restricted() {
		return err
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: op, Rule: "ceiling", Source: u.Hash(),
		Message: fmt.Sprintf("ceiling: %s runs exactly the policy that it is given, and does not take it from under the ceiling that holds here", op), Hint: hint}
}

// mayUndo refuses what the session's ceilings do not let be done with the history.
func (a *app) mayUndo(op string, need policy.UndoMode) error {
	u, err := a.session()
	if err != nil {
		return err
	}
	return u.CheckUndo(op, need)
}
