package histories

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/history/historytest"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// project makes a project of which steps are kept, each of so many bytes, that was used some
// days ago.
func project(t *testing.T, s *statedir.Dir, dir func(path string) string, days, steps, bytes int) (path string) {
	t.Helper()
	path = t.TempDir()
	at := dir(path)
	if err := errors.Join(s.Use(path), os.MkdirAll(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	var changes []map[string]string
	for i := range steps + 1 { // what a step destroys is what the one before has written
		changes = append(changes, map[string]string{"file": strings.Repeat(strconv.Itoa(i), bytes)})
	}
	historytest.Record(t, at, path, changes...)
	used := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	if err := os.Chtimes(s.Project(path)+statedir.PathFile, used, used); err != nil {
		t.Fatal(err)
	}
	return path
}

func state(t *testing.T) *statedir.Dir {
	t.Helper()
	s, err := statedir.Open(t.TempDir() + "/carrel")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestUsage: each history with its project, steps and place, the one that was used last first; those
// in other places are listed and do not count.
func TestUsage(t *testing.T) {
	s := state(t)
	if u, err := InState(s).Usage(true); err != nil || len(u.Projects) != 0 || u.Total != 0 {
		t.Errorf("without any: %+v, %v", u, err)
	}
	old, recent := project(t, s, s.History, 9, 1, 100), project(t, s, s.History, 1, 3, 100)
	place := t.TempDir()
	elsewhere := project(t, s, func(path string) string { return place + "/" + statedir.ProjectID(path) }, 5, 2, 100)
	if err := errors.Join(s.Remember(elsewhere, place+"/"+statedir.ProjectID(elsewhere)), os.RemoveAll(old),
		os.Mkdir(s.Root()+"/projects/rubbish", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, exact := range []bool{false, true} {
		u, err := InState(s).Usage(exact)
		if err != nil || len(u.Projects) != 3 {
			t.Fatalf("%+v, %v", u, err)
		}
		for i, want := range []Project{{Path: recent, Steps: 4, Counted: true}, {Path: elsewhere, Steps: 3},
			{Path: old, Steps: 2, Counted: true, Gone: true}} {
			got := u.Projects[i]
			if got.Path != want.Path || got.Steps != want.Steps || got.Counted != want.Counted || got.Gone != want.Gone ||
				got.Exact != (exact && want.Counted) || got.Bytes == 0 {
				t.Errorf("exact %v: %+v, want %+v", exact, got, want)
			}
		}
		if u.Total != u.Projects[0].Bytes+u.Projects[2].Bytes {
			t.Errorf("exact %v: in all %d", exact, u.Total)
		}
	}
	if u, err := InPlace(s, place).Usage(false); err != nil || len(u.Projects) != 3 || u.Projects[0].Counted || !u.Projects[1].Counted {
		t.Errorf("of the other place: %+v, %v", u, err)
	}
}

// TestPathOfAnOlderHistory: where the path was not written down it is the root of a step whose id is
// that of the project, and no other root.
func TestPathOfAnOlderHistory(t *testing.T) {
	s := state(t)
	path := project(t, s, s.History, 1, 1, 10)
	if err := os.Remove(s.Project(path) + statedir.PathFile); err != nil {
		t.Fatal(err)
	}
	id := statedir.ProjectID(path)
	one, ok := holdingAt(s, id, s.History(path))
	if !ok || pathOf(s, one) != path || InState(s).nameOf(one) != strconv.Quote(path) {
		t.Errorf("%+v is of %q", one, pathOf(s, one))
	}
	one.id = statedir.ProjectID("/another")
	if got := pathOf(s, one); got != "" || InState(s).nameOf(one) != "project "+one.id {
		t.Errorf("of another project: %q", got)
	}
	if _, ok := holdingAt(s, id, s.Root()); ok {
		t.Error("a directory without a history is one")
	}
}

// TestLimitIsHeld: the oldest steps go of the project that was not used for the longest time, until it
// is within its limit; what is in use stays, one of another version too, and it is tried again only
// after growth.
func TestLimitIsHeld(t *testing.T) {
	s := state(t)
	const size = 200 << 10
	paths := []string{project(t, s, s.History, 9, 4, size), project(t, s, s.History, 5, 4, size), project(t, s, s.History, 1, 4, size)}
	steps := func() (out [3]int64) {
		u, err := InState(s).Usage(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range u.Projects {
			for i, path := range paths {
				if p.Path == path {
					out[i] = p.Steps
				}
			}
		}
		return out
	}
	all := steps()
	if notes := NewLimit(InState(s), 0, 100*size, true).Hold(); notes != nil || steps() != all {
		t.Errorf("within the limit: %q, %v", notes, steps())
	}
	limit := NewLimit(InState(s), 0, 11*size, true)
	notes := limit.Hold()
	if now := steps(); now[0] >= all[0] || now[1] != all[1] || now[2] != all[2] {
		t.Errorf("steps are %v, and were %v", now, all)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], strconv.Quote(paths[0])) || strings.Contains(notes[0], paths[1]) {
		t.Errorf("told: %q", notes)
	}
	busy, err := history.Open(s.History(paths[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w, err := busy.NewWriter("run", []string{paths[1]})
	if err != nil {
		t.Fatal(err)
	}
	before := steps()
	tight := NewLimit(InState(s), 0, size, false)
	if err := os.Remove(s.Root() + "/projects/" + totalFile); err != nil {
		t.Fatal(err)
	}
	notes = tight.Hold()
	now := steps()
	if now[1] != before[1] || now[2] >= before[2] {
		t.Errorf("steps are %v, and were %v, with the second in use", now, before)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "bytes beyond") || strings.Contains(notes[0], "/") {
		t.Errorf("told: %q", notes)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if notes := tight.Hold(); notes != nil || steps() != now {
		t.Errorf("tried again without growth: %q", notes)
	}
}

// TestGrown: a workspace that stays looks again after a part of the limit, and what cannot be
// shrunk is tried again after some growth.
func TestGrown(t *testing.T) {
	l := NewLimit(Place{}, 0, 640, true)
	for i, c := range []struct {
		bytes int64
		want  bool
	}{{10, false}, {11, true}, {21, false}, {22, true}, {5, false}, {15, false}, {16, true}} {
		if got := l.Grown(c.bytes); got != c.want {
			t.Errorf("look %d, at %d bytes: %v", i, c.bytes, got)
		}
	}
	if (*Limit)(nil).Grown(1<<40) || (*Limit)(nil).Hold() != nil {
		t.Error("without a limit")
	}
	for _, c := range []struct {
		now, tried, limit int64
		want              bool
	}{
		{100, 0, 0, false}, {80, 0, 80, false}, {81, 0, 80, true}, {81, 80, 80, true}, {81, 81, 80, false}, {90, 81, 80, false},
		{91, 81, 80, true}, {3, 2, 1, true},
	} {
		if got := Grown(c.now, c.tried, c.limit); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestLastTry: a file that is new, or was damaged, is no try.
func TestLastTry(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "123": 123, "x": 0, "12 ": 0, strings.Repeat("9", 40): 0} {
		name := t.TempDir() + "/f"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes, at, err := lastTry(f)
		if bytes != want || at.IsZero() != (want == 0) || err != nil {
			t.Errorf("%q: %d at %v, %v", text, bytes, at, err)
		}
		f.Close()
	}
}

// TestLimitsOf: what the configuration says stands in the place of each default, also 0 for none.
func TestLimitsOf(t *testing.T) {
	l := &config.Loaded{}
	if got := LimitsOf(l); got != history.DefaultLimits() {
		t.Errorf("%+v", got)
	}
	value := func(n int64) *policy.Value[int64] { return &policy.Value[int64]{V: n} }
	h := &l.Settings.History
	h.MaxBytes, h.MaxSteps, h.MaxStepBytes, h.MaxFileBytes = value(1), value(0), value(3), value(4)
	if got := fmt.Sprint(LimitsOf(l)); got != "{1 0 3 4}" {
		t.Errorf("%s", got)
	}
}
