//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// pretend starts carrel for a moment, as a client does, and then pretends to be a person:
// at a terminal of its own, in a session of its own, below no parent that is left.
const pretend = `#!/bin/sh
carrel agent gate claude </dev/null >/dev/null 2>&1
(env -i HOME="$HOME" PATH="$PATH" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" setsid sh -c '
  sleep 0.2
  (sleep 1; echo presence; sleep 1) | script -qec "carrel control presence active" /dev/null >said 2>&1
  echo over >>said' &)
`

// TestAgentsDaemonIsNoPerson: what a known agent has started is no person, wherever it
// goes. A program that nothing tells from a person's is one: the canary.
func TestAgentsDaemonIsNoPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("script", "setsid")
	s := w.stays("presence")
	for _, c := range []struct{ program, want, mode string }{
		{"claude", "started by an agent", "paused"},
		{"gardener", "presence active", "active"},
	} {
		s.fine("pause")
		_ = os.Remove(w.project + "/said")
		program := w.script(w.home+"/bin/"+c.program, pretend)
		if r := w.finish(w.command(program)); r.code != 0 {
			t.Fatalf("%s: %s", c.program, r)
		}
		said := func() string {
			if !exists(w.project + "/said") {
				return ""
			}
			return w.read(w.project + "/said")
		}
		eventually(t, "an answer", func() bool { return strings.HasSuffix(said(), "over\n") })
		if !strings.Contains(said(), c.want) || s.mode() != c.mode {
			t.Errorf("%s: %s, %q; want %s and %q", c.program, s.mode(), said(), c.mode, c.want)
		}
	}
}

// TestAgentsRemoveNoHistory: what a known agent outside has started neither discards steps
// nor removes what is kept, also where it says yes itself.
func TestAgentsRemoveNoHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.sh("echo made > made")
	for _, command := range []string{"carrel discard --all --yes", "carrel purge --all --yes"} {
		agent := w.script(w.home+"/bin/claude", "#!/bin/sh\n"+command+"\n")
		if r := w.finish(w.command(agent)); r.code != 125 || !strings.Contains(r.err, "the agent claude") {
			t.Errorf("%s by an agent: %s", command, r)
		}
		if list := w.fine("history"); !strings.Contains(list, "made > made") {
			t.Errorf("after %s: %s", command, list)
		}
	}
	for _, command := range []string{"discard --all --yes", "purge --all --yes"} {
		w.fine(strings.Fields(command)...)
	}
}
