package namedcmd

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/op"
	"carrel/internal/show"
	"carrel/internal/supervisor"
)

// holdProject pauses the project of a directory, or ends its pause.
func holdProject(ctx context.Context, env *cmdenv.Env, operation, dir, reason string, asJSON bool) error {
	c := env.Caller()
	var done *op.ProjectHeld
	var failed error
	if operation == api.OpPause {
		done, failed = c.PauseProject(ctx, dir, reason)
	} else {
		done, failed = c.ResumeProject(ctx, dir, func(project string, p *api.ProjectPause) error { return unpause(env, project, p) })
	}
	if done == nil {
		return failed
	}
	if asJSON {
		return errors.Join(show.JSON(env.Out, done), failed)
	}
	name := show.OneLine(show.QuoteIf(done.Project))
	switch {
	case done.Paused != nil:
		fmt.Fprintf(env.Out, "paused %s: nothing is started there\n", name)
	case done.Was == nil:
		fmt.Fprintf(env.Out, "%s was not paused\n", name)
	default:
		fmt.Fprintf(env.Out, "resumed %s\n", name)
	}
	for _, w := range done.Workspaces {
		if w.Error == "" {
			fmt.Fprintf(env.Out, "  %s %s\n", w.Called(), w.State)
		}
	}
	return failed
}

// unpause lets a person who types the name of a project end its pause.
func unpause(env *cmdenv.Env, project string, p *api.ProjectPause) error {
	if p.Project != project {
		return fmt.Errorf("%s, which is around %s\nhint: `carrel resume --project %s` ends that",
			apiview.PausedText(p), show.OneLine(show.QuoteIf(project)), show.OneLine(show.QuoteIf(p.Project)))
	}
	why := env.Caller().ByAgent()
	if why == nil {
		word := show.TypedName(project)
		typed, err := supervisor.Confirm(fmt.Sprintf("%s. Type %s to let it go on: ", apiview.PausedText(p), word), word)
		switch {
		case err == nil && typed:
			return nil
		case err == nil:
			return errors.New("that is not its name; nothing was changed")
		case !errors.As(err, &why):
			return err
		}
	}
	why.Operation, why.Message = api.OpResume, "only a person at a terminal may end the pause of a project: "+why.Subject
	why.Rule, why.Hint = "less control needs the human channel",
		"type `carrel resume --project` yourself, in a terminal of your own outside the workspace"
	return why
}
