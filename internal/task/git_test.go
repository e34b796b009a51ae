package task

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// repo is a repository with one commit, and git outside.
func repo(t *testing.T) (*Git, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	g, err := FindGit(getenv)
	if err != nil {
		t.Skip("there is no git")
	}
	dir := home + "/a repo"
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", dir}, {"-C", dir, "config", "user.name", "U"}, {"-C", dir, "config", "user.email", "u@example.org"},
		{"-C", dir, "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		plain(t, home, args...)
	}
	return g, dir
}

// plain runs git as a person does.
func plain(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestTrees: a worktree is made on a new branch without its files, is listed, and is forgotten
// again with its branch.
func TestTrees(t *testing.T) {
	g, dir := repo(t)
	ctx := t.Context()
	where, err := g.Where(ctx, dir)
	if err != nil || where.Top != dir || where.Common != dir+"/.git" || where.Main != dir || where.Branch != "main" {
		t.Fatalf("%+v, %v", where, err)
	}
	base, err := g.Commit(ctx, dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Dir(dir) + "/tree\nwith a line"
	if err := g.AddTree(ctx, where.Common, tree, "task/one", base, "why"); err != nil {
		t.Fatal(err)
	}
	list, err := g.Trees(ctx, where.Common)
	want := []Checkout{{Path: dir, Branch: "main"}, {Path: tree, Branch: "task/one"}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	if inside, err := g.Where(ctx, tree); err != nil || inside.Main != dir || inside.Common != where.Common || inside.Branch != "task/one" {
		t.Errorf("in the worktree: %+v, %v", inside, err)
	}
	if err := g.RenameBranch(ctx, where.Common, "task/one", "task/two"); err != nil || !g.HasBranch(ctx, dir, "task/two") ||
		g.HasBranch(ctx, dir, "task/one") {
		t.Errorf("renamed: %v", err)
	}
	if err := RemoveTree(tree); err != nil {
		t.Fatal(err)
	}
	if err := g.ForgetTree(ctx, where.Common, tree); err != nil {
		t.Fatal(err)
	}
	if err := g.RemoveBranch(ctx, where.Common, "task/two", strings.Repeat("0", 39)+"1"); err == nil {
		t.Error("a branch that has moved is removed")
	}
	if err := g.RemoveBranch(ctx, where.Common, "task/two", base); err != nil || g.HasBranch(ctx, dir, "task/two") {
		t.Errorf("removed: %v", err)
	}
	if list, err = g.Trees(ctx, where.Common); err != nil || len(list) != 1 {
		t.Errorf("left: %+v, %v", list, err)
	}
}

// TestRevisions: what names no commit is refused, what looks like an option too, and commits are
// counted.
func TestRevisions(t *testing.T) {
	g, dir := repo(t)
	ctx := t.Context()
	for _, bad := range []string{"", "nope", "--all", "-h", "--output=/tmp/x", "HEAD:", "HEAD^{tree}"} {
		if id, err := g.Commit(ctx, dir, bad); err == nil {
			t.Errorf("%q names %s", bad, id)
		}
	}
	first, err := g.Commit(ctx, dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	plain(t, filepath.Dir(dir), "-C", dir, "commit", "-q", "--allow-empty", "-m", "second")
	second, _ := g.Commit(ctx, dir, "main")
	if n, err := g.Count(ctx, dir, first, second); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if base, err := g.MergeBase(ctx, dir, first, second); err != nil || base != first {
		t.Errorf("%s, %v", base, err)
	}
	if _, err := g.Where(ctx, filepath.Dir(dir)); err == nil || !strings.Contains(err.Error(), "git init") {
		t.Errorf("outside of a repository: %v", err)
	}
}

// TestNothingOfTheRepositoryRuns: hooks, a file system monitor and filters that a repository names
// are not started by what is done outside.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	g, dir := repo(t)
	home := filepath.Dir(dir)
	mark := home + "/ran"
	hook := "#!/bin/sh\necho $0 >>'" + mark + "'\n"
	for _, name := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		if err := os.WriteFile(dir+"/.git/hooks/"+name, []byte(hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/.gitattributes", []byte("* filter=x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain(t, home, "-C", dir, "add", ".")
	plain(t, home, "-C", dir, "commit", "-q", "-m", "attributes")
	for _, args := range [][]string{{"core.fsmonitor", dir + "/.git/hooks/post-checkout"}, {"filter.x.smudge",
		"echo smudge >>'" + mark + "'; cat"}} {
		plain(t, home, "-C", dir, "config", args[0], args[1])
	}
	ctx := t.Context()
	plain(t, home, "-C", dir, "worktree", "add", "-q", home+"/canary")
	if _, err := os.Stat(mark); err != nil {
		t.Fatal("canary: plain git starts nothing either")
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	base, err := g.Commit(ctx, dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	tree := home + "/tree"
	if err := g.AddTree(ctx, dir+"/.git", tree, "task/x", base, "r"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(tree); err != nil {
		t.Fatal(err)
	}
	if err := g.ForgetTree(ctx, dir+"/.git", tree); err != nil {
		t.Fatal(err)
	}
	if err := g.RemoveBranch(ctx, dir+"/.git", "task/x", base); err != nil {
		t.Fatal(err)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("started: %s", ran)
	}
}

// TestParseTrees: whatever git says, nothing breaks.
func TestParseTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parseTrees(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"worktree /a", "worktree", "branch refs/heads/x",
			"branch", "bare", "", "HEAD 1", "locked why\nso"})).Draw(t, "lines"), "\x00"))
	})
}

// TestNames: a task's name is a branch's for git, too.
func TestNames(t *testing.T) {
	g, dir := repo(t)
	_ = g
	for _, name := range []string{"a", "fix-login", "A.b_c", "1", strings.Repeat("x", 40)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
		plain(t, filepath.Dir(dir), "check-ref-format", "refs/heads/"+BranchPrefix+name)
	}
	for _, name := range []string{"", "-a", ".a", "_", "a..b", "a.", "a.lock", "a/b", "a b", "ä", "a\n", strings.Repeat("x",
		41), "..", "a\x00"} {
		if CheckName(name) == nil {
			t.Errorf("%q is a name", name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9._\-]{1,12}`).Draw(t, "name")
		if CheckName(name) != nil {
			return
		}
		if err := exec.Command("git", "check-ref-format", "refs/heads/"+BranchPrefix+name).Run(); err != nil {
			t.Fatalf("git does not take %q", name)
		}
	})
}
