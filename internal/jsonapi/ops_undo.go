package jsonapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
)

func undoOps() []Operation {
	return []Operation{
		define("undo.rollback", "Takes the newest steps back, all of them or none.", inOrder, rollback),
		define("undo.history", "Lists the steps, the oldest first.", fromHere, undoHistory),
		define("undo.configure", "Sets limits of the history; with --undo-dir, as the user's own is not this client's to shorten.", inOrder, configureUndo),
		define("undo.discard", "Removes all steps for good; files stay as they are.", inOrder, discard),
	}
}

type rollbackIn struct {
	Count     int            `json:"count" jsonschema:"how many steps; more than there are is all of them"`
	Force     bool           `json:"force,omitempty" jsonschema:"replace what others changed since; carrel.redo brings it back"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"only steps that changed this directory, and only what is in it: its number, label, name or path"`
}

// directoryName is how a directory is meant: a number or a text.
type directoryName struct{ text string }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *directoryName) UnmarshalJSON(b []byte) error {
	var n int
	if json.Unmarshal(b, &n) == nil {
		d.text = strconv.Itoa(n)
		return nil
	}
	return json.Unmarshal(b, &d.text)
}

// directory finds the one that is meant; nil is not said, and gives nil.
func (n *session) directory(name *directoryName) (*directory, error) {
	if name == nil {
		return nil, nil
	}
	if i, err := strconv.Atoi(name.text); err == nil && i >= 0 && i < len(n.dirs) {
		return &n.dirs[i], nil
	}
	var found []*directory
	for i := range n.dirs {
		switch d := &n.dirs[i]; {
		case name.text == d.path || name.text != "" && name.text == d.label:
			return d, nil
		case name.text == filepath.Base(d.path):
			found = append(found, d)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, invalid("directory", "%d directories of the session are %q; want the number (0 to %d), the label, the last part of the path where only one has it, or the path", len(found), name.text, len(n.dirs)-1)
}

type rollbackOut struct {
	Steps      int               `json:"steps_rolled_back"`
	Crossed    int               `json:"barriers_crossed"` // paths of somebody else's that were replaced
	StepIDs    []uint64          `json:"step_ids"`
	Restored   []json.RawMessage `json:"restored"`
	Removed    []json.RawMessage `json:"removed"`
	Unrestored []map[string]any  `json:"unrestorable"`
	LeftOut    *api.LeftOut      `json:"left_out,omitempty"` // of these paths
}

// undone is what is read of an undo.
type undone struct {
	Steps        []uint64          `json:"steps"`
	Restored     []json.RawMessage `json:"restored"`
	Removed      []json.RawMessage `json:"removed"`
	Unrestorable []map[string]any  `json:"unrestorable"`
	Conflicts    []map[string]any  `json:"conflicts"`
	LeftOut      *api.LeftOut      `json:"left_out"`
	Unlisted     int               `json:"conflicts_left_out"`

	open bool            // a step of the history is
	ours map[string]bool // paths that open steps have changed: nobody else did
}

// takeBack makes an undo or a redo. What is in the way is an error of its own kind.
func (n *session) takeBack(ctx context.Context, in historyop.UndoRequest) (undone, error) {
	var out undone
	in.Of, in.Write = n.steps().tells(), n.roots()
	if !in.DryRun {
		n.begun.Add(1)
	}
	done, err := op.Call(ctx, func() (*historyop.Undone, error) { return historyop.Undo(n.caller, in) })
	if done == nil {
		return out, err
	}
	if large := op.Into("undo", done.Undo, &out); large != nil {
		return out, cmp.Or(err, large)
	}
	if err == nil || len(out.Conflicts)+out.Unlisted == 0 {
		return out, err
	}
	said := fmt.Sprintf("nothing was changed: %d paths are not as the steps left them; force replaces them", len(out.Conflicts)+out.Unlisted)
	if out.Unlisted > 0 {
		said += fmt.Sprintf("; %d of them are left out: %s", out.Unlisted, out.LeftOut.Why)
	}
	return out, &Problem{Code: CodeConflict, Message: said, Conflicts: append([]map[string]any{}, out.Conflicts...)}
}

// tells is the history of the project, of which the session may know what its workspace
// shows, and no more.
func (p *pastSteps) tells() historyop.Of { return historyop.Of{SeenBy: p.entry.ID} }

// told is what a response says of it; lists are never null.
func (u undone) told(crossed int) rollbackOut {
	return rollbackOut{Steps: len(u.Steps), Crossed: crossed, StepIDs: append([]uint64{}, u.Steps...), Restored: once(u.Restored),
		Removed: once(u.Removed), Unrestored: append([]map[string]any{}, u.Unrestorable...), LeftOut: u.LeftOut}
}

// once leaves out what stands twice: two steps that changed one path.
func once(list []json.RawMessage) []json.RawMessage {
	out, seen := []json.RawMessage{}, map[string]bool{}
	for _, one := range list {
		if !seen[string(one)] {
			seen[string(one)] = true
			out = append(out, one)
		}
	}
	return out
}

func rollback(ctx context.Context, c *call, in rollbackIn) (rollbackOut, error) {
	n, err := c.active()
	if err != nil {
		return rollbackOut{}, err
	}
	if in.Count < 1 {
		return rollbackOut{}, invalid("count", "count is 1 or more, not %d", in.Count)
	}
	calls, err := n.newest(ctx, in.Count, in.Directory)
	if err != nil {
		return rollbackOut{}, err
	}
	crossed, how := 0, historyop.UndoRequest{}
	if in.Force {
		preview, err := n.undo(ctx, calls, historyop.UndoRequest{DryRun: true})
		if err != nil {
			return rollbackOut{}, err
		}
		crossed, how.Mode = len(preview.Conflicts), historyop.Force
	}
	did, err := n.undo(ctx, calls, how)
	if in.Force {
		did.kept()
	}
	n.outside.hint()
	return did.told(crossed), err
}

// kept tells apart what a forced undo meant to remove and could not: a directory with
// something of somebody else's in it.
func (u *undone) kept() {
	u.Removed = slices.DeleteFunc(u.Removed, func(raw json.RawMessage) bool {
		var path string
		if json.Unmarshal(raw, &path) != nil {
			return false
		}
		if _, err := os.Lstat(path); err != nil {
			return false
		}
		u.Unrestorable = append(u.Unrestorable, map[string]any{"path": path, "why": "something that is not the step's is in it, or has its name"})
		return true
	})
}

// leaves counts what another of several calls has left out.
func (u *undone) leaves(l api.LeftOut) {
	if u.LeftOut != nil {
		l.Paths += u.LeftOut.Paths
	}
	u.LeftOut = &l
}

// undo makes the calls as it is said how, one after the other.
func (n *session) undo(ctx context.Context, calls []historyop.UndoRequest, how historyop.UndoRequest) (all undone, err error) {
	for _, in := range calls {
		in.DryRun, in.Mode = how.DryRun, how.Mode
		one, err := n.takeBack(ctx, in)
		all.Conflicts = append(all.Conflicts, one.Conflicts...)
		if p := (*Problem)(nil); err != nil && len(all.Steps) > 0 && !how.DryRun {
			p = problemOf(err)
			p.Message = fmt.Sprintf("%s (steps %v were taken back before)", p.Message, all.Steps)
			return all, p
		}
		if err != nil {
			return all, err
		}
		all.Steps, all.Restored = append(all.Steps, one.Steps...), append(all.Restored, one.Restored...)
		all.Removed, all.Unrestorable = append(all.Removed, one.Removed...), append(all.Unrestorable, one.Unrestorable...)
		if one.LeftOut != nil {
			all.leaves(*one.LeftOut)
		}
	}
	return all, nil
}

type historyIn struct {
	Directory *directoryName `json:"directory,omitempty" jsonschema:"only steps that changed this directory"`
	Limit     int            `json:"carrel.limit,omitempty" jsonschema:"only the newest so many; 1000 by default"`
}

type historyOut struct {
	Steps    []uint64         `json:"steps"` // their numbers
	Details  []map[string]any `json:"details"`
	Left     int              `json:"left_out,omitempty"` // older ones
	Barriers []map[string]any `json:"barriers"`           // path, why, step: what undoing all of them would destroy
}

const usualSteps = 1000

func undoHistory(ctx context.Context, c *call, in historyIn) (historyOut, error) {
	out := historyOut{Steps: []uint64{}, Details: []map[string]any{}, Barriers: []map[string]any{}}
	n, err := c.active()
	if err != nil {
		return out, err
	}
	d, err := n.directory(in.Directory)
	if err != nil {
		return out, err
	}
	if in.Limit < 0 {
		return out, invalid("carrel.limit", "carrel.limit is 1 or more, not %d", in.Limit)
	}
	if in.Limit == 0 {
		in.Limit = usualSteps
	}
	path := ""
	if d != nil {
		path = d.path
	}
	list, err := n.steps().history(ctx, path)
	if err != nil {
		return out, err
	}
	out.Left = max(0, len(list)-in.Limit)
	for _, s := range list[out.Left:] {
		out.Steps, out.Details = append(out.Steps, s.Step), append(out.Details, asMap(s))
	}
	barriers, _, err := n.barriers(ctx)
	out.Barriers = append(out.Barriers, barriers...)
	return out, err
}

type configureUndoIn struct {
	Log  *int64 `json:"max_log_size_bytes,omitempty" jsonschema:"of the disk, by all steps; 0 is no limit"`
	Step *int64 `json:"max_step_count,omitempty" jsonschema:"how many are kept; 0 is no limit"`
	One  *int64 `json:"max_single_step_size_bytes,omitempty" jsonschema:"that one step may copy; 0 is no limit"`
}

func configureUndo(ctx context.Context, c *call, in configureUndoIn) (nothing, error) {
	for name, v := range map[string]*int64{"max_log_size_bytes": in.Log, "max_step_count": in.Step, "max_single_step_size_bytes": in.One} {
		if v != nil && *v < 0 {
			return nothing{}, invalid(name, "%s is 0 or more, not %d", name, *v)
		}
	}
	if c.opts.UndoDir == "" {
		return nothing{}, &Problem{Code: CodeRefused, Message: "the history is the user's own, whose limits are in their configuration; with --undo-dir it is this client's",
			Carrel: &api.Denial{Code: "undo-dir", Operation: "undo.configure", Rule: "a client shortens its own history only", Source: "built in", Message: "there is no --undo-dir", Hint: "carrel stdio --undo-dir DIR"}}
	}
	return nothing{}, c.want(ctx, func(t *wants) {
		t.terms.MaxBytes, t.terms.MaxSteps, t.terms.MaxStepBytes = in.Log, in.Step, in.One
	})
}

type discardOut struct {
	Removed map[string]any `json:"removed"`
	Aside   string         `json:"moved_aside,omitempty"` // where the history of another version is now
}

func discard(ctx context.Context, c *call, _ nothing) (discardOut, error) {
	out := discardOut{Removed: map[string]any{}}
	c.mu.Lock()
	foreign := c.foreign
	c.mu.Unlock()
	if foreign != "" && c.opts.UndoDir != "" {
		return c.setAside(foreign)
	}
	n, err := c.active()
	if err != nil {
		return out, err
	}
	removed, err := op.Call(ctx, func() (*historyop.Removed, error) {
		return historyop.Discard(n.caller, historyop.DiscardRequest{All: true})
	})
	if removed != nil {
		out.Removed = asMap(removed)
	}
	return out, err
}

// setAside makes room for a new history where another version's is. It is not removed:
// that version may still read it.
func (c *call) setAside(dir string) (discardOut, error) {
	out := discardOut{Removed: map[string]any{}, Aside: dir + ".other-version-" + time.Now().UTC().Format("20060102T150405")}
	if err := os.Rename(dir, out.Aside); err != nil {
		return out, fmt.Errorf("moving the history of another version aside: %w", err)
	}
	c.mu.Lock()
	c.foreign = ""
	c.mu.Unlock()
	return out, nil
}
