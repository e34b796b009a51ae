package review

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/review/replay"
)

// named are the operations, by what they do and where.
func named(ops []replay.Op) (out []string) {
	for _, op := range ops {
		if op.Do != replay.DoTree && op.Do != replay.DoEnd && op.Do != replay.DoDir {
			out = append(out, op.Do+" "+string(op.Path))
		}
	}
	return out
}

// TestOrder: objects of git come first, refs after all else and HEAD at the end of them; what is
// removed of a repository goes last, objects behind refs.
func TestOrder(t *testing.T) {
	l := over(t, map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "1", ".git/refs/heads/old": "1",
		".git/packed-refs": "", ".git/objects/11/old": "o",
		".git/index": "i", ".git/logs/HEAD": "l", "file": "f", "gone": "g", "d/x": "x"})
	l.upper(map[string]string{".git/HEAD": "ref: refs/heads/b", ".git/refs/heads/a": "2", ".git/refs/heads/b": "2",
		".git/packed-refs": "2", ".git/objects/22/new": "n",
		".git/index": "j", ".git/logs/HEAD": "m", "file": "h", "new/sub/f": "n"})
	l.whiteout("gone")
	l.whiteout("d")
	l.whiteout(".git/objects/11")
	l.whiteout(".git/refs/heads/old")
	want := []string{"mkdir .git/objects/22", "file .git/objects/22/new",
		"remove gone", "remove d/x", "rmdir d",
		"file file", "mkdir new", "mkdir new/sub", "file new/sub/f",
		"file .git/index", "file .git/logs/HEAD", "file .git/packed-refs", "file .git/refs/heads/a", "file .git/refs/heads/b", "file .git/HEAD",
		"remove .git/refs/heads/old", "remove .git/objects/11/old", "rmdir .git/objects/11"}
	ops := l.operations(all)
	if got := named(ops); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, op := range ops {
		inGit := strings.HasPrefix(string(op.Path), ".git/")
		if object := strings.HasPrefix(string(op.Path), ".git/objects/22"); op.Do != replay.DoDir &&
			(inGit != (string(op.Git) == ".git/") || op.Ref != (inGit && !object)) {
			t.Errorf("%+v", op)
		}
	}
	l.applied()
}

// TestSelection: what is chosen brings along what it needs, and nothing else.
func TestSelection(t *testing.T) {
	l := over(t, map[string]string{".git/refs/heads/a": "1", ".git/objects/11/o": "o", ".git/HEAD": "h", "a": "a"})
	l.ok(os.Link(l.tree+"/a", l.tree+"/b"))
	l.layer.Close()
	l.begin()
	l.upper(map[string]string{".git/refs/heads/a": "2", ".git/objects/22/n": "n", "new/sub/f": "f", "new/other": "o", "a": "two", "lone": "l"})
	for _, tt := range []struct{ chosen, want []string }{
		{[]string{"lone"}, []string{"lone"}},
		{[]string{"new/sub/f"}, []string{"new", "new/sub", "new/sub/f"}},
		{[]string{"a"}, []string{"a", "b"}},
		{[]string{".git/refs/heads/a"}, []string{".git/objects/22", ".git/objects/22/n", ".git/refs/heads/a"}},
		{[]string{".git/objects/22/n"}, []string{".git/objects/22", ".git/objects/22/n"}},
		{nil, nil},
	} {
		var got []string
		for _, c := range l.diff().Selected(paths(tt.chosen...)) {
			got = append(got, c.Path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.chosen, got, tt.want)
		}
	}
	l.apply(paths("new/sub/f"))
	l.holds("new/sub/f", "f")
	l.missing("new/other", "lone")
}

// TestWithoutObjectNoRef: where an object cannot be written, no ref is changed.
func TestWithoutObjectNoRef(t *testing.T) {
	l := over(t, map[string]string{".git/refs/heads/a": "1", ".git/objects/11/o": "o", "a": "a"})
	l.upper(map[string]string{".git/refs/heads/a": "2", ".git/objects/22/n": "n", "a": "b"})
	script := l.script(all)
	l.fill(l.tree, map[string]string{".git/objects/22": "in the way"})
	var out, errs strings.Builder
	if status := replay.Main(strings.NewReader(string(script)), &out, &errs); status != 0 {
		t.Fatal(errs.String())
	}
	if !strings.Contains(out.String(), "nothing is changed that may refer to it") {
		t.Error(out.String())
	}
	l.holds(".git/refs/heads/a", "1")
	l.holds("a", "b")
}

// TestAfterGitStatus: what `git status` notes in an index is no conflict; what `git add` does is.
func TestAfterGitStatus(t *testing.T) {
	git := func(l *layered, dir string, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "HOME=/nonexistent", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e",
			"GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e")
		if out, err := cmd.CombinedOutput(); err != nil {
			l.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	l := &layered{T: t, store: OpenStore(realTemp(t)), tree: realTemp(t) + "/tree"}
	l.fill(l.tree, map[string]string{"a": "a", "b": "b"})
	git(l, l.tree, "init", "-q")
	l.ok(os.Chmod(l.tree+"/.git", 0o755))
	git(l, l.tree, "add", "-A")
	l.begin()
	l.upper(map[string]string{".git/index": "of the layer"})
	l.want("modified .git/index")
	later()
	l.ok(os.Chtimes(l.tree+"/a", time.Unix(5, 0), time.Unix(5, 0)))
	before, err := os.ReadFile(l.tree + "/.git/index")
	l.ok(err)
	git(l, l.tree, "status")
	after, err := os.ReadFile(l.tree + "/.git/index")
	l.ok(err)
	if string(before) == string(after) {
		t.Error("git status has noted nothing: the test shows nothing")
	}
	l.want("modified .git/index")
	l.ok(os.WriteFile(filepath.Join(l.tree, "a"), []byte("c"), 0o644))
	git(l, l.tree, "add", "a")
	for _, c := range l.diff().Changes {
		if c.Path == ".git/index" && c.Conflict == "" {
			t.Error("another content of the index is no conflict")
		}
	}
}

// TestContents: both sides of a change, within the bound.
func TestContents(t *testing.T) {
	l := over(t, map[string]string{"a": "before"})
	l.upper(map[string]string{"a": "after", "n": "new"})
	for _, c := range l.diff().Changes {
		was, now, err := l.layer.Contents(c, 10)
		want := map[string][2]string{"a": {"before", "after"}, "n": {"", "new"}}[c.Path]
		if err != nil || string(was) != want[0] || string(now) != want[1] {
			t.Errorf("%s: %q %q %v", c.Path, was, now, err)
		}
		if _, _, err := l.layer.Contents(c, 2); err == nil {
			t.Errorf("%s: more than the bound", c.Path)
		}
	}
}

// TestSwappedTree: a directory that became a link leads nowhere.
func TestSwappedTree(t *testing.T) {
	l := over(t, map[string]string{"d/x": "x"})
	l.upper(map[string]string{"d/x": "y"})
	out := realTemp(t)
	l.ok(os.WriteFile(out+"/x", []byte("canary"), 0o644))
	script := l.script(all)
	l.ok(os.Rename(l.tree+"/d", l.tree+"/e"), os.Symlink(out, l.tree+"/d"))
	var said, errs strings.Builder
	if status := replay.Main(strings.NewReader(string(script)), &said, &errs); status != 0 {
		t.Fatal(errs.String())
	}
	if text, err := os.ReadFile(out + "/x"); err != nil || string(text) != "canary" {
		t.Errorf("%q %v", text, err)
	}
	if !strings.Contains(said.String(), "failed") {
		t.Error(said.String())
	}
}
