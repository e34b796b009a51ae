package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
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
	found, all := d.Repositories()
	slices.Sort(found)
	if want := []string{d.Dir, d.Dir + "/modules/deep/s", d.Dir + "/worktrees/tree"}; !slices.Equal(found, want) || !all {
		t.Errorf("%q, all %v, want %q", found, all, want)
	}
}

// TestMoreThanIsSearched: where a repository has more worktrees, or directories of submodules, than are
// looked at, its caller is told.
func TestMoreThanIsSearched(t *testing.T) {
	for _, in := range []string{"/worktrees/", "/modules/"} {
		dir := temp(t)
		d := Dirs{Dir: dir, Common: dir}
		make := func(from, to int) {
			for i := from; i < to; i++ {
				if err := os.MkdirAll(dir+in+strconv.Itoa(i), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		most := MaxSearched
		if in == "/modules/" {
			most-- // it is looked at itself
		}
		make(0, most)
		if found, all := d.Repositories(); !all || in == "/worktrees/" && len(found) != 1+most {
			t.Errorf("%s: %d of %d, all %v", in, len(found), most, all)
		}
		make(most, most+1)
		if found, all := d.Repositories(); all {
			t.Errorf("%s: %d of %d are all", in, len(found), most+1)
		}
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

// TestReadsWithinBounds: of a long pointer the first part is read, and what is no link is read
// alone where that is asked for.
func TestReadsWithinBounds(t *testing.T) {
	dir := temp(t)
	if err := os.WriteFile(dir+"/long", []byte(strings.Repeat("x", maxPointer+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("long", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadSmall(dir + "/long"); len(text) != maxPointer || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if data, err := ReadPlain(dir+"/long", maxPointer+1); len(data) != maxPointer+1 || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := ReadPlain(dir+"/link", 1<<20); err == nil || IsMissing(err) {
		t.Errorf("a link: %v, want that it cannot be read, not that there is none", err)
	}
	if _, err := Read(dir+"/long/x", 1); !IsMissing(err) {
		t.Errorf("below a file: %v", err)
	}
	for name, want := range map[string][3]bool{"long": {false, true, false}, "link": {false, false, true}, ".": {true, false, false},
		"none": {}} {
		_, link := Files{}.Link(dir + "/" + name)
		if got := [3]bool{(Files{}).Dir(dir + "/" + name), (Files{}).Regular(dir + "/" + name), link}; got != want {
			t.Errorf("%s: directory, file, link: %v, want %v", name, got, want)
		}
	}
}

// TestTreeOf: the last of several work trees counts, as for git, and a relative path begins at
// the git directory.
func TestTreeOf(t *testing.T) {
	dir := temp(t)
	for _, c := range []struct{ file, text, want string }{
		{"config", "", ""}, {"config", "[core]\n\tworktree = \n", ""}, {"config", "[core]\n\tbare = true\n", ""},
		{"config", "[core]\n\tworktree = ../../a\n\tworktree = ../../b\n", filepath.Join(dir, "../../b")},
		{"config", "[core]\n\tworktree = /c/./d/\n", "/c/d"}, {"config", "[core\n", ""},
		{"gitdir", "../../t/.git\n", filepath.Join(dir, "../../t")}, {"gitdir", "/t/.git\n", "/t"}, // goes before config
	} {
		if err := os.WriteFile(dir+"/"+c.file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := TreeOf(dir); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.file, c.text, got, c.want)
		}
	}
	if got := TreeOf(dir + "/none"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// TestSubmodulesAreBounded: a search that would not end stops, and says where it did; branches
// and objects are not searched, and no link is followed.
func TestSubmodulesAreBounded(t *testing.T) {
	modules := temp(t) + "/modules"
	deep := modules + "/a/b"
	for _, sub := range []string{"/refs/heads/x/hooks", "/objects/y/hooks", "/hooks/z/hooks", "/modules/c/hooks"} {
		if err := os.MkdirAll(deep+sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(deep, modules+"/link"); err != nil {
		t.Fatal(err)
	}
	if got, all := submodules(modules); !slices.Equal(got, []string{deep, deep + "/modules/c"}) || !all {
		t.Errorf("%q, all %v", got, all)
	}
	if got, _ := submodules(modules + "/link"); got != nil {
		t.Errorf("through a link: %q", got)
	}
	for at := range MaxSearched {
		if err := os.Mkdir(modules+"/"+strconv.Itoa(at), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, all := submodules(modules); all || !slices.Contains(got, modules+"/a") && !slices.Contains(got, deep) {
		t.Errorf("beyond the bound nothing stands for %s: %d directories", deep, len(got))
	}
}
