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

// TestSoakKillAtAnyInstant: SIGKILL of the supervisor at random moments of its
// start and its run leaves nothing behind, ever.
func TestSoakKillAtAnyInstant(t *testing.T) {
	soak(t)
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/.env", "SECRET")
		w.repository()
		before, home := w.tree(w.project), w.homeNames()
		seconds := "4" + w.number()
		for i := range 500 {
			cmd := w.command(w.bin, "run", "--deny", "*.pem", "--network", "local", "--", "sh", "-c", "setsid sleep "+seconds+" & sleep "+seconds)
			w.must(cmd.Start())
			time.Sleep(time.Duration(rand.Intn(40_000)) * time.Microsecond)
			w.must(cmd.Process.Kill())
			_ = cmd.Wait()
			eventually(t, fmt.Sprintf("all gone after kill %d", i), func() bool { return len(w.processes()) == 0 && len(processesWith("sleep\x00"+seconds)) == 0 })
		}
		if after := w.tree(w.project); after != before {
			t.Errorf("the project was\n%sand is\n%s", before, after)
		}
		w.checkHome(home)
	})
}

// TestSoakSwaps: the races of the normal tests, for much longer.
func TestSoakSwaps(t *testing.T) {
	soak(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			TestProjectSwappedWhileStarting(t)
			TestSwappedGrantIsRefused(t)
		})
	}
}

// TestSoakStreams: a gigabyte through a file and a pipe.
func TestSoakStreams(t *testing.T) {
	soak(t)
	w := newWorld(t, ordinary(t))
	data := bytes.Repeat(bytesOf(1<<20), 1024)
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

// TestSoakManyRuns: two hundred runs at once, and two thousand one after the other.
func TestSoakManyRuns(t *testing.T) {
	soak(t)
	w := newWorld(t, ordinary(t))
	r := w.plain("bash", "-c", "for i in $(seq 200); do "+w.bin+" run -- sh -c 'sleep 1; echo x' & done; wait")
	if strings.Count(r.out, "x\n") != 200 || r.err != "" {
		t.Errorf("at once: %s", r)
	}
	for range 2000 {
		if r := w.run("--", "true"); r.code != 0 || r.err != "" {
			t.Fatalf("%s", r)
		}
	}
}

// TestSoakLargeProject: 50,000 files and deny globs.
func TestSoakLargeProject(t *testing.T) {
	soak(t)
	w := newWorld(t, ordinary(t))
	w.outsideSh("for d in $(seq 500); do mkdir -p t/$d; (cd t/$d && seq 100 | xargs touch && echo SECRET > key.pem); done")
	start := time.Now()
	out := w.sh("cat t/*/key.pem 2>/dev/null | wc -c; find t -type f | wc -l", "--deny", "**/*.pem", "--deny", "**/secret*", "--deny", "**/*.key", "--deny", "**/id_*", "--deny", "**/*.p12")
	if out != "0\n50500\n" {
		t.Errorf("%q", out)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestSoakSignalsAtAnyInstant: a termination is never lost, also in the middle
// of the start.
func TestSoakSignalsAtAnyInstant(t *testing.T) {
	soak(t)
	w := newWorld(t, ordinary(t))
	for i := range 300 {
		cmd := w.command(w.bin, "run", "--", "sleep", "30")
		w.must(cmd.Start())
		time.Sleep(5*time.Millisecond + time.Duration(rand.Intn(20_000))*time.Microsecond)
		sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}[i%3]
		w.must(cmd.Process.Signal(sig))
		start := time.Now()
		_ = cmd.Wait()
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("%v after the start took %v to end the run", sig, d)
		}
	}
}
