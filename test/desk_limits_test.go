//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestKillAfterLimits: a program cannot lower the limits of the process that starts all
// others, by any of its threads' numbers, nor those by which others are told apart; what
// is started after it has tried is found and ended with all that it has started. Limits
// of its own and of its children are its own.
func TestKillAfterLimits(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"namespaces": nil, "bubblewrap": {"--engine", "bubblewrap", "--history", "off", "--network", "local"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ordinary(t)) // bubblewrap does not hold root
			w.need("python3")
			s := w.stays("limits", flags...)
			s.launch("before", "exec sleep 3301")
			eventually(t, "one to run", func() bool { return s.runs("sleep 3301") })
			w.write(w.project+"/lower.py", program("desk_limits/lower.py"))
			if got := s.sh("python3 lower.py"); got != "(10, 10) True\n" {
				t.Errorf("limits: %s", strings.TrimSpace(got))
			}
			s.launch("after", "trap '' HUP TERM; (setsid sleep 3303 &) ; sleep 3303")
			eventually(t, "it to run", func() bool { return s.runs("sleep 3303") })
			for _, app := range []string{"before", "after"} {
				s.fine("kill", app)
			}
			if s.runs("sleep 3301") || s.runs("sleep 3303") {
				t.Error("some of them are left")
			}
		})
	}
}
