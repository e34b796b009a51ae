package doctorcmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/statedir"
)

// TestPurge: one project's part goes, the other's stays, and --all takes the directory and
// says what else there is.
func TestPurge(t *testing.T) {
	p := kept(t)
	own, gone := statedir.ProjectID(p.Project), statedir.ProjectID(p.Home+"/gone")
	p.Run("purge --project . --yes").OK("removed ", " of "+p.Project+"\n")
	if tree := p.Tree(); strings.Contains(tree, own) || !strings.Contains(tree, gone) {
		t.Errorf("what is kept:\n%s", tree)
	}
	p.Write(".config/carrel/config.yaml", "network: local\n")
	p.Run("purge --all -y").OK("removed "+p.State, "your configuration stays: "+p.Config, "carrel hooks remove")
	if _, err := os.Lstat(p.State); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", p.State, err)
	}
	p.Run("purge --all -y").OK("nothing is kept\n", "your configuration stays")
}

// TestPurgeWithoutWord: without a terminal and without --yes nothing goes.
func TestPurgeWithoutWord(t *testing.T) {
	p := kept(t)
	before := p.Tree()
	if tty, err := os.Open("/dev/tty"); err == nil { // it would be asked there
		tty.Close()
		p.Run("purge --all --dry-run").OK(" in all, in ")
	} else {
		p.Run("purge --all").Fails(api.ExitOurs, "no terminal to ask at", "--dry-run shows what would go")
	}
	if p.Tree() != before {
		t.Errorf("something was removed:\n%s", p.Tree())
	}
}

// TestPurgeInUse: a project that a workspace uses stays, and the workspace is named.
func TestPurgeInUse(t *testing.T) {
	p := kept(t)
	s, err := statedir.Open(p.State)
	if err != nil {
		t.Fatal(err)
	}
	release, err := s.Hold(p.Project)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	w := p.Workspace("3f", nil)
	for _, line := range []string{"purge --project . -y", "purge --all -y"} {
		p.Run(line).Fails(api.ExitOurs, "nothing was removed", p.Project, "carrel stop "+w.ID)
	}
	for _, project := range []string{p.Project, p.Home + "/gone"} {
		if _, err := os.Stat(s.Project(project) + "/caches/file"); err != nil || s.NotedPath(statedir.ProjectID(project)) != project {
			t.Errorf("something of %s was removed: %v", project, err)
		}
	}
}

// TestVersion: the program names itself in one line.
func TestVersion(t *testing.T) {
	r := clitest.New(t, Commands()).Run("version").OK("carrel ", ", go", ", ")
	if strings.Count(r.Out, "\n") != 1 {
		t.Errorf("%q", r.Out)
	}
}

// TestAppArmorProfile: the profile is for a program that is named by its whole path, and no
// other flag belongs to it.
func TestAppArmorProfile(t *testing.T) {
	p := clitest.New(t, Commands())
	at, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		t.Fatal(err)
	}
	p.Run("doctor --print-apparmor --path "+at).OK("abi <abi/", at, "userns,")
	p.Refusals(map[string]string{
		"doctor --path /bin/true":                 "add --print-apparmor",
		"doctor --print-apparmor --path bin/true": `--path "bin/true" is not an absolute path`,
		"doctor --print-apparmor --json":          "--json",
		"doctor --print-apparmor --fresh":         "--fresh",
	})
}

// TestPurgeWithTasks: nothing is removed while there are tasks, whose worktrees would be left without a record.
func TestPurgeWithTasks(t *testing.T) {
	p := kept(t)
	if err := os.MkdirAll(p.State+"/tasks/key", 0o700); err != nil {
		t.Fatal(err)
	}
	record := p.State + "/tasks/key/fix.json"
	if err := os.WriteFile(record, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Run("purge --all -y").Fails(api.ExitOurs, "there are tasks", "carrel task list --all")
	if tree := p.Tree(); !strings.Contains(tree, "fix.json") || !strings.Contains(tree, statedir.ProjectID(p.Project)) {
		t.Error("something was removed")
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	p.Run("purge --all -y").OK("removed " + p.State)
}
