//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStateIsOrdinary: du, tar and rm of an ordinary user go through all that runs leave
// in the state directory, and doctor leaves nothing there but its answers.
func TestStateIsOrdinary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mkdir(w.home+"/.npm/_cacache", 0o755)
	state := w.home + "/.local/state/carrel"
	for _, script := range []string{
		"mkdir d; echo a >d/a; echo b >b; chmod 000 b; chmod 500 d",
		"chmod 700 d; rm -rf d b",
	} {
		if r := w.run("--", "sh", "-c", script); r.code != 0 {
			t.Fatal(r)
		}
	}
	killed := filepath.Join(state, ".doctor-killed")
	w.mkdir(filepath.Join(killed, "work", "work"), 0o700)
	w.must(os.Chmod(filepath.Join(killed, "work", "work"), 0))
	old := time.Now().Add(-2 * time.Hour)
	w.must(os.Chtimes(killed, old, old))
	if r := w.plain(w.bin, "doctor", "--fresh"); r.code != 0 {
		t.Fatal(r)
	}
	if left, _ := filepath.Glob(state + "/.doctor-*"); len(left) > 0 {
		t.Errorf("doctor leaves %q", left)
	}
	for _, command := range []string{"du -s " + state, "tar cf /dev/null -C " + state + " .", "rm -rf " + state} {
		if r := w.plain("sh", "-c", command); r.code != 0 || strings.Contains(r.String(), "denied") {
			t.Errorf("%s: %s", command, r)
		}
	}
	if exists(state) {
		t.Error("rm -rf leaves the state directory")
	}
}

// TestTokensGoWithTheRun: the state directory has a login of the user's only while an
// agent runs: not after the end, not where another run of the project still uses it, and
// not for ever after a kill.
func TestTokensGoWithTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mkdir(w.home+"/bin", 0o755)
	w.script(w.home+"/bin/claude", "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n")
	w.setenv("PATH", w.home+"/bin:/usr/local/bin:/usr/bin:/bin")
	w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"refreshToken":"r-THE-TOKEN","expiresAt":1}}`)
	w.write(w.home+"/.claude.json", `{"mcpServers":{"s":{"env":{"KEY":"k-THE-TOKEN"}}}}`)
	copies := func() string { return w.outsideSh("grep -rl THE-TOKEN " + w.home + "/.local/state || true") }
	run := func(project string, args ...string) *exec.Cmd {
		w.mkdir(project, 0o755)
		cmd := w.command(w.bin, args...)
		cmd.Dir = project
		return cmd
	}
	one := []string{"run", "--", "claude"}
	look := "grep -c THE-TOKEN ~/.claude/.credentials.json ~/.claude/.claude.json"
	for range 2 {
		if r := w.finish(run(w.project, append(one, look)...)); r.code != 0 || strings.Count(r.out, ":1") != 2 {
			t.Fatalf("no login inside: %s", r)
		}
		if left := copies(); left != "" {
			t.Errorf("after the end: %s", left)
		}
	}
	killed := run(w.project+"/../killed", append(one, "echo ready; sleep 100")...)
	out, err := killed.StdoutPipe()
	w.must(err)
	w.must(killed.Start())
	waitFor(t, out, "ready\n")
	if r := w.finish(run(w.project+"/../killed", append(one, look)...)); r.code != 0 {
		t.Error(r)
	}
	if copies() == "" {
		t.Error("a run that ends takes the login of one that goes on")
	}
	w.must(killed.Process.Kill())
	_ = killed.Wait()
	eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
	if r := w.finish(run(w.project, append(one, "true")...)); r.code != 0 {
		t.Error(r)
	}
	if left := w.outsideSh("grep -rl r-THE-TOKEN " + w.home + "/.local/state || true"); left != "" {
		t.Errorf("after the kill and another run: %s", left)
	}
}

// TestPurge: what is kept is listed, and goes: of one project, of those that are gone, or
// all of it; not while it is used.
func TestPurge(t *testing.T) {
	w := newWorld(t, ordinary(t))
	state := w.home + "/.local/state/carrel"
	for _, name := range []string{"one", "two", "three"} {
		w.mkdir(w.home+"/src/"+name, 0o755)
		if r := w.inProject(w.home+"/src/"+name, "run", "--", "sh", "-c", "echo a >a"); r.code != 0 {
			t.Fatal(r)
		}
	}
	if r := w.inProject(w.home+"/src/three", "run", "--history", "off", "--", "true"); r.code != 0 {
		t.Fatal(r)
	}
	w.must(os.RemoveAll(w.home + "/src/two"))
	listed := func(want ...string) {
		t.Helper()
		r := w.plain(w.bin, "projects")
		for _, name := range []string{"one", "two", "three"} {
			if strings.Contains(r.out, "/src/"+name+"\n") != slices.Contains(want, name) {
				t.Errorf("want %q: %s", want, r)
			}
		}
	}
	listed("one", "two", "three")
	refused := func(words string, args ...string) {
		t.Helper()
		if r := w.plain(w.bin, append([]string{"purge"}, args...)...); r.code != 125 || !strings.Contains(r.err, words) {
			t.Errorf("%q: %s", args, r)
		}
	}
	refused("want --project DIR, --gone or --all")
	refused("no terminal to ask at", "--all")
	refused("nothing is kept of it", "--project", w.home)
	refused("nothing is kept of it", "--project", w.home+"/src/one/typo", "--yes")
	refused("nothing is kept of it", "--project", w.home+"/src/one/a", "--yes")
	w.mkdir(w.home+"/src/one/sub", 0o755)
	running := w.command(w.bin, "run", "--", "sh", "-c", "echo ready; sleep 100")
	running.Dir = w.home + "/src/one"
	out, err := running.StdoutPipe()
	w.must(err)
	w.must(running.Start())
	waitFor(t, out, "ready\n")
	refused("of this project runs", "--project", w.home+"/src/one/sub", "--yes")
	refused("of this project runs", "--all", "--yes")
	w.must(running.Process.Signal(syscall.SIGTERM))
	_ = running.Wait()
	listed("one", "two", "three")
	fine := func(args ...string) {
		t.Helper()
		if r := w.plain(w.bin, append([]string{"purge"}, args...)...); r.code != 0 {
			t.Errorf("%q: %s", args, r)
		}
	}
	rest := state + "/projects/.purged-" + strings.Repeat("0", 20) // of a removal that was killed
	w.mkdir(rest+"/history", 0o700)
	fine("--all", "--dry-run")
	fine("--gone", "--yes")
	listed("one", "three")
	if exists(rest) {
		t.Error("what a removal that was killed had put aside is left")
	}
	fine("--project", w.home+"/src/one/sub", "--yes")
	listed("three")
	fine("--all", "--yes")
	if exists(state) || !exists(w.home+"/src/one/a") {
		t.Error("the state directory is left, or the project is not")
	}
	fine("--all", "--yes")
}

// TestFullOutput: a command whose words could not be written has not succeeded.
func TestFullOutput(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.sh("echo made > made")
	for _, words := range []string{"history", "diff", "show", "projects", "ps", "version", "history --json"} {
		r := w.plain("sh", "-c", w.bin+" "+words+" >/dev/full")
		if r.code != 125 || strings.Count(r.err, "no space left on device") != 1 {
			t.Errorf("%s: %s", words, r)
		}
		if r := w.plain("sh", "-c", w.bin+" "+words+" | true"); r.code != 0 || r.err != "" {
			t.Errorf("%s, nobody reads: %s", words, r)
		}
	}
}
