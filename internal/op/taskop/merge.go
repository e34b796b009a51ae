package taskop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/task"
)

// MergeRequest is how the work of a task is taken over.
type MergeRequest struct {
	Name    string
	Into    string // a branch; "" is the one that the task began on
	Squash  bool   // as one commit
	Rebase  bool   // the task's commits are put on top of the branch first
	Commit  string // the message of a commit for what is in none yet; "" refuses that
	Message string // of the merge, or of the one commit
	Check   string // a shell command that has to succeed in the task's working tree
	Keep    bool   // the task goes on

	// Approve is asked before anything is changed. It gives nil for all of the work, or the parts of
	// it that are to be taken over as one commit, and refuses by an error.
	Approve func(*Preview) ([]Part, error)
}

// Preview is what a merge would do to one repository.
type Preview struct {
	Name       string
	Repository string
	From, Into string // branches
	Head       string // the commit that is taken over
	Commits    int
	Stat       string // a summary of the files
	Parts      []Part // all of it, in order
}

// Merged is what a merge has done.
type Merged struct {
	Name       string   `json:"name"`
	Kept       bool     `json:"kept"` // the task goes on
	Repository api.Text `json:"repository"`
	Branch     string   `json:"branch"`
	Head       string   `json:"head"`   // the commit that was taken over
	Before     string   `json:"before"` // the one that the branch was at
	After      string   `json:"after"`
	Path       api.Text `json:"path,omitempty"`  // of the working tree that it was done in, where a person has one
	Steps      []uint64 `json:"steps,omitempty"` // of that project's history; one undo takes it back
}

// merging is a merge under way.
type merging struct {
	t    *Tasks
	f    *found
	r    *MergeRequest
	tree *task.Tree
	into string
	head string // of the task's branch

	target   string // the working tree that is on the branch
	borrowed bool   // it was made for this
	look     *bench // sees both, and changes nothing
	before   string
	patch    string // of the parts that were chosen; "" for all of the work
}

// Merge takes over the work of a task. All is looked at first: what is in no commit, what does not
// fit together, the check, what a person says. Then git merges inside walls, on the target's own
// working tree, as one step of its history.
func (t *Tasks) Merge(ctx context.Context, r *MergeRequest) (*Merged, error) {
	f, err := t.find(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	if t.by != nil {
		if err := t.ownBranch(ctx, f, r); err != nil {
			return nil, err
		}
	}
	if r.Squash && r.Rebase {
		return nil, errors.New("--squash and --rebase are two ways; take one")
	}
	release, err := t.store.Lock(f.key)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := t.commit(ctx, f, r); err != nil {
		return nil, err
	}
	if r.Rebase {
		if err := t.rebase(ctx, f, r); err != nil {
			return nil, err
		}
	}
	m := &merging{t: t, f: f, r: r, tree: &f.Tree}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	n, err := t.git.Count(ctx, repository(m.tree), m.before, m.head)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("task %s has no commit that %s does not have\n"+
			"hint: `carrel task diff %s` shows what is in no commit; --commit MESSAGE makes one", f.Name, m.into, f.Name)
	}
	if err := t.check(ctx, f, r); err != nil {
		return nil, err
	}
	if err := m.approve(ctx); err != nil {
		return nil, err
	}
	done, err := m.merge(ctx)
	if err != nil {
		return nil, err
	}
	if done.Kept = r.Keep || m.patch != ""; done.Kept { // what was left out is there still
		return done, nil
	}
	m.close()
	return done, t.remove(ctx, f)
}

// commit makes a commit of what is in none, in the task's own workspace, or refuses where there is
// such a thing.
func (t *Tasks) commit(ctx context.Context, f *found, r *MergeRequest) error {
	one := &f.Tree
	b, err := t.look(ctx, string(one.Common), string(one.Path))
	if err != nil {
		return err
	}
	changed, gone, err := unsaved(ctx, b.entry, string(one.Path))
	b.close()
	if err != nil || len(changed)+len(gone) == 0 {
		return err
	}
	if r.Commit == "" {
		return &api.Denial{Code: api.CodeUnsaved, Operation: "task merge", Subject: f.Name,
			Message: fmt.Sprintf("task %s: in no commit: %s", f.Name, some(append(changed, gone...))),
			Hint:    "--commit MESSAGE makes a commit of them; or ask the agent to"}
	}
	e, err := t.start(ctx, f)
	if err != nil {
		return err
	}
	said, err := scriptOf(ctx, e, string(one.Path), commitScript, r.Commit)
	if err == nil && said.status != 0 {
		err = said.problem("git commit")
	}
	return err
}

// commitScript makes a commit of all that is in none, with the message $1.
const commitScript = `g="git -c core.hooksPath=/dev/null"; $g add -A -- . && $g commit --quiet -m "$1"`

// some names the first of many files.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
}

// rebase puts the task's commits on top of the branch that they go into, in the task's own
// workspace.
func (t *Tasks) rebase(ctx context.Context, f *found, r *MergeRequest) error {
	e, err := t.start(ctx, f)
	if err != nil {
		return err
	}
	one := &f.Tree
	into, err := target(one, r)
	if err != nil {
		return err
	}
	onto, err := t.git.Commit(ctx, repository(one), "refs/heads/"+into)
	if err != nil {
		return err
	}
	said, err := git(ctx, e, string(one.Path), "rebase", "--quiet", onto)
	if err != nil || said.status == 0 {
		return err
	}
	_, _ = git(ctx, e, string(one.Path), "rebase", "--abort")
	return &api.Denial{Code: api.CodeConflict, Operation: "task merge", Subject: f.Name,
		Message: fmt.Sprintf("the commits of task %s do not fit on top of %s: %v", f.Name, into, said.problem("git rebase")),
		Hint:    "nothing was changed; have the agent rebase onto " + into + ", or merge without --rebase"}
}

// target is the branch that a tree's work goes into.
func target(one *task.Tree, r *MergeRequest) (string, error) {
	into := one.Into
	if r.Into != "" {
		into = r.Into
	}
	if into == "" {
		return "", errors.New("the task began on no branch\nhint: --into names the one that it is to be merged into")
	}
	return into, nil
}

// check runs the command that is to say whether the work is good, in the task's own workspace.
func (t *Tasks) check(ctx context.Context, f *found, r *MergeRequest) error {
	if r.Check == "" {
		return nil
	}
	e, err := t.start(ctx, f)
	if err != nil {
		return err
	}
	t.c.Tell("checking: " + r.Check)
	said, err := scriptOf(ctx, e, string(f.Tree.Path), r.Check)
	if err != nil {
		return err
	}
	if said.status != 0 {
		return &api.Denial{Code: api.CodeCheck, Operation: "task merge", Subject: f.Name, Message: said.problem(r.Check).Error(),
			Hint: "nothing was merged; `carrel task send " + f.Name + "` tells its agent"}
	}
	return nil
}

// prepare finds the working tree that is on the target branch, and looks whether a merge would go
// well there.
func (m *merging) prepare(ctx context.Context) (err error) {
	dir := repository(m.tree)
	if m.into, err = target(m.tree, m.r); err != nil {
		return err
	}
	if m.into == m.f.Branch() {
		return fmt.Errorf("%s is the branch of the task itself", m.into)
	}
	if m.head, err = m.t.git.Commit(ctx, dir, "refs/heads/"+m.f.Branch()); err != nil {
		return fmt.Errorf("task %s: %w", m.f.Name, err)
	}
	if m.before, err = m.t.git.Commit(ctx, dir, "refs/heads/"+m.into); err != nil {
		return fmt.Errorf("there is no branch %q in %s", m.into, m.tree.Repository)
	}
	if err := m.findTarget(ctx); err != nil {
		return err
	}
	if m.look, err = m.t.look(ctx, string(m.tree.Common), m.target); err != nil {
		return err
	}
	return m.fits(ctx)
}

// findTarget finds who is on the branch, or borrows a worktree for it.
func (m *merging) findTarget(ctx context.Context) error {
	trees, err := m.t.git.Trees(ctx, repository(m.tree))
	if err != nil {
		return err
	}
	for _, one := range trees {
		if one.Branch == m.into && !one.Bare {
			m.target = one.Path
			return nil
		}
	}
	path := filepath.Dir(string(m.tree.Path)) + "/." + m.f.Name + ".into"
	if err := task.RemoveTree(path); err != nil { // of a merge that was killed
		return err
	}
	if err := m.t.git.ForgetTree(ctx, repository(m.tree), path); err != nil {
		return err
	}
	m.target, m.borrowed = path, true
	return m.t.git.BorrowTree(ctx, repository(m.tree), path, m.into, "carrel task merge "+m.f.Name)
}

// fits refuses a target with changes of its own, and branches that do not fit together.
func (m *merging) fits(ctx context.Context) error {
	var changed, gone []string
	var err error
	if !m.borrowed { // else its files are not there yet
		changed, gone, err = unsaved(ctx, m.look.entry, m.target)
	}
	if err != nil {
		return err
	}
	if changed = tracked(ctx, m.look.entry, m.target, changed); len(changed)+len(gone) > 0 {
		return &api.Denial{Code: api.CodeUnsaved, Operation: "task merge", Subject: m.into,
			Message: fmt.Sprintf("%s has changes that are in no commit: %s", m.target, some(append(changed, gone...))),
			Hint:    "commit them or `git stash` there first"}
	}
	said, err := scriptOf(ctx, m.look.entry, m.target, fitScript, m.before, m.head)
	if err != nil {
		return err
	}
	switch said.status {
	case 0:
		return nil
	case 1:
		names := strings.Split(strings.TrimRight(said.out, "\x00"), "\x00")
		return &api.Denial{Code: api.CodeConflict, Operation: "task merge", Subject: m.f.Name,
			Message: fmt.Sprintf("task %s and %s have changed the same lines: %s", m.f.Name, m.into, some(names[min(1, len(names)):])),
			Hint:    "nothing was changed; have its agent merge " + m.into + " into its branch first"}
	}
	return said.problem("git merge-tree")
}

// tracked are the names that git knows: what is new may stay where it is.
func tracked(ctx context.Context, e supervisor.Entry, tree string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	said, err := git(ctx, e, tree, "ls-files", "-z", "--cached")
	if err != nil || said.status != 0 {
		return names
	}
	known := make(map[string]bool)
	for name := range strings.SplitSeq(said.out, "\x00") {
		known[name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return !known[name] })
}

// approve has a person, or a rule, say yes. What they are shown is what the commits hold, read in
// walls that no agent was in.
func (m *merging) approve(ctx context.Context) error {
	if m.r.Approve == nil {
		return nil
	}
	n, err := m.t.git.Count(ctx, repository(m.tree), m.before, m.head)
	if err != nil {
		return err
	}
	p := &Preview{Name: m.f.Name, Repository: string(m.tree.Repository), From: m.f.Branch(), Into: m.into, Head: m.head, Commits: n}
	whole := ""
	for _, part := range []struct {
		into  *string
		flags []string
	}{{&p.Stat, []string{"--stat=100"}}, {&whole, []string{"--patch", "--binary", "--full-index", "--unified=3", "--no-renames",
		"--src-prefix=a/", "--dst-prefix=b/"}}} {
		said, err := git(ctx, m.look.entry, m.target, append(append([]string{"diff", "--no-ext-diff", "--no-textconv",
			"--no-color"}, part.flags...), m.before+"..."+m.head, "--")...)
		if err == nil && said.status != 0 {
			err = said.problem("git diff")
		}
		if err != nil {
			return err
		}
		*part.into = said.out
	}
	p.Parts = parts(whole)
	chosen, err := m.r.Approve(p)
	if chosen != nil {
		m.patch = patchOf(chosen)
	}
	return err
}

// fitScript merges the commits $1 and $2 without a working tree; what git makes for it is thrown away.
const fitScript = `dir=$(mktemp -d) && objects=$(git rev-parse --path-format=absolute --git-path objects) || exit 125
export GIT_OBJECT_DIRECTORY="$dir" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
git merge-tree --write-tree --name-only --no-messages -z "$1" "$2"
s=$?; rm -rf "$dir"; exit $s`

// The scripts of a merge. $1 is the commit, $2 the message. What goes wrong leaves the working
// tree as it was.
const (
	mergeScript  = `g="git -c core.hooksPath=/dev/null"; $g merge --no-edit -m "$2" "$1" || { s=$?; $g merge --abort; exit $s; }`
	squashScript = `g="git -c core.hooksPath=/dev/null"
{ $g merge --squash "$1" && $g commit --quiet -m "$2"; } || { s=$?; $g reset --hard --quiet; exit $s; }`
	patchScript = `g="git -c core.hooksPath=/dev/null"
{ $g apply --index --3way --whitespace=nowarn - && $g commit --quiet -m "$2"; } || { s=$?; $g reset --hard --quiet; exit $s; }`
	aheadScript = `git -c core.hooksPath=/dev/null merge --ff-only "$1"`
)

// merge does it.
func (m *merging) merge(ctx context.Context) (*Merged, error) {
	if now, err := m.t.git.Commit(ctx, repository(m.tree), "refs/heads/"+m.into); err != nil || now != m.before {
		return nil, errors.Join(err, fmt.Errorf("%s has changed meanwhile\nhint: the same command looks at it anew", m.into))
	}
	script, message := mergeScript, m.r.Message
	switch {
	case m.patch != "":
		script = patchScript
	case m.r.Squash:
		script = squashScript
	case m.r.Rebase:
		script = aheadScript
	}
	if message == "" {
		message = "Merge task " + m.f.Name
		if m.r.Squash || m.patch != "" {
			message = "Task " + m.f.Name
		}
	}
	b, err := m.place(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if m.borrowed {
		if err := fill(ctx, b.entry, m.target); err != nil {
			return nil, err
		}
	}
	said, err := run(ctx, b.entry, api.Command{Dir: m.target, Label: fmt.Sprintf("merge of %s at %.12s", m.f.Branch(), m.head),
		Argv: []string{"/bin/sh", "-c", script, "carrel", m.head, message}}, m.patch)
	if err == nil && said.status != 0 {
		err = said.problem("git merge")
	}
	if err != nil {
		return nil, err
	}
	after, err := m.t.git.Commit(ctx, repository(m.tree), "refs/heads/"+m.into)
	if err != nil {
		return nil, err
	}
	done := &Merged{Name: m.f.Name, Repository: m.tree.Repository, Branch: m.into, Head: m.head, Before: m.before, After: after,
		Steps: said.steps}
	if !m.borrowed {
		done.Path = api.Text(m.target)
	}
	return done, nil
}

// place is the workspace in which git merges: that of the coordinator itself, whose policy holds for
// its own working tree, else one for this merge.
func (m *merging) place(ctx context.Context) (*bench, error) {
	if m.t.by == nil {
		return m.t.bench(ctx, m.target)
	}
	e, ok, err := m.t.c.WholeName(m.t.by.Workspace)
	if err == nil && (!ok || e.Project != m.target) {
		err = fmt.Errorf("%s is not where workspace %s works", m.target, m.t.by.Workspace)
	}
	return &bench{c: m.t.c, entry: e, lent: true}, err
}

// close lets go of what the merge has taken. It may be called twice.
func (m *merging) close() {
	if m.look != nil {
		m.look.close()
		m.look = nil
	}
	if m.borrowed {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if err := errors.Join(task.RemoveTree(m.target), m.t.git.ForgetTree(ctx, repository(m.tree), m.target)); err != nil {
			m.t.c.Tell(err.Error())
		}
		m.borrowed = false
	}
}
