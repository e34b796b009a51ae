//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// locked starts a server under a ceiling, given as its file's text.
func (w *world) locked(file, ceiling string, flags ...string) *agentClient {
	w.t.Helper()
	w.write(file, ceiling)
	defer func(before func(*exec.Cmd)) { w.wrap = before }(w.wrap)
	w.wrap = func(cmd *exec.Cmd) {
		cmd.Args = append([]string{cmd.Args[0], "--permissions", file}, cmd.Args[1:]...)
	}
	return w.mcp(flags...)
}

// TestMCPCeiling: a locked server cannot be talked, raced or reconnected past its
// ceiling. Each attack has a canary: without the ceiling it does what is refused here.
func TestMCPCeiling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.outside+"/secret", "SECRET")
	file := w.home + "/ceiling.json"
	ceiling := fmt.Sprintf(`{"network":{"mode":"disabled"},"mounts":[{"host_path":%q,"workspace_path":"/workspace/p","mode":"read_write"}],"apps":{"allow":["/bin/bash","/usr/bin/touch","/usr/bin/cat","/bin/sleep"]},"undo":"preview"}`, w.project)
	canary := w.mcp("--display", "none")
	canary.does("app_launch", args{"command": []string{"/usr/bin/id"}, "wait": "exit"})
	if r := canary.does("workspace_start", args{"name": "wide", "network": "open", "display": "none"}); r.IsError {
		t.Fatalf("the canary: %s", r.text())
	}
	c := w.locked(file, ceiling, "--display", "none")
	shown := c.does("mcp_permissions", args{}).Structured
	if shown["configured"] != true || len(shown["hash"].(string)) != 64 {
		t.Errorf("permissions: %v", shown)
	}
	// The file is changed, replaced and turned into a link: what was read at the start holds.
	for _, change := range []func(){
		func() { w.write(file, "{}") },
		func() { w.must(os.Remove(file)) },
		func() { w.symlink(w.write(w.home+"/open.json", "{}"), file) },
	} {
		change()
		c.refuses("ceiling", "app_launch", args{"command": []string{"/usr/bin/id"}})
		c.refuses("ceiling", "workspace_start", args{"network": "open", "acknowledge_hidden_workspace": true})
		c.refuses("ceiling", "undo", args{})
	}
	if r := c.does("Bash", args{"command": "/usr/bin/touch made; /usr/bin/cat " + w.outside + "/secret; /usr/bin/id"}); strings.Contains(r.text(), "SECRET") || strings.Contains(r.text(), "uid=") || !exists(w.project+"/made") {
		t.Errorf("inside: %s", r.text())
	}
	c.does("write_file", args{"path": "written", "content": "x"})
	c.does("undo_preview", args{})
	// What the caller says of itself.
	for _, env := range [][]string{{"PATH=" + w.project}, {"LD_PRELOAD=/x.so"}, {"CARREL_PERMISSIONS="}, {"CARREL_CEILING_FD=0"}} {
		c.refuses("ceiling", "app_launch", args{"command": []string{"/usr/bin/id"}, "env": env})
	}
	// A workspace that somebody else has started, wider.
	for _, call := range []string{"app_list", "events", "mcp_control_update", "app_launch"} {
		arguments := args{"name": "wide"}
		switch call {
		case "mcp_control_update":
			arguments["mode"] = "paused"
		case "app_launch":
			arguments["command"] = []string{"/usr/bin/touch", "past"}
		}
		c.refuses("ceiling", call, arguments)
	}
	if exists(w.project + "/past") {
		t.Error("a locked server used a wider workspace")
	}
	c.refuses("ceiling", "workspace_start", args{"name": "wide", "network": "open", "display": "none"})
	if r := c.tool("workspace_start", args{"name": "wide", "display": "none"}); !r.IsError {
		t.Errorf("it adopted a wider workspace: %s", r.text())
	}
	// Profiles, saved before and by the agent, and a project's own file.
	w.write(w.home+"/.config/carrel/profiles/wide.yaml", "network:\n  mode: open\n")
	w.write(w.project+"/.carrel.yaml", "persona: human\n")
	for _, call := range []struct {
		tool string
		args args
	}{
		{"workspace_start", args{"name": "p1", "profile": "wide", "acknowledge_hidden_workspace": true}},
		{"profile_write", args{"action": "put", "id": "mine", "profile": "network:\n  mode: open\n"}},
		{"profile_read", args{"action": "check", "id": "wide"}},
	} {
		if r := c.refuses("ceiling", call.tool, call.args); !strings.Contains(r.text(), "network") {
			t.Errorf("%s: %s", call.tool, r.text())
		}
	}
	if r := c.does("mcp_task_plan", args{"intent": "test my app", "profile_id": "wide"}); !strings.Contains(r.text(), "permission_ceiling") {
		t.Errorf("a plan that cannot be carried out does not say so: %.500s", r.text())
	}
	// It is used by many at once while its file changes.
	w.must(os.Remove(file))
	c2 := w.locked(file, ceiling, "--display", "none")
	stop := make(chan struct{})
	var swap, calls sync.WaitGroup
	swap.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(file, []byte([]string{"{}", ceiling}[i%2]), 0o600)
				time.Sleep(time.Millisecond)
			}
		}
	})
	for i := range 20 {
		calls.Go(func() {
			if r := c2.tool("workspace_start", args{"name": fmt.Sprint("race", i%4), "network": "open", "display": "none"}); r.code() != "ceiling" {
				t.Errorf("race: %s", r.text())
			}
			if r := c2.tool("app_launch", args{"command": []string{"/usr/bin/id"}}); r.code() != "ceiling" {
				t.Errorf("race: %s", r.text())
			}
		})
	}
	calls.Wait()
	close(stop)
	swap.Wait()
	canary.does("workspace_stop", args{"name": "wide"})
}

// TestMCPKilled: a supervisor that is killed in the middle of a call is an error that
// can be read, and the next call has a new workspace.
func TestMCPKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	c := w.mcp("--display", "none")
	c.does("Bash", args{"command": "echo one > a"})
	_, to := c.ask("tools/call", args{"name": "Bash", "arguments": args{"command": "sleep 1000"}})
	status := c.does("workspace_status", args{}).Structured["status"].(map[string]any)
	eventually(t, "it runs", func() bool { return strings.Contains(c.does("app_list", args{"running": true}).text(), "sleep 1000") })
	pid := int(status["pid"].(float64))
	p, err := os.FindProcess(pid)
	w.must(err)
	w.must(p.Kill())
	select {
	case r := <-to:
		if got := c.told(r); !got.IsError || got.code() == "" {
			t.Errorf("the call: %s", got.text())
		}
	case <-time.After(20 * time.Second):
		t.Error("the call hangs")
	}
	if r := c.does("Bash", args{"command": "cat a"}); !strings.Contains(r.text(), "one") {
		t.Errorf("after it: %s", r.text())
	}
}

// TestMCPOthers: another user gets nothing of a server on a socket, and programs inside do
// not find it.
func TestMCPOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if os.Getuid() != 0 {
		t.Skip("holding a process of another user takes root")
	}
	w.litter = true
	w.need("curl")
	w.mkdir(w.base+"/open", 0o755)
	socket := w.base + "/open/mcp.sock"
	cmd := w.command(w.bin, "mcp", "--display", "none", "--listen", "unix:"+socket)
	w.must(cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	eventually(t, "it listens", func() bool { return exists(socket) })
	call := `curl -s --max-time 5 --unix-socket ` + socket + ` -H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' http://localhost/ -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'; echo " status $?"`
	if got := w.outsideSh(call); !strings.Contains(got, "serverInfo") {
		t.Fatalf("its own user: %s", got)
	}
	other := exec.Command("/bin/sh", "-c", "ls "+socket+"; "+call)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, _ := other.CombinedOutput(); strings.Contains(string(out), "serverInfo") || !strings.HasPrefix(string(out), socket+"\n") {
		t.Errorf("another user, who sees the socket: %s", out)
	}
	if r := w.run("--", "sh", "-c", "ls "+socket+"; "+call); strings.Contains(r.out, "serverInfo") {
		t.Errorf("from inside: %s", r)
	}
}

// TestMCPOutsideItsCeiling: a server in a directory that its ceiling does not list is refused by
// the ceiling at the start of its workspace.
func TestMCPOutsideItsCeiling(t *testing.T) {
	w := newWorld(t, ordinary(t))
	listed := w.home + "/listed"
	w.must(os.Mkdir(listed, 0o755))
	ceiling := `{"network":{"mode":"closed"},"mounts":[{"host_path":"` + listed + `","workspace_path":"` + listed + `","mode":"read_write"}]}`
	c := w.locked(w.home+"/ceiling.json", ceiling, "--display", "none")
	for _, tool := range []string{"Bash", "workspace_start"} {
		arguments := args{"command": "true"}
		if tool == "workspace_start" {
			arguments = args{}
		}
		if r := c.refuses("ceiling", tool, arguments); !strings.Contains(r.text(), w.project) || strings.Contains(r.text(), "--cwd") {
			t.Errorf("%s: %s", tool, r.text())
		}
	}
}
