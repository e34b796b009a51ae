package reviewop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/review"
	"carrel/internal/review/replay"
	"carrel/internal/sandbox"
	"carrel/internal/strictjson"
	"carrel/internal/supervisor"
	"carrel/internal/tools"

	"golang.org/x/sys/unix"
)

const (
	endTime     = 30 * time.Second // for the end of the workspace that applied
	maxComplain = 4 << 10          // bytes of its errors that are told
)

// Apply carries out what a layer changes, as one step of the project's history. Where others
// have changed one of the paths since the layer began nothing is done, unless the request says
// what becomes of such paths.
func (r *Reviews) Apply(ctx context.Context, q *ApplyRequest) (*Applied, error) {
	if q.Skip && q.Force {
		return nil, errors.New("--skip-conflicts and --force are two ways; take one")
	}
	l, err := r.open(q.ID)
	if err != nil {
		return nil, err
	}
	defer func() { l.Close() }()
	d, err := l.Changes()
	if err != nil {
		return nil, err
	}
	d.Force = q.Force
	chosen, err := r.choose(l, d, q)
	if err != nil {
		return nil, err
	}
	out := &Applied{ID: l.ID, Dry: q.Dry, Applied: []Change{}}
	for _, c := range d.Changes {
		switch {
		case !chosen(c):
		case c.Refused != "":
			out.Refused = append(out.Refused, tell(l, c))
		case c.Conflict != "" && !q.Force:
			out.Conflicts = append(out.Conflicts, tell(l, c))
		}
	}
	selected := d.Selected(chosen)
	for _, c := range selected {
		out.Applied = append(out.Applied, tell(l, c))
	}
	out.Left = len(d.Changes)
	if len(out.Conflicts) > 0 && !q.Skip {
		out.Applied = []Change{}
		return out, nil
	}
	if q.Dry || len(selected) == 0 {
		return out, nil
	}
	if err := r.carry(ctx, l, d, chosen, out); err != nil {
		out.Applied = []Change{}
		return out, err
	}
	after, err := l.Changes()
	if err != nil {
		return out, err
	}
	if out.Left = len(after.Changes); out.Left == 0 {
		out.Dropped = true
		return out, l.Remove()
	}
	return out, nil
}

// choose says which changes are asked for.
func (r *Reviews) choose(l *review.Layer, d *review.Diff, q *ApplyRequest) (func(*review.Change) bool, error) {
	below, err := r.below(l, d, q.Paths)
	if err != nil || q.Choose == nil {
		return below, err
	}
	wanted := make(map[*review.Change]bool)
	for _, c := range d.Changes {
		if !below(c) || c.Refused != "" {
			continue
		}
		one := tell(l, c)
		if wanted[c], err = q.Choose(&one); err != nil {
			return nil, err
		}
	}
	return func(c *review.Change) bool { return wanted[c] }, nil
}

// carry has a workspace of its own do it.
func (r *Reviews) carry(ctx context.Context, l *review.Layer, d *review.Diff, chosen func(*review.Change) bool, out *Applied) error {
	e, err := r.bench(ctx, l)
	if err != nil {
		return err
	}
	defer r.close(e)
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(int(from.Fd()), false); err != nil {
		return errors.Join(err, from.Close(), to.Close())
	}
	written := make(chan error, 1)
	go func() {
		err := l.Script(d, chosen, to)
		written <- errors.Join(err, to.Close())
	}()
	c := api.Command{Name: "review apply", Argv: []string{sandbox.SelfPath, replay.Word}, Dir: string(l.Project)}
	ran, err := tools.Run(ctx, e, c, nil, tools.Limits{Stdout: 2 * replay.MaxReport, Stderr: maxComplain, Stdin: from})
	from.Close()
	wrote := <-written
	if ran != nil {
		out.Steps = ran.App.Steps
	}
	if err != nil {
		return err
	}
	if ran.App.Exit != 0 || ran.App.Signal != "" {
		return errors.Join(wrote, fmt.Errorf("applying was cut short: %s %s\nhint: `carrel undo` takes back what was done; the layer is "+
			"as it was", ran.App.Signal, strings.TrimSpace(string(ran.Stderr.Bytes()))))
	}
	if wrote != nil {
		return wrote
	}
	return r.report(l, ran.Stdout, out)
}

// report reads what the program inside says of what it did.
func (r *Reviews) report(l *review.Layer, said *tools.Output, out *Applied) error {
	var report replay.Report
	if said.Left > 0 {
		return errors.New("what was said of the changes is too long")
	}
	if err := strictjson.Decode(said.Bytes(), &report); err != nil {
		return fmt.Errorf("reading what was applied: %w", err)
	}
	out.More = report.More
	for _, f := range report.Failed {
		if f.Tree < 0 || f.Tree >= len(l.Trees) {
			return errors.New("what was said of the changes names a directory that there is not")
		}
		why := f.Why
		if f.Code == int(unix.EACCES) || f.Code == int(unix.EPERM) {
			why = "the project's policy refuses it (" + f.Why + ")"
		}
		out.Failed = append(out.Failed, Left{api.Text(string(l.Trees[f.Tree]) + "/" + string(f.Path)), why})
	}
	return nil
}

// bench starts the workspace in which changes are made.
func (r *Reviews) bench(ctx context.Context, l *review.Layer) (e supervisor.Entry, err error) {
	w := &startop.Wish{Name: tools.OwnName("review", "-"), Purpose: "applies a reviewed layer", Network: "closed", Display: "none",
		Owner: os.Getpid(), Passing: true}
	for _, tree := range l.Granted {
		w.Write = append(w.Write, string(tree))
	}
	c := r.c.At(string(l.Project))
	q, err := w.Request(c)
	if err != nil {
		return e, err
	}
	if _, err := startop.Start(ctx, c, q); err != nil {
		return e, fmt.Errorf("a workspace in %q: %w", l.Project, err)
	}
	e, ok, err := c.WholeName(w.Name)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q has ended by itself", w.Name)
	}
	return e, err
}

func (r *Reviews) close(e supervisor.Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := op.End(ctx, e); err != nil && e.Alive() {
		r.c.Tell(err.Error())
	}
}
