//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKillAtAnyInstant: SIGKILL of the supervisor at random moments of its
// start and its run leaves nothing behind, ever, but its entry among those that run.
func TestKillAtAnyInstant(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/.env", "SECRET")
		w.repository()
		before, home := w.tree(w.project), w.homeNames()
		seconds := "4" + w.number()
		for i := range often(30, 500) {
			cmd := w.command(w.bin, "run", "--deny", "*.pem", "--network", "local", "--", "sh", "-c", "setsid sleep "+seconds+" & sleep "+seconds)
			w.must(cmd.Start())
			time.Sleep(time.Duration(rand.Intn(90_000)) * time.Microsecond)
			w.must(cmd.Process.Kill())
			_ = cmd.Wait()
			eventually(t, fmt.Sprintf("all gone after kill %d", i), func() bool { return len(w.processes()) == 0 && len(processesWith("sleep\x00"+seconds)) == 0 })
		}
		if after := w.tree(w.project); after != before {
			t.Errorf("the project was\n%sand is\n%s", before, after)
		}
		if r := w.plain(w.bin, "ps"); r.code != 0 { // it takes away what a killed supervisor could not
			t.Errorf("ps: %s", r)
		}
		w.checkHome(home)
	})
}

// TestStreams: much through a file and a pipe.
func TestStreams(t *testing.T) {
	w := newWorld(t, ordinary(t))
	data := bytes.Repeat(bytesOf(1<<20), often(64, 1024))
	want := sha256.Sum256(data)
	in := w.write(w.outside+"/in", "")
	w.must(os.WriteFile(in, data, 0o600))
	for _, redirect := range []string{"cat < IN > OUT", "cat < IN | cat > OUT", "sh -c 'cat; echo done >&2' < IN > OUT 2>&1 | true"} {
		script := strings.NewReplacer("IN", in, "OUT", w.outside+"/out").Replace(w.bin + " run -- " + redirect)
		if r := w.plain("bash", "-c", script); r.code != 0 {
			t.Errorf("%s: %s", redirect, r)
		}
		got, err := os.ReadFile(w.outside + "/out")
		w.must(err)
		if !strings.Contains(redirect, "done") && sha256.Sum256(got) != want {
			t.Errorf("%s: %d bytes differ", redirect, len(got))
		}
	}
}

// TestManyRuns: many runs at once, and one after the other.
func TestManyRuns(t *testing.T) {
	w := newWorld(t, ordinary(t))
	n := often(40, 200)
	r := w.plain("bash", "-c", fmt.Sprintf("for i in $(seq %d); do %s run -- sh -c 'sleep 1; echo x' & done; wait", n, w.bin))
	if strings.Count(r.out, "x\n") != n || r.err != "" {
		t.Errorf("at once: %s", r)
	}
	for range often(50, 2000) {
		if r := w.run("--", "true"); r.code != 0 || r.err != "" {
			t.Fatalf("%s", r)
		}
	}
}

// TestLargeProject: many files and deny globs.
func TestLargeProject(t *testing.T) {
	w := newWorld(t, ordinary(t))
	dirs := often(50, 500)
	w.outsideSh(fmt.Sprintf("for d in $(seq %d); do mkdir -p t/$d; (cd t/$d && seq 100 | xargs touch && echo SECRET > key.pem); done", dirs))
	out := w.sh("cat t/*/key.pem 2>/dev/null | wc -c; find t -type f | wc -l", "--deny", "**/*.pem", "--deny", "**/secret*", "--deny", "**/*.key", "--deny", "**/id_*", "--deny", "**/*.p12")
	if out != fmt.Sprintf("0\n%d\n", dirs*101) {
		t.Errorf("%q", out)
	}
	if leaked := w.outsideSh("cat t/*/key.pem | wc -l"); leaked != fmt.Sprintf("%d\n", dirs) {
		t.Errorf("canary: outside there are %s keys", leaked)
	}
}

// TestSignalsAtAnyInstant: a termination is never lost, also in the middle
// of the start.
func TestSignalsAtAnyInstant(t *testing.T) {
	w := newWorld(t, ordinary(t))
	for i := range often(30, 300) {
		cmd := w.command(w.bin, "run", "--", "sleep", "30")
		w.must(cmd.Start())
		time.Sleep(5*time.Millisecond + time.Duration(rand.Intn(60_000))*time.Microsecond)
		sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}[i%3]
		w.must(cmd.Process.Signal(sig))
		start := time.Now()
		_ = cmd.Wait()
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("%v after the start took %v to end the run", sig, d)
		}
	}
}
