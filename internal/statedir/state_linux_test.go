package statedir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/api"
)

// TestLogIsTurnedOverOnce: of several supervisors that find the log full, one turns it over,
// and no record of the older part or of theirs is lost.
func TestLogIsTurnedOverOnce(t *testing.T) {
	s := At(t.TempDir())
	file := filepath.Join(s.Root(), "links.jsonl")
	for range 40 {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, logLimit+1); err != nil {
			t.Fatal(err)
		}
		full, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if err := s.LogLink(api.Link{URL: "https://a/"}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		older, err := os.Stat(file + ".1")
		if err != nil || !os.SameFile(older, full) {
			t.Fatal("the older part is not the full log")
		}
	}
}

// TestOpen: a state directory that another user could change is refused, by its name and
// with what would be right.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for name, prepare := range map[string]func(at string) error{
		"open to others": func(at string) error { return os.Mkdir(at, 0o700) },
		"a link":         func(at string) error { return os.Symlink(dir, at) },
		"a file":         func(at string) error { return os.WriteFile(at, nil, 0o600) },
	} {
		at := filepath.Join(dir, name)
		if err := prepare(at); err != nil {
			t.Fatal(err)
		}
		if name == "open to others" {
			if err := os.Chmod(at, 0o720); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := Open(at); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if _, err := Open(""); err != ErrNone {
		t.Errorf("no place: %v", err)
	}
}

// TestProjectIDs: only a name that ProjectID gives is one; it becomes part of a path.
func TestProjectIDs(t *testing.T) {
	s := At(t.TempDir())
	id := ProjectID("/p")
	if err := os.MkdirAll(s.Project("/p"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !IsProjectID(id) || !s.Has(id) || s.Has(ProjectID("/q")) {
		t.Errorf("%s is not known for what it is", id)
	}
	for _, name := range []string{"", "..", strings.ToUpper(ProjectID("/q")), id + "00", id[:18], id[:18] + "/x", "." + id} {
		if IsProjectID(name) {
			t.Errorf("%q is taken for an id", name)
		}
	}
}

// TestPrivate: a directory lies there as long as its run has it; of a run that was killed it
// goes with the next, and no run takes another's.
func TestPrivate(t *testing.T) {
	s := At(t.TempDir())
	one, dropOne, err := Private(s)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(s.Root(), "private", "killed")
	if err := os.MkdirAll(left+"/closed", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(left+"/closed", 0); err != nil {
		t.Fatal(err)
	}
	two, dropTwo, err := Private(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(one), filepath.Base(two)}
	slices.Sort(want)
	if got := names(t, filepath.Dir(left)); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	for _, drop := range []func() error{dropTwo, dropOne} {
		if err := drop(); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, filepath.Dir(left)); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if _, _, err := Private(nil); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("without a state directory: %v", err)
	}
}

// TestNotedPlaces: what a power failure has left of the notes is not believed, and a place that
// has no history is not one.
func TestNotedPlaces(t *testing.T) {
	const project = "/home/u/a \"quoted\"\nproject"
	s, other := At(t.TempDir()), t.TempDir()
	for range 2 {
		if err := s.Use(project); err != nil {
			t.Fatal(err)
		}
	}
	id := ProjectID(project)
	if got := s.NotedPath(id); got != project {
		t.Errorf("noted %q", got)
	}
	for _, dir := range []string{other + "/a", other + "/b", other + "/a", s.History(project)} {
		if err := s.Remember(project, dir); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.OtherHistory(project, s.History(project)); got != "" {
		t.Errorf("a history where none is: %q", got)
	}
	for _, dir := range []string{other + "/a", other + "/b"} {
		if err := os.MkdirAll(dir+"/journal/0", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.OtherHistory(project, s.History(project)); got != other+"/b" {
		t.Errorf("the latest is %q", got)
	}
	if got := s.OtherHistory(project, other+"/b"); got != other+"/a" {
		t.Errorf("the one before is %q", got)
	}
	for _, text := range []string{"", "/home/u/a", `"/home/u`, Quoted("/another")} {
		if err := os.WriteFile(s.Project(project)+PathFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.NotedPath(id); got != "" {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	if places := ReadPlaces(s.Project(project)); len(places) != 2 {
		t.Errorf("remembered: %q", places)
	}
}
