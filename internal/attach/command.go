package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/quickexec"
)

// Command makes what a workspace of a project is asked to start, see [quickexec.NewCommand].
// at is the caller's directory, "" where it is not known.
func Command(project, at string, argv []string, dir string, env []string) (api.Command, error) {
	c, err := quickexec.NewCommand(project, quickexec.Caller{Dir: at, Lookup: os.LookupEnv}, argv, dir, env)
	return api.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env}, err
}

// Taken gives what came of the command of this process where it was run before main.
func Taken() (last api.App, status int, ok bool, err error) {
	r, ok := quickexec.Taken()
	if ok {
		last, status, err = ended(r)
	}
	return last, status, ok, err
}

// ended reads what came of a command. A refusal comes with the status that a shell would
// tell.
func ended(r quickexec.Result) (api.App, int, error) {
	if r.Last == nil {
		return api.App{}, api.ExitOurs, r.Err
	}
	var last api.Reply
	if err := json.Unmarshal(r.Last, &last); err != nil {
		return api.App{}, api.ExitOurs, fmt.Errorf("talking to workspace %s: %w", r.Workspace, err)
	}
	if last.Error != nil {
		return api.App{}, statusOf(last), last.Error
	}
	if !last.OK {
		return api.App{}, statusOf(last), fmt.Errorf("workspace %s: the answer is neither yes nor no", r.Workspace)
	}
	app, status, err := appOf(last)
	if err == nil {
		err = r.Err
	}
	return app, status, err
}

func appOf(r api.Reply) (api.App, int, error) {
	if r.App == nil {
		return api.App{}, api.ExitOurs, errors.New("the workspace did not say how the command ended")
	}
	return *r.App, r.App.Exit, nil
}

func statusOf(r api.Reply) int {
	if r.Exit != nil {
		return *r.Exit
	}
	return api.ExitOurs
}
