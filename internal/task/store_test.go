package task

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
)

// TestStore: what is kept comes back as it was, paths of any bytes included; what is no record is
// told and hides no other.
func TestStore(t *testing.T) {
	s := OpenStore(t.TempDir())
	key := Key("/repo/.git")
	if list, broken, err := s.List(key); len(list)+len(broken) > 0 || err != nil {
		t.Errorf("an empty store: %v %v %v", list, broken, err)
	}
	if keys, err := s.Keys(); len(keys) > 0 || err != nil {
		t.Errorf("%v, %v", keys, err)
	}
	one := &Task{Name: "one", Tree: Tree{Repository: "/re\xffpo", Common: "/re\xffpo/.git", Path: "/t\nree", Base: "b", Into: "main"},
		Workspace: "one", Words: []api.Text{"start", "--read=/\xfe", "--", "one"}, Argv: []api.Text{"x"}, Created: time.Unix(1e9, 0).UTC()}
	release, err := s.Lock(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(key, one); err != nil {
		t.Fatal(err)
	}
	release()
	got, err := s.Get(key, "one")
	if err != nil || !reflect.DeepEqual(got, one) {
		t.Errorf("%+v, %v, want %+v", got, err, one)
	}
	for _, name := range []string{"two", "one.json", "../x", ""} {
		if _, err := s.Get(key, name); err == nil {
			t.Errorf("%q is there", name)
		}
	}
	if _, err := s.Get(Key("/other"), "one"); !errors.Is(err, ErrNone) {
		t.Errorf("of another repository: %v", err)
	}
	dir := filepath.Join(s.dir, key)
	for name, text := range map[string]string{"bad.json": "{", "other.json": `{"name":"one","tree":{"path":"/x"}}`,
		"empty.json": `{"name":"empty","tree":{}}`, "note": "x", "x y.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	list, broken, err := s.List(key)
	if err != nil || len(list) != 1 || list[0].Name != "one" || len(broken) != 4 {
		t.Errorf("%v %v %v", list, broken, err)
	}
	one.Prompt = strings.Repeat("x", maxRecord)
	if err := s.Save(key, one); err == nil || !strings.Contains(err.Error(), "put the prompt into a file") {
		t.Errorf("too long: %v", err)
	}
	if err := s.Remove(key, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(key, "one"); !errors.Is(err, ErrNone) {
		t.Errorf("removed: %v", err)
	}
}

// TestCopy: files are taken over with their modes, links as links, and nothing from outside.
func TestCopy(t *testing.T) {
	base := t.TempDir()
	from, to := base+"/from", base+"/to"
	for _, dir := range []string{from + "/d/e", from + "/d/.git", to + "/d"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a.local": "a", "b.local": "b", "d/x": "x", "d/e/y": "y", "d/.git/config": "c", "no": "n"} {
		if err := os.WriteFile(from+"/"+name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]string{"d/link": "/etc/passwd", "out": base} {
		if err := os.Symlink(at, from+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(base+"/secret", []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to+"/d/x", []byte("old and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(from, to, []string{"*.local", "d"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.local": "a", "b.local": "b", "d/x": "x", "d/e/y": "y"} {
		got, err := os.ReadFile(to + "/" + name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if at, err := os.Readlink(to + "/d/link"); err != nil || at != "/etc/passwd" {
		t.Errorf("the link: %q, %v", at, err)
	}
	for _, name := range []string{"no", "d/.git", "out"} {
		if _, err := os.Lstat(to + "/" + name); err == nil {
			t.Errorf("%s was taken over", name)
		}
	}
	for _, bad := range []string{"../secret", "/etc/passwd", ".", "", ".git", ".git/config", "nothing", "out/secret", "["} {
		if _, err := Copy(from, to, []string{bad}); err == nil {
			t.Errorf("%q is taken over", bad)
		}
	}
	if _, err := os.Lstat(to + "/secret"); err == nil {
		t.Error("what is outside was taken over")
	}
}

// TestTake: files go, directories and what is outside stay.
func TestTake(t *testing.T) {
	base := t.TempDir()
	tree := base + "/tree"
	if err := os.MkdirAll(tree+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{base + "/out", tree + "/a", tree + "/d/b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Take(tree, []string{"a", "d", "d/b", "gone"}); err != nil {
		t.Fatal(err)
	}
	if err := Take(tree, []string{"../out"}); err == nil {
		t.Error("what is outside is taken away")
	}
	left, err := os.ReadDir(tree)
	if err != nil || len(left) != 1 || left[0].Name() != "d" {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Lstat(base + "/out"); err != nil {
		t.Error(err)
	}
}

// TestRemoveTree: a cache of modules has directories that cannot be written to.
func TestRemoveTree(t *testing.T) {
	tree := t.TempDir() + "/of/tree"
	if err := os.MkdirAll(tree+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tree+"/a/b/c", nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/a/b", "/a"} {
		if err := os.Chmod(tree+dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveTree(tree); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(tree)); err == nil {
		t.Error("the directory around it is left")
	}
	if err := RemoveTree(tree); err != nil {
		t.Errorf("twice: %v", err)
	}
}
