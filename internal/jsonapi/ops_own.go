package jsonapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
)

// ownOps are what the older protocol does not have.
func ownOps() []Operation {
	return []Operation{
		define("carrel.cancel", "Ends a command and all that it has started; what it did stays a step.", atOnce, cancel),
		define("carrel.preview", "Says what undo.rollback would do, and what is in its way.", fromHere, preview),
		define("carrel.redo", "Makes again what was taken back, the last undo first.", inOrder, redo),
		define("carrel.show", "Lists what one step changed.", fromHere, show),
		define("carrel.diff", "Shows what steps changed, as a unified diff.", fromHere, diff),
		define("carrel.write", "Writes a file whole; one step.", inOrder, write),
		define("carrel.edit", "Replaces a text in a file; one step.", inOrder, edit),
		define("carrel.pause_project", "Pauses the project of the session: every workspace of it stands still, and nothing is started. Only a person ends that.", atOnce, pauseProject),
		define("carrel.approvals", "Lists what waits for a person. Approving takes one at a terminal; safeguard.confirm denies.", atOnce, approvals),
	}
}

type cancelIn struct {
	ID string `json:"command_id"`
}

type cancelOut struct {
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
}

func cancel(ctx context.Context, c *call, in cancelIn) (cancelOut, error) {
	n, err := c.active()
	if err != nil {
		return cancelOut{}, err
	}
	n.mu.Lock()
	runs := n.commands[in.ID]
	n.mu.Unlock()
	if !runs {
		return cancelOut{}, invalid("command_id", "no command %.40q of the session runs", in.ID)
	}
	if err := n.denyHeld(ctx, in.ID); err != nil { // it waits for nobody any more
		return cancelOut{}, err
	}
	r, err := n.entry.Call(ctx, api.Request{Op: api.OpKill, App: in.ID})
	if err != nil || r.App == nil {
		return cancelOut{}, err
	}
	if r.App.Running {
		return cancelOut{}, &Problem{Code: CodeBusy, Message: "it was told to end, and has not yet: everything stands still while something waits for an answer"}
	}
	return cancelOut{ExitCode: r.App.Exit, Signal: r.App.Signal}, nil
}

// denyHeld refuses what waits of a command.
func (n *session) denyHeld(ctx context.Context, id string) error {
	list, err := n.waiting(ctx)
	for _, a := range list {
		if a.App == id && err == nil {
			_, err = n.entry.Call(ctx, api.Request{Op: api.OpDeny, ID: a.ID, End: true})
			if d := (*api.Denial)(nil); errors.As(err, &d) && d.Code == api.CodeNotFound {
				err = nil
			}
		}
	}
	return err
}

type previewIn struct {
	Count     int            `json:"count,omitempty" jsonschema:"1 by default"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"as in undo.rollback"`
}

type previewOut struct {
	StepIDs    []uint64          `json:"step_ids"`
	Restored   []json.RawMessage `json:"restored"`
	Removed    []json.RawMessage `json:"removed"`
	Unrestored []map[string]any  `json:"unrestorable"`
	Conflicts  []map[string]any  `json:"conflicts"`
	LeftOut    *api.LeftOut      `json:"left_out,omitempty"` // of these paths
}

func preview(ctx context.Context, c *call, in previewIn) (previewOut, error) {
	n, err := c.active()
	if err != nil {
		return previewOut{}, err
	}
	if in.Count < 0 {
		return previewOut{}, invalid("count", "count is 1 or more, not %d", in.Count)
	}
	calls, err := n.newest(ctx, max(1, in.Count), in.Directory)
	if err != nil {
		return previewOut{}, err
	}
	would, err := n.undo(ctx, calls, historyop.UndoRequest{DryRun: true})
	told := would.told(0)
	conflicts := append([]map[string]any{}, would.Conflicts...)
	return previewOut{told.StepIDs, told.Restored, told.Removed, told.Unrestored, conflicts, told.LeftOut}, err
}

type redoIn struct {
	Count int  `json:"count,omitempty" jsonschema:"1 by default"`
	Force bool `json:"force,omitempty" jsonschema:"replace what others changed since"`
}

func redo(ctx context.Context, c *call, in redoIn) (rollbackOut, error) {
	n, err := c.active()
	if err != nil {
		return rollbackOut{}, err
	}
	if in.Count < 0 {
		return rollbackOut{}, invalid("count", "count is 1 or more, not %d", in.Count)
	}
	there, err := n.redoable(ctx)
	if err != nil || there == 0 {
		return undone{}.told(0), err
	}
	again := historyop.UndoRequest{Redo: true, Count: min(max(1, in.Count), there)}
	if in.Force {
		again.Mode = historyop.Force
	}
	did, err := n.takeBack(ctx, again)
	n.outside.hint()
	return did.told(0), err
}

// redoable is how many undos can be taken back.
func (n *session) redoable(ctx context.Context) (count int, err error) {
	list, err := listSteps(ctx, n.steps(), historyop.ListRequest{All: true})
	for _, s := range list {
		if s.Kind == "undo" && s.UndoneBy == 0 {
			count++
		}
	}
	return count, err
}

type showIn struct {
	Step uint64 `json:"step_id"`
}

type showOut struct {
	Step map[string]any `json:"step"`
}

func show(ctx context.Context, c *call, in showIn) (showOut, error) {
	out := showOut{Step: map[string]any{}}
	n, err := c.active()
	if err != nil {
		return out, err
	}
	list, err := n.steps().shown(ctx, n.steps().tells(), in.Step)
	if err != nil || len(list) == 0 {
		return out, err
	}
	return out, op.Into("show", list[0], &out.Step)
}

type diffIn struct {
	Steps string `json:"steps,omitempty" jsonschema:"a step, or A..B; the newest by default"`
}

type diffOut struct {
	Diff    string       `json:"diff"`
	LeftOut *api.LeftOut `json:"left_out,omitempty"` // paths of which it tells nothing
}

func diff(ctx context.Context, c *call, in diffIn) (diffOut, error) {
	n, err := c.active()
	if err != nil {
		return diffOut{}, err
	}
	req := historyop.DiffRequest{Of: n.steps().tells()}
	if in.Steps != "" {
		req.Steps = []string{in.Steps}
	}
	var out diffOut
	got, err := op.Call(ctx, func() (historyop.Diffed, error) { return historyop.DiffText(n.caller, req) })
	if err == nil {
		err = op.Into("diff", got, &out)
	}
	return out, err
}

type writeIn struct {
	Path      fileops.Path   `json:"path"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"as in fs.list"`
	Content   string         `json:"content"`
	Encoding  string         `json:"encoding,omitempty" jsonschema:"base64 where the content is"`
}

type changedOut struct {
	StepID uint64 `json:"step_id"` // 0 where nothing was changed
	SHA256 string `json:"sha256"`
}

func write(ctx context.Context, c *call, in writeIn) (changedOut, error) {
	n, at, d, err := c.inside(in.Path, in.Directory)
	if err != nil {
		return changedOut{}, err
	}
	got, step, err := file[fileops.Written](ctx, n, d, &fileops.WriteFile{Path: fileops.Path(at), Content: in.Content, Encoding: in.Encoding})
	return changedOut{step, got.SHA256}, err
}

type editIn struct {
	Path      fileops.Path   `json:"path"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"as in fs.list"`
	Old       string         `json:"old_string" jsonschema:"stands once in the file, unless replace_all is set"`
	New       string         `json:"new_string"`
	All       bool           `json:"replace_all,omitempty"`
}

func edit(ctx context.Context, c *call, in editIn) (changedOut, error) {
	n, at, d, err := c.inside(in.Path, in.Directory)
	if err != nil {
		return changedOut{}, err
	}
	got, step, err := file[fileops.Edited](ctx, n, d, &fileops.EditFile{Path: fileops.Path(at), Edits: []fileops.Edit{{Old: in.Old, New: in.New, All: in.All}}})
	return changedOut{step, got.SHA256}, err
}

type pauseIn struct {
	Reason string `json:"reason,omitempty" jsonschema:"shown to those who are refused"`
}

type pauseOut struct {
	Project    string           `json:"project"`
	Paused     map[string]any   `json:"paused"`
	Workspaces []map[string]any `json:"workspaces"` // that ran
}

// pauseProject works before a session too, for the project of one that names no directory.
func pauseProject(ctx context.Context, c *call, in pauseIn) (pauseOut, error) {
	out := pauseOut{Workspaces: []map[string]any{}}
	project := ""
	if n, err := c.active(); err == nil {
		project = n.project
	} else if len(c.opts.Directories) > 0 {
		project = c.opts.Directories[0]
	} else {
		return out, err
	}
	done, err := op.Call(ctx, func() (*op.ProjectHeld, error) { return c.opts.Caller.PauseProject(ctx, project, in.Reason) })
	if done == nil {
		return out, err
	}
	return out, cmp.Or(err, op.Into("pause", done, &out))
}

type approvalsOut struct {
	Waiting []answered `json:"waiting"`
}

func approvals(ctx context.Context, c *call, _ nothing) (approvalsOut, error) {
	out := approvalsOut{Waiting: []answered{}}
	n, err := c.active()
	if err != nil {
		return out, err
	}
	list, err := n.waiting(ctx)
	for i := range list {
		out.Waiting = append(out.Waiting, approvalSaid(&list[i]))
	}
	return out, err
}

// asMap is a value as its JSON reads.
func asMap(v any) map[string]any {
	out := map[string]any{}
	if b, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(b, &out)
	}
	return out
}
