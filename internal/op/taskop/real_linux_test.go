package taskop_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli"
	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/op/taskop"
)

// TestMain makes the test binary the program itself where it is started as one, by whatever name.
func TestMain(m *testing.M) {
	if !strings.HasSuffix(os.Args[0], ".test") {
		os.Exit(cli.Main(os.Args))
	}
	os.Exit(m.Run())
}

// place is a home with a repository of its own, and the tasks of its user.
type place struct {
	*testing.T
	home, repo string
	environ    []string
	tasks      *taskop.Tasks
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	parent := "/var/lib" // not in /tmp, which is private inside
	if os.Getuid() != 0 {
		var err error
		if parent, err = os.UserCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	base, err := os.MkdirTemp(parent, "carrel-tasks-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	p := &place{T: t, home: base + "/home", repo: base + "/home/src/repo"}
	for _, dir := range []string{p.repo, base + "/run"} {
		p.must(os.MkdirAll(dir, 0o700))
	}
	p.environ = []string{"HOME=" + p.home, "XDG_RUNTIME_DIR=" + base + "/run", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	p.write(p.home+"/.gitconfig", "[user]\n\tname = U\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n")
	p.git("init", "-q")
	p.write(p.repo+"/a", "one\ntwo\nthree\n")
	p.write(p.repo+"/.gitignore", "*.local\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "first")
	p.tasks = p.open(p.repo)
	t.Cleanup(func() {
		list, err := p.tasks.List(cleanupContext(), true, false)
		for _, one := range list {
			err = errors.Join(err, p.tasks.Drop(cleanupContext(), one.Name, true))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) open(dir string) *taskop.Tasks {
	p.Helper()
	t, err := taskop.Open(p.caller(dir))
	p.must(err)
	return t
}

func (p *place) caller(dir string) *op.Caller {
	return &op.Caller{Dir: dir, Environ: p.environ, Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil },
		Notice: func(text string) { p.Log(text) }}
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) write(file, text string) {
	p.Helper()
	p.must(os.WriteFile(file, []byte(text), 0o600))
}

// git runs git as the person does, in the repository.
func (p *place) git(args ...string) string { return p.gitIn(p.repo, args...) }

func (p *place) gitIn(dir string, args ...string) string {
	p.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = p.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// begin makes a task whose agent is a script, and waits for its end.
func (p *place) begin(name, script string, change func(*taskop.NewRequest)) *api.Task {
	p.Helper()
	r := &taskop.NewRequest{Name: name, Argv: []string{"sh", "-c", script}}
	if change != nil {
		change(r)
	}
	one, err := p.tasks.New(p.Context(), r)
	p.must(err)
	return one
}

func (p *place) done(name string) {
	p.Helper()
	list, err := p.tasks.Wait(p.Context(), &taskop.WaitRequest{Names: []string{name}, For: 30 * time.Second})
	if err != nil {
		screen, _ := p.tasks.Capture(p.Context(), name, 40)
		p.Fatalf("%+v: %v\n%s", list, err, strings.Join(screen, "\n"))
	}
}

// refused checks the code of a refusal, and what it says.
func (p *place) refused(err error, code, want string) {
	p.Helper()
	var d *api.Denial
	if !errors.As(err, &d) || d.Code != code || !strings.Contains(d.Error(), want) {
		p.Errorf("got %v, want %s with %q", err, code, want)
	}
}

// whole checks that nothing of a repository is broken, and that no task has left anything.
func (p *place) whole() {
	p.Helper()
	p.git("fsck", "--no-dangling")
	if list := p.git("worktree", "list"); strings.Count(list, "\n") > 0 {
		p.Errorf("worktrees are left:\n%s", list)
	}
	if branches := p.git("branch", "--list", "task/*"); branches != "" {
		p.Errorf("branches are left: %s", branches)
	}
	left, _ := filepath.Glob(p.home + "/.local/share/carrel/tasks/[^.]*")
	if len(left) > 0 {
		p.Errorf("left: %q", left)
	}
	desks, err := p.caller(p.repo).Desks(p.Context())
	if err != nil || len(desks) > 0 {
		p.Errorf("workspaces are left: %+v, %v", desks, err)
	}
}

const commits = "echo four >> a; echo new > b; git add .; git commit -q -m work; "

// TestOneTask goes the usual way: begun with files that git does not have, looked at, spoken to,
// merged as one step.
func TestOneTask(t *testing.T) {
	p := newPlace(t)
	p.write(p.repo+"/x.local", "mine")
	one := p.begin("fix", commits+"echo later > c; read line; echo got $line; exit 0",
		func(r *taskop.NewRequest) { r.Include = []string{"*.local"} })
	if one.Branch != "task/fix" || one.Into != "main" || one.Workspace != "fix" || one.App == "" {
		t.Errorf("%+v", one)
	}
	tree := string(one.Path)
	if got, err := os.ReadFile(tree + "/x.local"); err != nil || string(got) != "mine" {
		t.Errorf("what was taken over: %q, %v", got, err)
	}
	p.must(p.tasks.Send(t.Context(), "fix", "hello"))
	p.done("fix")
	screen, err := p.tasks.Capture(t.Context(), "fix", 5)
	if err != nil || !slices.Contains(screen, "got hello") {
		t.Errorf("%q, %v", screen, err)
	}
	list, err := p.tasks.List(t.Context(), false, true)
	p.must(err)
	if len(list) != 1 || list[0].State != api.TaskDone || list[0].Commits != 1 || *list[0].Diff != (api.TaskDiff{Files: 3,
		Added: 3, Unsaved: true}) {
		t.Errorf("%+v %+v", list, list[0].Diff)
	}
	diff, err := p.tasks.Diff(t.Context(), "fix", false)
	if err != nil || !strings.Contains(diff, "+four\n") || !strings.Contains(diff, "+new\n") || !strings.Contains(diff, "+later\n") {
		t.Errorf("%s, %v", diff, err)
	}
	if stat, err := p.tasks.Diff(t.Context(), "fix", true); err != nil || !strings.Contains(stat, "3 files changed") {
		t.Errorf("%s, %v", stat, err)
	}
	ran, err := p.tasks.Run(t.Context(), "fix", []string{"sh", "-c", "cat c; pwd; exit 4"})
	if err != nil || string(ran.Stdout) != "later\n"+tree+"\n" || ran.Exit != 4 {
		t.Errorf("%+v, %v", ran, err)
	}
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
	p.refused(err, api.CodeUnsaved, `"c"`)
	before := p.git("rev-parse", "main")
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Commit: "rest", Check: "echo no such luck >&2; exit 7"})
	p.refused(err, api.CodeCheck, "no such luck")
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Approve: func(v *taskop.Preview) ([]taskop.Part, error) {
		if v.Commits != 2 || v.Into != "main" || len(v.Parts) != 3 || !strings.Contains(v.Stat, "3 files changed") {
			t.Errorf("shown: %+v", v)
		}
		return nil, errors.New("no")
	}})
	if err == nil || p.git("rev-parse", "main") != before {
		t.Errorf("not approved: %v", err)
	}
	done, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Check: "test -e b"})
	p.must(err)
	if m := done; done.Kept || m.Before != before || m.After != p.git("rev-parse", "main") || len(m.Steps) != 1 || string(m.Path) != p.repo {
		t.Errorf("%+v", done)
	}
	if got, _ := os.ReadFile(p.repo + "/a"); string(got) != "one\ntwo\nthree\nfour\n" || p.git("status", "--short") != "" {
		t.Errorf("%q, %s", got, p.git("status", "--short"))
	}
	if _, err := p.tasks.Status(t.Context(), "fix"); err == nil {
		t.Error("the task is there still")
	}
	p.whole()
}

// TestWaysToMerge: as it is, as one commit, on top; into a branch that no working tree is on; chosen pieces.
func TestWaysToMerge(t *testing.T) {
	p := newPlace(t)
	p.git("branch", "side")
	for name, c := range map[string]struct {
		r       taskop.MergeRequest
		commits int
	}{
		"plain": {taskop.MergeRequest{}, 1}, "squash": {taskop.MergeRequest{Squash: true, Message: "as one"},
			1}, "rebase": {taskop.MergeRequest{Rebase: true}, 1},
		"side": {taskop.MergeRequest{Into: "side"}, 1},
	} {
		p.begin(name, "echo "+name+" > "+name+"; git add .; git commit -q -m "+name, nil)
		p.done(name)
		into := "main"
		if c.r.Into != "" {
			into = c.r.Into
		} else { // the two have parted
			p.write(p.repo+"/own-"+name, "x")
			p.git("add", ".")
			p.git("commit", "-q", "-m", "own "+name)
		}
		before := p.git("rev-parse", into)
		c.r.Name = name
		done, err := p.tasks.Merge(t.Context(), &c.r)
		p.must(err)
		if p.git("show", into+":"+name) != name || p.git("merge-base", before, into) != before {
			t.Errorf("%s: %+v", name, done)
		}
		if name == "side" { // it gets what main had by then, too
			continue
		}
		merges := p.git("rev-list", "--merges", "--count", before+".."+into)
		if want := map[string]string{"plain": "1", "squash": "0", "rebase": "0"}[name]; merges != want {
			t.Errorf("%s: %s merges, want %s", name, merges, want)
		}
	}
	p.whole()
	if p.git("log", "--format=%s", "--all") == "" || !strings.Contains(p.git("log", "--format=%s"), "as one") {
		t.Error(p.git("log", "--format=%s"))
	}
}

// TestChosenPieces: what was chosen becomes one commit, and the task goes on with the rest.
func TestChosenPieces(t *testing.T) {
	p := newPlace(t)
	lines := strings.Repeat("line\n", 40)
	p.write(p.repo+"/long", "top\n"+lines+"end\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "long")
	p.begin("fix", "sed -i -e s/top/TOP/ -e s/end/END/ long; echo x > new; git add .; git commit -q -m work", nil)
	p.done("fix")
	done, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Message: "some",
		Approve: func(v *taskop.Preview) ([]taskop.Part, error) {
			if len(v.Parts) != 3 {
				t.Fatalf("%+v", v.Parts)
			}
			return v.Parts[1:], nil
		}})
	p.must(err)
	if got, _ := os.ReadFile(p.repo + "/long"); string(got) != "top\n"+lines+"END\n" || !done.Kept || p.git("log", "-1",
		"--format=%s") != "some" {
		t.Errorf("%q %+v", got, done)
	}
	if one, err := p.tasks.Status(t.Context(), "fix"); err != nil || one.State != api.TaskDone {
		t.Errorf("%+v, %v", one, err)
	}
}

// TestMergeIsRefused: branches that do not fit, a target with changes of its own, a task without
// work, a branch that is not there.
func TestMergeIsRefused(t *testing.T) {
	p := newPlace(t)
	p.begin("fix", "echo theirs > a; git commit -qam theirs", nil)
	p.done("fix")
	head := p.git("rev-parse", "HEAD")
	p.write(p.repo+"/a", "mine, in no commit\n")
	_, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
	p.refused(err, api.CodeUnsaved, "git stash")
	p.git("commit", "-qam", "mine")
	for _, r := range []taskop.MergeRequest{{}, {Squash: true}, {Rebase: true}} {
		r.Name = "fix"
		_, err := p.tasks.Merge(t.Context(), &r)
		p.refused(err, api.CodeConflict, "nothing was changed")
	}
	p.git("reset", "-q", "--hard", head)
	p.write(p.repo+"/new", "this is in nobody's way")
	for _, r := range []taskop.MergeRequest{{Into: "nope"}, {Into: "task/fix"}, {Squash: true, Rebase: true}} {
		r.Name = "fix"
		if _, err := p.tasks.Merge(t.Context(), &r); err == nil {
			t.Errorf("%+v was done", r)
		}
	}
	if p.git("rev-parse", "HEAD") != head || p.git("status", "--short") != "?? new" {
		t.Errorf("something has changed: %s", p.git("status", "--short"))
	}
	p.must(os.Remove(p.repo + "/new"))
	p.begin("idle", "true", nil)
	p.done("idle")
	if _, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "idle"}); err == nil || !strings.Contains(err.Error(),
		"no commit that main does not have") {
		t.Errorf("nothing to merge: %v", err)
	}
	p.must(p.tasks.Drop(t.Context(), "idle", false))
	p.refused(p.tasks.Drop(t.Context(), "fix", false), api.CodeUnsaved, "1 of its commits")
	p.must(p.tasks.Drop(t.Context(), "fix", true))
	p.refused(p.tasks.Drop(t.Context(), "fix", true), api.CodeNoTask, "fix")
	p.whole()
}

// TestBegunFromChanges: what is in no commit is taken over, what is gone too; a base may be named.
func TestBegunFromChanges(t *testing.T) {
	p := newPlace(t)
	p.write(p.repo+"/gone", "x")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "second")
	p.git("branch", "old", "HEAD~1")
	p.must(os.Remove(p.repo + "/gone"))
	p.write(p.repo+"/a", "changed\n")
	p.write(p.repo+"/new file", "n")
	one := p.begin("fix", "ls; cat a", func(r *taskop.NewRequest) { r.WithChanges = true })
	p.done("fix")
	tree := string(one.Path)
	if got := p.gitIn(tree, "status", "--short"); got != "M a\n D gone\n?? \"new file\"" {
		t.Errorf("taken over: %q", got)
	}
	p.refused(p.tasks.Drop(t.Context(), "fix", false), api.CodeUnsaved, "changed files")
	one = p.begin("older", "true", func(r *taskop.NewRequest) { r.Base = "old" })
	if one.Into != "old" || one.Base != p.git("rev-parse", "old") {
		t.Errorf("%+v", one)
	}
	for _, bad := range []*taskop.NewRequest{{Name: "fix"}, {Name: "x", Base: "nope"}, {Name: "x", Include: []string{"../src"}},
		{Name: "x", Words: []string{"--network=nowhere"}}} {
		if _, err := p.tasks.New(t.Context(), bad); err == nil {
			t.Errorf("%+v was begun", bad)
		}
	}
	if list := p.git("worktree", "list"); strings.Count(list, "\n") != 2 || p.git("branch", "--list", "task/x") != "" {
		t.Errorf("something is left of what was not begun: %s", list)
	}
}

// TestClosedAndOpened: a task outlives its workspace, and its name.
func TestClosedAndOpened(t *testing.T) {
	p := newPlace(t)
	p.begin("fix", "echo begun >> c; sleep 1000", nil)
	if _, err := p.tasks.Rename(t.Context(), "fix", "other"); err == nil || !strings.Contains(err.Error(), "carrel stop fix") {
		t.Errorf("renamed while it runs: %v", err)
	}
	p.must(p.tasks.Close(t.Context(), "fix"))
	p.must(p.tasks.Close(t.Context(), "fix"))
	if one, err := p.tasks.Status(t.Context(), "fix"); err != nil || one.State != api.TaskStopped {
		t.Errorf("%+v, %v", one, err)
	}
	_, err := p.tasks.Run(t.Context(), "fix", []string{"true"})
	p.refused(err, api.CodeNotRunning, "carrel task open fix")
	if list, err := p.tasks.Wait(t.Context(), &taskop.WaitRequest{Names: []string{"fix"}}); !errors.Is(err,
		taskop.ErrWaitEnded) || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	one, err := p.tasks.Rename(t.Context(), "fix", "other")
	if err != nil || one.Branch != "task/other" || p.gitIn(string(one.Path), "branch", "--show-current") != "task/other" {
		t.Errorf("%+v, %v", one, err)
	}
	_, again, err := p.tasks.Open(t.Context(), "other")
	if err != nil || again.State != api.TaskRunning || again.App == "" {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, third, err := p.tasks.Open(t.Context(), "other"); err != nil || third.App != again.App {
		t.Errorf("opened twice: %+v, %v", third, err)
	}
	if list, err := p.tasks.Wait(t.Context(), &taskop.WaitRequest{Names: []string{"other"},
		For: 300 * time.Millisecond}); !errors.Is(err, taskop.ErrWaitTime) || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	p.must(p.tasks.Drop(t.Context(), "other", true))
	p.whole()
}

// TestCoordinator: what a workspace asks for gets what it has, is merged into its own branch, and
// touches no other branch.
func TestCoordinator(t *testing.T) {
	p := newPlace(t)
	lead := p.begin("lead", "sleep 1000", func(r *taskop.NewRequest) { r.Words = []string{"--coordinator", "--network=closed"} })
	p.begin("persons", "sleep 1000", nil)
	carrel := func(script string) *taskop.Ran {
		t.Helper()
		r, err := p.tasks.Run(t.Context(), "lead", []string{"sh", "-ec", script})
		p.must(err)
		return r
	}
	r := carrel(`carrel task new sub --prompt work -- sh -c 'echo {prompt} > sub; git add .; git commit -q -m sub'
		carrel task wait sub --timeout 30s; carrel task list --json; carrel task merge sub; git log --oneline`)
	if r.Exit != 0 || !strings.Contains(string(r.Stdout), `"parent": "lead"`) || !strings.Contains(string(r.Stdout),
		"merged sub into task/lead") {
		t.Fatalf("%+v", r)
	}
	if got, err := os.ReadFile(string(lead.Path) + "/sub"); err != nil || string(got) != "work\n" {
		t.Errorf("%q, %v", got, err)
	}
	main := p.git("rev-parse", "main")
	for _, refused := range []string{
		"task drop persons --force", "task merge persons", "task send persons x", "task capture persons",
		"task run persons -- true", "task status lead", "task drop lead --force",
		"task new x --network open", "task new x --coordinator -- true", "task new x --include a -- true",
		"task new x --write / -- true", "task new x --agent claude", "task open persons", "task rename persons y",
	} {
		if r := carrel("carrel " + refused + " || true"); r.Exit != 0 || !strings.Contains(string(r.Stderr), "carrel: ") {
			t.Errorf("%s: %+v", refused, r)
		}
	}
	r = carrel(`carrel task new up -- sh -c 'echo up > up; git add .; git commit -q -m up; carrel task new deeper -- true'
		carrel task wait up --timeout 30s || true; carrel task capture up; carrel task merge up --into main || echo refused; carrel task drop up --force`)
	if !strings.Contains(string(r.Stdout), "gives no tasks") || !strings.Contains(string(r.Stdout), "refused") ||
		p.git("rev-parse", "main") != main {
		t.Errorf("%+v", r)
	}
	if list, err := p.tasks.List(t.Context(), false, false); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	p.must(p.tasks.Drop(t.Context(), "persons", true))
	p.must(p.tasks.Drop(t.Context(), "lead", true))
	p.whole()
}
