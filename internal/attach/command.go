package attach

import (
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/pathname"
)

// Caller is where a command is asked for.
type Caller struct {
	Dir    string                      // the working directory, "" where it is not known
	Lookup func(string) (string, bool) // a variable, as os.LookupEnv
}

// Command makes what a workspace of a project is asked to start: argv in dir, which may be
// relative to the caller's. Without dir it starts where the caller is, if that lies in the
// project. Each of env is NAME=VALUE, or the NAME of a variable of the caller.
func Command(project string, from Caller, argv []string, dir string, env []string) (api.Command, error) {
	c := api.Command{Argv: argv, Dir: dir}
	switch {
	case dir != "" && !filepath.IsAbs(dir):
		c.Dir = filepath.Join(from.Dir, dir)
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
