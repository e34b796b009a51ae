package op

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// callerIn is a caller in a project of its own, with a home that nothing else uses.
func callerIn(t *testing.T, ceiling string) *Caller {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := home + "/p"
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	var texts []config.CeilingText
	if ceiling != "" {
		texts = []config.CeilingText{{Source: "/c.json", Content: []byte(ceiling)}}
	}
	return &Caller{Dir: project, Environ: []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_RUNTIME_DIR=" + home + "/run"},
		Ceilings: func() ([]config.CeilingText, error) { return texts, nil }}
}

// TestCallerPaths: a relative name is one in the caller's directory, not in this process's.
func TestCallerPaths(t *testing.T) {
	c := &Caller{Dir: "/w/p", Environ: []string{"A=1", "A=2", "AB=3", "=x"}}
	for in, want := range map[string]string{"a": "/w/p/a", "../b": "/w/b", "/c": "/c", ".": "/w/p"} {
		if got, err := c.Abs(in); err != nil || got != want {
			t.Errorf("%s: %q %v", in, got, err)
		}
		if got := c.In(in); got != want {
			t.Errorf("in %s: %q", in, got)
		}
	}
	if got := c.At("/q"); got.Dir != "/q" || c.Dir != "/w/p" || c.In("") != "/w/p" || (&Caller{}).In("x") != "x" {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{"A": "2", "AB": "3", "B": ""} {
		if got := c.Getenv(name); got != want {
			t.Errorf("%s=%q", name, got)
		}
	}
	c.Tell("nobody listens")
	if c.Inside() || !(&Caller{Environ: []string{"CARREL=1"}}).Inside() {
		t.Error("which side of the walls")
	}
}

// TestProjectDirectory: a project is a directory that is there.
func TestProjectDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"": "", dir: "", dir + "/file": "it is no directory", dir + "/none": "no such file or directory"} {
		err := IsDirectory(at)
		if (err != nil) != (want != "") || err != nil && (!strings.HasPrefix(err.Error(), "--project ") || !strings.HasSuffix(err.Error(),
			want)) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestCallerCeiling: all that a caller asks for carries its ceiling; one that cannot be read
// lets nothing pass.
func TestCallerCeiling(t *testing.T) {
	free, none, broken := callerIn(t, ""), callerIn(t, `{"undo": "none"}`), callerIn(t, "{")
	preview := callerIn(t, `{"undo": "preview"}`)
	for name, c := range map[string]struct {
		caller    *Caller
		look, all bool
	}{"no ceiling": {free, true, true}, "preview": {preview, true, false}, "none": {none, false, false}, "broken": {broken, false, false}} {
		if err := c.caller.MayUndo("undo", policy.UndoPreview); (err == nil) != c.look {
			t.Errorf("%s: a look: %v", name, err)
		}
		if err := c.caller.MayUndo("undo", policy.UndoAll); (err == nil) != c.all {
			t.Errorf("%s: an undo: %v", name, err)
		}
		if _, err := c.caller.Release("", "a test"); (err == nil) != c.all {
			t.Errorf("%s: releasing the history: %v", name, err)
		}
	}
	held, err := none.Held(make([]supervisor.Entry, 2))
	if err != nil || held[0].Ceiling == "" || held[0].Ceiling != held[1].Ceiling {
		t.Errorf("%+v %v", held, err)
	}
	if other, _ := free.Held(make([]supervisor.Entry, 1)); other[0].Ceiling == held[0].Ceiling {
		t.Error("a ceiling is not told from none")
	}
	if _, err := broken.Held(nil); err == nil {
		t.Error("entries without a ceiling")
	}
}

// TestProjectPause: a pause is written down for the project around a directory, is ended by its
// path or its id, also where the directory is gone, and no program inside asks for it.
func TestProjectPause(t *testing.T) {
	ctx := context.Background()
	c := callerIn(t, "")
	if err := os.Mkdir(c.Dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := c.PauseProject(ctx, "sub", strings.Repeat("x", 2*maxPauseReason))
	if err != nil || held.Project != c.Dir+"/sub" || held.Was != nil || held.Paused == nil || len(held.Paused.Reason) > maxPauseReason {
		t.Fatalf("%+v %v", held, err)
	}
	all, err := c.Pauses()
	if err != nil || len(all) != 1 || all[0].Project != held.Project {
		t.Errorf("%+v %v", all, err)
	}
	if err := c.MayChange("sub", "a workspace"); err == nil {
		t.Error("a workspace changes a paused project")
	}
	if err := c.MayChange("", "a workspace"); err != nil {
		t.Errorf("the project around it: %v", err)
	}
	no := errors.New("no")
	if _, err := c.ResumeProject(ctx, "sub", func(string, *api.ProjectPause) error { return no }); err != no {
		t.Errorf("a resume that nobody lets: %v", err)
	}
	if all, _ := c.Pauses(); len(all) != 1 {
		t.Error("it ended all the same")
	}
	if err := os.Remove(held.Project); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{held.Project, statedir.ProjectID(held.Project)} {
		if at != held.Project {
			_ = os.Mkdir(held.Project, 0o700)
			if _, err := c.PauseProject(ctx, held.Project, ""); err != nil {
				t.Fatal(err)
			}
		}
		var asked string
		ended, err := c.ResumeProject(ctx, at, func(project string, p *api.ProjectPause) error { asked = project; return nil })
		if err != nil || ended.Was == nil || ended.Paused != nil || asked != held.Project {
			t.Errorf("%s: %+v %v, asked of %q", at, ended, err, asked)
		}
	}
	if all, _ := c.Pauses(); len(all) != 0 {
		t.Errorf("still paused: %+v", all)
	}
	if _, err := c.PauseProject(ctx, "none", ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("of what is not there: %v", err)
	}
	if _, err := c.PauseProject(ctx, "a\x00", ""); err == nil {
		t.Error("a word with a zero byte")
	}
	c.Environ = append(c.Environ, "CARREL=1")
	if _, err := c.PauseProject(ctx, "", ""); err == nil || !strings.HasPrefix(err.Error(), "a project is paused outside the walls") {
		t.Errorf("inside: %v", err)
	}
}

// TestNothingRuns: what names no workspace is told with what lists them.
func TestNothingRuns(t *testing.T) {
	ctx := context.Background()
	c := callerIn(t, "")
	for what, err := range map[string]error{
		"no workspace \"3f\"\nhint: `carrel ps`":       second(c.Named("3f")),
		"no approval \"3f\"\nhint: `carrel approvals`": second(c.Deny(ctx, "3f")),
		"no workspace \"dev\"\nhint: `carrel list`":    second(c.CleanUp(ctx, "dev", true)),
		"workspace \"3f\" does not run any more":       second(Sighted(c, "3f")([]string{"/x"})),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	if list, byID, err := c.Waiting(ctx); err != nil || list == nil || len(list)+len(byID) != 0 {
		t.Errorf("waiting: %v %v %v", list, byID, err)
	}
	if swept, err := c.CleanUp(ctx, "", true); err != nil || swept == nil || len(swept) != 0 {
		t.Errorf("cleaned: %v %v", swept, err)
	}
	if _, ok, err := c.WholeName("dev"); ok || err != nil {
		t.Errorf("by its whole name: %v %v", ok, err)
	}
	if err := c.StoppedSame("logs", "../x"); err != nil {
		t.Errorf("what is no name is told by who looks for it: %v", err)
	}
	if _, err := c.Desk(ctx, "../x"); err == nil {
		t.Error("a path is a name")
	}
}

func second[T any](_ T, err error) error { return err }

// TestAppOf: an app is the one that is named, or the only one with kept output.
func TestAppOf(t *testing.T) {
	app := func(id, kind string) api.App { return api.App{ID: id, Kind: kind} }
	one, two := app("1", api.AppLaunched), app("2", api.AppLaunched)
	for name, c := range map[string]struct {
		words []string
		apps  []api.App
		want  string
	}{
		"named":        {[]string{"dev", "9"}, []api.App{one, two}, "9"},
		"the only one": {[]string{"dev"}, []api.App{app("0", "exec"), one}, "1"},
		"none":         {[]string{"dev"}, []api.App{app("0", "exec")}, "nothing was launched in dev"},
		"several":      {[]string{"dev"}, []api.App{one, two}, "dev has 2 launched apps; name one"},
	} {
		kept := slices.Clone(c.apps)
		got, err := appOf(c.words, c.apps)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (err != nil) != (len(c.want) > 1) || !slices.EqualFunc(kept, c.apps, func(a,
			b api.App) bool {
			return a.ID == b.ID
		}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestFoundByName: each name on a surface leads to its operation, and to no other.
func TestFoundByName(t *testing.T) {
	if o := OfTool("Bash"); o == nil || o.Effect != Changes || o.Control != WhenActive {
		t.Errorf("%+v", o)
	}
	if o := OfRequest("carrel.pause_project"); o == nil || o.Control != SafetyStop || o.Effect != Tightens {
		t.Errorf("%+v", o)
	}
	if OfTool("Bas") != nil || OfTool("") != nil || OfRequest("agent.execute, agent.prompt") != nil {
		t.Error("a part of a name is one")
	}
	if called := (&ProjectWorkspace{ID: "1", Name: "dev"}).Called(); called != "dev" || (&ProjectWorkspace{ID: "1"}).Called() != "1" {
		t.Error(called)
	}
}
