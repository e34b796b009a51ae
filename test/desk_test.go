//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stay is a workspace that stays, in a world; it is stopped at the end of the test.
type stay struct {
	w    *world
	name string
	ns   string // the pid namespace that all of it is in
}

// toldDesk is what carrel says of one, toldApp of something started in it.
type toldDesk struct {
	ID, Name, State, Project, Purpose, Digest string
	Runtime                                   string `json:"runtime_dir"`
	PID                                       int
	Control                                   struct{ Mode, By, Reason string }
	Apps                                      []toldApp
	Notes                                     []string
	Events                                    uint64
	Artifacts                                 []struct {
		Kind, Label, Path string
		Bytes             int64
	}
}

type toldApp struct {
	ID, Name, Kind, Signal string
	Argv                   []string
	Running                bool
	Exit, Processes        int
	Steps                  []uint64
}

type toldEvent struct {
	Seq        uint64
	Kind, Text string
}

// stays starts a workspace that stays.
func (w *world) stays(name string, flags ...string) *stay {
	w.t.Helper()
	s := &stay{w: w, name: name}
	w.t.Cleanup(s.end)
	s.fine("start", flags...)
	s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
	return s
}

// do is carrel VERB NAME ARG...; the verb may be two words.
func (s *stay) do(verb string, args ...string) result {
	s.w.t.Helper()
	return s.w.plain(s.w.bin, s.words(verb, args...)...)
}

func (s *stay) words(verb string, args ...string) []string {
	return append(append(strings.Fields(verb), s.name), args...)
}

// fine wants status 0.
func (s *stay) fine(verb string, args ...string) string {
	s.w.t.Helper()
	r := s.do(verb, args...)
	if r.code != 0 {
		s.w.t.Fatalf("carrel %s %q: %s", verb, args, r)
	}
	return r.out
}

// sh runs a shell script in it and wants it to succeed.
func (s *stay) sh(script string) string {
	s.w.t.Helper()
	return s.fine("exec", "--", "bash", "-c", script)
}

// launch starts a shell script that goes on, and gives its id.
func (s *stay) launch(name, script string) string {
	s.w.t.Helper()
	id, _, _ := strings.Cut(s.fine("launch", "--name", name, "--", "bash", "-c", script), " ")
	return id
}

// json runs a command with --json and reads what it prints.
func (s *stay) json(into any, verb string, args ...string) {
	s.w.t.Helper()
	out := s.fine(verb, append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.w.t.Fatalf("carrel %s: %v in %s", verb, err, cut(out))
	}
}

func (s *stay) status() (d toldDesk) {
	s.w.t.Helper()
	s.json(&d, "status")
	return d
}

// app is one of its apps, by id.
func (s *stay) app(id string) toldApp {
	s.w.t.Helper()
	all := s.status().Apps
	i := slices.IndexFunc(all, func(a toldApp) bool { return a.ID == id || a.Name == id })
	if i < 0 {
		s.w.t.Fatalf("no app %q among %+v", id, all)
	}
	return all[i]
}

// events are all that are kept of it.
func (s *stay) events(flags ...string) (all []toldEvent) {
	s.w.t.Helper()
	return readEvents(s.w.t, s.fine("events", append([]string{"--json"}, flags...)...))
}

func readEvents(t *testing.T, lines string) (all []toldEvent) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var e toldEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, e)
	}
	return all
}

// kinds counts events.
func kinds(all []toldEvent) map[string]int {
	n := make(map[string]int)
	for _, e := range all {
		n[e.Kind]++
	}
	return n
}

// socket is where its supervisor listens.
func (s *stay) socket() string {
	s.w.t.Helper()
	d := s.status()
	return d.Runtime + "/" + d.ID + ".sock"
}

// inside lists what runs behind its walls, whatever it has done to hide, with the
// command lines. Its first process is not among them.
func (s *stay) inside() map[int]string {
	found := make(map[int]string)
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		proc := "/proc/" + d.Name()
		ns, _ := os.Readlink(proc + "/ns/pid")
		line, _ := os.ReadFile(proc + "/cmdline")
		if ns != s.ns || len(line) == 0 || strings.HasPrefix(string(line), "carrel-stage") {
			continue
		}
		found[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// runs says whether a process with that word in its command line is inside.
func (s *stay) runs(word string) bool {
	for _, line := range s.inside() {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// place is its directory in the state directory.
func (s *stay) place() string { return s.w.home + "/.local/state/carrel/workspaces/" + s.name }

// end stops it, and sees that nothing of it is left.
func (s *stay) end() {
	s.w.t.Helper()
	s.do("stop")
	if log, err := os.ReadFile(s.place() + "/supervisor.log"); err == nil && (strings.Contains(string(log), "panic") || strings.Contains(string(log), "goroutine ")) {
		s.w.t.Errorf("the supervisor of %s has crashed: %s", s.name, cut(string(log)))
	}
	if s.ns == "" {
		return
	}
	eventually(s.w.t, "nothing to be left inside", func() bool { return len(s.inside()) == 0 })
}

// grows says whether a file that something writes to all the time still does.
func (w *world) grows(file string) bool {
	w.t.Helper()
	was, _ := os.ReadFile(file)
	time.Sleep(150 * time.Millisecond)
	is, _ := os.ReadFile(file)
	return string(was) != string(is)
}

// counting writes into a file of the project all the time.
func counting(file string) string {
	return "n=0; while :; do n=$((n+1)); echo $n > " + file + "; sleep 0.02; done"
}

// TestDeskLife: from start to revoke, as a person types it.
func TestDeskLife(t *testing.T) {
	asUserAlone(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("life", "--purpose", "a test")
		d := s.status()
		if d.State != "running" || d.Control.Mode != "active" || d.Purpose != "a test" || d.Project != w.project || d.PID == 0 {
			t.Errorf("status: %+v", d)
		}
		if out := w.fine("list"); !strings.Contains(out, "life") || !strings.Contains(out, "a test") {
			t.Errorf("list: %s", out)
		}
		if out := w.fine("ps"); !strings.Contains(out, d.ID[:8]) {
			t.Errorf("ps: %s", out)
		}
		id := s.launch("server", "echo out; echo err >&2; "+counting("n"))
		eventually(t, "the app to write", func() bool { return exists(w.project + "/n") })
		if a := s.app("server"); a.ID != id || !a.Running || a.Kind != "launched" || a.Processes == 0 || !s.runs("echo out") {
			t.Errorf("the app: %+v", a)
		}
		start := time.Now()
		if r := s.do("wait", "server", "--timeout", "200ms"); r.code != 124 || time.Since(start) > 3*time.Second {
			t.Errorf("wait: %s after %v", r, time.Since(start))
		}
		if r := s.do("kill", id[:5]); r.code != 0 || s.runs("echo out") || w.grows(w.project+"/n") {
			t.Errorf("kill: %s", r)
		}
		if r := s.do("wait", id); r.code != 143 {
			t.Errorf("wait for what was ended: %s", r)
		}
		if a := s.app(id); a.Running || a.Signal != "SIGTERM" || a.Exit != 143 || a.Processes != 0 {
			t.Errorf("the app: %+v", a)
		}
		for _, verb := range []string{"rm", "cleanup"} {
			if r := s.do(verb); r.code != 125 || !strings.Contains(r.err, "life was left: it runs\nhint: `carrel revoke life`") {
				t.Errorf("%s while it runs: %s", verb, r)
			}
		}
		if r := s.do("stop"); r.code != 0 || len(s.inside()) != 0 || len(w.processes()) != 0 {
			t.Errorf("stop: %s, inside %v", r, s.inside())
		}
		if left, _ := os.ReadDir(w.runtime); len(left) != 0 {
			t.Errorf("left in the runtime directory: %v", left)
		}
		s.afterwards(id)
	})
}

// afterwards looks at a workspace that has stopped, and removes it.
func (s *stay) afterwards(id string) {
	t, w := s.w.t, s.w
	t.Helper()
	if d := s.status(); d.State != "stopped" || len(d.Apps) < 2 || d.Apps[len(d.Apps)-1].Signal != "SIGTERM" {
		t.Errorf("status: %+v", d)
	}
	var m toldDesk
	if err := json.Unmarshal([]byte(s.fine("manifest")), &m); err != nil || m.Purpose != "a test" || m.Digest == "" {
		t.Errorf("manifest: %v %+v", err, m)
	}
	for _, verb := range []string{"exec", "launch"} {
		if r := s.do(verb, "--", "true"); r.code != 125 || !strings.Contains(r.err, "hint: ") {
			t.Errorf("%s in what has stopped: %s", verb, r)
		}
	}
	if r := s.do("stop"); r.code != 125 {
		t.Errorf("stop of what has stopped: %s", r)
	}
	if r := s.do("logs", id); r.out != "out\n" || r.err != "err\n" {
		t.Errorf("logs: %s", r)
	}
	if got := kinds(s.events()); got["workspace_start"] != 1 || got["workspace_stop"] != 1 || got["app_launch"] != got["app_exit"] {
		t.Errorf("events: %v", got)
	}
	var files []struct{ Kind, Path string }
	s.json(&files, "artifacts")
	seen := make(map[string]bool)
	for _, f := range files {
		if seen[f.Kind] = true; !exists(f.Path) {
			t.Errorf("artifacts: %+v is not there", f)
		}
		if st, err := os.Stat(f.Path); err == nil && st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", f.Path, st.Mode().Perm())
		}
	}
	if !seen["manifest"] || !seen["events"] || !seen["app-log"] {
		t.Errorf("artifacts: %+v", files)
	}
	if out := s.fine("cleanup", "--dry-run"); !strings.HasPrefix(out, "would remove life: ") || !exists(s.place()+"/manifest.json") {
		t.Errorf("cleanup --dry-run: %s", out)
	}
	if out := s.fine("cleanup"); !strings.HasPrefix(out, "removed life: ") || exists(s.place()) {
		t.Errorf("cleanup: %s", out)
	}
	if out := w.fine("list"); out != "no workspace has been started\n" {
		t.Errorf("list: %s", out)
	}
	s.fine("start")
	if r := s.do("revoke"); r.code != 0 || exists(s.place()) || len(w.ps()) != 0 {
		t.Errorf("revoke: %s", r)
	}
	if left, _ := os.ReadDir(filepath.Dir(s.place())); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
