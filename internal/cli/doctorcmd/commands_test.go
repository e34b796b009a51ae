package doctorcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/statedir"
)

// kept makes a place whose state directory keeps something of its project and of one that is
// gone.
func kept(t *testing.T) *clitest.Place {
	t.Helper()
	p := clitest.New(t, Commands())
	s, err := statedir.Open(p.State)
	if err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{p.Project, p.Home + "/gone"} {
		dir := s.Project(project)
		if err := os.MkdirAll(filepath.Join(dir, "caches"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "caches", "file"), []byte(strings.Repeat("x", 9000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Use(project); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestProjects: what is kept is listed with its size; a session under a ceiling is not told of
// other projects.
func TestProjects(t *testing.T) {
	empty := clitest.New(t, Commands())
	empty.Run("projects").OK("nothing is kept of any project\n")
	empty.Run("projects --json").OK("[]")
	p := kept(t)
	var list []projectJSON
	if p.Run("projects --json").OK().JSON(&list); len(list) != 2 || list[0].Disk == 0 {
		t.Errorf("%+v", list)
	}
	ids := []string{statedir.ProjectID(p.Project), statedir.ProjectID(p.Home + "/gone")}
	for _, one := range list {
		if one.ID != ids[0] && one.ID != ids[1] {
			t.Errorf("%+v", one)
		}
	}
	p.Run("projects").OK("KEPT", "PROJECT", " in all, in "+p.State)
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	for _, line := range []string{"projects", "purge --gone --dry-run", "purge --all --yes"} {
		p.Run("--permissions "+ceiling+" "+line).Fails(api.ExitOurs, "ceiling: ", "run it without a ceiling").Lacks(ids...)
	}
}

// TestPurgeDryRun: what would go is listed, and all of it stays.
func TestPurgeDryRun(t *testing.T) {
	p := kept(t)
	before := p.Tree()
	id := statedir.ProjectID(p.Project)
	p.Run("purge --project "+id+" --dry-run").OK("KEPT", " in all, in ")
	p.Run("purge --all --dry-run").OK("KEPT", "what `carrel agent setup`")
	p.Refusals(map[string]string{
		"purge":                         "want --project DIR, --gone or --all",
		"purge --all --gone":            "--gone",
		"purge --project ''":            "--project",
		"purge --project ../absent":     "nothing is kept of it",
		"purge --project / -d":          `--project "/": nothing is kept of it`,
		"purge extra":                   "extra",
		"purge --project 0123 -d --yes": "nothing is kept of it",
	})
	if p.Tree() != before {
		t.Errorf("something was removed:\n%s", p.Tree())
	}
	clitest.New(t, Commands()).Run("purge --gone").OK("nothing is kept\n")
}

// TestPurgeChosen: the project is found by its id, by its directory and from within it.
func TestPurgeChosen(t *testing.T) {
	p := clitest.New(t, Commands())
	if err := os.MkdirAll(p.Project+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.Project, p.Home+"/link"); err != nil {
		t.Fatal(err)
	}
	list := []statedir.Kept{{ID: "aa", Path: p.Project}, {ID: "bb", Path: p.Home + "/gone", Gone: true}, {ID: "cc"}}
	for word, want := range map[string]string{
		"aa": "aa", "cc": "cc", p.Project: "aa", ".": "aa", "sub": "aa", p.Home + "/link": "aa", p.Home + "/gone": "bb",
		"absent": "", p.Home: "", p.Home + "/gone/sub": "",
	} {
		got, err := (&purgeFlags{project: word}).chosen(list)
		if want == "" && err == nil || want != "" && (err != nil || len(got) != 1 || got[0].ID != want) {
			t.Errorf("%s: %+v, %v, want %q", word, got, err, want)
		}
	}
	if got, err := (&purgeFlags{gone: true}).chosen(list); err != nil || len(got) != 1 || got[0].ID != "bb" {
		t.Errorf("gone: %+v, %v", got, err)
	}
	if got, err := (&purgeFlags{all: true}).chosen(list); err != nil || len(got) != 3 {
		t.Errorf("all: %+v, %v", got, err)
	}
}
