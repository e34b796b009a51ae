//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMachineSeesNoSecret: what masks and copies hide behind walls is hidden in a machine, by each
// path that a command can give it, and also when it comes while the command runs.
func TestMachineSeesNoSecret(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	const remote = "[remote \"origin\"]\n\turl = https://me:hunter2@example.org/x\n"
	u.put("dir/sub/.git/HEAD", "ref: refs/heads/main\n")
	u.put("dir/sub/.git/config", remote)
	u.put(".git/config", remote)
	run := func(script string) string {
		out, _ := u.carrel("run", "--backend", "lima", "--network", "closed", "--", "sh", "-c", script)
		return out
	}
	out := run("cat .git/config dir/sub/.git/config; wc -c <.git/config; ls -l .git/config; git config remote.origin.url")
	if strings.Contains(out, "hunter2") || strings.Count(out, "https://me@example.org/x") < 2 {
		t.Errorf("configurations with a password: %s", out)
	}
	for _, script := range []string{
		"mv dir other; cat other/sub/.git/config", "mv dir/sub .; cat sub/.git/config", "mv dir/sub/.git git; cat git/config",
		"ln dir/sub/.git/config c; cat c", "exec 3<>.git/config; cat <&3; cat .git/config",
		"python3 -c 'f = open(\".git/config\", \"r+\"); print(f.read())'",
	} {
		if out := run(script); strings.Contains(out, "hunter2") {
			t.Errorf("%s: %s", script, out)
		}
	}
	if got := u.file("dir/sub/.git/config"); got != remote {
		t.Errorf("outside: %q", got)
	}
	cmd := u.command(u.project, "run", "--backend", "lima", "--network", "closed", "--", "sh", "-c",
		"echo x >ready; until [ -e go ]; do sleep 0.1; done; sleep 1; cat .env.local; mv .env.local got; ln .env.local got; "+
			"mv dir/sub/.env.deep got; cat got; cat dir/sub/.env.deep; echo own >dir/sub/.env.mine; cat dir/sub/.env.mine; cat got")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // of a test that failed
	u.until("a command runs", func() bool { return u.file("ready") != "" })
	u.put(".env.local", "TOKEN=hunter2\n")
	u.put("dir/sub/.env.deep", "TOKEN=hunter2\n") // where no file of secrets was
	u.put("go", "")
	_, failed := cmd.Wait().(*exec.ExitError)
	if !failed || strings.Contains(said.String(), "hunter2") || !strings.Contains(said.String(), "own\n") {
		t.Errorf("a secret that came meanwhile: %s", said.String())
	}
}

// put makes a file of the project as its owner does.
func (u *limaUser) put(name, text string) {
	u.t.Helper()
	write(u.t, u.project, name, text)
	if out, err := exec.Command("chown", "-R", "61001:61001", u.project).CombinedOutput(); err != nil {
		u.t.Fatalf("%v: %s", err, out)
	}
}
