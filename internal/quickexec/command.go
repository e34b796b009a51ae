package quickexec

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"carrel/internal/pathname"
	"carrel/internal/registry"
)

// Workspace is what a command is run in.
type Workspace struct {
	registry.Listener
	Name    string
	Ceiling string // the hash of what the caller is held to, "" for nothing
}

// Command is what is run.
type Command struct {
	Argv []string
	Dir  string   // inside; "" is the workspace's own
	Env  []string // NAME=VALUE
}

// Caller is where a command is asked for.
type Caller struct {
	Dir    string                      // the working directory, "" where it is not known
	Lookup func(string) (string, bool) // a variable, as os.LookupEnv
}

// NewCommand makes what a workspace of a project is asked to start: argv in dir, which may be
// relative to the caller's. Without dir it starts where the caller is, if that lies in the
// project. Each of env is NAME=VALUE, or the NAME of a variable of the caller.
func NewCommand(project string, from Caller, argv []string, dir string, env []string) (Command, error) {
	c := Command{Argv: argv, Dir: dir}
	switch {
	case dir != "" && !path.IsAbs(dir):
		c.Dir = path.Join(from.Dir, dir)
	case dir == "" && from.Dir != "" && pathname.Within(from.Dir, project):
		c.Dir = from.Dir
	}
	for _, v := range env {
		if !strings.Contains(v, "=") {
			value, ok := from.Lookup(v)
			if !ok {
				return c, fmt.Errorf("--env %s: there is no such variable here\nhint: NAME=VALUE gives one", v)
			}
			v += "=" + value
		}
		c.Env = append(c.Env, v)
	}
	return c, nil
}

// Result is what came of a command.
type Result struct {
	Workspace string // its id
	Last      []byte // the last line of the answer, nil where none came
	Err       error  // what went wrong here
}

// execLine asks for a command, as an api.Request with operation api.OpExec does.
func execLine(ceiling string, c Command) []byte {
	b := request(nil, "exec", ceiling)
	b = append(b, `,"command":{"argv":`...)
	b = list(b, c.Argv)
	if c.Dir != "" {
		b = append(b, `,"dir":`...)
		b = quote(b, c.Dir)
	}
	if len(c.Env) > 0 {
		b = append(b, `,"env":`...)
		b = list(b, c.Env)
	}
	return append(b, "}}\n"...)
}

// statusLine asks for the state of the workspace.
func statusLine(ceiling string) []byte {
	return append(request(nil, "status", ceiling), "}\n"...)
}

// signalLine hands a signal to the command of an open conversation, as an api.Input.
func signalLine(signal int) []byte { return fmt.Appendf(nil, "{\"signal\":%d}\n", signal) }

func request(b []byte, op, ceiling string) []byte {
	b = append(b, `{"op":`...)
	b = quote(b, op)
	if ceiling != "" {
		b = append(b, `,"ceiling":`...)
		b = quote(b, ceiling)
	}
	return b
}

func list(b []byte, words []string) []byte {
	b = append(b, '[')
	for i, w := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, w)
	}
	return append(b, ']')
}

// quote writes a JSON string, with U+FFFD for what is not UTF-8, as package encoding/json does.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
