package guard

import (
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/policy"
)

// writing are the operations after which a name holds what a program inside says.
var writing = []string{
	broker.OpCreate, broker.OpOpen, broker.OpTruncate, broker.OpMknod, broker.OpBind, broker.OpSymlink, broker.OpSetxattr, broker.OpChown,
}

// TestProtectedNamesRefuseEachWrite: a name by which a program outside runs code is written
// in no way, at the top and below, and no other file is affected.
func TestProtectedNamesRefuseEachWrite(t *testing.T) {
	dir := t.TempDir()
	d := testGuard(t, dir, false)
	for _, name := range []string{
		".git/config", ".git/config.worktree", ".git/commondir", ".git/gitdir", ".git/hooks/pre-commit", ".git/info/attributes",
		".git/remotes/x", ".git/branches/x",
		"sub/.git/config", "sub/.git/hooks/post-checkout", ".git/modules/lib/config", ".git/modules/a/b/hooks/x",
		".git/worktrees/w/config.worktree",
		".git/lazygit.yml", ".envrc", ".vscode/tasks.json", ".idea/workspace.xml", ".mcp.json", ".npmrc",
	} {
		for _, op := range writing {
			kind := broker.KindFile
			if op == broker.OpCreate || op == broker.OpMknod || op == broker.OpBind || op == broker.OpSymlink {
				kind = broker.KindNone
			}
			if ok, _ := asks(d, change(op, dir+"/"+name, kind), "", "x"); ok {
				t.Errorf("%s %s passes", op, name)
			}
		}
		for _, c := range []*broker.Change{
			moving(broker.OpLink, dir+"/plain", dir+"/"+name, broker.KindFile, 0),
			moving(broker.OpExchange, dir+"/plain", dir+"/"+name, broker.KindFile, broker.KindFile),
			moving(broker.OpExchange, dir+"/"+name, dir+"/plain", broker.KindFile, broker.KindFile),
			moving(broker.OpRename, dir+"/plain", dir+"/"+name, broker.KindSymlink, 0),
			moving(broker.OpRename, dir+"/plain", dir+"/"+name, broker.KindDir, 0),
		} {
			if ok, _ := asks(d, c, "", "x"); ok {
				t.Errorf("%s %s to %s passes", c.Op, strings.TrimPrefix(c.Path, dir), strings.TrimPrefix(c.To, dir))
			}
		}
		if ok, _ := asks(d, moving(broker.OpLink, dir+"/"+name, dir+"/second", broker.KindFile, 0), "", ""); ok {
			t.Errorf("%s gets a second name, under which it could be written", name)
		}
		beside := dir + "/" + name + "x"
		if !strings.Contains(name, "/hooks/") && !strings.Contains(name, "/remotes/") && !strings.Contains(name, "/branches/") &&
			!strings.HasPrefix(name, ".vscode") && !strings.HasPrefix(name, ".idea") {
			if ok, why := asks(d, change(broker.OpCreate, beside, 0), "", "x"); !ok {
				t.Errorf("%s is another file: %s", beside, why)
			}
		}
	}
}

// TestAccessDecidesFirst: what a rule says of a place is said before any name is looked at,
// and each refusal names its rule and what would widen it.
func TestAccessDecidesFirst(t *testing.T) {
	dir := t.TempDir()
	flag := policy.Source{Layer: policy.LayerCommandLine, Text: "flag"}
	eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{
		{Kind: policy.LayerCommandLine, Request: policy.Request{Files: []policy.FileRequest{
			{Place: dir + "/ro", Access: policy.Read, Source: flag}, {Place: dir + "/no", Access: policy.Deny, Source: flag},
			{Place: dir + "/open", Access: policy.Write, Source: flag}, {Place: dir + "/*.key", Glob: true, Access: policy.Deny, Source: flag},
			{Place: dir + "/*.lock", Glob: true, Access: policy.Read, Source: flag},
		}}}, policy.Defaults(policy.Agent)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, rule, hint string
	}{
		{"ro/x", "read-only: " + dir + "/ro", "--write " + dir + "/ro/x"},
		{"no/x", "denied: " + dir + "/no", "leave out the rule"},
		{"a.key", "denied: " + dir + "/*.key", "leave out the rule"},
		{"a.lock", "protected: " + dir + "/*.lock", "leave out the rule"},
		{"ro/.git/config", "read-only: " + dir + "/ro", "--write " + dir + "/ro/.git/config"},
		{"open/.git/hooks/x", "", ""}, // the user named the place
		{".git/hooks/x", "protected name: .git: hooks: git runs it", "--write " + dir + "/.git/hooks/x"},
		{"x", "", ""},
	} {
		d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}})
		v := d.Decide(change(broker.OpCreate, dir+"/"+c.at, 0))
		if v.Rule != c.rule || v.Allowed != (c.rule == "") || v.Hint != c.hint {
			t.Errorf("%s: %+v, want %q", c.at, v, c.rule)
		}
		// A rename meets the rule of each of its two places.
		for _, ch := range []*broker.Change{
			moving(broker.OpRename, dir+"/"+c.at, dir+"/elsewhere", broker.KindFile, 0), moving(broker.OpRename, dir+"/elsewhere",
				dir+"/"+c.at, broker.KindFile, 0),
		} {
			if v := d.Decide(ch); v.Allowed != (c.rule == "") {
				t.Errorf("%s from %s to %s: %+v", ch.Op, ch.Path, ch.To, v)
			}
		}
	}
	exact := New(Config{Policy: eff, Project: dir, Roots: []string{dir}, Exact: true})
	for at, good := range map[string]bool{".git/hooks/x": true, "ro/x": false, "no/x": false, "a.key": false} {
		if v := exact.Decide(change(broker.OpCreate, dir+"/"+at, 0)); v.Allowed != good {
			t.Errorf("where the policy is all, %s: %+v", at, v)
		}
	}
}

// TestReadingIsDecidedByPatternsOnly: a mount hides what another rule denies.
func TestReadingIsDecidedByPatternsOnly(t *testing.T) {
	dir := t.TempDir()
	eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{
		{Kind: policy.LayerUser, Request: policy.Request{Files: []policy.FileRequest{
			{Place: dir + "/no", Access: policy.Deny}, {Place: dir + "/*.key", Glob: true, Access: policy.Deny}, {Place: dir + "/.env",
				Access: policy.Deny}}}},
		policy.Defaults(policy.Agent)})
	if err != nil {
		t.Fatal(err)
	}
	d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}, Secrets: []string{dir + "/.env"}})
	d.Hide(dir + "/later.env")
	for at, good := range map[string]bool{"a.key": false, "no": true, ".env": false, "x": true, ".git/config": true} {
		if v := d.Decide(change(broker.OpRead, dir+"/"+at, broker.KindFile)); v.Allowed != good {
			t.Errorf("%s: %+v", at, v)
		}
	}
	if got := d.Hidden(); !slices.Equal(got, []string{dir + "/later.env"}) {
		t.Errorf("hidden: %q", got)
	}
	for _, ch := range []*broker.Change{
		change(broker.OpOpen, dir+"/later.env", broker.KindFile), change(broker.OpUnlink, dir+"/later.env", broker.KindFile),
		moving(broker.OpRename, dir+"/x", dir+"/later.env", broker.KindFile, broker.KindFile), moving(broker.OpLink, dir+"/later.env",
			dir+"/x", broker.KindFile, 0),
	} {
		if v := d.Decide(ch); v.Allowed || !strings.HasPrefix(v.Rule, "secret") {
			t.Errorf("%s of what was hidden since the start: %+v", ch.Op, v)
		}
	}
}

// TestStartsOnlyWhatIsNamed: of programs only those named start; the others get the verdict
// that the run was given for them.
func TestStartsOnlyWhatIsNamed(t *testing.T) {
	others := broker.Verdict{Rule: "programs", Source: "ceiling"}
	d := New(Config{Policy: &policy.Effective{}, Starts: []string{"/usr/bin/true"}, Programs: others})
	if v := d.Decide(&broker.Change{Op: broker.OpExec, Path: "/usr/bin/true"}); !v.Allowed {
		t.Errorf("what is named: %+v", v)
	}
	for _, at := range []string{"/usr/bin/false", "/usr/bin/true/", "/usr/bin", "true"} {
		if v := d.Decide(&broker.Change{Op: broker.OpExec, Path: at}); v.Allowed || v.Rule != others.Rule || v.Source != others.Source {
			t.Errorf("%s: %+v", at, v)
		}
	}
}

// TestGuardedNamesAndTheirParents: an existing protected name stays, whatever directory
// around it is moved; the worktree that it is in may go.
func TestGuardedNamesAndTheirParents(t *testing.T) {
	dir := t.TempDir()
	d := testGuard(t, dir, false)
	held := policy.Rule{Path: dir + "/a/tool/run", Source: policy.Source{Text: "protected name: held"}}
	d.c.Guarded = []policy.Rule{held, {Path: dir + "/conf", Source: policy.Source{Text: "protected name: conf"}}}
	d.c.Configs = func(at string) bool { return at == dir+"/conf" }
	d.c.Trees = []string{dir + "/gone"}
	d.c.Guarded = append(d.c.Guarded, policy.Rule{Path: dir + "/gone/hook", Source: policy.Source{Text: "protected name: hook"}})
	for _, c := range []struct {
		ch   *broker.Change
		good bool
	}{
		{change(broker.OpOpen, held.Path, broker.KindFile), false},
		{change(broker.OpUnlink, held.Path, broker.KindFile), false},
		{change(broker.OpCreate, held.Path+"/x", 0), false},
		{change(broker.OpCreate, dir+"/a/tool/runs", 0), true},
		{change(broker.OpCreate, dir+"/a/tool/other", 0), true},
		{moving(broker.OpRename, dir+"/a/tool", dir+"/b", broker.KindDir, 0), false},
		{moving(broker.OpRename, dir+"/b", dir+"/a", broker.KindDir, broker.KindDir), false},
		{moving(broker.OpExchange, dir+"/b", dir+"/a", broker.KindDir, broker.KindDir), false},
		{change(broker.OpChmod, dir+"/a/tool", broker.KindDir), true},
		{change(broker.OpOpen, dir+"/conf", broker.KindFile), true}, // a change of it is vetted
		{change(broker.OpUnlink, dir+"/gone/hook", broker.KindFile), true},
		{change(broker.OpOpen, dir+"/gone/hook", broker.KindFile), false},
	} {
		if ok, why := asks(d, c.ch, "", ""); ok != c.good {
			t.Errorf("%s %s %s: %v %s", c.ch.Op, c.ch.Path, c.ch.To, ok, why)
		}
	}
}

// TestSecondNameOfProtectedFile: what is written by another name is found by its number.
func TestSecondNameOfProtectedFile(t *testing.T) {
	dir := t.TempDir()
	d := testGuard(t, dir, false)
	d.c.Seconds = map[broker.Inode]string{{Dev: 7, Ino: 9}: dir + "/.git/hooks/x"}
	for _, op := range []string{broker.OpOpen, broker.OpTruncate, broker.OpChmod, broker.OpChown, broker.OpSetxattr, broker.OpUnlink,
		broker.OpUtimes} {
		for ino, hit := range map[uint64]bool{9: true, 8: false} {
			ch := change(op, dir+"/plain", broker.KindFile)
			ch.Was.Dev, ch.Was.Ino = 7, ino
			want := hit && op != broker.OpUnlink && op != broker.OpUtimes
			v := d.Decide(ch)
			if v.Allowed == want || want && v.Rule != "protected name: it is "+dir+"/.git/hooks/x, too" {
				t.Errorf("%s of file %d: %+v", op, ino, v)
			}
		}
	}
}

// TestConfigurationIsReplacedAndVetted: a configuration comes by a rename, after its
// content was judged, and no other way; it is not moved away.
func TestConfigurationIsReplacedAndVetted(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{".git/config": "[core]\n\tbare = false\n"})
	d := testGuard(t, dir, false)
	d.c.Git = gitdir.Dirs{Dir: dir + "/.git", Common: dir + "/.git"}
	at := dir + "/.git/config"
	replace := moving(broker.OpRename, at+".lock", at, broker.KindFile, broker.KindFile)
	const was = "[core]\n\tbare = false\n"
	for after, good := range map[string]bool{
		was + "[user]\n\tname = x\n":                      true,
		was + "[branch \"x\"]\n\tremote = origin\n":       false, // without an address it would be a path
		was + "[core]\n\tfsmonitor = x\n":                 false,
		was + "[core]\n\thooksPath = x\n":                 false,
		was + "[alias]\n\tx = !y\n":                       false,
		was + "[include]\n\tpath = x\n":                   false,
		was + "[filter \"x\"]\n\tclean = y\n":             false,
		was + "[core]\n\tsshCommand = y\n":                false,
		was + "[CORE]\n\tFSMONITOR = y\n":                 false,
		was + "[remote \"x\"]\n\turl = ext::sh -c y\n":    false,
		was + "[remote \"x\"]\n\turl = https://e.example": true,
	} {
		if ok, why := asks(d, replace, was, after); ok != good {
			t.Errorf("%s: %v %s", after, ok, why)
		}
	}
	for _, ch := range []*broker.Change{
		change(broker.OpOpen, at, broker.KindFile), change(broker.OpUnlink, at, broker.KindFile),
		moving(broker.OpRename, at, dir+"/x", broker.KindFile, 0), moving(broker.OpRename, dir+"/d", at, broker.KindDir, 0),
	} {
		if ok, _ := asks(d, ch, was, was); ok {
			t.Errorf("%s %s passes", ch.Op, ch.To)
		}
	}
	d.c.Passwords = []string{at}
	if ok, why := asks(d, replace, was, was); ok || why != errPassword.Error() {
		t.Errorf("a hidden password would be lost: %v %s", ok, why)
	}
	// "git init" tries whether modes are kept by that of the configuration.
	for bits, good := range map[uint32]bool{0o744: true, 0o755: false, 0o666: false, 0o4644: false} {
		ch := change(broker.OpChmod, at, broker.KindFile)
		ch.Was.Mode, ch.Mode = 0o100644, bits
		if v := d.Decide(ch); v.Allowed != good {
			t.Errorf("mode %o: %+v", bits, v)
		}
	}
}

// TestRemovableNames: what is gone runs nothing, so a protected name below the project may
// go; those of the project's own repository and at its top stay.
func TestRemovableNames(t *testing.T) {
	dir := t.TempDir()
	d := testGuard(t, dir, false)
	d.c.Git = gitdir.Dirs{Dir: dir + "/.git/worktrees/own", Common: dir + "/.git"}
	for at, good := range map[string]bool{
		"sub/.git/config": true, "sub/.git/hooks/x": true, ".git/modules/m/config": true, ".git/worktrees/w/gitdir": true,
		".git/config": false, ".git/hooks/x": false, ".git/worktrees/own/gitdir": false, ".envrc": false, ".vscode/tasks.json": false,
	} {
		if got := d.Removable(dir + "/" + at); got != good {
			t.Errorf("%s: %v", at, got)
		}
	}
}

// TestNamedTargets: what git's configuration names is not written, replaced or brought to
// its place, in whatever case, and not by a link on the way.
func TestNamedTargets(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"w/.git/HEAD": "x", "full/tools/fs": "x", "empty/": "", "link/tools": "-> /x"})
	d := testGuard(t, dir, false)
	d.named.start = []gitconf.Target{{Path: dir + "/bin/tools/fs", Why: "git runs it"}, {Rest: "tools/fs", Tree: true, Near: true,
		Why: "git runs it"}}
	for _, c := range []struct {
		ch   *broker.Change
		good bool
	}{
		{change(broker.OpCreate, dir+"/bin/tools/fs", 0), false},
		{change(broker.OpCreate, dir+"/BIN/Tools/FS", 0), false},
		{change(broker.OpCreate, dir+"/bin/tools/fs/x", 0), false},
		{change(broker.OpCreate, dir+"/bin/tools/fsx", 0), true},
		{change(broker.OpMkdir, dir+"/bin/tools", 0), true},
		{change(broker.OpSymlink, dir+"/bin/tools", 0), false},
		{change(broker.OpSymlink, dir+"/bin", 0), false},
		{moving(broker.OpRename, dir+"/full", dir+"/bin", broker.KindDir, 0), false},
		{moving(broker.OpRename, dir+"/link", dir+"/bin", broker.KindDir, 0), false},
		{moving(broker.OpRename, dir+"/empty", dir+"/bin", broker.KindDir, 0), true},
		{moving(broker.OpRename, dir+"/f", dir+"/bin", broker.KindFile, 0), true},
		{moving(broker.OpExchange, dir+"/full", dir+"/bin", broker.KindDir, broker.KindDir), false},
		{change(broker.OpCreate, dir+"/w/tools/fs", 0), false},    // a working tree
		{change(broker.OpCreate, dir+"/plain/tools/fs", 0), true}, // none
		{change(broker.OpSymlink, dir+"/w/tools", 0), false},
	} {
		if ok, why := asks(d, c.ch, "", ""); ok != c.good {
			t.Errorf("%s %s %s: %v %s", c.ch.Op, c.ch.Path, c.ch.To, ok, why)
		}
	}
}

// TestTargetsOfNestedRepository: what a repository below the project names is read when
// something in it changes, and anew once directories have moved.
func TestTargetsOfNestedRepository(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"r/.git/HEAD": "x", "r/.git/objects/": "", "r/.git/refs/": "",
		"r/.git/config": "[core]\n\tfsmonitor = ./fs\n"})
	d := testGuard(t, dir, false)
	if ok, _ := asks(d, change(broker.OpCreate, dir+"/r/fs", 0), "", ""); ok {
		t.Error("git would run it")
	}
	if ok, why := asks(d, change(broker.OpCreate, dir+"/r/other", 0), "", ""); !ok {
		t.Error(why)
	}
	if err := os.Rename(dir+"/r", dir+"/s"); err != nil {
		t.Fatal(err)
	}
	d.named.forget()
	for at, good := range map[string]bool{"s/fs": false, "r/fs": true} {
		if ok, why := asks(d, change(broker.OpCreate, dir+"/"+at, 0), "", ""); ok != good {
			t.Errorf("%s after the move: %v %s", at, ok, why)
		}
	}
}
