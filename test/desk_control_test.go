//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// atTerminal types one command of ours at a terminal, as a person does.
func (s *stay) atTerminal(verb string, args ...string) (int, string) {
	s.w.t.Helper()
	return s.typesAt(s.w.command(s.w.bin, s.words(verb, args...)...), s.name)
}

// typesAt runs a command at a terminal, and types a line when it asks for one.
func (s *stay) typesAt(cmd *exec.Cmd, line string) (int, string) {
	s.w.t.Helper()
	tm := s.w.openTerminal(cmd)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for !strings.Contains(tm.all(), ". Type "+s.name) {
			select {
			case <-tm.done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		tm.send(line + "\n")
	}()
	code := tm.wait()
	<-asked
	return code, tm.all()
}

// person wants that to work.
func (s *stay) person(verb string, args ...string) string {
	s.w.t.Helper()
	code, said := s.atTerminal(verb, args...)
	if code != 0 {
		s.w.t.Errorf("a person types %s %q: status %d, %q", verb, args, code, said)
	}
	return said
}

// mode is what holds, by what it says itself.
func (s *stay) mode() string {
	s.w.t.Helper()
	return strings.TrimSpace(strings.TrimPrefix(s.fine("control"), s.name))
}

// TestDeskControl: what each mode allows, and who may change it.
func TestDeskControl(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("control")
		s.launch("counter", counting("n"))
		eventually(t, "the counter to write", func() bool { return exists(w.project + "/n") })
		screen, _, _ := strings.Cut(s.fine("terminal start", "--name", "screen", "--", "cat"), " ")
		acts := []struct {
			verb string
			args []string
		}{
			{"exec", []string{"--", "touch", "made"}},
			{"launch", []string{"--", "touch", "made"}},
			{"kill", []string{"counter"}},
			{"terminal send", []string{screen, "--text", "typed", "Enter"}},
			{"terminal start", []string{"--", "touch", "made"}},
		}
		looks := []struct {
			verb string
			args []string
		}{
			{"status", nil}, {"apps", nil}, {"logs", []string{"counter"}}, {"events", nil}, {"manifest", nil}, {"artifacts", nil}, {"control", nil},
			{"terminal read", []string{screen}},
		}
		check := func(mode string, frozen bool) {
			t.Helper()
			if got := s.mode(); got != mode {
				t.Errorf("the mode is %s, not %s", got, mode)
			}
			before := kinds(s.events())["control_blocked"]
			for _, a := range acts {
				if r := s.do(a.verb, a.args...); r.code != 125 || !strings.Contains(r.err, "control "+mode) || !strings.Contains(r.err, "hint: ") {
					t.Errorf("%s: %s: %s", mode, a.verb, r)
				}
			}
			if now := kinds(s.events())["control_blocked"]; now != before+len(acts) {
				t.Errorf("%s: %d events tell of %d blocked requests", mode, now-before, len(acts))
			}
			for _, l := range looks {
				if r := s.do(l.verb, l.args...); r.code != 0 {
					t.Errorf("%s: %s: %s", mode, l.verb, r)
				}
			}
			if exists(w.project+"/made") || strings.Contains(s.fine("terminal read", screen), "typed") {
				t.Errorf("%s: it was done all the same", mode)
			}
			if w.grows(w.project+"/n") == frozen {
				t.Errorf("%s: the counter, frozen: %v", mode, !frozen)
			}
		}
		s.fine("control", "read_only", "--reason", "looking at the diff")
		check("read_only", false)
		if r := s.do("exec", "--", "true"); !strings.Contains(r.err, "read_only") {
			t.Errorf("%s", r)
		}
		s.fine("control", "paused")
		check("paused", true)
		for _, mode := range []string{"active", "read_only", "takeover"} {
			if r := s.do("control", mode); r.code != 125 || !strings.Contains(r.err, "only a person") || s.mode() != "paused" {
				t.Errorf("loosened to %s by a program: %s", mode, r)
			}
		}
		if r := s.do("resume"); r.code != 125 || s.mode() != "paused" {
			t.Errorf("resumed by a program: %s", r)
		}
		s.person("control", "read_only")
		check("read_only", false)
		if r := s.do("control", "takeover"); r.code != 125 {
			t.Errorf("read_only into takeover by a program: %s", r)
		}
		s.person("control", "takeover", "--reason", "mine")
		check("takeover", false)
		if code, said := s.atTerminal("exec", "--", "sh", "-c", "echo by the person"); code != 0 || !strings.Contains(said, "by the person") {
			t.Errorf("a person's command under takeover: %d %q", code, said)
		}
		s.person("terminal send", screen, "--text", "by hand", "Enter")
		eventually(t, "what the person typed", func() bool { return strings.Contains(s.fine("terminal read", screen), "by hand") })
		s.person("control", "active")
		if s.sh("echo works"); !w.grows(w.project + "/n") {
			t.Error("nothing goes on")
		}
		if r := s.do("control", "nonsense"); r.code != 125 || !strings.Contains(r.err, "active, read_only, takeover or paused") {
			t.Errorf("%s", r)
		}
		s.fine("pause")
		if s.mode() != "paused" || w.grows(w.project+"/n") {
			t.Error("pause does not pause")
		}
		s.person("resume")
		if s.mode() != "active" || !w.grows(w.project+"/n") {
			t.Error("resume does not resume")
		}
	})
}

// TestDeskControlStays: a mode outlives the workspace, what cannot be read is paused, and
// stop works in each.
func TestDeskControlStays(t *testing.T) {
	asUserAlone(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("kept")
		for _, mode := range []string{"read_only", "takeover", "paused"} {
			s.person("control", "active")
			s.launch("counter", counting("n"))
			s.person("control", mode)
			start := time.Now()
			if r := s.do("stop"); r.code != 0 || time.Since(start) > 4*time.Second {
				t.Errorf("stop while %s: %s after %v", mode, r, time.Since(start))
			}
			if got := s.status(); got.State != "stopped" || got.Control.Mode != mode {
				t.Errorf("stopped while %s: %+v", mode, got)
			}
			s.fine("cleanup")
			if r := s.do("start"); r.code != 0 || s.mode() != mode || !strings.Contains(r.err, "under control "+mode) {
				t.Errorf("started anew: %s, %s", s.mode(), r)
			}
			if r := s.do("exec", "--", "true"); r.code != 125 {
				t.Errorf("started anew while %s: %s", mode, r)
			}
		}
		for _, text := range []string{"", "{", `{"mode":"free"}`, `{"mode":""}`, "null", "[]", strings.Repeat(" ", 1<<20) + `{"mode":"active"}`, "\x00"} {
			s.do("stop")
			w.write(s.place()+"/control.json", text)
			if got := s.status().Control.Mode; got != "paused" {
				t.Errorf("%.20q: stopped and %s", text, got)
			}
			if s.fine("start"); s.mode() != "paused" {
				t.Errorf("%.20q: started and %s", text, s.mode())
			}
			if r := s.do("exec", "--", "true"); r.code != 125 {
				t.Errorf("%.20q: %s", text, r)
			}
		}
		s.person("control", "active")
		s.sh("true")
		s.fine("stop")
		if s.fine("start"); s.mode() != "active" {
			t.Errorf("made active by a person: %s", s.mode())
		}
		s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
	})
}

// TestDeskControlInside: what is inside may ask for less, and for the end.
func TestDeskControlInside(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("inside", "--read", w.bin)
		asks := w.script(w.project+"/asks", "#!/bin/sh\nfor m in nonsense read_only active takeover paused-not; do "+w.bin+" control inside $m 2>&1; echo $m: $?; done > told; mv told asked\n")
		s.launch("asks", asks)
		eventually(t, "it to have asked", func() bool { return exists(w.project + "/asked") })
		told := w.read(w.project + "/asked")
		for _, want := range []string{"nonsense: 125\n", "read_only: 0\n", "active: 125\n", "takeover: 125\n", "paused-not: 125\n"} {
			if !strings.Contains(told, want) {
				t.Errorf("from inside, want %q: %s", want, told)
			}
		}
		if got := s.mode(); got != "read_only" {
			t.Errorf("after it was made read_only from inside: %s", got)
		}
		s.person("control", "active")
		go1 := "until test -e go; do sleep 0.02; done; "
		s.launch("loosens", go1+w.bin+" control inside paused; "+w.bin+" control inside active; echo said $? > said")
		w.write(w.project+"/go", "")
		eventually(t, "it to be paused from inside", func() bool { return s.mode() == "paused" })
		s.person("control", "active")
		eventually(t, "it to go on", func() bool { return exists(w.project + "/said") })
		for _, verb := range []string{"resume", "exec", "launch", "kill", "status", "events", "revoke", "cleanup"} {
			args := []string{"exec", "inside", "--", w.bin, verb, "inside", "--", "true"}
			if r := w.plain(w.bin, args...); r.code == 0 && verb != "cleanup" && verb != "status" && verb != "events" {
				t.Errorf("%s from inside: %s", verb, r)
			}
		}
		if d := s.status(); d.State != "running" {
			t.Fatalf("it is %+v", d)
		}
		cmd := w.command(w.bin, s.words("exec", "--", "sh", "-c", w.bin+" stop; sleep 60")...)
		w.must(w.start(cmd))
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if _, ok := err.(*exec.ExitError); !ok {
				t.Errorf("the command that stopped it: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("stop from inside does not end it")
		}
		eventually(t, "it to be stopped", func() bool { return s.status().State == "stopped" && len(s.inside()) == 0 })
	})
}
