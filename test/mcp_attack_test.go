//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMCPPauseIsNotStopped: a person's pause is not got around by ending the workspace,
// which is always allowed, and going on in another one or in none.
func TestMCPPauseIsNotStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("Bash", args{"command": "echo one > made"})
	name := c.does("get_session_status", args{}).Structured["workspace"].(string)
	if e := w.carrel("control", name, "paused"); e.code != 0 {
		t.Fatal(e)
	}
	c.does("workspace_stop", args{})
	c.refuses("control", "workspace_start", args{"name": "other", "display": "none"})
	c.refuses("control", "undo", args{})
	c.refuses("control", "Bash", args{"command": "echo two > made"})
	c.refuses("control", "profile_write", args{"action": "put", "id": "kept", "profile": "network: closed"})
	c.refuses("control", "workspace_cleanup_stale", args{})
	if got := w.read(w.project + "/made"); got != "one\n" {
		t.Errorf("made: %q", got)
	}
	c.does("workspace_start", args{"display": "none"}) // as it was
	c.refuses("control", "undo", args{})
}

// TestMCPAllTurnsTaken: however many calls wait, what shows, restricts and ends the
// workspace is answered.
func TestMCPAllTurnsTaken(t *testing.T) {
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("Bash", args{"command": "true"})
	var waiting []chan reply
	for range 40 {
		_, to := c.ask("tools/call", args{"name": "Bash", "arguments": args{"command": "sleep 600"}})
		waiting = append(waiting, to)
	}
	time.Sleep(time.Second)
	began := time.Now()
	c.does("workspace_status", args{})
	c.does("mcp_control_update", args{"mode": "paused"})
	c.does("workspace_stop", args{})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, to := range waiting {
		select {
		case <-to:
		case <-time.After(patience):
			t.Fatal("a call of an ended workspace was not answered")
		}
	}
}

// TestMCPEndlessLog: the log of what writes faster than it is read comes to an end, and
// is no longer than was asked for.
func TestMCPEndlessLog(t *testing.T) {
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	app := c.does("Bash", args{"command": "yes", "run_in_background": true}).Structured["app_id"]
	time.Sleep(time.Second)
	for range 3 {
		r := c.request("tools/call", args{"name": "app_log", "arguments": args{"app": app, "tail_bytes": 1000}})
		got := c.told(r)
		if n := strings.Count(got.text(), "y\n"); n != 500 {
			t.Fatalf("%d lines came of 500", n)
		}
		if len(r.Result) > 100_000 {
			t.Errorf("the answer has %d bytes", len(r.Result))
		}
	}
	c.does("app_kill", args{"app": app})

	short := c.does("Bash", args{"command": "echo short"}).Structured["app_id"]
	if r := c.does("app_log", args{"app": short, "stream": "stdout", "since": 6}); r.Structured["next"] != 6. {
		t.Errorf("at the end of a log: %v", r.Structured)
	}
}

// TestMCPHangup: a server whose terminal or client hangs up takes its workspace along.
func TestMCPHangup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("Bash", args{"command": "true"})
	name := c.does("get_session_status", args{}).Structured["workspace"].(string)
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.end()
	if e := w.carrel("ps", "--json"); strings.Contains(e.out, name) {
		t.Errorf("its workspace goes on without it: %s", e)
	}
}

// TestMCPDiff: what a step changed comes as text.
func TestMCPDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("write_file", args{"path": "made", "content": "one\n"})
	c.does("Bash", args{"command": "echo two >> made"})
	if r := c.does("diff", args{}); !strings.Contains(r.text(), "\n+two\n") || strings.Contains(r.text(), "+one") {
		t.Errorf("the newest step: %s", r.text())
	}
	if r := c.does("diff", args{"steps": "1..2", "path": "made"}); !strings.Contains(r.text(), "+one\n") {
		t.Errorf("two steps: %s", r.text())
	}
	if r := c.does("diff", args{"stat": true}); !strings.Contains(r.text(), "made") {
		t.Errorf("counted: %s", r.text())
	}
	if r := c.refuses("failed", "diff", args{"steps": "99"}); !strings.Contains(r.text(), "99") {
		t.Errorf("no such step: %s", r.text())
	}
}

// TestMCPTogether: two servers that need the same workspace at the same moment both get
// it.
func TestMCPTogether(t *testing.T) {
	w := newWorld(t, ordinary(t))
	one, two := w.mcp("--workspace", "both", "--display", "none"), w.mcp("--workspace", "both", "--display", "none")
	call := args{"name": "Bash", "arguments": args{"command": "true"}}
	_, first := one.ask("tools/call", call)
	_, second := two.ask("tools/call", call)
	for _, to := range []chan reply{first, second} {
		select {
		case r := <-to:
			if got := one.told(r); got.IsError {
				t.Error(got.text())
			}
		case <-time.After(patience):
			t.Fatal("no answer")
		}
	}
	one.does("workspace_stop", args{})
}

// TestMCPServerKilled: what belongs to a server ends with it, also when nothing of it is
// left that could end it; what stays by its name stays.
func TestMCPServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	s := w.stays("stays")
	for _, flags := range [][]string{{}, {"--workspace", "stays"}} {
		c := w.mcp(append(flags, "--display", "none")...)
		r := c.does("Bash", args{"command": "sleep 1234 & echo begun"})
		name := c.does("workspace_list", args{}).Structured["default"].(string)
		w.must(c.cmd.Process.Kill())
		gone := func() bool {
			e := w.plain(w.bin, "ps", "--json")
			return !strings.Contains(e.out, `"`+name+`"`)
		}
		if len(flags) == 0 {
			eventually(t, "its workspace ends: "+r.text(), gone)
		} else if gone() {
			t.Error("a workspace that stays has ended with a client")
		}
	}
	s.sh("true")
}

// TestMCPReadOnly: who may look may read files, search and see the screen's size; nothing
// else is carried out.
func TestMCPReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/a.txt", "one")
	c := w.mcp("--display", "none")
	c.does("Bash", args{"command": "true"})
	c.does("mcp_control_update", args{"mode": "read_only"})
	for tool, a := range map[string]args{"read_file": {"path": "a.txt"}, "grep": {"pattern": "one"}, "glob": {"pattern": "*"}, "list_directory": {}} {
		if r := c.does(tool, a); !strings.Contains(r.text(), "one") && !strings.Contains(r.text(), "a.txt") {
			t.Errorf("%s: %s", tool, r.text())
		}
	}
	for tool, a := range map[string]args{"write_file": {"path": "b", "content": "x"}, "edit_file": {"path": "a.txt", "old_string": "one", "new_string": "two"}, "Bash": {"command": "true"}} {
		c.refuses("control", tool, a)
	}
	// By the supervisor's own word, from any other client.
	for _, argv := range [][]string{{"/run/carrel/bin/carrel-file", "write_file"}, {"/run/carrel/bin/carrel-file", "nonsense"}, {"/run/carrel/bin/carrel-file"}, {"carrel-file", "read_file"}, {"sh", "-c", "true", "read_file"}} {
		name := c.does("workspace_list", args{}).Structured["default"].(string)
		if r := w.plain(w.bin, append([]string{"exec", name, "--"}, argv...)...); r.code != 125 {
			t.Errorf("%q: %s", argv, r)
		}
	}
	if w.read(w.project+"/a.txt") != "one" || exists(w.project+"/b") {
		t.Error("something was changed")
	}
	c.does("mcp_control_update", args{"mode": "paused"})
	if r := c.tool("read_file", args{"path": "a.txt"}); !r.IsError {
		t.Errorf("under a pause: %s", r.text())
	}
}

// TestMCPNoChildren: a workspace that was started by a server is no child of it, so that who ends
// the children of a program leaves the workspace; and nothing that has ended waits for it.
func TestMCPNoChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, flags := range [][]string{{}, {"--workspace", "apart"}} {
		c := w.mcp(append(flags, "--display", "none")...)
		c.does("Bash", args{"command": "true"})
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		w.must(err)
		for _, stat := range stats {
			text, _ := os.ReadFile(stat)
			_, rest, _ := strings.Cut(string(text), ") ")
			if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(c.cmd.Process.Pid) {
				t.Errorf("a child of the server: %s", text)
			}
		}
		c.does("workspace_stop", args{})
	}
}
