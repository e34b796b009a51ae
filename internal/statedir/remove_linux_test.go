package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// kept makes a state directory in which something is kept of a project.
func kept(t *testing.T, path string) (s *Dir, id string) {
	t.Helper()
	s, err := Open(t.TempDir() + "/carrel")
	if err != nil {
		t.Fatal(err)
	}
	id = keepMore(t, s, path)
	return s, id
}

func keepMore(t *testing.T, s *Dir, path string) (id string) {
	t.Helper()
	if err := s.Use(path); err != nil {
		t.Fatal(err)
	}
	closed := s.Project(path) + "/caches/home/closed"
	err := errors.Join(os.MkdirAll(closed+"/in", 0o700), os.WriteFile(closed+"/f", make([]byte, 10000), 0o600), os.Chmod(closed, 0))
	if err != nil {
		t.Fatal(err)
	}
	return ProjectID(path)
}

// TestRemove: all of one project goes, with histories elsewhere that are one, and nothing
// of a project that is used.
func TestRemove(t *testing.T) {
	other := t.TempDir()
	s, id := kept(t, "/p/one")
	two := keepMore(t, s, "/p/two")
	for _, dir := range []string{other + "/" + id, other + "/not-a-history"} {
		if err := errors.Join(os.MkdirAll(dir+"/journal", 0o700), s.Remember("/p/one", dir)); err != nil {
			t.Fatal(err)
		}
	}
	release, err := s.Hold("/p/one")
	if err != nil {
		t.Fatal(err)
	}
	for what, remove := range map[string]func() error{"one": func() error { return s.Remove(id) }, "all": s.RemoveAll} {
		if err := remove(); !errors.Is(err, ErrUsed) || !s.Has(id) || !s.Has(two) {
			t.Fatalf("%s: removed while it is used: %v", what, err)
		}
	}
	release()
	if err := s.Remove(id); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Kept(); err != nil || len(list) != 1 || list[0].ID != two || list[0].Path != "/p/two" || !list[0].Gone {
		t.Errorf("kept: %+v, %v", list, err)
	}
	if _, err := os.Lstat(other + "/" + id); err == nil {
		t.Error("the history elsewhere is left")
	}
	if _, err := os.Lstat(other + "/not-a-history"); err != nil {
		t.Error("a directory went that is no history")
	}
	if err := s.Remove("../projects"); err == nil {
		t.Error("a name that is no id")
	}
	if err := s.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(s.Root()); err == nil {
		t.Error("the state directory is left")
	}
}

// TestInterruptedRemoval: what a removal was killed in goes with the next, with what it had
// put aside elsewhere, and nothing goes of what was kept since.
func TestInterruptedRemoval(t *testing.T) {
	other := t.TempDir()
	s, id := kept(t, "/p/one")
	keepElsewhere := func() {
		t.Helper()
		if err := errors.Join(os.MkdirAll(other+"/"+id+"/journal", 0o700), s.Remember("/p/one", other+"/"+id)); err != nil {
			t.Fatal(err)
		}
	}
	keepElsewhere()
	if err := s.putAside(id); err != nil {
		t.Fatal(err)
	}
	if s.Has(id) || len(names(t, other)) != 1 || names(t, other)[0] == id {
		t.Fatalf("put aside: %q", names(t, other))
	}
	keepMore(t, s, "/p/one")
	keepElsewhere()
	s.FinishRemovals()
	if left := names(t, other); !s.Has(id) || len(left) != 1 || left[0] != id {
		t.Errorf("the new one is kept: %t, elsewhere %q", s.Has(id), left)
	}
	if err := s.putAside(id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left := append(names(t, other), names(t, s.Root()+"/projects")...); len(left) != 0 {
		t.Errorf("left of the last project: %q", left)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestSweep: a project goes a month after it was first seen gone, not one whose disk may
// be unmounted, not one that is back, and there is one look a day.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	back := base + "/back"
	s, gone := kept(t, base+"/gone")
	unmounted, returns := keepMore(t, s, base+"/disk/project"), keepMore(t, s, back)
	sweep := func(want int) {
		t.Helper()
		old := time.Now().Add(-2 * sweepPace)
		if err := os.Chtimes(s.Root()+sweptFile, old, old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if n, err := s.Sweep(); n != want || err != nil {
			t.Fatalf("%d removed, %v; want %d", n, err, want)
		}
	}
	later := func() {
		t.Helper()
		marks, _ := filepath.Glob(s.Root() + "/projects/*" + goneFile)
		old := time.Now().Add(-sweepAfter - time.Hour)
		for _, m := range marks {
			if err := os.Chtimes(m, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(0)
	if err := os.Mkdir(back, 0o700); err != nil {
		t.Fatal(err)
	}
	later()
	if n, err := s.Sweep(); n != 0 || err != nil {
		t.Errorf("a second look on the same day: %d, %v", n, err)
	}
	sweep(1)
	if s.Has(gone) || !s.Has(unmounted) || !s.Has(returns) {
		t.Error("the wrong one went")
	}
	if err := os.Remove(back); err != nil {
		t.Fatal(err)
	}
	sweep(0) // the month begins again
	later()
	sweep(1)
}
