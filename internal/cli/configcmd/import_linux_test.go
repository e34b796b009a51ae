package configcmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/jsontree"
)

// TestImport: the policy is on standard output and what was lost on standard error, so that a
// shell can send the one into a file.
func TestImport(t *testing.T) {
	p := clitest.New(t, Commands())
	var policy map[string]any
	p.In = `{"network": {"allowedDomains": ["a.example"], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": ["."],
		"denyWrite": []}}`
	r := p.Run("import srt -").JSON(&policy)
	if r.Err != "" || r.Status != 0 && r.Status != exitLost || (r.Status == exitLost) != (r.Notice != "") {
		t.Errorf("%+v", r)
	}
	var both struct {
		Policy map[string]any
		Lost   []map[string]any
		Error  string
	}
	as := p.Run("import srt --json -").JSON(&both)
	if as.Status != r.Status || as.Notice != "" || both.Error != "" || len(both.Policy) != len(policy) ||
		len(both.Lost) != strings.Count(r.Notice, "\n") {
		t.Errorf("%+v\n%s", both, as.Notice)
	}
	if !strings.Contains(r.Out, p.Project) {
		t.Errorf("the policy is not for the working directory:\n%s", r.Out)
	}
	other := filepath.Join(p.Home, "other")
	if r := p.Run("import srt --cwd " + other + " -"); !strings.Contains(r.Out, other) || strings.Contains(r.Out, p.Project) {
		t.Errorf("with --cwd:\n%s", r.Out)
	}
}

// TestImportRestriction: a restriction that cannot be carried over is an error; --lossy goes on
// without it and says so.
func TestImportRestriction(t *testing.T) {
	p := clitest.New(t, Commands())
	file := p.Write("fence.json", `{"surely": {"deny": ["x"]}}`)
	before := p.Tree()
	p.Words("import", "fence", file).Fails(api.ExitOurs, file+":", "surely").Prints()
	var both struct {
		Policy map[string]any
		Lost   []map[string]any
		Error  string
	}
	if p.Words("import", "fence", "--json", file).Fails(api.ExitOurs, "surely").JSON(&both); both.Policy != nil ||
		both.Error == "" || both.Lost == nil {
		t.Errorf("%+v", both)
	}
	r := p.Words("import", "fence", "--lossy", file).Prints("{")
	if r.Status != exitLost || r.Err != "" || !strings.Contains(r.Notice, "carrel: NOT HELD: ") || !strings.Contains(r.Notice, "surely") {
		t.Errorf("%+v", r)
	}
	if p.Tree() != before {
		t.Error("something was written")
	}
}

// TestImportInput: what is no bounded regular file is not read, and a FIFO is not waited for.
func TestImportInput(t *testing.T) {
	p := clitest.New(t, Commands())
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	p.In = "{}"
	for line, want := range map[string]string{
		"import codex fifo":       `reading "fifo": it is no regular file; give - for standard input`,
		"import srt .":            "it is no regular file",
		"import fence absent":     `reading "absent": no such file`,
		"import codex":            "a FILE",
		"import srt a b":          "a FILE",
		"import srt --cwd= -":     "--cwd",
		"import srt --cwd '' -":   "--cwd",
		"import codex --odd -":    "--odd",
		"import fence --json=x -": "x",
	} {
		p.Words(clitest.Split(line)...).Fails(api.ExitOurs, want)
	}
	p.In = "{\n \"a\": }"
	p.Run("import srt -").Fails(api.ExitOurs, "-:2:")
	p.In = `"` + strings.Repeat("a", jsontree.MaxSize) + `"`
	p.Run("import srt -").Fails(api.ExitOurs, "larger than")
}

// TestGitFile: only a small regular file is read of a project.
func TestGitFile(t *testing.T) {
	dir := t.TempDir()
	file, link, long, fifo := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c"), filepath.Join(dir, "d")
	for path, text := range map[string]string{file: "gitdir: /x\n", long: strings.Repeat("x", 9<<10)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "gitdir: /x\n", link: "", long: strings.Repeat("x", 8<<10), fifo: "", dir: "",
		dir + "/absent": ""} {
		if got := gitFile(path); got != want {
			t.Errorf("%s: %d bytes, want %d", path, len(got), len(want))
		}
	}
}
