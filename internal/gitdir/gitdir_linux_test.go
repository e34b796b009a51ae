package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"syscall"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", dir}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func temp(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mine(os.FileInfo) bool { return true }

// TestAsGitSays: git's own answers for a repository, a worktree and a submodule.
func TestAsGitSays(t *testing.T) {
	dir := temp(t)
	git(t, dir, "init", "-q", "sub")
	git(t, dir+"/sub", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, dir, "init", "-q", "main")
	main := dir + "/main"
	git(t, main, "submodule", "--quiet", "add", dir+"/sub", "deep/s")
	git(t, main, "commit", "-q", "-m", "x")
	git(t, main, "worktree", "add", "-q", dir+"/tree")
	for _, tree := range []string{main, dir + "/tree", main + "/deep/s"} {
		want := Dirs{git(t, tree, "rev-parse", "--absolute-git-dir"), git(t, tree, "rev-parse", "--path-format=absolute", "--git-common-dir")}
		got, found, ours := Open(tree, mine)
		if got != want || !found || !ours {
			t.Errorf("%s: %+v, %v, %v, want %+v", tree, got, found, ours, want)
		}
		if at := Of(tree); at != want.Dir {
			t.Errorf("%s: %s, want %s", tree, at, want.Dir)
		}
		if back := TreeOf(got.Dir); back != tree && tree != main {
			t.Errorf("%s leads back to %q, want %q", got.Dir, back, tree)
		}
	}
	d, _, _ := Open(main, mine)
	all := d.Repositories()
	slices.Sort(all)
	if want := []string{d.Dir, d.Dir + "/modules/deep/s", d.Dir + "/worktrees/tree"}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
}

// TestForged: what only says of itself that it belongs to a repository leads nowhere.
func TestForged(t *testing.T) {
	dir := temp(t)
	git(t, dir, "init", "-q", "victim")
	for _, d := range []string{"p/fake", "victim/.git/modules/x", "victim/.git/worktrees/x"} {
		if err := os.MkdirAll(dir+"/"+d, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"HEAD": "", "config": "", "commondir": dir + "/victim/.git\n", "gitdir": dir + "/other/.git\n"} {
			if err := os.WriteFile(dir+"/"+d+"/"+name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, text := range []string{"gitdir: " + dir + "/victim/.git", "gitdir: fake", "gitdir: ../victim/.git/modules/x", "gitdir: ../victim/.git/worktrees/x", "gitdir:", "", "x"} {
		if err := os.WriteFile(dir+"/p/.git", []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, found, _ := Open(dir+"/p", mine); d != (Dirs{}) || !found {
			t.Errorf("%q: %+v, found %v", text, d, found)
		}
	}
	if _, found, ours := Open(dir+"/victim", func(os.FileInfo) bool { return false }); !found || ours {
		t.Errorf("somebody else's: found %v, ours %v", found, ours)
	}
}

// TestReads: bounds, links and what is no file.
func TestReads(t *testing.T) {
	dir := temp(t)
	if err := os.WriteFile(dir+"/f", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/p", 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadSmall(dir + "/f"); text != "text" || err != nil {
		t.Error(text, err)
	}
	for _, name := range []string{"l", "none", "p"} {
		if text, err := ReadSmall(dir + "/" + name); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	for name, want := range map[string]error{"f": nil, "l": nil, "p": os.ErrNotExist, "none": os.ErrNotExist, ".": os.ErrNotExist} {
		if _, err := Read(dir+"/"+name, 4); err != want && !(IsMissing(err) && want != nil) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := Read(dir+"/f", 3); err != ErrTooLong {
		t.Error(err)
	}
}
