package protectednames

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/gitdir"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("/usr/bin/git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProjectIsTheTopOfItsRepository(t *testing.T) {
	dir := realTemp(t)
	repo, sub := dir+"/r\xff", dir+"/r\xff/a/b"
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err := hostfacts.FindPlace(sub, "/nohome"); err != nil || p.Project != sub || p.Git.Dir != "" {
		t.Errorf("without a repository: %+v %v", p, err)
	}
	git(t, repo, "init", "-q")
	p, err := hostfacts.FindPlace(sub, "/nohome")
	if err != nil || p.Project != repo || p.Git.Common != repo+"/.git" || p.Cwd != sub {
		t.Errorf("in a repository: %+v %v", p, err)
	}
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "worktree", "add", "-q", dir+"/tree")
	p, err = hostfacts.FindPlace(dir+"/tree", "/nohome")
	if err != nil || p.Project != dir+"/tree" || p.Git.Common != repo+"/.git" || p.Git.Dir != repo+"/.git/worktrees/tree" {
		t.Errorf("in a worktree: %+v %v", p, err)
	}
}

// TestPlantedRepository: what another user put above the directory, and a
// .git that is a link, do not make more of the file system the project.
func TestPlantedRepository(t *testing.T) {
	dir := realTemp(t)
	sub := dir + "/a"
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	if p, _ := hostfacts.FindPlace(sub, ""); p.Project != dir {
		t.Fatalf("canary: the repository is not found at all: %+v", p)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir+"/.git", 12345, -1); err != nil {
			t.Fatal(err)
		}
		if p, _ := hostfacts.FindPlace(sub, ""); p.Project != sub {
			t.Errorf("a repository of another user is the project: %+v", p)
		}
		// Root at the top of a user's repository: that is the project in any
		// case, and its hooks are the user's.
		p, _ := hostfacts.FindPlace(dir, "")
		if got := find(&p, policyOf(t, dir), false); !slices.ContainsFunc(got.Rules, func(r policy.Rule) bool { return r.Path == dir+"/.git/hooks" }) {
			t.Errorf("hooks of another user's repository are not protected: %+v", p)
		}
	}
	if err := os.RemoveAll(dir + "/.git"); err != nil {
		t.Fatal(err)
	}
	other := realTemp(t)
	git(t, other, "init", "-q")
	if err := os.Symlink(other+"/.git", dir+"/.git"); err != nil {
		t.Fatal(err)
	}
	if p, _ := hostfacts.FindPlace(sub, ""); p.Project != dir || p.Git != (gitdir.Dirs{}) {
		t.Errorf("a link to another repository is followed: %+v", p)
	}
}

// TestBrokenRepository: what a command can break in its own repository neither
// makes the one around it the project nor takes the protection away.
func TestBrokenRepository(t *testing.T) {
	dir := realTemp(t)
	git(t, dir, "init", "-q", "outer")
	git(t, dir+"/outer", "init", "-q", "inner")
	inner := dir + "/outer/inner"
	for _, breakIt := range []func() error{
		func() error { return os.WriteFile(inner+"/.git/commondir", []byte("../..\n"), 0o644) },
		func() error { return os.Rename(inner+"/.git/HEAD", inner+"/.git/H2") },
	} {
		if err := breakIt(); err != nil {
			t.Fatal(err)
		}
		p, err := hostfacts.FindPlace(inner, "/nohome")
		if err != nil || p.Project != inner || p.Git.Common != inner+"/.git" {
			t.Fatalf("%+v %v", p, err)
		}
		if got := find(&p, policyOf(t, inner), false); !slices.ContainsFunc(got.Rules, func(r policy.Rule) bool { return r.Path == inner+"/.git/hooks" }) {
			t.Error("the hooks are not protected")
		}
	}
}

// TestForgedLinks: a .git file leads only to where the other end leads back.
func TestForgedLinks(t *testing.T) {
	dir := realTemp(t)
	if err := os.MkdirAll(dir+"/p/fake", 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "victim")
	for name, link := range map[string]string{
		"straight at a repository":              "gitdir: " + dir + "/victim/.git",
		"by a commondir of the project's own":   "gitdir: fake",
		"at what looks like a submodule's home": "gitdir: " + dir + "/victim/.git/modules/x",
	} {
		files(t, dir, "p/fake/HEAD", "victim/.git/modules/x/HEAD", "victim/.git/modules/x/config")
		if err := os.WriteFile(dir+"/p/fake/commondir", []byte(dir+"/victim/.git\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/p/.git", []byte(link+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := hostfacts.FindPlace(dir+"/p", "/nohome")
		if err != nil || p.Project != dir+"/p" || p.Git != (gitdir.Dirs{}) {
			t.Errorf("%s: %+v %v", name, p, err)
		}
		if got := find(&p, policyOf(t, dir+"/p"), false); len(got.Write) != 0 {
			t.Errorf("%s: %q becomes writable", name, got.Write)
		}
	}
}

func TestProtect(t *testing.T) {
	dir := realTemp(t)
	git(t, dir, "init", "-q")
	files(t, dir, ".vscode/tasks.json", ".envrc", "sub/.envrc", ".git/modules/x/y/HEAD", ".git/modules/x/y/config", "elsewhere")
	if err := os.Symlink("elsewhere", dir+"/.npmrc"); err != nil {
		t.Fatal(err)
	}
	p, err := hostfacts.FindPlace(dir, "/nohome")
	if err != nil {
		t.Fatal(err)
	}
	got := find(&p, policyOf(t, dir), false)
	var names []string
	for _, r := range got.Rules {
		if r.Access != policy.Read {
			t.Errorf("%q is %s", r.Path, r.Access)
		}
		names = append(names, strings.TrimPrefix(r.Path, dir+"/"))
	}
	for _, want := range []string{".vscode", ".envrc", ".git/config", ".git/hooks", ".git/modules/x/y/config"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not protected: %q", want, names)
		}
	}
	if slices.Contains(names, ".npmrc") {
		t.Error("a link is protected; its own place is what counts")
	}
	if !slices.Contains(got.Pins, dir+"/.git") || !slices.Contains(got.Pins, dir+"/.git/modules/x/y") {
		t.Errorf("pins: %q", got.Pins)
	}
	opened := find(&p, policyOf(t, dir, policy.FileRequest{Place: ".vscode", Access: policy.Write, Source: policy.Source{Layer: policy.LayerCommandLine}}), false)
	if slices.ContainsFunc(opened.Rules, func(r policy.Rule) bool { return strings.HasSuffix(r.Path, ".vscode") }) {
		t.Error("an explicit grant of .vscode does not open it")
	}
}

func TestWorktreeNeedsItsRepository(t *testing.T) {
	dir := realTemp(t)
	git(t, dir, "init", "-q", "main")
	git(t, dir+"/main", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, dir+"/main", "worktree", "add", "-q", "../tree")
	p, err := hostfacts.FindPlace(dir+"/tree", "/nohome")
	if err != nil {
		t.Fatal(err)
	}
	got := find(&p, policyOf(t, dir+"/tree"), false)
	if want := []string{dir + "/main/.git"}; !slices.Equal(got.Write, want) {
		t.Errorf("writable outside the project: %q, want %q", got.Write, want)
	}
	if !slices.ContainsFunc(got.Rules, func(r policy.Rule) bool { return r.Path == dir+"/main/.git/hooks" }) {
		t.Error("the hooks of the main repository are not protected")
	}
}

func policyOf(t testing.TB, project string, rules ...policy.FileRequest) *policy.Effective {
	t.Helper()
	eff, err := policy.Decide(policy.Scope{Cwd: project, Project: project, Home: "/nohome", Tmp: "/tmp"}, nil,
		[]policy.Layer{policy.Defaults(policy.Agent), {Kind: policy.LayerCommandLine, Request: policy.Request{Files: rules}}})
	if err != nil {
		t.Fatal(err)
	}
	return eff
}

func files(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		full := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
