//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is what carrel ps says of one workspace.
type running struct {
	ID, State, Project string
	PID                int
	Argv               []string
}

// ps asks for the running workspaces of the world's person.
func (w *world) ps() []running {
	w.t.Helper()
	r := w.plain(w.bin, "ps", "--json")
	var list []running
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || r.code != 0 {
		w.t.Fatalf("ps: %v\n%s", err, r)
	}
	return list
}

// desk starts a command in the background and gives the workspace's entry.
func (w *world) desk(args ...string) (*exec.Cmd, running) {
	w.t.Helper()
	cmd := w.command(w.bin, append([]string{"run"}, args...)...)
	w.must(w.start(cmd))
	var found running
	eventually(w.t, "the workspace to be listed", func() bool {
		for _, one := range w.ps() {
			if one.PID == cmd.Process.Pid {
				found = one
			}
		}
		return found.ID != ""
	})
	return cmd, found
}

// states are those of the processes below pid, by their last argument.
func states(pid int) map[string]byte {
	out := make(map[string]byte)
	task, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range task {
		children, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(children)) {
			child, _ := strconv.Atoi(word)
			stat, _ := os.ReadFile("/proc/" + word + "/stat")
			line, _ := os.ReadFile("/proc/" + word + "/cmdline")
			args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
			if i := strings.LastIndexByte(string(stat), ')'); i > 0 && len(stat) > i+2 {
				out[args[len(args)-1]] = stat[i+2]
			}
			for name, state := range states(child) {
				out[name] = state
			}
		}
	}
	return out
}

// TestPauseResumeStop: a run is seen from another terminal, and held.
func TestPauseResumeStop(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		cmd, one := w.desk("--", "sh", "-c", "sleep 2001 & sleep 2002 & sleep 0.2; kill -STOP $!; wait")
		if one.State != "running" || one.Project != w.project || one.Argv[0] != "sh" {
			t.Errorf("%+v", one)
		}
		is := func(of, theirs byte) func() bool {
			return func() bool {
				s := states(cmd.Process.Pid)
				return s["2001"] == of && s["2002"] == theirs
			}
		}
		eventually(t, "both to sleep, one of them stopped", is('S', 'T'))
		for range 2 {
			if r := w.plain(w.bin, "pause", one.ID[:6]); r.code != 0 || !is('T', 'T')() {
				t.Errorf("pause: %s %q", r, states(cmd.Process.Pid))
			}
			if got := w.ps(); len(got) != 1 || got[0].State != "paused" {
				t.Errorf("%+v", got)
			}
			if r := w.plain(w.bin, "resume", one.ID); r.code != 0 {
				t.Errorf("resume: %s", r)
			}
			eventually(t, "what pause stopped to go on, and nothing else", is('S', 'T'))
		}
		if r := w.plain(w.bin, "pause", one.ID); r.code != 0 {
			t.Errorf("pause: %s", r)
		}
		if r := w.plain(w.bin, "stop", one.ID); r.code != 0 || r.out != "stopped "+one.ID+"\n" {
			t.Errorf("stop: %s", r)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("the run ended with %v", err)
		}
		if got := w.ps(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if left, _ := os.ReadDir(w.runtime); len(left) != 0 {
			t.Errorf("left in the runtime directory: %v", left)
		}
	})
}

// TestStopMakesIt: a command that ignores the request is ended all the same.
func TestStopMakesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	cmd, one := w.desk("--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
	eventually(t, "it to run", func() bool { return len(states(cmd.Process.Pid)) > 1 })
	time.Sleep(200 * time.Millisecond) // the trap is set
	start := time.Now()
	if r := w.plain(w.bin, "stop", one.ID); r.code != 0 || time.Since(start) < 3*time.Second {
		t.Errorf("after %v: %s", time.Since(start), r)
	}
	_ = cmd.Wait()
}

// TestKilledSupervisorIsSwept: what SIGKILL leaves goes at the next look.
func TestKilledSupervisorIsSwept(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		cmd, one := w.desk("--", "sleep", "2003")
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
		if _, err := os.Lstat(w.runtime + "/carrel/" + one.ID + ".json"); err != nil {
			t.Fatalf("canary: %v", err)
		}
		if got := w.ps(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if left, _ := os.ReadDir(w.runtime); len(left) != 0 {
			t.Errorf("left in the runtime directory: %v", left)
		}
	})
}

// TestSupervisorIsOutOfReach: a command neither sees its supervisor's socket,
// also where home and the runtime directory are granted, nor answers it.
func TestSupervisorIsOutOfReach(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, runtime := range []bool{true, false} {
			w := newWorld(t, p)
			place := w.runtime + "/carrel"
			if !runtime {
				w.unsetenv("XDG_RUNTIME_DIR")
				place = w.home + "/.local/state/carrel/run"
			}
			cmd, one := w.desk("--", "sleep", "2004")
			socket := place + "/" + one.ID + ".sock"
			if st, err := os.Stat(socket); err != nil || st.Mode().Perm() != 0o600 {
				t.Fatalf("canary: %v, %v", st, err)
			}
			script := "cat " + socket + " " + place + "/" + one.ID + ".json; ls " + place + "; rm -rf " + place + "; touch " + place + "/x; mv " + place + " " + place + "2"
			for _, flags := range [][]string{nil, {"--write", w.runtime}, {"--home", "full"}, {"--write", w.home}} {
				r := w.plain(w.bin, append(append([]string{"run"}, flags...), "--", "sh", "-c", script+"; "+w.bin+" stop "+one.ID)...)
				if strings.Contains(r.out, one.ID) || strings.Contains(r.out, `"pid"`) {
					t.Errorf("%q: seen inside: %s", flags, r)
				}
				if got := w.ps(); len(got) != 1 || got[0].ID != one.ID || got[0].State != "running" {
					t.Fatalf("%q: it reached outside: %+v\n%s", flags, got, r)
				}
			}
			if r := w.plain(w.bin, "stop", one.ID); r.code != 0 {
				t.Errorf("stop: %s", r)
			}
			_ = cmd.Wait()
		}
	})
}

// TestApproveNeedsAnID: what waits for nothing says so, with a hint.
func TestApproveNeedsAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, args := range [][]string{{"approve", "abcdef"}, {"deny", "abcdef"}, {"pause", "abcdef"}, {"resume", ""}, {"stop", "abcdef"}, {"stop"}} {
		if r := w.plain(w.bin, args...); r.code != 125 || !strings.Contains(r.err, "hint: ") {
			t.Errorf("%q: %s", args, r)
		}
	}
	if r := w.plain(w.bin, "approvals"); r.code != 0 || r.out != "nothing waits for approval\n" {
		t.Errorf("approvals: %s", r)
	}
	if r := w.plain(w.bin, "approvals", "--json"); r.out != "[]\n" {
		t.Errorf("approvals: %s", r)
	}
}
