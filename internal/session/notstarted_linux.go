package session

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/hostfile"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// notStarted turns a launch error into an exit status and, where the program
// is there but out of sight, a denial that says what would show it.
func notStarted(d *decide.Decision, r *api.Result, name string, err error) (*api.Result, error) {
	exit, err := whyNotStarted(d, name, err)
	if exit != 0 {
		r.Exit = exit
	}
	var n *api.Denial
	if exit == api.ExitNotFound && errors.As(err, &n) && n.Code == api.CodeNotVisible {
		d.Deny(*n)
	}
	return r, err
}

// whyNotStarted gives the status that a shell would tell, 0 where the walls are what
// failed.
func whyNotStarted(d *decide.Decision, name string, err error) (int, error) {
	var start *sandbox.StartError
	if !errors.As(err, &start) {
		return 0, decide.ExplainSetup(err, d.Container != nil)
	}
	if start.Name == d.Place.Cwd && start.Name != name {
		hint := "is it denied? `carrel explain --path .` tells"
		if d.Request.Exact != nil {
			hint = `a rule for ":cwd" shows it`
		}
		return 0, &advice.Error{Err: fmt.Errorf("the working directory %q cannot be entered inside: %s", start.Name, start.Err), Hint: hint}
	}
	if most := d.Policy.Resources.Pids; start.Code == int(syscall.EAGAIN) && most > 0 {
		return api.ExitNotRunable, &advice.Error{Err: fmt.Errorf("%q cannot be run inside: %s", name, start.Err),
			Hint: fmt.Sprintf("is the limit of %d processes (--pids, resources.pids) too low for it?", most)}
	}
	if start.Code != int(syscall.ENOENT) {
		return api.ExitNotRunable, fmt.Errorf("%q cannot be run inside: %s", name, start.Err)
	}
	if d.Container != nil {
		return api.ExitNotFound, api.Refused(api.CodeStart, "exec", name, fmt.Sprintf("%q is not in the image %s", name, d.Container.Image),
			"take an image that has it: `carrel container build` makes one")
	}
	full, lookErr := d.LookPath(name)
	if lookErr != nil {
		return api.ExitNotFound, fmt.Errorf("%q was not found in PATH, outside or inside", name)
	}
	real, kind := d.Facts.Resolve(full)
	if kind == sandbox.KindNone {
		return api.ExitNotFound, fmt.Errorf("%q does not exist", full)
	}
	if of := d.Policy.Lookup(real); (of.Access == policy.Read || of.Access == policy.Write) && of.Rule.Path != d.Policy.Scope.Tmp {
		return api.ExitNotFound, fmt.Errorf("%q is visible, but the interpreter that it names is not: %s", full, interpreter(real))
	}
	n := api.Denial{Code: api.CodeNotVisible, Operation: "exec", Subject: full, Rule: "no rule shows it", Source: "default",
		Message: fmt.Sprintf("%q exists but cannot be seen inside", full), Hint: "--read " + path.Dir(real)}
	if x := policy.Explain(d.Policy, policy.Query{Path: real}); x.Path != nil && x.Path.Decision.Rule != nil {
		n.Rule, n.Source = x.Path.Why, x.Path.Decision.Rule.Source.String()
		if x.Path.Decision.Access == policy.Deny {
			n.Hint = "it is hidden on purpose: is it the program that you mean?"
		}
	}
	return api.ExitNotFound, &n
}

// interpreter is what a script's first line names.
func interpreter(script string) string {
	head, err := hostfile.ReadHead(script, 256)
	line, _, _ := strings.Cut(string(head), "\n")
	if err != nil || !strings.HasPrefix(line, "#!") {
		return "its loader is missing (another libc or architecture?)"
	}
	return strconv.Quote(strings.TrimSpace(line[2:]))
}
