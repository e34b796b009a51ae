//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestDeskHeld: what waits for a person in a workspace that stays holds everything in it,
// until the answer, or Stop; a refusal ends only the operation.
func TestDeskHeld(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.unreadable("f")
		w.unreadable("g")
		s := w.stays("held", "--network", "local")
		s.launch("server", counting("n"))
		eventually(t, "the server", func() bool { return exists(w.project + "/n") })
		id := s.launch("remover", "echo other > a; rm -f f; echo $? > status")
		ask := w.held()
		if ask.Subject != w.project+"/f" {
			t.Errorf("asked: %+v", ask)
		}
		s.paused(func() {})
		if r := w.plain(w.bin, "deny", ask.ID); r.code != 0 {
			t.Fatalf("deny: %s", r)
		}
		s.fine("wait", id)
		if got := w.read(w.project + "/status"); got != "1\n" || !exists(w.project+"/f") {
			t.Errorf("rm ended with %q", got)
		}
		n := w.read(w.project + "/n")
		eventually(t, "the server to go on", func() bool { return w.read(w.project+"/n") != n })

		// Taking back what was refused ends who did it, and nobody else.
		id = s.launch("again", "echo third > a; rm -f g; echo $? > status2; sleep 2031")
		r := w.plain(w.bin, "deny", w.held().ID, "--rollback")
		if r.code != 0 || w.read(w.project+"/a") != "other\n" || !exists(w.project+"/g") || exists(w.project+"/status2") {
			t.Errorf("deny --rollback: %s, a is %q", r, w.read(w.project+"/a"))
		}
		if got := s.app(id); got.Running {
			t.Errorf("afterwards it is %+v", got)
		}
		n = w.read(w.project + "/n")
		eventually(t, "the server to go on", func() bool { return w.read(w.project+"/n") != n })

		// Stop waits for no answer.
		s.launch("third", "rm -f g; sleep 2032")
		w.held()
		began := time.Now()
		s.fine("stop")
		if took := time.Since(began); took > 10*time.Second || !exists(w.project+"/g") || s.runs("2032") {
			t.Errorf("stop took %v", took)
		}
	})
}

// TestDeskInBubblewrap: a workspace that stays within the system's bubblewrap is as any.
func TestDeskInBubblewrap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("bwrap")
	s := w.stays("wrapped", "--engine", "bubblewrap", "--history", "off", "--network", "local")
	s.launch("server", counting("n"))
	eventually(t, "the server", func() bool { return exists(w.project + "/n") })
	if out := s.sh("echo one > a; cat a; ls ~/.ssh 2>&1 || :"); !strings.HasPrefix(out, "one\n") {
		t.Errorf("it said %q", out)
	}
	s.fine("pause")
	s.paused(func() {})
	s.person("resume")
	n := w.read(w.project + "/n")
	eventually(t, "the server to go on", func() bool { return w.read(w.project+"/n") != n })
	s.kill()
}
