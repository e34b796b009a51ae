package protect

import "testing"

func TestReference(t *testing.T) {
	for path, want := range map[string]bool{
		"HEAD": true, "ORIG_HEAD": true, "CHERRY_PICK_HEAD": true, "AUTO_MERGE": true, "refs/heads/main": true, "refs/stash": true, "refs/remotes/origin/HEAD": true,
		"worktrees/w/HEAD": true, "worktrees/w/refs/bisect/bad": true, "modules/lib/HEAD": true, "modules/lib/refs/heads/x": true, "modules/logs/HEAD": true, "modules/logs/refs/heads/x": true,
		"refs/heads/a.lock/b": true, "refs/heads/logs/refs": true,
		"HEAD.lock": false, "refs/heads/main.lock": false, "refs": false, "logs/HEAD": false, "logs/refs/heads/main": false, "worktrees/w/logs/HEAD": false,
		"worktrees/logs/ORIG_HEAD": true, "logs/ORIG_HEAD": true, "x/logs/CHERRY_PICK_HEAD": true, "modules/lib/logs/refs/heads/x": true, "modules/a/logs/HEAD": true, "logs/refs/D/ORIG_HEAD": true, "logs/refs/D/refs/heads/x": true, "logs/refs/remotes/origin/main": false,
		"FETCH_HEAD": false, "MERGE_HEAD": false, "COMMIT_EDITMSG": false, "MERGE_MSG": false, "index": false, "packed-refs": false, "config": false, "ORIG_head": false, "a_HEAD": false, "": false,
	} {
		if got := Reference(path, false); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	for _, path := range []string{"Head", "orig_HEAD", "REFS/heads/main", "Auto_Merge"} {
		if Reference(path, false) && path != "orig_HEAD" || !Reference(path, true) {
			t.Errorf("%q, where names are compared without case", path)
		}
	}
}

func TestIndex(t *testing.T) {
	for path, want := range map[string]bool{
		"index": true, "worktrees/w/index": true, "modules/lib/index": true, "modules/refs/index": true, "modules/logs/index": true, "sharedindex.0123": true, "refs/heads/index": true,
		"logs/refs/heads/index": true, "modules/lib/logs/refs/heads/index": true, "index.lock": false, "indexes": false, "x.index": false, "": false, "INDEX": false,
	} {
		if got := Index(path, false); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if !Index("modules/x/Index", true) {
		t.Error("where names are compared without case")
	}
}
