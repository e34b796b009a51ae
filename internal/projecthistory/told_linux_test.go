package projecthistory

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/statedir"
)

// shows is a history told by a workspace that shows some paths, and counts what it is asked.
func shows(sights map[string]api.Sight, asked *[]string) *History {
	h := &History{}
	h.SeenBy(func(paths []string) ([]api.Sight, error) {
		*asked = append(*asked, paths...)
		out := make([]api.Sight, len(paths))
		for i, at := range paths {
			if out[i] = sights[at]; out[i] == 0 {
				out[i] = api.SightNone
			}
		}
		return out, nil
	})
	return h
}

// TestUnnamed: a name is told where it is shown, and each path is asked about once.
func TestUnnamed(t *testing.T) {
	var asked []string
	h := shows(map[string]api.Sight{"/read": api.SightRead, "/name": api.SightName}, &asked)
	for range 2 {
		got, err := h.Unnamed([]string{"/read", "/name", "/none", "/read"})
		if err != nil || !reflect.DeepEqual(got, map[string]bool{"/none": true}) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if !reflect.DeepEqual(asked, []string{"/read", "/name", "/none"}) {
		t.Errorf("it was asked about %q", asked)
	}
}

// TestUnnamedWithoutAnAnswer: where it cannot be asked, no name is told.
func TestUnnamedWithoutAnAnswer(t *testing.T) {
	gone := errors.New("it has ended")
	for name, ask := range map[string]Sighted{
		"an error":        func([]string) ([]api.Sight, error) { return nil, gone },
		"too few answers": func([]string) ([]api.Sight, error) { return []api.Sight{api.SightRead}, nil },
	} {
		h := &History{}
		h.SeenBy(ask)
		got, err := h.Unnamed([]string{"/a", "/b"})
		if err == nil || !got["/a"] || !got["/b"] {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestRedacted: an error keeps what it is, and loses the paths that are not shown.
func TestRedacted(t *testing.T) {
	var asked []string
	cause := errors.New(`"/hidden/a b\n" is in the way of "/shown", not "relative" nor "torn`)
	got := shows(map[string]api.Sight{"/shown": api.SightName}, &asked).Redacted(cause)
	if want := `a path that is left out is in the way of "/shown", not "relative" nor "torn`; got.Error() != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !errors.Is(got, cause) {
		t.Error("it is another error")
	}
	if got := (&History{}).Redacted(cause); got.Error() != cause.Error() {
		t.Errorf("with nothing hidden: %s", got)
	}
	if got := (&History{}).Redacted(nil); got != nil {
		t.Errorf("of no error: %v", got)
	}
}

// TestMayRestore: a refusal names its reason where the path may be named, and only there.
func TestMayRestore(t *testing.T) {
	var asked []string
	h := shows(map[string]api.Sight{"/named": api.SightName}, &asked)
	why := errors.New("the rule of /secret/place")
	refuse := h.mayRestore(func(*history.Restoration) error { return why })
	if err := refuse(&history.Restoration{Path: "/named"}); !errors.Is(err, why) {
		t.Errorf("of a path that is shown: %v", err)
	}
	if err := refuse(&history.Restoration{Path: "/hidden"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("of a path that is not: %v", err)
	}
	allow := h.mayRestore(func(*history.Restoration) error { return nil })
	if err := allow(&history.Restoration{Path: "/hidden"}); err != nil {
		t.Errorf("what may be restored is refused: %v", err)
	}
}

// TestExportedPath: an entry of an export is of the path that it stands for.
func TestExportedPath(t *testing.T) {
	for name, want := range map[string]string{
		"before":             "/p",
		"after/":             "/p",
		"before/a/b":         "/p/a/b",
		"after/d/":           "/p/d",
		"outside/before/etc": "/etc",
		"outside/after/x/y":  "/x/y",
		"beforehand/a":       "beforehand/a",
		"outside/a":          "outside/a",
	} {
		if got := exportedPath("/p", name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestLookingLeavesNothing: to look for the history of a project of which nothing is kept leaves the
// state directory as it was.
func TestLookingLeavesNothing(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	request := Request{Cwd: project, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	state, err := statedir.Open(home + "/.local/state/carrel")
	if err != nil {
		t.Fatal(err)
	}
	tree := func() (list []string) {
		err := filepath.WalkDir(state.Root(), func(path string, _ os.DirEntry, err error) error {
			list = append(list, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := tree()
	for _, open := range []func(Request) (*History, error){Find, Open} {
		h, err := open(request)
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
	}
	if after := tree(); !slices.Equal(after, before) {
		t.Errorf("there is %q, and there was %q", after, before)
	}
}

// TestHeldWhileOpen: what is kept of a project is not removed while its history is
// open, with steps or without.
func TestHeldWhileOpen(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	request := Request{Cwd: project, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	state, err := statedir.Open(home + "/.local/state/carrel")
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Use(project); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(Request) (*History, error){Find, Open} {
		h, err := open(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := state.Remove(statedir.ProjectID(project)); !errors.Is(err, statedir.ErrUsed) {
			t.Errorf("removed while it is open: %v", err)
		}
		h.Close()
	}
	if err := state.Remove(statedir.ProjectID(project)); err != nil {
		t.Errorf("removed afterwards: %v", err)
	}
}
