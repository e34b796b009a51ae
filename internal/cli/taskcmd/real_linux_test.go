package taskcmd_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli"
)

// TestMain makes the test binary the program itself where it is started as one, by whatever name.
func TestMain(m *testing.M) {
	if !strings.HasSuffix(os.Args[0], ".test") {
		os.Exit(cli.Main(os.Args))
	}
	os.Exit(m.Run())
}

// place is a home with a repository, in which the program is started.
type place struct {
	*testing.T
	repo    string
	environ []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	parent := "/var/lib" // not in /tmp, which is private inside
	if os.Getuid() != 0 {
		var err error
		if parent, err = os.UserCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	base, err := os.MkdirTemp(parent, "carrel-taskcmd-")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, repo: base + "/home/repo", environ: []string{"HOME=" + base + "/home", "XDG_RUNTIME_DIR=" + base + "/run",
		"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}}
	t.Cleanup(func() {
		for _, one := range p.list() {
			p.carrel("task", "drop", one.Name, "--force")
		}
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{p.repo, base + "/run"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.sh("git init -q -b main; git config user.name U; git config user.email u@example.org; echo one >a; git add .; git commit -q -m first")
	return p
}

// result is how a command ended.
type result struct {
	out, err string
	status   int
}

func (p *place) command(name string, args ...string) *result {
	p.Helper()
	cmd := exec.Command(name, args...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.environ, p.repo, &out, &errOut
	if name == "/proc/self/exe" {
		cmd.Args[0] = "carrel"
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.Fatal(err)
	}
	return &result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// carrel starts the program in the repository.
func (p *place) carrel(args ...string) *result {
	p.Helper()
	return p.command("/proc/self/exe", args...)
}

// fine is carrel for what has to go well.
func (p *place) fine(args ...string) string {
	p.Helper()
	r := p.carrel(args...)
	if r.status != 0 {
		p.Fatalf("carrel %q: %+v", args, r)
	}
	return r.out
}

func (p *place) sh(script string) string {
	p.Helper()
	r := p.command("sh", "-ec", script)
	if r.status != 0 {
		p.Fatalf("%s: %+v", script, r)
	}
	return r.out
}

func (p *place) list() (list []api.Task) {
	p.Helper()
	if err := json.Unmarshal([]byte(p.fine("task", "list", "--json")), &list); err != nil {
		p.Fatal(err)
	}
	return list
}

// TestCommandLine is a task from its beginning to its undo, by words alone.
func TestCommandLine(t *testing.T) {
	p := newPlace(t)
	out := p.fine("task", "new", "fix", "--network", "closed", "--prompt", "say it", "--", "sh", "-c",
		"echo {prompt} >b; git add .; git commit -q -m work; read line; echo got $line; exit 3")
	if !strings.HasPrefix(out, "began fix on task/fix in ") {
		t.Errorf("%q", out)
	}
	if r := p.carrel("task", "new", "fix", "--", "true"); r.status != 125 || !strings.Contains(r.err,
		`there is a task "fix" already`) || !strings.Contains(r.err, "carrel task open fix") {
		t.Errorf("twice: %+v", r)
	}
	if r := p.carrel("task", "wait", "fix", "--timeout", "200ms"); r.status != 1 || !strings.Contains(r.err, "the time is over") {
		t.Errorf("waiting in vain: %+v", r)
	}
	p.fine("task", "send", "fix", "good", "morning")
	if r := p.carrel("task", "wait", "fix", "--timeout", "30s"); r.status != 3 || !strings.Contains(r.out, "failed") {
		t.Errorf("one that has failed: %+v", r)
	}
	if r := p.carrel("task", "wait", "fix", "--status", "failed", "--status", "done", "--any", "--json"); r.status != 0 ||
		!strings.Contains(r.out, `"exit": 3`) {
		t.Errorf("waited for: %+v", r)
	}
	if got := p.fine("task", "capture", "fix", "-n", "1"); got != "got good morning\n" {
		t.Errorf("captured: %q", got)
	}
	if got := p.fine("task", "diff", "fix"); !strings.Contains(got, "+say it\n") {
		t.Errorf("diff: %s", got)
	}
	if got := p.fine("task", "diff", "fix", "--stat"); !strings.Contains(got, "1 file changed") {
		t.Errorf("diff --stat: %s", got)
	}
	if got := p.fine("task", "list", "--git"); !strings.Contains(got, "1 file, +1 -0") || !strings.Contains(got, "failed") {
		t.Errorf("list: %s", got)
	}
	if got := p.fine("task", "status", "fix"); !strings.Contains(got, "failed (exit 3)") || !strings.Contains(got, "task/fix") {
		t.Errorf("status: %s", got)
	}
	if r := p.carrel("task", "run", "fix", "--", "sh", "-c", "cat b; exit 9"); r.status != 9 || r.out != "say it\n" {
		t.Errorf("run: %+v", r)
	}
	if got := p.fine("task", "open", "fix"); strings.TrimSpace(got) != string(p.list()[0].Path) {
		t.Errorf("open: %q", got)
	}
	if r := p.carrel("task", "merge", "fix"); r.status != 125 || !strings.Contains(r.err, "terminal") {
		t.Errorf("a merge without a person: %+v", r)
	}
	before := p.sh("git rev-parse main")
	if got := p.fine("task", "merge", "fix", "--yes", "--check", "test -e b", "--json"); !strings.Contains(got,
		`"branch": "main"`) || !strings.Contains(got, `"steps"`) {
		t.Errorf("merge: %s", got)
	}
	if got := p.sh("cat b; git status --short"); got != "say it\n" {
		t.Errorf("merged: %q", got)
	}
	p.fine("undo")
	if got := p.sh("git rev-parse main; git status --short; ls"); got != before+"a\n" {
		t.Errorf("undone: %q, want %q", got, before+"a\n")
	}
	if got := p.fine("task", "list"); got != "there is no task\n" {
		t.Errorf("%q", got)
	}
}

// TestStartedByAnAgent: what a known agent has started approves nothing, --yes or not.
func TestStartedByAnAgent(t *testing.T) {
	p := newPlace(t)
	p.fine("task", "new", "fix", "--", "sh", "-c", "echo x >b; git add .; git commit -q -m work")
	p.fine("task", "wait", "fix", "--timeout", "30s")
	agent := filepath.Dir(p.repo) + "/claude"
	if err := os.Symlink("/bin/bash", agent); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `(exec -a carrel "$0" task merge fix --yes); echo $?`
	if r := p.command("bash", "-c", script, self); !strings.HasSuffix(r.out, "0\n") {
		t.Fatalf("canary: no agent is refused, too: %+v", r)
	}
	p.fine("task", "new", "fix2", "--", "sh", "-c", "echo x >c; git add .; git commit -q -m work")
	p.fine("task", "wait", "fix2", "--timeout", "30s")
	before := p.sh("git rev-parse main")
	r := p.command(agent, "-c", strings.Replace(script, "fix", "fix2", 1), self)
	if p.sh("git rev-parse main") != before || !strings.HasSuffix(r.out, "125\n") {
		t.Errorf("an agent has merged: %+v", r)
	}
}
