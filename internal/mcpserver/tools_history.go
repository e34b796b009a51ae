package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/historyop"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type undoIn struct {
	Count     int    `json:"count,omitempty" jsonschema:"how many steps, the newest first; 1 by default"`
	Step      string `json:"step,omitempty" jsonschema:"only this step"`
	To        string `json:"to,omitempty" jsonschema:"all steps after this one"`
	Path      string `json:"path,omitempty" jsonschema:"only this path and what is in it"`
	Force     bool   `json:"force,omitempty" jsonschema:"replace what others changed since; redo brings it back"`
	Conflicts string `json:"conflicts,omitempty" jsonschema:"what is in the way: keep_both or skip; else nothing is done"`
}

// undone is what undo and redo tell.
type undone struct {
	DryRun       bool             `json:"dry_run"`
	Done         bool             `json:"done"`
	Steps        []uint64         `json:"steps"`
	Restored     []anyJSON        `json:"restored"`
	Removed      []anyJSON        `json:"removed"`
	Unrestorable []map[string]any `json:"unrestorable"`
	Conflicts    []map[string]any `json:"conflicts"`
	RolledBack   int              `json:"steps_rolled_back"`
	LeftOut      *api.LeftOut     `json:"left_out,omitempty"`
}

// history is that of the project, of which is told what the server's workspace shows, and no
// more. The workspace has to run for that.
func (c *call) history(ctx context.Context) (historyop.Of, error) {
	e, err := c.desk(ctx, "")
	return historyop.Of{SeenBy: e.ID}, err
}

func (c *call) undoRequest(in undoIn, redo, dry bool) (historyop.UndoRequest, error) {
	req := historyop.UndoRequest{Redo: redo, Count: in.Count, Step: in.Step, To: in.To, Write: c.server.opts.Roots, DryRun: dry}
	if in.Path != "" {
		req.Paths = []string{c.within(in.Path)}
	}
	switch {
	case in.Count < 0:
		return req, c.tool.badArguments("count", "count is the number of steps")
	case in.Force && in.Conflicts == "keep_both":
		return req, op.Denial(errors.New("--keep-both and --force: want one of them only"))
	case in.Force && in.Conflicts == "skip":
		return req, op.Denial(errors.New("--skip-conflicts and --force: want one of them only"))
	case in.Conflicts == "keep_both":
		req.Mode = historyop.KeepBoth
	case in.Conflicts == "skip":
		req.Mode = historyop.Skip
	case in.Force:
		req.Mode = historyop.Force
	}
	return req, nil
}

func (c *call) takeBack(ctx context.Context, in undoIn, redo, dry bool) (undone, error) {
	out := undone{Steps: []uint64{}, Restored: []anyJSON{}, Removed: []anyJSON{}, Unrestorable: []map[string]any{}, Conflicts: []map[string]any{}}
	req, err := c.undoRequest(in, redo, dry)
	if err != nil {
		return out, err
	}
	if req.Of, err = c.history(ctx); err != nil {
		return out, err
	}
	done, err := op.Call(ctx, func() (*historyop.Undone, error) { return historyop.Undo(c.server.opts.Caller, req) })
	if done == nil {
		return out, err
	}
	if large := op.Into("undo", done.Undo, &out); large != nil {
		return out, cmp.Or(err, large)
	}
	if out.Done {
		out.RolledBack = len(out.Steps)
	}
	if err != nil && len(out.Conflicts) > 0 {
		err = c.conflict(out.Conflicts)
	}
	return out, err
}

const codeConflict = "conflict" // paths are not as the steps left them

// conflict names the paths for which nothing was changed.
func (c *call) conflict(list []map[string]any) error {
	paths, n := joinLines(list, func(m map[string]any) string { return fmt.Sprintf("%v: %v", m["path"], m["why"]) })
	if n < len(list) {
		paths += fmt.Sprintf("and %d more", len(list)-n)
	}
	d := &api.Denial{Code: codeConflict, Operation: c.tool.Name, Subject: fmt.Sprint(list[0]["path"]), Rule: "conflicts", Source: "built in",
		Message: "nothing was changed, as these are not as the steps left them:\n" + strings.TrimSuffix(paths, "\n"),
		Hint:    "force: true replaces them"}
	if c.tool.In.Properties["conflicts"] != nil {
		d.Hint += "; conflicts: keep_both keeps both, skip leaves them as they are"
	}
	return d
}

func undo(ctx context.Context, c *call, in undoIn) (undone, error) {
	return c.takeBack(ctx, in, false, false)
}

func undoPreview(ctx context.Context, c *call, in undoIn) (undone, error) {
	return c.takeBack(ctx, in, false, true)
}

type redoIn struct {
	Count int  `json:"count,omitempty" jsonschema:"how many, the last undone first; 1 by default"`
	Force bool `json:"force,omitempty" jsonschema:"replace what is in the way"`
}

func redo(ctx context.Context, c *call, in redoIn) (undone, error) {
	return c.takeBack(ctx, undoIn{Count: in.Count, Force: in.Force}, true, false)
}

type diffIn struct {
	Steps string `json:"steps,omitempty" jsonschema:"a step, or A..B; the newest by default"`
	Path  string `json:"path,omitempty" jsonschema:"only this path and what is in it"`
	Stat  bool   `json:"stat,omitempty" jsonschema:"only how many lines of each file"`
	From  int    `json:"offset,omitempty" jsonschema:"begin at this line of the diff, from 1"`
}

type diffOut struct {
	LeftOut *api.LeftOut `json:"left_out,omitempty"`
	Lines   int          `json:"lines"` // of the whole diff
	Next    int          `json:"next_offset,omitempty"`

	text string
}

func (o diffOut) content() []sdk.Content {
	text := o.text
	if o.Next > 0 {
		text += fmt.Sprintf("[truncated: go on with offset %d; the diff has %d lines. stat counts them by file, path shows one]\n",
			o.Next, o.Lines)
	}
	if o.LeftOut != nil {
		text += fmt.Sprintf("[left out: %d paths, %s]\n", o.LeftOut.Paths, o.LeftOut.Why)
	}
	return textOf(text)
}

// show takes the lines from a number on that fit into an answer.
func (o *diffOut) show(diff string, from int) {
	all := slices.Collect(strings.Lines(diff))
	o.Lines = len(all)
	size, from := 0, min(max(from-1, 0), len(all))
	for i, line := range all[from:] {
		if size+len(line) > mostText || i == mostLines {
			if i == 0 { // a line that is longer than an answer
				line, _ = clip(line, mostText)
				o.text, i = line+"\n[the line is longer]\n", 1
			}
			if o.Next = from + i + 1; o.Next > o.Lines {
				o.Next = 0
			}
			return
		}
		size += len(line)
		o.text += line
	}
}

func diff(ctx context.Context, c *call, in diffIn) (diffOut, error) {
	of, err := c.history(ctx)
	if err != nil {
		return diffOut{}, err
	}
	req := historyop.DiffRequest{Of: of, Path: c.within(in.Path), Stat: in.Stat}
	if in.Steps != "" {
		req.Steps = []string{in.Steps}
	}
	got, err := op.Call(ctx, func() (historyop.Diffed, error) { return historyop.DiffText(c.server.opts.Caller, req) })
	if err != nil {
		got = historyop.Diffed{}
	}
	out := diffOut{LeftOut: got.LeftOut}
	out.show(got.Diff, in.From)
	return out, err
}

type historyIn struct {
	Last   int    `json:"last,omitempty" jsonschema:"the newest so many; 50 by default"`
	Offset int    `json:"offset,omitempty" jsonschema:"leave out so many first: next_offset of the page before"`
	Path   string `json:"path,omitempty" jsonschema:"only steps that changed this path or something in it"`
	All    bool   `json:"all,omitempty" jsonschema:"undos too, and steps that changed nothing in the end"`
}

type historyOut struct {
	Steps []map[string]any `json:"steps"`
	Next  int              `json:"next_offset,omitempty"` // 0 where there are no older ones
}

const usualSteps = 50

func undoHistory(ctx context.Context, c *call, in historyIn) (historyOut, error) {
	if in.Last <= 0 {
		in.Last = usualSteps
	}
	in.Offset = max(in.Offset, 0)
	out := historyOut{Steps: []map[string]any{}}
	all, err := c.steps(ctx, in, in.Offset+in.Last+1)
	var p page
	out.Steps, p = pageOf(all, paged{Limit: in.Last, Offset: in.Offset}, usualSteps)
	out.Next = p.Next
	return out, err
}

// steps are the newest steps, the newest first.
func (c *call) steps(ctx context.Context, in historyIn, last int) (all []map[string]any, err error) {
	of, err := c.history(ctx)
	if err != nil {
		return nil, err
	}
	list, err := op.Call(ctx, func() ([]historyop.Step, error) {
		return historyop.List(c.server.opts.Caller, historyop.ListRequest{Of: of, Path: c.within(in.Path), Last: last, All: in.All})
	})
	if err == nil {
		err = op.Into("history", list, &all)
	}
	slices.Reverse(all)
	return all, err
}

type discardIn struct {
	Before string   `json:"before,omitempty" jsonschema:"all steps before this one"`
	Steps  []string `json:"steps,omitempty" jsonschema:"these"`
	DryRun bool     `json:"dry_run,omitempty" jsonschema:"say what would be removed"`
}

type discardOut struct {
	DryRun  bool    `json:"dry_run"`
	Removed anyJSON `json:"removed"`
}

// discardHistory only ever previews. Who removes the way back is a person.
func discardHistory(ctx context.Context, c *call, in discardIn) (discardOut, error) {
	out := discardOut{DryRun: true}
	req := historyop.DiscardRequest{Steps: in.Steps, Before: in.Before, All: in.Before == "" && len(in.Steps) == 0, DryRun: true}
	would, err := op.Call(ctx, func() (*historyop.Removed, error) { return historyop.Discard(c.server.opts.Caller, req) })
	if would != nil {
		err = cmp.Or(err, op.Into("discard", would, &out.Removed))
	}
	if err != nil || in.DryRun {
		return out, err
	}
	return out, &api.Denial{Code: api.CodeNotHuman, Operation: c.tool.Name, Subject: c.server.opts.Project, Rule: "discarding is a person's", Source: "built in",
		Message: "the history can be removed by a person only: with it goes the way back",
		Hint:    "ask them to run `carrel discard` in the project; dry_run shows what would go"}
}
