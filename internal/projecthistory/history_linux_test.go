package projecthistory

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/history/historytest"
	"carrel/internal/history/steplog"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// recorded makes a project in a home of its own, with a history of steps, and opens it.
func recorded(t *testing.T, change func(*Request), steps ...map[string]string) (h *History, req Request) {
	t.Helper()
	project, home := t.TempDir(), t.TempDir()
	req = Request{Default: policy.Agent, Cwd: project, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	s, err := statedir.Open(home + "/.local/state/carrel")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Use(project), os.Mkdir(s.History(project), 0o700)); err != nil {
		t.Fatal(err)
	}
	historytest.Record(t, s.History(project), project, steps...)
	if change != nil {
		change(&req)
	}
	if h, err = Open(req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, req
}

// text is what a file of the project holds, "" where there is none.
func text(t *testing.T, h *History, name string) string {
	t.Helper()
	b, err := os.ReadFile(h.Project + "/" + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// TestUndoIsHeldToThePolicy: an undo brings back what a command could write today, and not what
// it could not, unless all of the project goes back to what it was.
func TestUndoIsHeldToThePolicy(t *testing.T) {
	h, req := recorded(t, nil, map[string]string{"a": "one", ".envrc": "run me"}, map[string]string{"a": "two"},
		map[string]string{".envrc": historytest.Removed, "a": "three"})
	of := func(steps ...uint64) history.Request { return history.Request{Steps: steps} }
	only := of(3)
	only.Paths = []string{h.Project + "/.envrc"}
	if _, err := h.Undo(req, only); err == nil || !strings.Contains(err.Error(), ".envrc") || !strings.Contains(err.Error(), "direnv") {
		t.Errorf("a file that runs code was brought back: %v", err)
	}
	if text(t, h, "a") != "three" || text(t, h, ".envrc") != "" {
		t.Error("an undo that was refused has changed something")
	}
	only.Paths = []string{h.Project + "/a"}
	v, err := h.Preview(req, only)
	if err != nil || v.Refused != nil || text(t, h, "a") != "three" {
		t.Fatalf("a preview: %+v, %v", v, err)
	}
	if _, err := h.Undo(req, only); err != nil || text(t, h, "a") != "two" || text(t, h, ".envrc") != "" {
		t.Errorf("%q, %v", text(t, h, "a"), err)
	}
	h.Close()
	again, err := Open(req)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := len(again.Log.Steps); n != 4 {
		t.Errorf("%d steps, want the undo among 4", n)
	}
}

// TestExact: only what takes the whole project back, with each step since, is held to no names.
func TestExact(t *testing.T) {
	h, _ := recorded(t, nil, map[string]string{"a": "one"}, map[string]string{"a": "two"}, map[string]string{},
		map[string]string{"a": "three"})
	for _, c := range []struct {
		steps []uint64
		paths []string
		want  bool
	}{
		{[]uint64{4}, nil, true}, {[]uint64{4, 2}, nil, true}, {[]uint64{4, 2, 1}, nil, true}, {[]uint64{2}, nil, false},
		{[]uint64{4, 1}, nil, false},
		{nil, nil, false}, {[]uint64{4}, []string{"/a"}, false},
	} {
		if got := h.exact(&history.Request{Steps: c.steps, Paths: c.paths}); got != c.want {
			t.Errorf("steps %d and paths %q: %v", c.steps, c.paths, got)
		}
	}
}

// TestCeilingsHoldTheHistory: what a ceiling lets a caller do with it, and that nothing else is done.
func TestCeilingsHoldTheHistory(t *testing.T) {
	under := func(text string) func(*Request) {
		return func(r *Request) {
			r.Ceilings = []config.CeilingText{{Source: "the ceiling", Content: []byte(`{` + text + `}`)}}
		}
	}
	for name, c := range map[string]struct {
		ceiling     string
		look, write bool
	}{
		"all":     {`"undo": "all"`, true, true},
		"preview": {`"undo": "preview"`, true, false},
		"expired": {`"undo": "all", "expires": "2001-01-01T00:00:00Z"`, true, false},
	} {
		h, req := recorded(t, under(c.ceiling), map[string]string{"a": "one"}, map[string]string{"a": "two"})
		r := history.Request{Steps: []uint64{2}}
		for op, do := range map[string]struct {
			may bool
			try func() error
		}{
			"preview":         {c.look, func() error { _, err := h.Preview(req, r); return err }},
			"dry gc":          {c.look, func() error { _, err := h.Collect(req, true); return err }},
			"dry discard":     {c.look, func() error { _, err := h.Discard([]uint64{1}, false, true); return err }},
			"gc":              {c.write, func() error { _, err := h.Collect(req, false); return err }},
			"undo":            {c.write, func() error { _, err := h.Undo(req, r); return err }},
			"discard a step?": {c.write, func() error { return h.May("discard", policy.UndoAll) }},
		} {
			var d *api.Denial
			if err := do.try(); (err == nil) != do.may || err != nil && (!errors.As(err, &d) || !strings.Contains(d.Message, "the ceiling")) {
				t.Errorf("%s, %s: %v", name, op, err)
			}
			if d != nil && op == "undo" && d.Operation != op {
				t.Errorf("%s: an undo is refused as %q", name, d.Operation)
			}
		}
		if got := text(t, h, "a"); (got == "one") != c.write {
			t.Errorf("%s: the file holds %q", name, got)
		}
	}
	req := Request{Cwd: t.TempDir(), Environ: []string{"HOME=" + t.TempDir()}}
	under(`"undo": "none"`)(&req)
	if h, err := Open(req); err == nil {
		h.Close()
		t.Error("a history is looked at where nothing may be")
	}
}

// TestExportLeavesOut: of a step the tar holds what a workspace shows, and nothing that has or had a
// name that it does not.
func TestExportLeavesOut(t *testing.T) {
	h, _ := recorded(t, nil, map[string]string{"shown": "text", "hidden": "secret"},
		map[string]string{"shown": "more", "hidden": "still secret"})
	names := func() (string, int, error) {
		var out bytes.Buffer
		_, left, err := h.Export(2, &out)
		if bytes.Contains(out.Bytes(), []byte("secret")) != (h.ask == nil) {
			t.Error("the tar holds what it must not, or lacks what it must hold")
		}
		found := make(map[string]bool)
		for r := tar.NewReader(&out); ; {
			e, err := r.Next()
			if err != nil {
				break
			}
			if e.Typeflag == tar.TypeReg {
				found[e.Name] = true
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(found)), " "), left, err
	}
	if got, left, err := names(); got != "after/hidden after/shown before/hidden before/shown" || left != 0 || err != nil {
		t.Errorf("%s, %d left out, %v", got, left, err)
	}
	h.SeenBy(func(paths []string) ([]api.Sight, error) {
		out := make([]api.Sight, len(paths))
		for i, at := range paths {
			if out[i] = api.SightRead; at == h.Project+"/hidden" {
				out[i] = api.SightName
			}
		}
		return out, nil
	})
	if got, left, err := names(); got != "after/shown before/shown" || left != 1 || err != nil {
		t.Errorf("%s, %d left out, %v", got, left, err)
	}
	if _, _, err := h.Export(9, io.Discard); err == nil || !strings.Contains(err.Error(), "step 9") {
		t.Errorf("a step that is none: %v", err)
	}
	h.ask = func([]string) ([]api.Sight, error) { return nil, errors.New("it has ended") }
	h.sights = nil
	if _, _, err := h.Export(2, io.Discard); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("where it is not known what may be told: %v", err)
	}
}

// TestContentsAreTold: a file before and after a step, where it may be read, and not where it may be
// named only.
func TestContentsAreTold(t *testing.T) {
	h, _ := recorded(t, nil, map[string]string{"a": "one"}, map[string]string{"a": "two"})
	read := func(r io.ReadCloser) string {
		if r == nil {
			return "none"
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	for step, want := range map[uint64][2]string{1: {"none", "one"}, 2: {"one", "two"}} {
		before, after, err := h.Contents(h.Log.Step(step), h.Project+"/a")
		if err != nil || read(before) != want[0] || read(after) != want[1] {
			t.Errorf("step %d: %v", step, err)
		}
	}
	var asked []string
	h.ask = shows(map[string]api.Sight{h.Project + "/a": api.SightName}, &asked).ask
	if _, _, err := h.Contents(h.Log.Step(2), h.Project+"/a"); err == nil || strings.Contains(err.Error(), h.Project) {
		t.Errorf("of a file that may be named only: %v", err)
	}
	told, left, err := h.Tell(h.Log.Step(2), []steplog.PathChange{{Path: h.Project + "/a"}, {Path: h.Project + "/b", From: "/hidden"}},
		api.SightName)
	if err != nil || len(told) != 1 || !slices.Equal(left, []string{h.Project + "/b"}) {
		t.Errorf("told %+v, left %q, %v", told, left, err)
	}
}

// TestWhatIsKept: without a history there is nothing to count and nothing to remove; with one, it says
// how much, and takes away what was asked for.
func TestWhatIsKept(t *testing.T) {
	h, req := recorded(t, nil, map[string]string{"a": "one"}, map[string]string{"a": "two"}, map[string]string{"a": "three"})
	u, err := h.Usage(req)
	if err != nil || u.Limits != history.DefaultLimits() {
		t.Errorf("%+v, %v", u, err)
	}
	if v, err := h.Verify(); err != nil || len(v.Faults) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	for _, dry := range []bool{true, false} {
		if r, err := h.Discard([]uint64{1, 2}, false, dry); err != nil || len(r.Steps) != 2 {
			t.Errorf("dry %v: %+v, %v", dry, r, err)
		}
		all, err := UsageOfAll(req, true)
		if err != nil || len(all.Projects) != 1 || all.Projects[0].Steps != map[bool]int64{true: 3, false: 1}[dry] ||
			all.Each != history.DefaultLimits().Bytes {
			t.Errorf("dry %v: %+v, %v", dry, all, err)
		}
	}
	if h.Left() != "" {
		t.Errorf("another project is named where this one has steps: %q", h.Left())
	}
	if err := os.RemoveAll(h.Project); err != nil {
		t.Fatal(err)
	}
	moved := req
	moved.Cwd = t.TempDir()
	none, err := Open(moved)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if none.Left() != h.Project {
		t.Errorf("left is %q, want %s", none.Left(), h.Project)
	}
	none.SeenBy(func([]string) ([]api.Sight, error) { return nil, nil })
	if none.Left() != "" {
		t.Error("a workspace is told of another project")
	}
	for what, try := range map[string]func() error{
		"usage":   func() error { _, err := none.Usage(moved); return err },
		"verify":  func() error { _, err := none.Verify(); return err },
		"gc":      func() error { _, err := none.Collect(moved, false); return err },
		"discard": func() error { _, err := none.Discard(nil, true, false); return err },
	} {
		if err := try(); err != nil {
			t.Errorf("%s without a history: %v", what, err)
		}
	}
	if _, err := os.Lstat(none.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking has made a history: %v", err)
	}
}
