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
	"carrel/internal/supervisor"
	"carrel/internal/task"
)

// endTime is how long a workspace that is not wanted any more may take to end.
const endTime = 20 * time.Second

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
	Words       []string // flags of carrel start
}

// making is a task that is being made.
type making struct {
	*records
	f     *found
	r     *NewRequest
	where *task.Place // the caller
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
			err = &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: r.Name,
				Message: fmt.Sprintf("there is a task %q already", r.Name),
				Hint:    "`carrel task open " + r.Name + "` goes on with it, `carrel task drop " + r.Name + "` throws it away"}
		}
		return nil, err
	}
	f := &found{&task.Task{Name: r.Name, Prompt: r.Prompt, Created: time.Now().Truncate(time.Second)}, key}
	if t.by != nil {
		if err := t.bounded(f, r); err != nil {
			return nil, err
		}
	}
	m := &making{t.records, f, r, where}
	if err := m.plan(ctx); err != nil {
		return nil, err
	}
	if err := m.make(ctx); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endTime)
		defer cancel()
		return nil, errors.Join(err, t.remove(undo, f))
	}
	return t.tell(ctx, f)
}

// plan decides all that a task is to be.
func (m *making) plan(ctx context.Context) error {
	t, f, r, where := m.records, m.f, m.r, m.where
	revision := "HEAD"
	if r.Base != "" {
		revision = r.Base
	}
	base, err := t.git.Commit(ctx, where.Top, revision)
	if err != nil {
		return fmt.Errorf("%w: %s\nhint: --base names a branch or a commit; a new repository needs a first commit", err, where.Top)
	}
	if t.git.HasBranch(ctx, where.Top, f.Branch()) {
		return &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: f.Branch(),
			Message: fmt.Sprintf("there is a branch %q in %s already", f.Branch(), where.Main),
			Hint:    "take another name, or remove it: git branch -D " + f.Branch()}
	}
	into := where.Branch
	if r.Base != "" && t.git.HasBranch(ctx, where.Top, r.Base) {
		into = r.Base
	}
	f.Tree = task.Tree{Repository: api.Text(where.Main), Common: api.Text(where.Common), Base: base, Into: into,
		Path: api.Text(task.PathOf(t.dataHome(), f.key, where.Main, r.Name))}
	if m.by != nil {
		if err := m.by.mayStart(agentOf(r)); err != nil {
			return err
		}
	}
	if f.Workspace, err = m.workspaceName(); err != nil {
		return err
	}
	return f.command(r)
}

// workspaceName is the task's own name, or one with the repository's where another workspace
// has that.
func (m *making) workspaceName() (string, error) {
	t, name, where := m.records, m.r.Name, m.where
	for _, one := range []string{name, named.NameFor(where.Main)[:min(len(named.NameFor(where.Main)), 20)] + "-" + name} {
		if _, err := named.Read(t.c.State(), one); err == nil {
			continue
		}
		if _, ok, _ := t.c.WholeName(one); !ok {
			return one, named.CheckName(one)
		}
	}
	return "", &api.Denial{Code: api.CodeExists, Operation: "task new", Subject: name,
		Message: fmt.Sprintf("there is a workspace %q already", name),
		Hint:    "take another name, or remove the workspace: carrel revoke " + name}
}

// agentOf is the agent that works on a task, "" for none: what is named, or what the command starts.
func agentOf(r *NewRequest) string {
	if r.Agent == "" && len(r.Argv) > 0 {
		if a, ok := agents.ByCommand(filepath.Base(r.Argv[0])); ok {
			return a.Name
		}
	}
	return r.Agent
}

// command decides what works on the task, and the words that start its workspace.
func (f *found) command(r *NewRequest) error {
	f.Agent = agentOf(r)
	argv := slices.Clone(r.Argv)
	switch {
	case len(argv) > 0:
		placed := false
		for i := range argv {
			placed = placed || strings.Contains(argv[i], "{prompt}")
			argv[i] = strings.ReplaceAll(argv[i], "{prompt}", r.Prompt)
		}
		if r.Prompt != "" && !placed {
			return fmt.Errorf("a prompt is given, and the command %q has no place for it\n"+
				"hint: the word {prompt} in it stands for the prompt", r.Argv)
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
		return errors.New("a prompt is given, and no agent to work on it\n" +
			"hint: --agent claude, or a command behind --, in which {prompt} stands for it")
	}
	if err := op.NoZeroBytes("task new", argv...); err != nil {
		return err
	}
	f.Argv = texts(argv)
	start := append([]string{"start"}, r.Words...)
	if f.Agent == "" { // of a coordinator's own agent
		start = slices.DeleteFunc(start, func(w string) bool { return strings.HasPrefix(w, "--no-prompts") })
	}
	if f.Agent != "" {
		start = append(start, "--agent="+f.Agent)
	}
	if f.Parent == "" && len(f.Argv) > 0 { // else a person sits there, or the coordinator asks
		start = append(start, "--notify")
	}
	purpose := r.Purpose
	if purpose == "" {
		purpose = "task " + f.Name
	}
	f.Words = texts(append(start, "--purpose="+purpose, "--", f.Workspace))
	return named.CheckPurpose(purpose)
}

// make makes what was planned.
func (m *making) make(ctx context.Context) error {
	t, f := m.records, m.f
	one := &f.Tree
	if err := os.MkdirAll(filepath.Dir(string(one.Path)), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(string(one.Path)); err == nil {
		return fmt.Errorf("%q is there already, and no task's\nhint: look at it and move it away", string(one.Path))
	}
	if err := t.store.Save(f.key, f.Task); err != nil { // first: what a kill leaves can be dropped by its name
		return err
	}
	if err := t.git.AddTree(ctx, repository(one), string(one.Path), f.Branch(), one.Base, "carrel task "+f.Name); err != nil {
		return err
	}
	if err := m.include(); err != nil { // before the walls stand: they hide what is secret of it
		return err
	}
	e, err := t.start(ctx, f)
	if err != nil {
		return err
	}
	if e.Project != string(f.Tree.Path) {
		return fmt.Errorf("the workspace would work in %q, not in the task's worktree\n"+
			"hint: a profile with `cwd` cannot be used for a task", e.Project)
	}
	if err := fill(ctx, e, string(one.Path)); err != nil {
		return err
	}
	if m.r.WithChanges {
		if err := m.takeOver(ctx); err != nil {
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
func (m *making) include() error {
	t, f, r, where := m.records, m.f, m.r, m.where
	if len(r.Include) == 0 {
		return nil
	}
	n, err := task.Copy(where.Top, string(f.Tree.Path), r.Include)
	if err == nil {
		t.c.Tell(fmt.Sprintf("%d files were taken over from %s", n, where.Top))
	}
	return err
}

// takeOver copies what is in no commit from the caller's working tree.
func (m *making) takeOver(ctx context.Context) error {
	t, f, where := m.records, m.f, m.where
	tree := string(f.Tree.Path)
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
