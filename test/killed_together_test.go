//go:build linux

package e2e

import (
	"fmt"
	"math/rand"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestKilledTogether: two runs that write one history, and commands that read,
// undo and clear it meanwhile, all killed at random moments. Each time nothing is
// left running, the next run works and records, and what the history keeps is
// whole.
func TestKilledTogether(t *testing.T) {
	const work = `while :; do for f in src/f*; do echo new > $f; done; mv src/f1 src/g; mv src/g src/f1; rm -f src/f2; echo x > src/f2; mkdir -p d/e; rm -rf d; done`
	beside := [][]string{{"undo"}, {"undo", "--force"}, {"redo"}, {"history"}, {"history", "gc"}, {"history", "verify"}, {"discard", "--all"}, {"ps"}}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // what was killed leaves the registry to the next
		w.outsideSh("mkdir src; for i in $(seq 30); do echo v0 > src/f$i; done")
		for round := range often(3, 200) {
			var started []*exec.Cmd
			begin := func(args ...string) {
				cmd := w.command(w.bin, args...)
				w.must(cmd.Start())
				started = append(started, cmd)
			}
			begin("run", "--", "sh", "-c", work)
			begin("run", "--", "sh", "-c", work)
			time.Sleep(time.Duration(50+rand.Intn(300)) * time.Millisecond)
			if round%2 == 1 { // an undo waits for no run
				kill(started)
				started = nil
			}
			for _, i := range rand.Perm(len(beside))[:4] {
				begin(beside[i]...)
			}
			time.Sleep(time.Duration(rand.Intn(80)) * time.Millisecond)
			kill(started)
			eventually(t, "nothing is left running", func() bool { return len(w.processes()) == 0 })
			last := fmt.Sprintf("last%d", round) // a redo beside may have brought an earlier one back
			if r := w.run("--", "sh", "-c", "echo mark > "+last+"; cat "+last); r.code != 0 || r.out != "mark\n" || strings.Contains(r.err, "cannot") {
				t.Fatalf("round %d: the next run: %s", round, r)
			}
			if r := w.plain(w.bin, "undo"); r.code != 0 || exists(w.project+"/"+last) {
				t.Fatalf("round %d: its undo: %s", round, r)
			}
			if r := w.plain(w.bin, "history", "verify"); r.code != 0 {
				t.Fatalf("round %d: %s", round, r)
			}
		}
		if left := w.outsideSh("find . -name '.carrel-*'"); left != "" {
			t.Errorf("left in the project: %s", left)
		}
	})
}

// kill ends processes in any order.
func kill(all []*exec.Cmd) {
	for _, i := range rand.Perm(len(all)) {
		_ = all[i].Process.Kill()
		time.Sleep(time.Duration(rand.Intn(5)) * time.Millisecond)
	}
	for _, cmd := range all {
		_ = cmd.Wait()
	}
}
