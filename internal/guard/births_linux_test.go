package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/gitdir"
)

// born gives a guard in a run in which "git init" has made a repository at dir/name.
func born(t *testing.T, dir, name string) *Guard {
	t.Helper()
	d := testGuard(t, dir, false)
	tree(t, dir, map[string]string{name + "/.git/": ""})
	d.Made(change(broker.OpMkdir, dir+"/"+name+"/.git", broker.KindDir))
	return d
}

// TestBornRepositorySaysLittle: what git's own commands write into a repository that was made
// inside passes, and nothing by which git would run something.
func TestBornRepositorySaysLittle(t *testing.T) {
	dir := t.TempDir()
	d := born(t, dir, "r")
	git := dir + "/r/.git/"
	config := moving(broker.OpRename, git+"config.lock", git+"config", broker.KindFile, 0)
	probe := change(broker.OpSymlink, git+"tAbCdEf", 0)
	probe.Text = "testing"
	link := change(broker.OpSymlink, git+"tAbCdEf", 0)
	link.Text = "/etc/passwd"
	for _, c := range []struct {
		ch    *broker.Change
		after string
		good  bool
	}{
		{config, "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n", true},
		{config, "[remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", true},
		{config, "[core]\n\tfsmonitor = x\n", false},
		{config, "[core]\n\tworktree = /\n", false},
		{config, "[core]\n\thooksPath = ../hk\n", false},
		{config, "[core]\n\tfsmonitor", false},
		{config, "[diff \"x\"]\n\ttextconv = y\n", false},
		{change(broker.OpMkdir, git+"hooks", 0), "", true},
		{change(broker.OpCreate, git+"hooks/pre-commit", 0), "", false},
		{change(broker.OpCreate, git+"hooks/pre-commit.sample", 0), "", true},
		{change(broker.OpSymlink, git+"hooks", 0), "", false},
		{moving(broker.OpRename, dir+"/hk", git+"hooks", broker.KindDir, 0), "", false},
		{change(broker.OpCreate, git+"HEAD", 0), "ref: refs/heads/main\n", true},
		{change(broker.OpCreate, git+"HEAD", 0), "ref: ../../../x\n", false},
		{change(broker.OpCreate, git+"commondir", 0), "../..\n", false}, // it is no worktree's
		{change(broker.OpCreate, git+"commondir", 0), "/x\n", false},
		{change(broker.OpCreate, git+"info/attributes", 0), "", false},
		{change(broker.OpCreate, git+"info/exclude", 0), "", true},
		{change(broker.OpMkdir, git+"refs/heads", 0), "", true},
		{probe, "", true}, {link, "", false},
		{change(broker.OpMknod, git+"fifo", 0), "", false},
		{change(broker.OpBind, git+"socket", 0), "", false},
		{moving(broker.OpLink, git+"config", dir+"/r/second", broker.KindFile, 0), "", false},
	} {
		if ok, why := asks(d, c.ch, "", c.after); ok != c.good {
			t.Errorf("%s %s%s %q: %v %s", c.ch.Op, strings.TrimPrefix(c.ch.Path, git), strings.TrimPrefix(c.ch.To, git), c.after, ok, why)
		}
	}
	// Of one that was there nothing of this passes.
	old := testGuard(t, dir, false)
	for _, ch := range []*broker.Change{change(broker.OpMkdir, git+"hooks", 0), change(broker.OpCreate, git+"config", 0)} {
		if ok, _ := asks(old, ch, "", ""); ok {
			t.Errorf("%s of a repository that was there passes", strings.TrimPrefix(ch.Path, git))
		}
	}
}

// TestBareRepositoryBitByBit: a git directory without the name of one is known when its last
// piece comes, and what it holds by then is judged.
func TestBareRepositoryBitByBit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		good  bool
	}{
		"nothing in it":              {map[string]string{"objects/": "", "refs/": ""}, true},
		"a harmless configuration":   {map[string]string{"objects/": "", "refs/": "", "config": "[core]\n\tbare = true\n"}, true},
		"a configuration that runs":  {map[string]string{"objects/": "", "refs/": "", "config": "[core]\n\tfsmonitor = x\n"}, false},
		"a hook":                     {map[string]string{"objects/": "", "refs/": "", "hooks/post-update": ""}, false},
		"a sample of a hook":         {map[string]string{"objects/": "", "refs/": "", "hooks/post-update.sample": ""}, true},
		"attributes":                 {map[string]string{"objects/": "", "refs/": "", "info/attributes": "* filter=x\n"}, false},
		"a link":                     {map[string]string{"objects/": "", "refs/": "", "logs": "-> /tmp"}, false},
		"a link far below":           {map[string]string{"objects/a/b": "-> /tmp", "refs/": ""}, false},
		"hooks are a link":           {map[string]string{"objects/": "", "refs/": "", "hooks": "-> /tmp"}, false},
		"a remote":                   {map[string]string{"objects/": "", "refs/": "", "remotes/x": ""}, false},
		"another common directory":   {map[string]string{"objects/": "", "refs/": "", "commondir": "/x\n"}, false},
		"a reference that leads out": {map[string]string{"objects/": "", "refs/heads/x": "ref: ../../config\n"}, false},
		"an index that leads out":    {map[string]string{"objects/": "", "refs/": "", "index": "DIRC\x00"}, false},
		"no references yet":          {map[string]string{"objects/": "", "hooks/post-update": ""}, true},
	} {
		dir := t.TempDir()
		tree(t, dir+"/plain", c.files)
		d := testGuard(t, dir, false)
		last := change(broker.OpCreate, dir+"/plain/HEAD", 0)
		v := d.Decide(last)
		ok, why := asks(d, last, "", "ref: refs/heads/main\n")
		if ok != c.good {
			t.Errorf("%s: %v %s", name, ok, why)
		}
		if !v.Alone && ok {
			t.Errorf("%s: it is decided while other changes are made", name)
		}
		if !ok {
			continue
		}
		tree(t, dir, map[string]string{"plain/HEAD": "ref: refs/heads/main\n"})
		d.Made(last)
		if _, refs := c.files["refs/"]; refs != d.bears(dir+"/plain") {
			t.Errorf("%s: born %v", name, !refs)
		}
	}
}

// TestListedNames: what could run code later is told once, while it is there and unless it is
// what git's own commands make, with the names of before a listener came.
func TestListedNames(t *testing.T) {
	dir := t.TempDir()
	d := born(t, dir, "usual")
	tree(t, dir, map[string]string{"odd/.git/config": "[core]\n\tfsmonitor = x\n", "a/Makefile": "", "a/package.json": "", "gone/": ""})
	d.Made(change(broker.OpMkdir, dir+"/odd/.git", broker.KindDir))
	for _, at := range []string{"a/Makefile", "a/package.json", "gone/Makefile"} {
		d.list(change(broker.OpCreate, dir+"/"+at, broker.KindNone), dir+"/"+at)
	}
	var told []string
	d.Tell(func(at string) { told = append(told, strings.TrimPrefix(at, dir+"/")) })
	if len(told) != 5 {
		t.Errorf("told of what was before: %q", told)
	}
	again := change(broker.OpOpen, dir+"/a/Makefile", broker.KindFile)
	d.list(again, again.Path)
	if len(told) != 5 {
		t.Errorf("told twice: %q", told)
	}
	asked := change(broker.OpCreate, dir+"/b", broker.KindNone)
	asked.Asked = true
	d.list(asked, asked.Path) // a person has seen it
	inGit := change(broker.OpOpen, dir+"/odd/.git/x", broker.KindFile)
	d.list(inGit, inGit.Path) // git's own commands write to what is there
	if len(told) != 5 {
		t.Errorf("told of what a person allowed, or git wrote: %q", told)
	}
	if got, want := d.Names(), []string{"odd/.git", "a/Makefile", "a/package.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for at, want := range map[string]bool{"usual/.git/config": true, "odd/.git/config": false, "a/Makefile": false} {
		if got := d.Expected(dir + "/" + at); got != want {
			t.Errorf("%s is expected: %v", at, got)
		}
	}
	for n := range MaxListed {
		at := fmt.Sprintf("%s/n%d", dir, n)
		d.list(change(broker.OpCreate, at, broker.KindNone), at)
	}
	if !d.More() || len(told) != MaxListed {
		t.Errorf("of more than are kept: %v, %d told", d.More(), len(told))
	}
}

// TestMovedNamesStayKnown: what was made inside is known under the name that a rename or an
// exchange of a directory gives it, and forgotten with what it replaces.
func TestMovedNamesStayKnown(t *testing.T) {
	known := func(d *births) string {
		var all []string
		for at := range d.born {
			all = append(all, at)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		from, to string
		exchange bool
		want     string
	}{
		{"/p/a", "/p/c", false, "/p/b/.git /p/c/.git /p/c/x/.git"},
		{"/p/a", "/p/b", false, "/p/b/.git /p/b/x/.git"},
		{"/p/a", "/p/b", true, "/p/a/.git /p/b/.git /p/b/x/.git"},
		{"/p/a/x", "/p/b", false, "/p/a/.git /p/b/.git"},
		{"/p/ab", "/p/c", false, "/p/a/.git /p/a/x/.git /p/b/.git"},
	} {
		d := &births{born: map[string]bool{"/p/a/.git": true, "/p/a/x/.git": true, "/p/b/.git": true}}
		d.moved(c.from, c.to, c.exchange)
		if got := known(d); got != c.want {
			t.Errorf("%s to %s, exchange %v: %s, want %s", c.from, c.to, c.exchange, got, c.want)
		}
	}
	d := &births{born: map[string]bool{"/p/a/.git": true, "/p/a/.git/modules/m": true}, came: map[string]bool{"/p/a/old": true}}
	for at, want := range map[string]string{"/p/a/.git/modules/m/config": "/p/a/.git/modules/m", "/p/a/.git/config": "/p/a/.git",
		"/p/a/x": "", "/p/a/.git": ""} {
		if got := d.bornAround(at); got != want {
			t.Errorf("around %s: %q", at, got)
		}
	}
	for at, want := range map[string][2]bool{"/p/a": {true, true}, "/p/a/.git": {true, false}, "/p/a/old": {false, true},
		"/p/b": {false, false}} {
		if born, old := d.bornBelow(at); [2]bool{born, old} != want {
			t.Errorf("below %s: %v %v", at, born, old)
		}
	}
	d.many = true
	if _, old := d.bornBelow("/p/b"); !old {
		t.Error("with more than are kept, any may hold an old one")
	}
}

// TestNamesOfGitDirectories: which new directories are git's.
func TestNamesOfGitDirectories(t *testing.T) {
	for at, want := range map[string]bool{
		"/p/.git": true, "/p/a/.git": true, "/p/.git/worktrees/w": true, "/p/.git/modules/m": true, "/p/.git/modules/a/b": true,
		"/p/.git/worktrees/w/modules/m": true,
		"/p/git":                        false, "/p/.git/worktrees": false, "/p/.git/objects/ab": false, "/p/.git/modules/m/objects": false,
		"/p/.git/modules/m/refs/heads": false,
		"/p/.git/hooks":                false, "/p/modules/m": false, "/p/.git/worktrees/w/logs": false,
	} {
		if got := newGitDir(at); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
	for name, want := range map[string]bool{"HEAD": true, "FETCH_HEAD": true, "objects": true, "rr-cache": true, "head": false,
		"src": false, "HEAD2": false, "": true} {
		if got := gitsOwn(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestPointerLeadsIntoTheProject: a ".git" file leads to a repository of the project, by no
// link, and to none where git would find something to run at once.
func TestPointerLeadsIntoTheProject(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		".git/HEAD": "x", ".git/modules/m/HEAD": "x", ".git/modules/m/objects/": "", ".git/modules/m/refs/": "", "link": "-> .git/modules/m",
		"runs/HEAD": "x", "runs/objects/": "", "runs/refs/": "", "runs/config": "[core]\n\tfsmonitor = ./fs\n", "has/fs": "x", "hasnot/x": "",
		"rr/HEAD": "x", "rr/MERGE_RR": "0123\tout\x00", "withlink/out": "-> /etc/passwd",
	})
	d := testGuard(t, dir, false)
	d.c.Git = gitdir.Dirs{Dir: dir + "/.git", Common: dir + "/.git"}
	d.c.State, d.c.Private = dir+"/state", func(name string) bool { return name == "private-name" }
	for _, c := range []struct {
		in, text string
		good     bool
	}{
		{"sub", "gitdir: ../.git/modules/m\n", true}, {"sub", "gitdir: " + dir + "/.git/modules/m", true}, {"sub", "gitdir: ../runs\n", true},
		{"sub", "gitdir: ../link\n", false}, {"sub", "gitdir: ../link/x\n", false}, {"sub", "gitdir: /tmp/elsewhere\n", false}, {"sub",
			"gitdir: ../../x\n", false},
		{"sub", "gitdir: ../state/x\n", false}, {"sub", "gitdir: ../a/private-name/b\n", false}, {"sub", "nonsense", true}, {"sub", "", true},
		{"has", "gitdir: ../runs\n", false}, {"hasnot", "gitdir: ../runs\n", true},
		{"withlink", "gitdir: ../rr\n", false}, {"plain", "gitdir: ../rr\n", true},
	} {
		if ok, why := asks(d, change(broker.OpCreate, dir+"/"+c.in+"/.git", 0), "", c.text); ok != c.good {
			t.Errorf("%s: %q: %v %s", c.in, c.text, ok, why)
		}
	}
	// From then on what it names is held, though it is not there yet.
	if ok, _ := asks(d, change(broker.OpCreate, dir+"/hasnot/fs", 0), "", ""); ok {
		t.Error("git would run what is made after the .git file was judged")
	}
	at := dir + "/sub/.git"
	for _, ch := range []*broker.Change{
		moving(broker.OpLink, dir+"/x", at, broker.KindFile, 0), moving(broker.OpExchange, dir+"/x", at, broker.KindFile, broker.KindFile),
		moving(broker.OpRename, dir+"/x", at, broker.KindDir, 0), change(broker.OpSymlink, at, 0), change(broker.OpMknod, at, 0),
	} {
		if ok, _ := asks(d, ch, "", "gitdir: ../.git/modules/m\n"); ok {
			t.Errorf("%s passes", ch.Op)
		}
	}
}

// TestMovedRepositoryNamesNothingByItsPlace: a directory with a repository is not moved where
// that names something by where it is.
func TestMovedRepositoryNamesNothingByItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		good   bool
	}{
		"nothing":           {"[core]\n\tbare = false\n", true},
		"inside, relative":  {"[core]\n\tfsmonitor = ./fs\n", true},
		"outside":           {"[core]\n\thooksPath = DIR/hk\n", false},
		"itself, by a path": {"[x]\n\ty = DIR/r/z\n", false},
	} {
		dir := t.TempDir()
		tree(t, dir, map[string]string{"r/.git/HEAD": "x", "r/.git/objects/": "", "r/.git/refs/": "",
			"r/.git/config": strings.ReplaceAll(c.config, "DIR", dir)})
		d := testGuard(t, dir, false)
		if why := d.leaves(dir+"/r", dir+"/s"); (why == "") != c.good {
			t.Errorf("%s: %q", name, why)
		}
	}
	for text, want := range map[string]bool{"[core]\n\tbare = true\n": true, "[core]\n\tbare = TRUE\n": true,
		"[core]\n\tbare = true\n\tbare = false\n": false, "": false} {
		if got := isBare([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestOrdinaryRepository: one that can run nothing by itself is not told of.
func TestOrdinaryRepository(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		good  bool
	}{
		"as init leaves it": {map[string]string{"HEAD": "x", "hooks/a.sample": "", "config": "[core]\n\tbare = false\n"}, true},
		"a hook":            {map[string]string{"hooks/a": ""}, false},
		"a link to a hook":  {map[string]string{"hooks/a.sample": "-> /x"}, false},
		"attributes":        {map[string]string{"info/attributes": ""}, false},
		"a command":         {map[string]string{"config": "[alias]\n\tx = !y\n"}, false},
		"of its worktree":   {map[string]string{"config.worktree": "[core]\n\tpager = y\n"}, false},
		"elsewhere":         {map[string]string{"commondir": "../..\n"}, false},
		"a linked config":   {map[string]string{"config": "-> /dev/null"}, false},
	} {
		dir := t.TempDir()
		tree(t, dir, c.files)
		if got := (&Config{}).ordinary(dir); got != c.good {
			t.Errorf("%s: %v", name, got)
		}
	}
	dir := t.TempDir()
	tree(t, dir, map[string]string{"worktrees/w/commondir": "../..\n"})
	if !(&Config{}).ordinary(dir + "/worktrees/w") {
		t.Error("a worktree's part of a repository")
	}
	if got := holds(dir, "worktrees"); got("worktrees") || got("x") || !holds(dir, "")("worktrees") {
		t.Error("holds takes what is left out for there")
	}
}
