package hostfacts

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// tree makes files, directories (with "/" at the end) and links ("to" after "->").
func tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for at, to := range entries {
		if err := os.MkdirAll(filepath.Dir(top+"/"+at), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case to == "/":
			err = os.MkdirAll(top+"/"+at, 0o700)
		case to != "":
			err = os.Symlink(to, top+"/"+at)
		default:
			err = os.WriteFile(top+"/"+at, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// TestFindPlace: the project is the repository around the working directory, else that itself;
// all paths are where links lead.
func TestFindPlace(t *testing.T) {
	top := tree(t, map[string]string{"repo/sub/deep": "/", "plain/sub": "/", "link": "repo/sub", "home": "/", "tohome": "home"})
	if out, err := exec.Command("git", "init", "-q", top+"/repo").CombinedOutput(); err != nil {
		t.Skipf("%v %s", err, out)
	}
	for _, tt := range []struct{ cwd, home, project, at, realHome string }{
		{"/repo", "/home", "/repo", "/repo", "/home"},
		{"/repo/sub/deep", "/home", "/repo", "/repo/sub/deep", "/home"},
		{"/link", "/tohome", "/repo", "/repo/sub", "/home"},
		{"/plain/sub", "/none", "/plain/sub", "/plain/sub", ""},
	} {
		p, err := FindPlace(top+tt.cwd, top+tt.home)
		want := Place{Cwd: top + tt.at, Project: top + tt.project}
		if tt.realHome != "" {
			want.Home = top + tt.realHome
		}
		if err != nil || p.Cwd != want.Cwd || p.Project != want.Project || p.Home != want.Home || (p.Git.Dir != "") != (tt.project == "/repo") {
			t.Errorf("%s: %+v %v, want %+v", tt.cwd, p, err, want)
		}
	}
	if p, err := FindPlace(top+"/plain/sub", "home"); err != nil || p.Home != "" {
		t.Errorf("a relative home: %+v %v", p, err)
	}
	if _, err := FindPlace(top+"/none", ""); err == nil {
		t.Error("a directory that is not there")
	}
	scope := (&Place{Cwd: "/p/s", Project: "/p", Home: "/h"}).Scope([]string{"/usr"})
	if scope.Cwd != "/p/s" || scope.Project != "/p" || scope.Home != "/h" || scope.Tmp != "/tmp" || !slices.Equal(scope.System,
		[]string{"/usr"}) {
		t.Errorf("%+v", scope)
	}
}

// TestResolve: what is at a path, where links lead, and the part of a path that exists.
func TestResolve(t *testing.T) {
	top := tree(t, map[string]string{"dir": "/", "file": "", "link": "dir", "broken": "none", "far": "link/in"})
	f := New()
	for at, want := range map[string]struct {
		real string
		kind sandbox.Kind
	}{
		"/dir": {"/dir", sandbox.KindDir}, "/file": {"/file", sandbox.KindFile}, "/link": {"/dir", sandbox.KindDir},
		"/broken": {"/broken", sandbox.KindNone}, "/none": {"/none", sandbox.KindNone}, "/file/x": {"/file/x", sandbox.KindNone},
	} {
		if real, kind := f.Resolve(top + at); real != top+want.real || kind != want.kind {
			t.Errorf("%s: %s %v", at, real, kind)
		}
	}
	if _, kind := f.Resolve("/dev/null"); kind != sandbox.KindOther {
		t.Errorf("a device is %v", kind)
	}
	for at, want := range map[string]string{"/link/new/deep": "/dir/new/deep", "/none/x": "/none/x", "/link/../x": "/x", "/link": "/dir"} {
		if got := f.Canonical(top + at); got != top+want {
			t.Errorf("%s: %s", at, got)
		}
	}
	if f.Canonical("/") != "/" || f.Canonical("/none-such/x") != "/none-such/x" {
		t.Error("at the top")
	}
}

// TestLookedAtOnce: a path is looked at once, and again only when it is forgotten.
func TestLookedAtOnce(t *testing.T) {
	top := tree(t, map[string]string{"dir/in": "", "other": ""})
	f := New()
	for _, at := range []string{"/dir", "/dir/in", "/other", "/new"} {
		f.Resolve(top + at)
	}
	if dev, ino := f.Identity(top + "/dir"); dev == 0 || ino == 0 {
		t.Error("no identity")
	}
	if _, ino := f.Identity(top + "/never"); ino != 0 {
		t.Error("an identity of what was not resolved")
	}
	if err := os.RemoveAll(top + "/dir"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(top+"/new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kind := func(at string) sandbox.Kind { _, k := f.Resolve(top + at); return k }
	if kind("/dir") != sandbox.KindDir || kind("/new") != sandbox.KindNone {
		t.Error("it was looked at again")
	}
	f.ForgetBelow(top + "/dir")
	if kind("/dir") != sandbox.KindDir || kind("/dir/in") != sandbox.KindNone {
		t.Error("what is below is forgotten, and that alone")
	}
	f.Forget(top + "/new")
	if kind("/new") != sandbox.KindFile || kind("/dir") != sandbox.KindDir {
		t.Error("one path is forgotten, and that alone")
	}
}

// TestPinned: the project is the directory that the process stands in, whatever has its name.
func TestPinned(t *testing.T) {
	top := tree(t, map[string]string{"p/sub": "/"})
	t.Chdir(top + "/p/sub")
	if err := os.Rename(top+"/p", top+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(top+"/p/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	f, fresh := New(), New()
	if err := f.Pin(&Place{Cwd: top + "/p/sub", Project: top + "/p"}); err != nil {
		t.Fatal(err)
	}
	fresh.Resolve(top + "/moved")
	fresh.Resolve(top + "/p")
	_, pinned := f.Identity(top + "/p")
	_, moved := fresh.Identity(top + "/moved")
	_, another := fresh.Identity(top + "/p")
	if pinned != moved || pinned == another {
		t.Errorf("inode %d, the moved one has %d, the new one %d", pinned, moved, another)
	}
}

// TestOwnProgramRules: our programs cannot be changed from inside where what is around them can,
// but for a private /tmp.
func TestOwnProgramRules(t *testing.T) {
	write := func(at string) *policy.Effective {
		return &policy.Effective{Scope: policy.Scope{Tmp: "/tmp"}, Rules: []policy.Rule{{Path: at, Access: policy.Write}}}
	}
	for at, want := range map[string]int{"/h/bin": 3, "/h": 3, "/tmp": 0, "/other": 0, "/h/bin/carrel": 1} {
		self := "/h/bin/carrel"
		if at == "/tmp" {
			self = "/tmp/carrel"
		}
		rules := OwnProgramRules(write(at), self)
		if len(rules) != want {
			t.Errorf("%s: %+v", at, rules)
		}
		for _, r := range rules {
			if r.Access != policy.Read {
				t.Errorf("%s: %+v", at, r)
			}
		}
	}
	if rules := OwnProgramRules(&policy.Effective{Rules: []policy.Rule{{Path: "/h", Access: policy.Read}}}, "/h/carrel"); len(rules) != 0 {
		t.Errorf("read-only already: %+v", rules)
	}
}

// TestSameBuild: programs are of one build where every word of it is the same and the state of
// the source is known.
func TestSameBuild(t *testing.T) {
	build := func(version, goVersion, tag string) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: goVersion, Main: debug.Module{Path: "carrel", Version: version},
			Settings: []debug.BuildSetting{{Key: "-tags", Value: tag}}}
	}
	for _, tt := range []struct {
		a, b *debug.BuildInfo
		want bool
	}{
		{build("v1", "go1", ""), build("v1", "go1", ""), true},
		{build("v1", "go1", ""), build("v2", "go1", ""), false},
		{build("v1", "go1", ""), build("v1", "go2", ""), false},
		{build("v1", "go1", ""), build("v1", "go1", "x"), false},
		{build("", "go1", ""), build("", "go1", ""), false},
		{build("(devel)", "go1", ""), build("(devel)", "go1", ""), false},
		{build("v1+dirty", "go1", ""), build("v1+dirty", "go1", ""), false},
	} {
		if got := sameBuild(tt.a, tt.b); got != tt.want {
			t.Errorf("%+v and %+v: %v", tt.a.Main, tt.b.Main, got)
		}
	}
}

// TestBeside: what lies beside our program is used where it is a file of our own build alone.
func TestBeside(t *testing.T) {
	top := tree(t, map[string]string{"carrel-file": "", "link/carrel-file": "/bin/true", "dir/carrel-file": "/"})
	for _, self := range []string{"/carrel", "/link/carrel", "/dir/carrel", "/none/carrel"} {
		if at, ok := FileProgram(top + self); ok {
			t.Errorf("beside %s: %s", self, at)
		}
	}
	if self, err := OwnProgram(); err != nil || !filepath.IsAbs(self) {
		t.Errorf("%s %v", self, err)
	}
}
