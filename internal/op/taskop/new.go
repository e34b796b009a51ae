package taskop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/supervisor"
	"carrel/internal/task"
)

// endTime is how long a workspace that is not wanted any more may take to end.
const endTime = 20 * time.Second

// maxTrees bounds the repositories of one task.
const maxTrees = 16

// NewRequest is a task that is asked for.
type NewRequest struct {
	Name        string
	Base        string   // a revision that the branch begins at; "" is the caller's HEAD
	Agent       string   // the agent that works on it; "" is that of Argv, if it is one
	Argv        []string // instead of the agent's usual command; "{prompt}" in a word stands for the prompt
	Prompt      string
	Purpose     string
	Include     []string // files that git does not have, to be taken over from the caller's working tree
	WithChanges bool     // take over what is in no commit there
	With        []string // directories of further repositories
	Words       []string // flags of carrel start
}

// New makes a task: branch, worktree, workspace, and its agent in a terminal. Where something
// goes wrong on the way, nothing of it is left.
func (t *Tasks) New(ctx context.Context, r *NewRequest) (*api.Task, error) {
	if err := task.CheckName(r.Name); err != nil {
		return nil, err
	}
	where, err := t.here(ctx)
	if err != nil {
		return nil, err
	}
	key := task.Key(where.Common)
	release, err := t.store.Lock(key)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := t.store.Get(key, r.Name); !errors.Is(err, task.ErrNone) {
		if err == nil {
			err = &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: r.Name, Message: fmt.Sprintf("there is a task %q already", r.Name),
				Hint: "`carrel task open " + r.Name + "` goes on with it, `carrel task drop " + r.Name + "` throws it away"}
		}
		return nil, err
	}
	f := &found{&task.Task{Name: r.Name, Prompt: r.Prompt, Created: time.Now().Truncate(time.Second)}, key}
	if t.by != nil {
		if err := t.bounded(f, r); err != nil {
			return nil, err
		}
	}
	if err := t.plan(ctx, f, r, where); err != nil {
		return nil, err
	}
	if err := t.make(ctx, f, r, where); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endTime)
		defer cancel()
		return nil, errors.Join(err, t.remove(undo, f))
	}
	return t.tell(ctx, f)
}

// plan decides all that a task is to be.
func (t *Tasks) plan(ctx context.Context, f *found, r *NewRequest, where *task.Place) error {
	places := []*task.Place{where}
	for _, dir := range r.With {
		other, err := t.at(ctx, dir)
		if err != nil {
			return fmt.Errorf("--with %q: %w", dir, err)
		}
		if slices.ContainsFunc(places, func(p *task.Place) bool { return p.Common == other.Common }) {
			return fmt.Errorf("--with %q: the task has a worktree of that repository already", dir)
		}
		places = append(places, other)
	}
	if len(places) > maxTrees {
		return fmt.Errorf("a task has worktrees of at most %d repositories, not %d", maxTrees, len(places))
	}
	for i, p := range places {
		revision := "HEAD"
		if i == 0 && r.Base != "" {
			revision = r.Base
		}
		base, err := t.git.Commit(ctx, p.Top, revision)
		if err != nil {
			return fmt.Errorf("%w: %s\nhint: --base names a branch or a commit; a new repository needs a first commit", err, p.Top)
		}
		if t.git.HasBranch(ctx, p.Top, f.Branch()) {
			return &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: f.Branch(), Message: fmt.Sprintf("there is a branch %q in %s already", f.Branch(), p.Main),
				Hint: "take another name, or remove it: git branch -D " + f.Branch()}
		}
		into := p.Branch
		if i == 0 && r.Base != "" && t.git.HasBranch(ctx, p.Top, r.Base) {
			into = r.Base
		}
		f.Trees = append(f.Trees, task.Tree{Repository: api.Text(p.Main), Common: api.Text(p.Common), Base: base, Into: into,
			Path: api.Text(task.PathOf(t.dataHome(), task.Key(p.Common), p.Main, r.Name))})
	}
	var err error
	if f.Workspace, err = t.workspaceName(r.Name, where); err != nil {
		return err
	}
	return f.command(r)
}

// workspaceName is the task's own name, or one with the repository's where another workspace
// has that.
func (t *Tasks) workspaceName(name string, where *task.Place) (string, error) {
	for _, one := range []string{name, named.NameFor(where.Main)[:min(len(named.NameFor(where.Main)), 20)] + "-" + name} {
		if _, err := named.Read(t.c.State(), one); err == nil {
			continue
		}
		if _, ok, _ := t.c.WholeName(one); !ok {
			return one, named.CheckName(one)
		}
	}
	return "", &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: name, Message: fmt.Sprintf("there is a workspace %q already", name),
		Hint: "take another name, or remove the workspace: carrel revoke " + name}
}

// command decides what works on the task, and the words that start its workspace.
func (f *found) command(r *NewRequest) error {
	f.Agent = r.Agent
	argv := slices.Clone(r.Argv)
	if f.Agent == "" && len(argv) > 0 {
		if a, ok := agents.ByCommand(filepath.Base(argv[0])); ok {
			f.Agent = a.Name
		}
	}
	switch {
	case len(argv) > 0:
		placed := false
		for i := range argv {
			placed = placed || strings.Contains(argv[i], "{prompt}")
			argv[i] = strings.ReplaceAll(argv[i], "{prompt}", r.Prompt)
		}
		if r.Prompt != "" && !placed {
			return fmt.Errorf("a prompt is given, and the command %q has no place for it\nhint: the word {prompt} in it stands for the prompt", r.Argv)
		}
	case f.Agent != "":
		a, ok := agents.ByName(f.Agent)
		if !ok {
			return fmt.Errorf("--agent %q: no agent of that name is known\nhint: `carrel preset list` names those that are", f.Agent)
		}
		var err error
		if argv, err = a.PromptedArgv(r.Prompt); err != nil {
			return err
		}
	case r.Prompt != "":
		return errors.New("a prompt is given, and no agent to work on it\nhint: --agent claude, or a command behind --, in which {prompt} stands for it")
	}
	if err := op.NoZeroBytes("task new", argv...); err != nil {
		return err
	}
	f.Argv = texts(argv)
	start := append([]string{"start"}, r.Words...)
	for _, other := range f.Trees[1:] {
		start = append(start, "--write="+string(other.Path))
	}
	if f.Agent != "" {
		start = append(start, "--agent="+f.Agent)
	}
	purpose := r.Purpose
	if purpose == "" {
		purpose = "task " + f.Name
	}
	f.Words = texts(append(start, "--purpose="+purpose, "--", f.Workspace))
	return named.CheckPurpose(purpose)
}

// make makes what was planned.
func (t *Tasks) make(ctx context.Context, f *found, r *NewRequest, where *task.Place) error {
	for i := range f.Trees {
		one := &f.Trees[i]
		if err := os.MkdirAll(filepath.Dir(string(one.Path)), 0o700); err != nil {
			return err
		}
		if _, err := os.Lstat(string(one.Path)); err == nil {
			return fmt.Errorf("%q is there already, and no task's\nhint: look at it and move it away", string(one.Path))
		}
	}
	if err := t.store.Save(f.key, f.Task); err != nil { // first: what a kill leaves can be dropped by its name
		return err
	}
	for i := range f.Trees {
		one := &f.Trees[i]
		if err := t.git.AddTree(ctx, repository(one), string(one.Path), f.Branch(), one.Base, "carrel task "+f.Name); err != nil {
			return err
		}
	}
	if err := t.include(f, r, where); err != nil { // before the walls stand: they hide what is secret of it
		return err
	}
	e, err := t.start(ctx, f)
	if err != nil {
		return err
	}
	if e.Project != string(f.main().Path) {
		return fmt.Errorf("the workspace would work in %q, not in the task's worktree\nhint: a profile with `cwd` cannot be used for a task", e.Project)
	}
	for i := range f.Trees {
		if err := fill(ctx, e, string(f.Trees[i].Path)); err != nil {
			return err
		}
	}
	if r.WithChanges {
		if err := t.takeOver(ctx, f, where); err != nil {
			return err
		}
	}
	return t.startAgent(ctx, f, e)
}

// fill has git write the files of a new worktree, behind its walls.
func fill(ctx context.Context, e supervisor.Entry, tree string) error {
	said, err := git(ctx, e, tree, "reset", "--hard", "--quiet")
	if err == nil && said.status != 0 {
		err = said.problem("git reset")
	}
	return err
}

// include copies the files that were named from the caller's working tree.
func (t *Tasks) include(f *found, r *NewRequest, where *task.Place) error {
	if len(r.Include) == 0 {
		return nil
	}
	n, err := task.Copy(where.Top, string(f.main().Path), r.Include)
	if err == nil {
		t.c.Tell(fmt.Sprintf("%d files were taken over from %s", n, where.Top))
	}
	return err
}

// takeOver copies what is in no commit from the caller's working tree.
func (t *Tasks) takeOver(ctx context.Context, f *found, where *task.Place) error {
	tree := string(f.main().Path)
	b, err := t.look(ctx, where.Top, where.Common)
	if err != nil {
		return err
	}
	defer b.close()
	changed, gone, err := unsaved(ctx, b.entry, where.Top)
	if err != nil {
		return err
	}
	if err := task.Take(tree, gone); err != nil {
		return err
	}
	_, err = task.Copy(where.Top, tree, changed)
	return err
}

// unsaved lists what is in no commit of a working tree: files that changed or are new, and
// files that are gone.
func unsaved(ctx context.Context, e supervisor.Entry, tree string) (changed, gone []string, err error) {
	said, err := git(ctx, e, tree, "--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
	if err == nil && said.status != 0 {
		err = said.problem("git status")
	}
	if err != nil {
		return nil, nil, err
	}
	changed, gone = parseStatus(said.out)
	return changed, gone, nil
}

// parseStatus reads the short format of git-status(1), with -z and without renames: two letters
// for index and working tree, a space, and the path.
func parseStatus(out string) (changed, gone []string) {
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) < 4 {
			continue
		}
		if letters, name := entry[:2], entry[3:]; letters[1] == 'D' || letters == "D " {
			gone = append(gone, name)
		} else {
			changed = append(changed, name)
		}
	}
	return changed, gone
}

// start starts the workspace of a task, or finds it running.
func (t *Tasks) start(ctx context.Context, f *found) (supervisor.Entry, error) {
	if e, ok, err := t.running(f); ok || err != nil {
		return e, err
	}
	c := t.c.At(string(f.main().Path))
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
	e, ok, err := t.running(f)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q has ended by itself\nhint: `carrel events %s` says why", f.Workspace, f.Workspace)
	}
	return e, err
}

// startAgent starts what works on the task, in a terminal, and writes down which that is.
func (t *Tasks) startAgent(ctx context.Context, f *found, e supervisor.Entry) error {
	f.App = ""
	if len(f.Argv) > 0 {
		c := api.Command{Name: "agent", Argv: words(f.Argv), Columns: 120, Rows: 40}
		r, err := e.Call(ctx, api.Request{Op: api.OpTerminal, Command: &c})
		if err != nil {
			return err
		}
		f.App = r.App.ID
	}
	return t.store.Save(f.key, f.Task)
}
