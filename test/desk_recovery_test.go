//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stubborn are ways to live on: each shell script goes on after it was asked to end,
// with that word in a command line.
var stubborn = map[string]string{
	"session":  "setsid sleep 4101",
	"daemon":   "(setsid sh -c 'sleep 4102 & sleep 4102' > /dev/null 2>&1 < /dev/null &) ; sleep 4102",
	"cleared":  "cd /; exec env -i setsid -f sleep 4103",
	"ignoring": "trap '' TERM HUP INT; while :; do sleep 4104; done",
	"left":     "(trap '' TERM HUP; cd /; exec env -i sleep 4105) & exit 0",
	"stopped":  "sleep 4106 & kill -STOP $!; kill -STOP $$",
	"many":     "for i in $(seq 60); do (trap '' TERM; sleep 4107; :) & done; wait",
}

// TestDeskKilled: with its supervisor all of it is gone; what is left is told and removed,
// and the name can be used at once.
func TestDeskKilled(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("killed", "--purpose", "to be killed")
		for name, script := range stubborn {
			s.launch(name, script)
		}
		eventually(t, "all to run", func() bool {
			for i := range stubborn {
				if !s.runs(stubborn[i][strings.Index(stubborn[i], "41"):][:4]) {
					return false
				}
			}
			return true
		})
		s.launch("writes", counting("n"))
		eventually(t, "something to be written", func() bool { return exists(w.project + "/n") })
		waitABit() // the manifest follows
		s.kill()
		if got := s.status(); got.State != "stopped" || !strings.Contains(strings.Join(got.Notes, "\n"), "killed") || got.Purpose != "to be killed" {
			t.Errorf("status: %+v", got)
		}
		for _, a := range s.status().Apps {
			if a.Running || a.Processes != 0 {
				t.Errorf("said to run: %+v", a)
			}
		}
		if out := w.fine("list"); !strings.Contains(out, "stopped") {
			t.Errorf("list: %s", out)
		}
		if got := kinds(s.events()); got["app_launch"] < len(stubborn) {
			t.Errorf("events: %v", got)
		}
		if r := s.do("logs", "writes"); r.code != 0 {
			t.Errorf("logs: %s", r)
		}
		if out := s.fine("cleanup", "--dry-run"); !strings.HasPrefix(out, "would remove killed") {
			t.Errorf("cleanup: %s", out)
		}
		s.fine("start", "--purpose", "anew")
		if got := s.sh("ls n"); got == "" { // it may have been killed between emptying it and writing
			t.Error("the project is not there")
		}
		s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
		s.fine("pause")
		s.kill()
		if out := s.fine("cleanup"); !strings.HasPrefix(out, "removed killed") || exists(s.place()+"/manifest.json") {
			t.Errorf("cleanup: %s", out)
		}
		if got := s.status(); got.State != "stopped" || got.Control.Mode != "paused" {
			t.Errorf("killed while paused: %+v", got)
		}
		for _, one := range w.steps() {
			if r := w.plain(w.bin, "undo", "--step", fmt.Sprint(one.Step)); r.code != 0 || exists(w.project+"/n") {
				t.Errorf("undo of what was open when it was killed: %s", r)
			}
		}
		if left, _ := os.ReadDir(w.runtime); len(left) != 0 {
			t.Errorf("left in the runtime directory: %v", left)
		}
	})
}

// kill ends its supervisor by force, and wants all of it to be gone within two seconds.
func (s *stay) kill() {
	s.w.t.Helper()
	s.w.must(syscall.Kill(s.status().PID, syscall.SIGKILL))
	for end := time.Now().Add(2 * time.Second); len(s.inside()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.w.t.Fatalf("two seconds later there is %v", s.inside())
		}
	}
	eventually(s.w.t, "it to be told as stopped", func() bool { return s.status().State == "stopped" })
}

// TestDeskKilledWhileItStarts: at whatever moment of a start the supervisor is killed,
// nothing is left and the next start works.
func TestDeskKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := &stay{w: w, name: "early"}
	t.Cleanup(s.end)
	start := time.Now()
	s.fine("start")
	took := time.Since(start)
	s.fine("stop")
	killed := 0
	for range often(25, 1000) {
		cmd := w.command(w.bin, s.words("start")...)
		w.must(w.start(cmd))
		time.Sleep(time.Duration(rand.Int64N(int64(took) * 3 / 2)))
		killed += killSupervisors(w)
		_ = cmd.Wait()
		killSupervisors(w) // one that began after the first look
		eventually(t, "nothing to run", func() bool { return len(w.processes()) == 0 })
		eventually(t, "it to be told as stopped", func() bool { // the kernel may take a moment to let go of its lock
			r := s.do("status", "--json")
			return r.code != 0 || strings.Contains(r.out, `"state": "stopped"`)
		})
	}
	t.Logf("%d supervisors killed", killed)
	if r := s.do("start"); r.code != 0 {
		t.Fatalf("after all that: %s", r)
	}
	if out := s.sh("echo works"); out != "works\n" {
		t.Errorf("%q", out)
	}
	s.fine("stop")
	s.fine("cleanup")
	if left, _ := os.ReadDir(w.runtime); len(left) != 0 {
		t.Errorf("left in the runtime directory: %v", left)
	}
	if left := w.cgroups(); len(left) > 0 {
		t.Errorf("control groups left: %q", left)
	}
}

// killSupervisors ends all of them by force.
func killSupervisors(w *world) (n int) {
	for pid, line := range w.processes() {
		if strings.HasPrefix(line, "carrel-workspace") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// TestDeskStartsAtOnce: twenty starters in four processes get one workspace.
func TestDeskStartsAtOnce(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := &stay{w: w, name: "once"}
		t.Cleanup(s.end)
		for round := range often(3, 50) {
			script := "for i in 1 2 3 4 5; do " + w.bin + " start once --json & done; wait"
			outs := make([]result, 4)
			var all sync.WaitGroup
			for i := range outs {
				all.Go(func() { outs[i] = w.plain("bash", "-c", script) })
			}
			all.Wait()
			ids, fresh := make(map[string]int), 0
			for _, r := range outs {
				d := json.NewDecoder(strings.NewReader(r.out))
				for range 5 {
					var said struct {
						Status  struct{ ID, Name string }
						Already bool `json:"already_running"`
					}
					if err := d.Decode(&said); err != nil {
						t.Fatalf("round %d: %v: %s", round, err, r)
					}
					if ids[said.Status.ID]++; !said.Already {
						fresh++
					}
				}
			}
			if len(ids) != 1 || fresh != 1 {
				t.Errorf("round %d: the workspaces are %v, %d were told that they started it", round, ids, fresh)
			}
			if n := supervisors(w); n != 1 {
				t.Errorf("round %d: %d supervisors", round, n)
			}
			s.fine("stop")
		}
	})
}

// supervisors counts the processes that supervise a workspace that stays.
func supervisors(w *world) (n int) {
	for _, line := range w.processes() {
		if strings.HasPrefix(line, "carrel-workspace") {
			n++
		}
	}
	return n
}

// TestDeskRaces: starts, stops, cleanups and commands beside each other; each ends, and
// in the end there is nothing.
func TestDeskRaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := &stay{w: w, name: "races"}
	t.Cleanup(s.end)
	var all sync.WaitGroup
	for _, words := range []string{"start races", "start races", "stop races", "cleanup races", "exec races -- true", "revoke races", "list", "status races", "launch races -- sleep 3003"} {
		all.Go(func() {
			for range often(8, 200) {
				r := w.plain(w.bin, strings.Fields(words)...)
				if (r.signal == syscall.SIGTERM || r.signal == syscall.SIGKILL) && strings.HasPrefix(words, "exec") {
					continue // the command was ended with its workspace
				}
				if r.signal != 0 || r.code != 0 && (r.code != 125 || !strings.HasPrefix(r.err, "carrel: ")) || strings.Contains(r.err, "panic") || strings.Contains(r.err, "goroutine") {
					t.Errorf("%s: %s", words, r)
				}
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
		})
	}
	all.Wait()
	s.fine("start")
	if out := s.sh("echo works"); out != "works\n" {
		t.Errorf("%q", out)
	}
	s.fine("revoke")
	if n := supervisors(w); n != 0 || exists(s.place()) {
		t.Errorf("left: %v", w.processes())
	}
}

// TestDeskManyCommands: fifty at once, each with its own output and status.
func TestDeskManyCommands(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("many")
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				r := s.do("exec", "--", "sh", "-c", fmt.Sprintf("echo out %d; echo err %d >&2; echo %d > f%d; exit %d", i, i, i, i, i))
				if r.code != i || r.out != fmt.Sprintf("out %d\n", i) || r.err != fmt.Sprintf("err %d\n", i) {
					t.Errorf("command %d: %s", i, r)
				}
			})
		}
		all.Wait()
		s.fine("stop")
		if steps := w.steps(); len(steps) != 50 {
			t.Errorf("%d steps", len(steps))
		}
		for i := range 50 {
			if got := w.read(fmt.Sprintf("%s/f%d", w.project, i)); got != fmt.Sprintln(i) {
				t.Errorf("file %d: %q", i, got)
			}
		}
	})
}

// TestDeskKillsAll: kill ends all of one app, whatever it does against it, and nothing of
// the others; stop ends everything.
func TestDeskKillsAll(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("stubborn", "--read", built.attack)
		s.launch("other", "exec sleep 4999")
		for name, script := range stubborn {
			s.launch(name, script)
		}
		s.launch("bomb", "b() { for i in 1 2 3; do (trap '' TERM; while :; do (sleep 0.01; :); sleep 4108 & sleep 0.02; kill -9 $!; done) & done; }; trap '' TERM; b; b; sleep 4108")
		waitABit()
		var all sync.WaitGroup
		for name, script := range stubborn {
			word := "sleep " + script[strings.Index(script, "41"):][:4]
			if !s.runs(word) {
				t.Fatalf("canary: %s does not run: %v", name, s.inside())
			}
			all.Go(func() {
				start := time.Now()
				if r := s.do("kill", name); r.code != 0 {
					t.Errorf("kill %s: %s", name, r)
				}
				if s.runs(word) {
					t.Errorf("%s lives on after %v: %v", name, time.Since(start), s.inside())
				}
			})
		}
		all.Go(func() {
			if r := s.do("kill", "bomb"); r.code != 0 || s.runs("4108") {
				t.Errorf("kill bomb: %s, left %v", r, s.inside())
			}
		})
		all.Wait()
		if got := s.inside(); len(got) != 1 || !s.runs("sleep 4999") {
			t.Errorf("what is left of one other app: %v", got)
		}
		for name, script := range stubborn {
			s.launch(name, script)
		}
		waitABit()
		start := time.Now()
		if r := s.do("stop"); r.code != 0 || len(s.inside()) != 0 || time.Since(start) > 9*time.Second {
			t.Errorf("stop: %s after %v, left %v", r, time.Since(start), s.inside())
		}
	})
}
