//go:build linux

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rlimitSigpending is RLIMIT_SIGPENDING of getrlimit(2).
const rlimitSigpending = 11

// TestWhatTheUserHasIsShared: the kernel counts some things for a user, inside and
// outside together. Who takes all that a workspace gets of them leaves the others
// theirs: another run starts, with its masks watched.
func TestWhatTheUserHasIsShared(t *testing.T) {
	var signals unix.Rlimit
	if err := unix.Getrlimit(rlimitSigpending, &signals); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		attack string
		most   int // that the workspace gets
		err    string
	}{
		{"watchers", 32, "EMFILE"},
		{"signals", int(min(signals.Max, 1<<20) / 8), "EAGAIN"},
		{"nests", 1000, "ENOSPC"},
	} {
		eachPerson(t, func(t *testing.T, p person) {
			w := newWorld(t, p)
			w.litter = true // the runs are beside each other
			w.write(w.project+"/.env", "SECRET")
			more := strconv.Itoa(tt.most + 8)
			w.mustWork(tt.attack, more)
			cmd := w.command(w.bin, "run", "--read", built.attack, "--", built.attack, tt.attack, more, "hold")
			out, err := cmd.StdoutPipe()
			w.must(err)
			w.must(cmd.Start())
			waitFor(t, out, "holding\n")
			start := time.Now()
			if r := w.run("--", "sh", "-c", "echo fine > b; cat b; cat .env; sleep 0.1"); !strings.HasPrefix(r.out, "fine\n") || strings.Contains(r.out, "SECRET") || strings.Contains(r.err, "watched") || time.Since(start) > 20*time.Second {
				t.Errorf("beside one that took all its %s: %s", tt.attack, r)
			}
			w.mustWork(tt.attack, "8")
			w.write(w.project+"/end", "")
			said := new(strings.Builder)
			buf := make([]byte, 100)
			for n, err := out.Read(buf); n > 0 || err == nil; n, err = out.Read(buf) {
				said.Write(buf[:n])
			}
			_ = cmd.Wait()
			if strings.TrimSpace(said.String()) != tt.err {
				t.Errorf("%s inside: %q, want %s", tt.attack, said, tt.err)
			}
		})
	}
}
