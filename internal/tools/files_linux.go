package tools

import (
	"context"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/inside"
	"carrel/internal/supervisor"
)

// Files carries a file tool's request out, in a directory inside ("" is the workspace's
// own), to which its relative paths are. The answer is a pointer to the operation's
// answer type. A refusal is an *fileops.Error, one of the workspace itself, as by its
// control, an *api.Denial. step is the step of the history that the request has made, 0
// where nothing was changed.
func Files(ctx context.Context, e supervisor.Entry, dir string, req fileops.Request) (answer any, step uint64, err error) {
	return FilesBeneath(ctx, e, dir, "", req)
}

// FilesBeneath is Files for a request none of whose paths may leave a directory, by a
// link neither; "" is Files.
func FilesBeneath(ctx context.Context, e supervisor.Entry, dir, beneath string, req fileops.Request) (answer any, step uint64, err error) {
	body, err := fileops.Encode(req)
	if err != nil {
		return nil, 0, fmt.Errorf("writing a request to %s: %w", fileops.OpOf(req), err)
	}
	if len(body) > fileops.MaxRequest {
		return nil, 0, &fileops.Error{Code: fileops.CodeTooLarge, Operation: fileops.OpOf(req), Message: fmt.Sprintf("the request has more than %d bytes", fileops.MaxRequest)}
	}
	c := api.Command{Name: fileops.OpOf(req), Argv: fileops.Argv(inside.Dir+"/"+inside.FileHelper, fileops.Path(beneath), req), Dir: dir}
	r, err := Run(ctx, e, c, body, Limits{Stdout: 2*fileops.MaxAnswer + 2, Stderr: 16 << 10})
	if r != nil && len(r.App.Steps) > 0 {
		step = r.App.Steps[len(r.App.Steps)-1]
	}
	if err != nil {
		return nil, step, err
	}
	if r.App.Exit != 0 || r.Stdout.Left > 0 {
		return nil, step, fmt.Errorf("the helper for %s ended with status %d %s: %.500s", fileops.OpOf(req), r.App.Exit, r.App.Signal, r.Stderr)
	}
	answer, err = fileops.DecodeAnswer(req, r.Stdout.Bytes())
	return answer, step, err
}
