//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeAgent stands for an agent's program, by its directory and its file: it shows what it finds in its
// home, and writes there and in the project.
const fakeAgent = `#!/bin/sh
dir=$HOME/%s
cat "$dir/%s" "$dir/deep/state"
echo "state of ${dir#$HOME/}" >"$dir/state" && mkdir -p "$dir/deep" && mv "$dir/state" "$dir/deep/state"
echo "made by $0" >made
echo "home $HOME"
cat "$HOME/.claude/.credentials.json"
git config user.name
echo x >"$HOME/.gitconfig" || echo read-only
`

// withAgents gives a user settings and logins of all agents, and the machine their programs.
func withAgents(t *testing.T) *limaUser {
	u := newLimaUser(t)
	for _, a := range logins {
		write(t, u.home, a.file, a.first)
		write(t, u.home, "programs/"+a.agent, fmt.Sprintf(fakeAgent, filepath.Dir(a.file), filepath.Base(a.file)))
	}
	write(t, u.home, ".gitconfig", "[user]\n\tname = A Person\n\temail = person@example.org\n")
	if out, err := exec.Command("chown", "-R", "61001:61001", u.home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := exec.Command("chmod", "-R", "go-w,a+rX,u+x", u.home+"/programs").Run(); err != nil {
		t.Fatal(err)
	}
	return u
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runAgent starts an agent in the machine. Its program is mounted where the machine's own would be.
func (u *limaUser) runAgent(name string) (string, error) {
	return u.carrel("run", "--backend", "lima", "--network", "closed", "--", "/mnt/agents/"+name)
}

// TestAgentInMachine: an agent finds its private copy of the settings and logins in the home of the machine,
// keeps its state there from one run to the next, and no other agent's is there.
func TestAgentInMachine(t *testing.T) {
	t.Parallel()
	u := withAgents(t)
	u.configure("extra_mounts: [{host_path: ~/programs, guest_path: /mnt/agents}]\n")
	for _, a := range logins {
		out, err := u.runAgent(a.agent)
		if err != nil || !strings.Contains(out, `"r1"`) ||
			!strings.Contains(out, "home /home/carrel-agent\n") || !strings.Contains(out, "A Person\n") || !strings.Contains(out, "read-only\n") ||
			a.agent != "claude" && strings.Contains(out, "claudeAiOauth") {
			t.Errorf("%s: %v: %s", a.agent, err, out)
		}
		if _, err := os.Stat(filepath.Join(u.home, filepath.Dir(a.file), "deep")); !os.IsNotExist(err) {
			t.Errorf("%s: its state is in the person's own directory: %v", a.agent, err)
		}
	}
	if out, err := u.runAgent("claude"); err != nil || !strings.Contains(out, "state of .claude") {
		t.Errorf("again: %v: %s", err, out)
	}
	if out, err := u.carrel("undo", "5"); err != nil {
		t.Errorf("undo: %v: %s", err, out)
	}
	if _, err := os.Stat(u.project + "/made"); !os.IsNotExist(err) {
		t.Errorf("after undo: %v", err)
	}
}

// TestAgentDirectoryInMachine: agent_config_dir is what an agent finds in the home of the machine, and a
// machine without the agent's program is told.
func TestAgentDirectoryInMachine(t *testing.T) {
	t.Parallel()
	u := withAgents(t)
	u.configure("extra_mounts: [{host_path: ~/programs, guest_path: /mnt/agents}]\nagent_config_dir: ~/sandbox-config/{agent}\n")
	for _, a := range logins {
		write(t, u.home, "sandbox-config/"+a.agent+"/"+filepath.Base(a.file), "the sandbox's own")
	}
	if out, err := exec.Command("sh", "-c", `chown -R 61001:61001 "$0" && chmod -R go-w "$0"`, u.home+"/sandbox-config").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, a := range logins[:3] { // the last one has several directories
		out, err := u.runAgent(a.agent)
		if err != nil || !strings.Contains(out, "the sandbox's own") || strings.Contains(out, `"r1"`) {
			t.Errorf("%s: %v: %s", a.agent, err, out)
		}
		if data, err := os.ReadFile(u.home + "/sandbox-config/" + a.agent + "/deep/state"); err != nil || !strings.Contains(string(data), "state of") {
			t.Errorf("%s: outside: %q %v", a.agent, data, err)
		}
	}
	out, err := u.carrel("run", "--backend", "lima", "--network", "closed", "--", "amp")
	if err == nil || !strings.Contains(out, "has no program amp") || !strings.Contains(out, "limactl shell carrel-") {
		t.Errorf("amp: %v: %s", err, out)
	}
}
