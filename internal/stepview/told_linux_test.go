package stepview

import (
	"io"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/undo"
	"carrel/internal/projecthistory"
)

// link is a symbolic link with a target.
func link(target string) journal.State {
	return journal.State{Kind: journal.Symlink, Target: journal.Bytes(target)}
}

// TestChangesOfOtherThanFiles: links, directories and metadata are told by what they are, each
// on its line.
func TestChangesOfOtherThanFiles(t *testing.T) {
	dir := journal.State{Kind: journal.Dir, Mode: 0o755}
	closed := dir
	closed.Mode, closed.UID = 0o700, 7
	noted := dir
	noted.Xattrs = map[string][]byte{"user.a": []byte("x\n")}
	hidden := dir
	hidden.Unread = true
	for name, c := range map[string]struct {
		was, now journal.State
		want     string
	}{
		"a link is made":       {journal.State{}, link("a"), "+l: symlink -> a\n"},
		"a link is removed":    {link("a\nb"), journal.State{}, `-l: symlink -> "a\nb"` + "\n"},
		"a link leads away":    {link("a"), link("b"), "-l: symlink -> a\n+l: symlink -> b\n"},
		"a directory is made":  {journal.State{}, dir, "+l: directory\n"},
		"a mode and an owner":  {dir, closed, "l: mode 0700, was 0755\nl: owner 7:0, was 0:0\n"},
		"an attribute":         {dir, noted, `l: attribute user.a "x\n", was none` + "\n"},
		"an attribute is gone": {noted, dir, `l: attribute user.a none, was "x\n"` + "\n"},
		"one that is not read": {noted, hidden, ""},
	} {
		pre := []journal.Pre{{Path: journal.Bytes("/p/l"), State: c.was}}
		post := []journal.Post{{Path: journal.Bytes("/p/l"), State: c.now, Origin: journal.Bytes("/p/l")}}
		if c.was.Kind == 0 {
			post[0].Origin = ""
		}
		s := steplog.NewStep(1, journal.Begin{Kind: journal.StepRun}, pre, post, nil)
		var out strings.Builder
		d := &Diff{Out: &out, History: &projecthistory.History{Project: "/p"}, Step: s}
		what := steplog.Changed
		kind := c.now.Kind
		switch {
		case c.was.Kind == 0:
			what = steplog.Added
		case c.now.Kind == 0:
			what, kind = steplog.Removed, c.was.Kind
		}
		d.Change(steplog.PathChange{Path: "/p/l", What: what, Kind: kind})
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
}

// TestContentThatIsNotShown: what was not kept, or is too large, is told by its size.
func TestContentThatIsNotShown(t *testing.T) {
	size := func(n int64) journal.State { return journal.State{Kind: journal.File, Size: n} }
	for name, c := range map[string]struct {
		change   steplog.PathChange
		was, now journal.State
		want     string
	}{
		"not kept": {steplog.PathChange{What: steplog.Modified, Lost: "it is ignored"}, size(3), size(5),
			"f: file modified, 5 bytes, were 3: its former content was not kept: it is ignored\n"},
		"too large": {steplog.PathChange{What: steplog.Added}, size(0), size(maxDiffed + 1),
			"f: file added, 4194305 bytes: more than the 4194304 that are compared\n"},
		"was too large": {steplog.PathChange{What: steplog.Removed}, size(maxDiffed + 1), size(0),
			"f: file removed, were 4194305 bytes: more than the 4194304 that are compared\n"},
		"of unknown size": {steplog.PathChange{What: steplog.Modified, Lost: "x"}, size(1), size(journal.UnknownSize),
			"f: file modified, of unknown size: its former content was not kept: x\n"},
	} {
		var out strings.Builder
		d := &Diff{Out: &out, History: &projecthistory.History{Project: "/p"}}
		if d.content(c.change, "f", &c.was, &c.now); out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
}

// TestLinesOfADiff: colours are for a terminal alone, lines are counted for --stat, and ends of
// lines are shown where they are what was changed.
func TestLinesOfADiff(t *testing.T) {
	var out strings.Builder
	d := &Diff{Out: &out, Colour: true}
	d.unified("a", "a", []byte("x\n"), []byte("y\n"))
	for _, want := range []string{bold + "--- a" + plain, cyan + "@@ -1 +1 @@" + plain, red + "-x" + plain, green + "+y" + plain} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
	for name, c := range map[string]struct {
		was, now string
		shown    bool
	}{"all lines end with CRLF": {"a\r\n", "b\r\n", false}, "the end is the change": {"a\r\n", "a\n", true}} {
		out.Reset()
		d = &Diff{Out: &out}
		if d.unified("a", "a", []byte(c.was), []byte(c.now)); strings.Contains(out.String(), `\x0d`) != c.shown {
			t.Errorf("%s: %q", name, out.String())
		}
	}
	out.Reset()
	d = &Diff{Out: &out, Stat: true, paths: 2}
	d.count("f", []byte("a\nb\nc\n"), []byte("a\nx\ny\nc\n"))
	d.count("g", nil, []byte("1\n"))
	d.Total()
	if want := "f  +2 -1\ng  +1 -0\n2 paths, 3 lines added, 1 removed\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	for text, want := range map[string]bool{"text\n": true, "nul\x00": false, "": true} {
		if _, ok := readText(io.NopCloser(strings.NewReader(text))); ok != want {
			t.Errorf("%q is text: %v", text, ok)
		}
	}
	if _, ok := readText(io.NopCloser(strings.NewReader(strings.Repeat("x", maxDiffed+1)))); ok {
		t.Error("more than is compared is read")
	}
}

// TestStateOfASteps: running, interrupted, undone, done.
func TestStateOfASteps(t *testing.T) {
	log := &history.Log{}
	open := func(live bool) *steplog.Step { return &steplog.Step{Live: live} }
	ended := func(by uint64, interrupted bool) *steplog.Step {
		return &steplog.Step{UndoneBy: by, End: &journal.End{Interrupted: interrupted}}
	}
	for want, list := range map[string][]*steplog.Step{
		"running": {open(true)}, "interrupted": {open(false), ended(0, true)}, "undone": {ended(2, false), ended(2, true)}, "done": {ended(0,
			false)},
	} {
		for _, s := range list {
			if got := stepState(log, s); got != want {
				t.Errorf("%+v is %s, want %s", s, got, want)
			}
		}
	}
}

// TestStepText: one step with its changes, paths as a person of the project calls them.
func TestStepText(t *testing.T) {
	h := &projecthistory.History{Project: "/p"}
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)
	j := Step{Step: 4, Kind: journal.StepRun, Command: []api.Text{"make"}, Began: at, Ended: &at, Exit: 2, State: "done", Added: 1, Renamed: 1}
	changes := []steplog.PathChange{
		{Path: "/p/a\n", What: steplog.Added, Kind: journal.File}, {Path: "/p/b", From: "/p/c", What: steplog.Renamed, Kind: journal.Dir},
		{Path: "/q/d", What: steplog.Removed, Kind: journal.File, Lost: "too large"},
	}
	var out strings.Builder
	PrintStep(&out, h, j, changes)
	want := `step     4, done
began    2024-05-06 07:08:09
ended    2024-05-06 07:08:09, exit status 2
command  make
changes  1 added, 1 renamed
A    "a\n"
R    c -> b/
D    /q/d (its content was not kept: too large)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	j.AddChanges([]steplog.PathChange{{Path: "/p/a", Kind: journal.File, Bytes: 3}, {Path: "/p/b", Kind: journal.File,
		Bytes: journal.UnknownSize}})
	if len(j.Changes) != 2 || *j.Changes[0].Bytes != 3 || j.Changes[1].Bytes != nil {
		t.Errorf("%+v", j.Changes)
	}
}

// TestUndoText: an undo tells what became of each path, the first few of many, and names
// nothing that its asker may not know.
func TestUndoText(t *testing.T) {
	h := &projecthistory.History{Project: "/p"}
	v := &history.Preview{Steps: []uint64{2, 1}, Plan: &undo.Plan{Removed: []string{"/p/gone"},
		Unrestorable: []undo.Unrestorable{{Path: "/p/lost", Why: "too large"}, {Path: "/p/ign", Why: journal.Ignored}},
		Beside:       []undo.Beside{{Path: "/p/k", Name: "/p/k.1"}}}}
	for i := range MaxShown + 2 {
		v.Restored = append(v.Restored, "/p/r"+string(rune('a'+i)))
	}
	for range maxAlone + 2 {
		v.LeftAlone = append(v.LeftAlone, undo.Unrestorable{Path: "/p/l", Why: "it is not empty"})
	}
	conflicts := []history.Conflict{{Path: "/p/c", Why: "it was changed", Step: 9}}
	told := UndoOf(h, true, v, conflicts)
	var out, errs strings.Builder
	told.Print(&out, &errs, "/p", "would be ", 1)
	for text, n := range map[string]int{
		"would be restored  r": MaxShown, "would be restored  (2 more": 1, "would be removed   gone\n": 1, "NOT restored  lost: too large\n": 1,
		"left alone  ign: ": 1, "would be kept      k as k.1\n": 1, "left alone  l: it is not empty\n": maxAlone, "left alone  (2 more": 1,
		"2 steps: 22 paths would be restored, 1 removed, 1 could not be restored, 1 left alone\n": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%q stands %d times, want %d:\n%s", text, got, n, out.String())
		}
	}
	if errs.String() != "carrel: conflict: c: it was changed\n" {
		t.Errorf("%q", errs.String())
	}
	h.SeenBy(func(paths []string) (out []api.Sight, err error) {
		for _, at := range paths {
			out = append(out, map[bool]api.Sight{true: api.SightName, false: api.SightNone}[at == "/p/ra"])
		}
		return out, nil
	})
	less := UndoOf(h, true, v, conflicts)
	if len(less.Restored) != 1 || len(less.Removed)+len(less.Unrestorable)+len(less.LeftAlone)+len(less.Beside)+len(less.Conflicts) != 0 ||
		less.Unlisted != 1 || less.LeftOut == nil {
		t.Errorf("%+v", less)
	}
}
