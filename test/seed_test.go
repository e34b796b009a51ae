//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// seedBox is a backend with a kernel of its own, for the promises of another program's README: commands
// run elsewhere, each change of the project can be taken back, and an agent works with 12 tools.
type seedBox struct {
	flags    []string // of start, stdio and mcp
	asks     string   // the same in the person's own configuration: Claude Code starts a server without flags
	kernel   string   // what `uname -r` has
	vmStatus string   // over JSON Lines
}

// TestSeedInGvisor follows that README where gVisor is the kernel.
func TestSeedInGvisor(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, ordinary(t))
	w.seed(&seedBox{flags: []string{"--backend", "gvisor"}, asks: "backend: gvisor\n", kernel: "4.4.0\n", vmStatus: "unavailable"})
}

// seed follows that README: tools over MCP and JSON Lines, undo, barriers, safeguards, recovery after a
// crash, and Claude Code.
func (w *world) seed(b *seedBox) {
	w.litter = true // servers leave their logs
	const safeguards = "safeguards: {removed_files: 20, then: ask}\n"
	w.config(safeguards)
	w.seedTools(b)
	w.seedLines(b)
	w.seedCrash(b)
	w.config(b.asks + safeguards)
	w.seedClaude()
}

// seedTools: the 12 tools; `rm -rf *` is one step; what was changed outside since is not destroyed by an undo.
func (w *world) seedTools(b *seedBox) {
	t := w.t
	w.write(w.project+"/src/main.c", "int main(void) { return 0; }\n")
	w.write(w.project+"/src/deep/notes.md", "one\ntwo\n")
	w.must(os.Symlink("src/main.c", w.project+"/link"))
	w.must(os.Chmod(w.project+"/src/main.c", 0o751))
	c := w.mcp(b.flags...)
	if got := c.does("Bash", args{"command": "uname -r; pwd"}).text(); !strings.Contains(got, b.kernel) || !strings.Contains(got, w.project) {
		t.Errorf("Bash: %s", got)
	}
	c.does("write_file", args{"path": "made.txt", "content": "first line\n"})
	c.does("edit_file", args{"path": "made.txt", "old_string": "first", "new_string": "edited"})
	if w.read(w.project+"/made.txt") != "edited line\n" {
		t.Errorf("made.txt: %q", w.read(w.project+"/made.txt"))
	}
	for _, one := range []struct {
		tool string
		with args
		says string
	}{
		{"read_file", args{"path": "made.txt"}, "edited line"},
		{"list_directory", args{"path": "src"}, "main.c"},
		{"glob", args{"pattern": "**/*.md"}, "notes.md"},
		{"grep", args{"pattern": "^tw", "output_mode": "content"}, "two"},
		{"get_working_directory", args{}, w.project},
		{"get_undo_history", args{}, "made.txt"},
		{"get_session_status", args{}, "active"},
	} {
		if r := c.does(one.tool, one.with); !strings.Contains(r.text()+fmt.Sprint(r.Structured), one.says) {
			t.Errorf("%s: %s %v", one.tool, r.text(), r.Structured)
		}
	}
	before := w.described(w.project)
	c.does("Bash", args{"command": "rm -rf *; ls -A"})
	if got := w.outsideSh("ls"); got != "" {
		t.Errorf("rm -rf * left %q", got)
	}
	c.does("undo", args{})
	if after := w.described(w.project); after != before {
		t.Errorf("after the undo of rm -rf *:\n%s\nwant\n%s", after, before)
	}
	c.does("undo", args{"count": 2})
	if exists(w.project + "/made.txt") {
		t.Error("three steps were not taken back")
	}
	c.does("Bash", args{"command": "echo by the agent >both"})
	w.write(w.project+"/both", "by a person\n")
	if r := c.tool("undo", args{}); !r.IsError || w.read(w.project+"/both") != "by a person\n" {
		t.Errorf("a barrier was crossed: %s", r.text())
	}
	c.does("undo", args{"force": true})
	if exists(w.project + "/both") {
		t.Error("force did not cross the barrier")
	}
	c.does("discard_undo_history", args{"dry_run": true})
	c.end()
}

// seedLines: over JSON Lines a safeguard holds a command; a no takes back what its step had done.
func (w *world) seedLines(b *seedBox) {
	t := w.t
	for i := range 8 {
		w.write(fmt.Sprintf("%s/many/f%d", w.project, i), "x\n")
	}
	before := w.described(w.project)
	c := w.stdio(append([]string{"--working-dir", w.project}, b.flags...)...)
	status := func(when, state, want string) {
		t.Helper()
		if got := c.do("session.status", nil); got["state"] != state || got["vm_status"] != want {
			t.Errorf("%s: the state is %v, vm_status %v", when, got["state"], got["vm_status"])
		}
	}
	status("before the session", "idle", "unavailable")
	c.do("safeguard.configure", args{"delete_threshold": 3, "timeout_seconds": 120})
	if got := c.do("session.start", nil); got["vm_status"] != b.vmStatus {
		t.Errorf("it started with vm_status %v", got["vm_status"])
	}
	status("in the session", "active", b.vmStatus)
	if got := c.do("fs.status", nil); got["vm_status"] != b.vmStatus {
		t.Errorf("fs.status: %v", got)
	}
	c.do("agent.execute", args{"command": "rm -rf many; echo on >survived"})
	held := c.event("safeguard_triggered")
	if left := strings.Count(w.outsideSh("ls many"), "\n"); left < 5 {
		t.Errorf("%d files are left of 8 while 3 may be removed", left)
	}
	c.do("safeguard.confirm", args{"safeguard_id": held["safeguard_id"], "action": "deny"})
	c.event("step_completed")
	if after := w.described(w.project); after != before {
		t.Errorf("after a no:\n%s\nwant\n%s", after, before)
	}
	c.do("agent.execute", args{"command": "rm -rf many"})
	held = c.event("safeguard_triggered")
	c.do("safeguard.confirm", args{"safeguard_id": held["safeguard_id"], "action": "allow"})
	c.event("step_completed")
	if exists(w.project + "/many") {
		t.Error("a yes did not let the command go on")
	}
	if c.do("undo.rollback", args{"count": 1}); w.described(w.project) != before {
		t.Error("what was allowed was not taken back")
	}
	c.do("session.stop", nil)
	status("after the session", "idle", "unavailable")
	c.close()
}

// seedCrash: when the supervisor is killed in a step, all processes are gone, and what the step had done can
// be taken back.
func (w *world) seedCrash(b *seedBox) {
	before := w.described(w.project)
	s := w.stays("crash", b.flags...)
	s.launch("works", "rm -rf many; echo half >half; sleep 600")
	eventually(w.t, "the step to be under way", func() bool { return exists(w.project + "/half") })
	s.kill()
	if got := w.fine("history"); !strings.Contains(got, "many") && !strings.Contains(got, "rm -rf") {
		w.t.Errorf("the history after a crash: %s", got)
	}
	w.fine("undo")
	if after := w.described(w.project); after != before {
		w.t.Errorf("after the undo of a step that was cut off:\n%s\nwant\n%s", after, before)
	}
	s.fine("start", b.flags...)
	s.sh("test -d many")
	s.fine("stop")
}

// seedClaude: Claude Code works with these tools and is kept from its own, as long as it is set up.
func (w *world) seedClaude() {
	w.installAgents()
	claude := fourClients[0]
	for name, text := range claude.files {
		w.write(w.home+"/"+name, text)
	}
	w.wrapsAll = true // Claude Code starts the server
	w.fine("agent", "setup", claude.name, "--block-builtin")
	w.useClient(claude)
	w.fine("agent", "remove", claude.name)
	if got, want := w.read(w.home+"/.claude/settings.json"), claude.files[".claude/settings.json"]; got != want {
		w.t.Errorf("the settings are %q, want %q", got, want)
	}
}
