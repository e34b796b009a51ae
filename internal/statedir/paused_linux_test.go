package statedir

import (
	"os"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestPauses: a pause stays until it is ended, survives a removal of the project's state, and
// what cannot be read is one.
func TestPauses(t *testing.T) {
	s, err := Open(t.TempDir() + "/state")
	if err != nil {
		t.Fatal(err)
	}
	const project = "/home/somebody/project"
	all := s.Pauses()
	if all.Of(project) != nil || all.End(project) != nil {
		t.Error("it is paused to begin with")
	}
	if _, err := all.Begin(api.ProjectPause{Project: project, By: "agent", Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	if p, err := all.Begin(api.ProjectPause{Project: project, By: "caller", Reason: "two"}); err != nil || p.Reason != "one" {
		t.Errorf("paused twice: %+v %v", p, err)
	}
	if all.Of("/home/somebody/other") != nil {
		t.Error("another project is paused")
	}
	if p := all.Of(project + "/deep/below"); p == nil || p.Project != project {
		t.Errorf("a directory below: %+v", p)
	}
	for _, dir := range []string{project + "2", "/home/somebody", "/"} {
		if all.Of(dir) != nil {
			t.Errorf("%s is paused", dir)
		}
	}
	if err := s.Use(project); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ProjectID(project)); err != nil || all.Of(project) == nil {
		t.Errorf("removed: %v, %+v", err, all.Of(project))
	}
	if err := s.RemoveAll(); err == nil {
		t.Error("all was removed while a project is paused")
	}
	file := s.Project(project) + pausedSuffix
	for _, text := range []string{"", "{", "\x00", strings.Repeat(" ", maxPaused) + "{}"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := all.Of(project); p == nil || !strings.Contains(p.Reason, "cannot be read") {
			t.Errorf("%.10q: %+v", text, p)
		}
	}
	if list, err := all.All(); err != nil || len(list) != 1 || list[0].Project != ProjectID(project) {
		t.Errorf("%+v %v", list, err)
	}
	// All that is known of it is its id, which ends it, too.
	id := ProjectID(project)
	if p := all.Of(id); p == nil || p.Project != id || !PausedWith(project+"/below", id) || PausedWith("/home/somebody", id) ||
		all.Of(ProjectID("/home")) != nil {
		t.Errorf("by its id: %+v", p)
	}
	if err := all.End(id); err != nil || all.Of(project) != nil {
		t.Errorf("ended by its id: %v", err)
	}
	if err := os.Symlink("/nonexistent", file); err != nil {
		t.Fatal(err)
	}
	if all.Of(project) == nil {
		t.Error("a link is no pause")
	}
	if err := all.End(project); err != nil || all.Of(project) != nil {
		t.Errorf("ended: %v", err)
	}
}
