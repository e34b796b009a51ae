//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOwnWorkspaceGoesWithItsServer: what a server's or session's own workspace keeps goes
// with it, however both end. Its audit log stays and verifies, and what was changed can be
// taken back.
func TestOwnWorkspaceGoesWithItsServer(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"ends", "stopped before", "killed", "killed together", "stdio"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			var end func()
			if how == "stdio" {
				c := w.stdio()
				c.do("session.start", startIn(w.project))
				c.execute("echo one > made")
				end = c.close
			} else {
				c := w.mcp("--display", "none")
				c.does("app_launch", args{"command": []string{"sh", "-c", "echo one > made"}, "wait": "exit"})
				end = c.end
				if how == "stopped before" {
					c.does("workspace_stop", args{})
					if left := places(w); len(left) != 1 {
						t.Errorf("its server can still look at what it stopped: %q", left)
					}
				}
				if strings.HasPrefix(how, "killed") {
					end = func() { w.must(c.cmd.Process.Kill()) }
				}
			}
			var one struct {
				ID  string `json:"id"`
				PID int    `json:"pid"`
			}
			left := places(w)
			if len(left) != 1 {
				t.Fatalf("places: %q", left)
			}
			w.must(json.Unmarshal([]byte(w.read(left[0]+"/manifest.json")), &one))
			if how == "killed together" {
				w.must(syscall.Kill(one.PID, syscall.SIGSTOP)) // it removes nothing by itself
				end()
				w.must(syscall.Kill(one.PID, syscall.SIGKILL))
				eventually(t, "the supervisor is gone", func() bool { return syscall.Kill(one.PID, 0) != nil })
				if len(places(w)) != 1 {
					t.Error("nobody was left to remove it, and it is gone")
				}
				w.stays("next")
				eventually(t, "the next start removes it", func() bool { return !exists(left[0]) })
			} else {
				end()
				eventually(t, "all of it is removed", func() bool { return len(places(w)) == 0 })
			}
			if e := w.carrel("audit", "verify", one.ID); e.code != 0 {
				t.Errorf("its audit log: %s", e)
			}
			if e := w.carrel("audit", "list"); !strings.Contains(e.out, one.ID) || !strings.Contains(e.out, filepath.Base(left[0])) {
				t.Errorf("the list of logs: %s", e)
			}
			if e := w.carrel("undo"); e.code != 0 || exists(w.project+"/made") {
				t.Errorf("undo: %s", e)
			}
		})
	}
}

// places are the directories of workspaces with a name.
func places(w *world) []string {
	found, err := filepath.Glob(w.home + "/.local/state/carrel/workspaces/*")
	w.must(err)
	return found
}
