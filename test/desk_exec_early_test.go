//go:build linux

package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// begun are the packages that a run of carrel has initialised, by what the runtime prints, and
// what else it wrote to standard error.
func begun(r result) (packages []string, rest string) {
	for line := range strings.Lines(r.err) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "init" && strings.HasPrefix(words[2], "@") {
			packages = append(packages, words[1])
			continue
		}
		rest += line
	}
	return packages, rest
}

// TestDeskExecEarly: a command in a workspace is run before most of carrel is initialised, and
// all of it is as where main runs it.
func TestDeskExecEarly(t *testing.T) {
	w := newWorld(t, people()[0])
	s := w.stays("early")
	w.setenv("GODEBUG", "inittrace=1")
	w.setenv("FROM_HERE", "it")
	both := func(early bool, args ...string) {
		t.Helper()
		a := w.plain(w.bin, append([]string{"exec", s.name}, args...)...)
		b := w.plain(w.bin, append([]string{"exec", "-T", s.name}, args...)...) // a flag there is left to main
		packages, aErr := begun(a)
		all, bErr := begun(b)
		if a.out != b.out || aErr != bErr || a.code != b.code || a.signal != b.signal {
			t.Errorf("%q before main: %d %v %q %q\nby main: %d %v %q %q", args, a.code, a.signal, a.out, aErr, b.code, b.signal, b.out, bErr)
		}
		if !slices.Contains(all, "carrel/internal/cli") || slices.Contains(packages, "carrel/internal/cli") == early {
			t.Errorf("%q: before main: %v, want %v: %d packages and %d", args, !early, early, len(packages), len(all))
		}
		if !early {
			return
		}
		for _, heavy := range []string{
			"net", "net/http", "encoding/json", "encoding/gob", "crypto/tls", "github.com/spf13/cobra", "go.yaml.in/yaml/v4", "golang.org/x/sys/unix",
		} {
			if slices.Contains(packages, heavy) {
				t.Errorf("%q: %s was initialised before", args, heavy)
			}
		}
		if len(packages)*3 > len(all) {
			t.Errorf("%q: %d packages were initialised before, of %d", args, len(packages), len(all))
		}
	}
	both(true, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
	both(true, "pwd")
	both(true, "--cwd", "/tmp", "--env", "A=b c", "--env=FROM_HERE", "--", "sh", "-c", `pwd; echo "$A $FROM_HERE"`)
	both(true, "--", "printf", `%s\n`, "a\"\\\n\x01", "\u2028ü")
	for _, signal := range []string{"TERM", "KILL", "INT", "SEGV"} {
		both(true, "--", "sh", "-c", "kill -"+signal+" $$")
	}
	for _, args := range [][]string{ // something is to be told
		{"--", "no-such-program"}, {"--", "/etc/passwd"}, {"--cwd", "/nothing/there", "--", "pwd"}, {"--env", "NOT_HERE", "--", "pwd"},
		{"--help"}, {"--no-such-flag", "--", "true"}, {},
	} {
		both(false, args...)
	}
	s.fine("control", "read_only", "--reason", "looking")
	both(false, "--", "true")
	name := s.name
	s.name = "not-there"
	both(false, "--", "true")
	s.name = name
}

// TestDeskExecEarlyPaused: who ends a command of a workspace that stands still is not kept.
func TestDeskExecEarlyPaused(t *testing.T) {
	w := newWorld(t, people()[0])
	s := w.stays("still")
	cmd := w.command(w.bin, s.words("exec", "--", "sh", "-c", "echo ready; exec sleep 3003")...)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(w.start(cmd))
	waitFor(t, out, "ready\n")
	s.fine("pause")
	w.must(cmd.Process.Signal(syscall.SIGTERM))
	var r result
	w.ended(&r, cmd, cmd.Wait())
	if r.signal != syscall.SIGTERM {
		t.Errorf("the caller: %s", r)
	}
}
