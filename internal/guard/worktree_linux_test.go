package guard

import (
	"strings"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/gitdir"
	"carrel/internal/policy"
)

// linkedGuard gives the guard of a run in a linked worktree of dir/main, which may read
// all of dir.
func linkedGuard(t *testing.T, dir string) *Guard {
	t.Helper()
	hash := "0123456789012345678901234567890123456789"
	tree(t, dir+"/main/.git", map[string]string{
		"HEAD":                     "ref: refs/heads/main\n",
		"index":                    "x",
		"refs/heads/main":          hash + "\n",
		"refs/heads/loose":         hash + "\n",
		"packed-refs":              hash + " refs/heads/f/x\n" + hash + " refs/heads/packed\n",
		"refs/remotes/o/x":         hash + "\n",
		"worktrees/w/HEAD":         "ref: refs/heads/mine\n",
		"worktrees/o/HEAD":         "ref: refs/heads/unborn\n",
		"objects/ab/cd":            "x",
		"objects/pack/pack-1.pack": "x",
		"objects/pack/pack-1.keep": "",
	})
	git := gitdir.Dirs{Dir: dir + "/main/.git/worktrees/w", Common: dir + "/main/.git"}
	flag := policy.Source{Layer: policy.LayerCommandLine}
	eff := &policy.Effective{Rules: []policy.Rule{{Path: dir, Access: policy.Read, Source: flag}, {Path: dir + "/p", Access: policy.Write}}}
	return New(Config{Policy: eff, Project: dir + "/p", Git: git, Roots: []string{dir + "/p"}, Write: []string{git.Common},
		Configs: func(at string) bool { return at == git.Common+"/config" }})
}

// TestLinkedWorktree: what a run in a linked worktree may change of the shared repository.
func TestLinkedWorktree(t *testing.T) {
	dir := t.TempDir()
	d := linkedGuard(t, dir)
	const file = broker.KindFile
	passes := false
	for _, c := range []struct {
		op, at, to string
		kind, over broker.Kind
	}{
		{op: broker.OpOpen, at: "index", kind: file},
		{op: broker.OpOpen, at: "HEAD", kind: file},
		{op: broker.OpUnlink, at: "config", kind: file},
		{op: broker.OpUnlink, at: "packed-refs", kind: file},
		{op: broker.OpUnlink, at: "hooks/post-commit", kind: file},
		{op: broker.OpCreate, at: "hooks/post-commit"},
		{op: broker.OpCreate, at: "refs/heads/loose.lock"},
		{op: broker.OpCreate, at: "refs/heads/packed"},
		{op: broker.OpCreate, at: "refs/heads/packed/x"},
		{op: broker.OpCreate, at: "refs/heads/unborn/x"},
		{op: broker.OpCreate, at: "refs/heads/f"},
		{op: broker.OpCreate, at: "refs/heads/f.lock"},
		{op: broker.OpCreate, at: "refs/heads/a..b"},
		{op: broker.OpCreate, at: "refs/heads/HEAD"},
		{op: broker.OpCreate, at: "refs/tags/packed"},
		{op: broker.OpCreate, at: "refs/loose"},
		{op: broker.OpCreate, at: "refs/heads/o/x"},
		{op: broker.OpCreate, at: "refs/heads/a b"},
		{op: broker.OpCreate, at: "refs/heads/.a"},
		{op: broker.OpCreate, at: "refs/heads/a.lock.lock"},
		{op: broker.OpMkdir, at: "config.lock"},
		{op: broker.OpRmdir, at: "refs/heads"},
		{op: broker.OpRmdir, at: "refs/tags"},
		{op: broker.OpCreate, at: "logs/refs/heads/packed/x/y"},
		{op: broker.OpCreate, at: "objects/info/alternates"},
		{op: broker.OpCreate, at: "objects/info/http-alternates"},
		{op: broker.OpOpen, at: "objects/ab/cd", kind: file},
		{op: broker.OpUnlink, at: "objects/ab/cd", kind: file},
		{op: broker.OpLink, at: "objects/ab/cd", to: "worktrees/w/x", kind: file},
		{op: broker.OpRename, at: "objects/ab/cd", to: "worktrees/w/x", kind: file},
		{op: broker.OpRename, at: "objects/ab/tmp_obj_x", to: "objects/ab/cd", kind: file, over: file},
		{op: broker.OpExchange, at: "objects/ab/cd", to: "worktrees/w/x", kind: file, over: file},
		{op: broker.OpTruncate, at: "objects/pack/pack-1.pack", kind: file},
		{op: broker.OpChmod, at: "objects/pack/pack-1.pack", kind: file},
		{op: broker.OpUnlink, at: "objects/pack/pack-1.keep", kind: file},
		{}, // from here on they pass
		{op: broker.OpCreate, at: "refs/heads/new.lock"},
		{op: broker.OpCreate, at: "refs/heads/mine.lock"},
		{op: broker.OpCreate, at: "refs/heads/mine/y"},
		{op: broker.OpCreate, at: "refs/heads/o/y"},
		{op: broker.OpCreate, at: "refs/tags/new"},
		{op: broker.OpCreate, at: "refs/tags/mine"},
		{op: broker.OpCreate, at: "refs/heads/a;$(b)\xff"},
		{op: broker.OpCreate, at: "logs/refs/.tmp-renamed-log"},
		{op: broker.OpCreate, at: "config.lock"},
		{op: broker.OpCreate, at: "refs/heads/f/y"},
		{op: broker.OpMkdir, at: "refs/heads/f"},
		{op: broker.OpCreate, at: "objects/ab/ef"},
		{op: broker.OpUtimes, at: "objects/ab/cd", kind: file},
		{op: broker.OpUnlink, at: "objects/ab/tmp_obj_x", kind: file},
		{op: broker.OpUnlink, at: "objects/maintenance.lock", kind: file},
		{op: broker.OpLink, at: "objects/ab/tmp_obj_x", to: "objects/ab/ef", kind: file},
		{op: broker.OpRename, at: "objects/ab/tmp_obj_x", to: "objects/ab/ef", kind: file},
		{op: broker.OpRename, at: "objects/tmp_objdir-incoming-x/ab/ef", to: "objects/ab/ef", kind: file},
	} {
		if passes = passes || c.op == ""; c.op == "" {
			continue
		}
		ch := broker.Change{Op: c.op, Path: dir + "/main/.git/" + c.at, Kind: c.kind, Over: c.over, Mode: 0o777, Dir: -1, ToDir: -1}
		if c.to != "" {
			ch.To = dir + "/main/.git/" + c.to
		}
		if v := d.Decide(&ch); v.Allowed != passes {
			t.Errorf("%s %s %s: allowed %v (%s)", c.op, c.at, c.to, v.Allowed, v.Rule)
		}
	}
	kept := broker.Change{Op: broker.OpCreate, Path: dir + "/main/.git/objects/pack/pack-2.keep", Dir: -1, ToDir: -1}
	d.worktree.changed(&kept)
	if v := d.Decide(&broker.Change{Op: broker.OpUnlink, Path: kept.Path, Kind: file, Dir: -1, ToDir: -1}); !v.Allowed {
		t.Errorf("its own mark: %s", v.Rule)
	}
}

// TestLinkedWorktreeConfiguration: what the shared configuration says to the others stays.
func TestLinkedWorktreeConfiguration(t *testing.T) {
	dir := t.TempDir()
	d := linkedGuard(t, dir)
	at := dir + "/main/.git/config"
	const file = broker.KindFile
	v := d.Decide(&broker.Change{Op: broker.OpRename, Path: at + ".lock", To: at, Kind: file, Over: file, Dir: -1, ToDir: -1})
	if !v.Allowed || v.Vet == nil {
		t.Fatalf("a new configuration: %+v", v)
	}
	const was = "[user]\n\tname = a\n[remote \"o\"]\n\turl = https://x/y\n[branch \"mine\"]\n\tremote = o\n[branch \"main\"]\n\tremote = o\n"
	for after, want := range map[string]bool{
		was: true,
		was + "[branch \"new\"]\n\tremote = o\n[user]\n\temail = b\n":    true,
		strings.Replace(was, "[branch \"mine\"]\n\tremote = o\n", "", 1): true,
		strings.Replace(was, "[branch \"main\"]\n\tremote = o\n", "", 1): false,
		was + "[extensions]\n\tworktreeConfig = true\n":                  true,
		was + "[user]\n\tname = b\n":                                     false,
		was + "[branch \"packed\"]\n\tremote = o\n":                      false,
		strings.Replace(was, "name = a", "name = b", 1):                  false,
		strings.Replace(was, "https://x/y", "https://x/z", 1):            false,
	} {
		if err := v.Vet([]byte(was), []byte(after)); (err == nil) != want {
			t.Errorf("%s: %v", after, err)
		}
	}
	const bare = "[core]\n\tbare = true\n"
	if v.Vet([]byte(bare), []byte(bare+"[extensions]\n\tworktreeConfig = true\n")) == nil {
		t.Error("the worktrees of a bare repository would be bare")
	}
}
