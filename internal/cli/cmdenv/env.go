// Package cmdenv holds what each command of one start of the program is given: streams,
// variables, arguments and the ceiling that the session is held to; and what it leaves:
// an exit status, or an error that carries one.
//
// A group of commands is a package of its own below package cli. It exports a table of
// Command values, and package cli puts these together. A command reads and writes the
// streams of its Env and never those of the process, so that a test can hold them.
//
// A ceiling is read once for each start. The commands ask Env for it and cannot set it.
package cmdenv

import (
	"fmt"
	"io"
	"os"

	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/op"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Env is what every command shares.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	Status   int // that the program ends with, where there is no error

	Args       []string // of the command line
	Supervises bool     // started as the supervisor of a workspace that stays

	ceiling ceiling
}

// Command makes the command of a name. To make all takes longer than to ask a workspace
// for something, so only those that are needed are made.
type Command struct {
	Name string
	Make func(*Env) *cobra.Command
}

// ExitError carries an exit status beside its message.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// Completing says that a shell asks how a line goes on.
func (e *Env) Completing() bool {
	return len(e.Args) > 0 && (e.Args[0] == cobra.ShellCompRequestCmd || e.Args[0] == cobra.ShellCompNoDescRequestCmd)
}

// Getenv gives the last value of name in the environment we were given.
func (e *Env) Getenv(name string) string { return op.Variable(e.Environ, name) }

// Caller is this start of the program as one who asks for an operation: it is told on standard
// error of what stands beside the answer.
func (e *Env) Caller() *op.Caller { return e.CallerUnder("") }

// CallerUnder is Caller for a command that has a flag of its own for a ceiling's file.
func (e *Env) CallerUnder(flag string) *op.Caller {
	return &op.Caller{
		Environ: e.Environ, Version: Version(), Ceilings: func() ([]config.CeilingText, error) { return e.Ceilings(flag) },
		Notice: func(text string) { fmt.Fprintf(e.Err, "carrel: %s\n", text) },
	}
}

// Paint gives what is printed to w its colours, where a person sees them.
func (e *Env) Paint(w io.Writer) show.Paint { return show.NewPaint(w, e.Getenv) }

// ConfigOptions are where the configuration is, for the commands that read or
// change one file of it.
func (e *Env) ConfigOptions() config.Options {
	home := e.Getenv("HOME")
	loc, err := decide.Locate("", home)
	if err == nil {
		home = loc.Home
	}
	opts := config.Options{Home: home, ConfigHome: e.Getenv("XDG_CONFIG_HOME"), Project: loc.Project, Cwd: loc.Cwd, Environ: e.Environ}
	if loc.Cwd == "" {
		opts.Cwd, _ = os.Getwd()
	}
	return opts
}
