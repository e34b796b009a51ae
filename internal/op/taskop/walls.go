package taskop

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/supervisor"
	"carrel/internal/tools"
)

const (
	maxSaid     = 8 << 20 // bytes of what a command says, that an operation reads
	maxComplain = 4 << 10 // bytes of its errors, that are told
)

// bench is a workspace of one operation: it has no network, and ends with this process.
type bench struct {
	c     *op.Caller
	entry supervisor.Entry
	lent  bool // it goes on afterwards
}

// look starts one that changes nothing: it sees places, and its own project is an empty directory.
func (rec *records) look(ctx context.Context, places ...string) (*bench, error) {
	dir := filepath.Join(rec.dataHome(), "carrel", "tasks", ".look")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return rec.raise(ctx, dir, places)
}

// bench starts one whose changes of the project at dir are recorded in its history.
func (rec *records) bench(ctx context.Context, dir string) (*bench, error) {
	return rec.raise(ctx, dir, nil)
}

func (rec *records) raise(ctx context.Context, dir string, read []string) (*bench, error) {
	var id [4]byte
	_, _ = rand.Read(id[:])
	w := &startop.Wish{Name: "task-" + hex.EncodeToString(id[:]), Purpose: "compares or merges a task", Network: "closed", Read: read,
		Owner: os.Getpid(), Passing: true}
	c := rec.c.At(dir)
	r, err := w.Request(c)
	if err != nil {
		return nil, err
	}
	if _, err := startop.Start(ctx, c, r); err != nil {
		return nil, fmt.Errorf("a workspace in %q: %w", dir, err)
	}
	e, ok, err := c.WholeName(w.Name)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q has ended by itself", w.Name)
	}
	return &bench{c: c, entry: e}, err
}

// close ends it, and forgets it.
func (b *bench) close() {
	if b.lent {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := op.End(ctx, b.entry)
	if err == nil {
		_, err = b.c.CleanUp(ctx, b.entry.Name, false)
	}
	if err != nil {
		b.c.Tell(err.Error())
	}
}

// said is how a command behind walls ended.
type said struct {
	out, err string
	status   int
	steps    []uint64
}

// problem is an error that says what a command said.
func (s *said) problem(what string) error {
	text := strings.TrimSpace(s.err)
	if text == "" {
		text = strings.TrimSpace(s.out)
	}
	if len(text) > maxComplain {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxComplain:], "")
	}
	return fmt.Errorf("%s ended with status %d: %s", what, s.status, text)
}

// in runs a command in a workspace and reads what it says.
func in(ctx context.Context, e supervisor.Entry, dir string, argv ...string) (*said, error) {
	return run(ctx, e, api.Command{Argv: argv, Dir: dir}, "")
}

// run is in for a command of any kind.
func run(ctx context.Context, e supervisor.Entry, c api.Command, stdin string) (*said, error) {
	r, err := tools.Run(ctx, e, c, []byte(stdin), tools.Limits{Stdout: maxSaid})
	if err != nil {
		return nil, err
	}
	if r.Stdout.Left > 0 {
		return nil, fmt.Errorf("%s said more than %d bytes", c.Argv[0], maxSaid)
	}
	return &said{out: string(r.Stdout.Head) + string(r.Stdout.Tail), err: string(r.Stderr.Head) + string(r.Stderr.Tail),
		status: r.App.Exit, steps: r.App.Steps}, nil
}

// gitWords keep the repository's hooks and its user's pager out of what we have git do, and keep git
// from writing its index for a look.
var gitWords = []string{"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "--no-pager", "--no-optional-locks"}

// git runs git in a workspace.
func git(ctx context.Context, e supervisor.Entry, dir string, args ...string) (*said, error) {
	return in(ctx, e, dir, append(append([]string{}, gitWords...), args...)...)
}

// scriptOf runs a script of ours in a workspace, by sh.
func scriptOf(ctx context.Context, e supervisor.Entry, dir, script string, args ...string) (*said, error) {
	return in(ctx, e, dir, append([]string{"/bin/sh", "-c", script, "carrel"}, args...)...)
}

// compare prints what a task has changed: see there.
//
//go:embed compare.sh
var compare string

// start starts the workspace of a task, or finds it running.
func (rec *records) start(ctx context.Context, f *found) (supervisor.Entry, error) {
	if e, ok, err := rec.running(f); ok || err != nil {
		return e, err
	}
	c := rec.c.At(string(f.Tree.Path))
	under, err := c.Ceilings()
	if err != nil {
		return supervisor.Entry{}, err
	}
	r := &startop.Request{Name: f.Workspace, Detach: true, Words: words(f.Words)}
	r.Asked.Ceilings = under
	started, err := startop.Start(ctx, c, r)
	if err != nil {
		return supervisor.Entry{}, err
	}
	for _, text := range append(started.Announcements, started.Notes...) {
		c.Tell(text)
	}
	e, ok, err := rec.running(f)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q has ended by itself\nhint: `carrel events %s` says why", f.Workspace, f.Workspace)
	}
	return e, err
}

// startAgent starts what works on the task, in a terminal, and writes down which that is.
func (rec *records) startAgent(ctx context.Context, f *found, e supervisor.Entry) error {
	f.App = ""
	if len(f.Argv) > 0 {
		c := api.Command{Name: "agent", Argv: words(f.Argv), Columns: 120, Rows: 40}
		r, err := e.Call(ctx, api.Request{Op: api.OpTerminal, Command: &c})
		if err != nil {
			return err
		}
		f.App = r.App.ID
	}
	return rec.store.Save(f.key, f.Task)
}
