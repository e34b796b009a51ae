//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unrest changes the furnished project without end, in all ways.
const unrest = `echo ready; n=0; while :; do n=$((n+1)); echo $n >> file; rm -rf src/deep; mkdir -p src/deep/er; echo $n > src/deep/er/file; sed -i "s/int/int /" src/f$((n % 30 + 1)).c 2>/dev/null
mv src/f$((n % 30 + 1)).c src/moved$n; mv src/moved$n src/f$((n % 30 + 1)).c; ln -f src/f1.c src/second; chmod 60$((n % 8)) src/f9.c; mv empty full; mv full empty; truncate -s $n src/sparse; done`

// TestHistoryOfAnInterruptedRun: whatever ends a run in the middle of its
// changes, what it had done is a step, and is taken back and made again exactly.
func TestHistoryOfAnInterruptedRun(t *testing.T) {
	ends := []struct {
		name   string
		end    func(w *world, pid int)
		killed bool // nobody could close the step
	}{
		{"interrupt", func(w *world, pid int) {
			w.must(syscall.Kill(-pid, syscall.SIGINT))
			// A shell goes on where what it waits for has just ended by itself.
			for range 20 {
				if time.Sleep(500 * time.Millisecond); len(w.processes()) == 0 || syscall.Kill(-pid, syscall.SIGINT) != nil {
					return
				}
			}
		}, false},
		{"terminate", func(w *world, pid int) { w.must(syscall.Kill(pid, syscall.SIGTERM)) }, false},
		{"kill the stage", func(w *world, pid int) { w.must(syscall.Kill(childOf(w.t, pid), syscall.SIGKILL)) }, false},
		{"kill the supervisor", func(w *world, pid int) { w.must(syscall.Kill(pid, syscall.SIGKILL)) }, true},
		{"kill the group", func(w *world, pid int) { w.must(syscall.Kill(-pid, syscall.SIGKILL)) }, true},
		{"carrel stop", func(w *world, pid int) { w.plain("sh", "-c", w.bin+" stop $("+w.bin+" ps | awk 'END { print $1 }')") }, false},
	}
	eachPerson(t, func(t *testing.T, p person) {
		for i, e := range ends {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, p)
				w.furnish()
				before := w.scene()
				length := func() int {
					data, _ := os.ReadFile(w.project + "/file")
					return len(data)
				}
				was := length()
				cmd := w.startInside(unrest)
				eventually(t, "the first change", func() bool { return length() != was })
				time.Sleep(time.Duration(i*37) * time.Millisecond)
				e.end(w, cmd.Process.Pid)
				_ = cmd.Wait()
				eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
				w.plain(w.bin, "ps") // sweeps the runtime directory
				after := w.scene()
				r := w.carrel("history")
				if said := strings.Contains(r.err, "carrel: step 1 was interrupted; `carrel show 1` lists what it had done, `carrel undo --step 1` takes it back"); r.code != 0 || said != e.killed || strings.Contains(r.out, "interrupted") != e.killed {
					t.Errorf("history: %s", r)
				}
				w.isAgain("looking changes nothing", after)
				if list := w.steps(); len(list) != 1 || list[0].Modified == 0 || !e.killed && list[0].Exit == 0 {
					t.Errorf("steps: %+v", list)
				}
				w.fine("undo")
				w.isAgain("undone", before)
				w.fine("redo")
				w.isAgain("made again", after)
			})
		}
	})
}

// TestHistoryAfterEditsOfAKilledRun: what somebody changed after a run was
// killed, before anybody closed its step, is not taken for the run's.
func TestHistoryAfterEditsOfAKilledRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.furnish()
	cmd := w.startInside("echo run > file; echo run > src/f3.c; echo ready; sleep 60")
	w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait()
	eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
	w.plain(w.bin, "ps")
	time.Sleep(1500 * time.Millisecond) // the writer lived a second longer for all that is known
	w.outsideSh("echo mine > file")
	w.askedWrongly([]string{"file: the run was killed, and this may have been changed by another program afterwards"}, "undo")
	w.fine("undo", "--skip-conflicts")
	if got := w.read(w.project + "/file"); got != "mine\n" {
		t.Errorf("the file is %q", got)
	}
	if got := w.read(w.project + "/src/f3.c"); !strings.Contains(got, "return 3") {
		t.Errorf("what the run changed is %q", got)
	}
}

// TestHistoryKilledUndo: an undo that is killed in the middle is finished by the
// next command, and can be taken back.
func TestHistoryKilledUndo(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.furnish()
		before := w.scene()
		w.sh(`mkdir many; for i in $(seq 400); do echo $i > many/$i; done; sed -i s/int/long/ src/f1[0-9].c; rm -rf src/deep; mv src/f20.c many/`)
		after := w.scene()
		undone := 0
		for i := range 12 {
			cmd := w.command(w.bin, "undo")
			w.must(cmd.Start())
			time.Sleep(time.Duration(5+i*7) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if r := w.carrel("history"); r.code != 0 {
				t.Fatalf("after an undo that was killed: %s", r)
			}
			if state := w.steps()[0].State; state == "undone" {
				undone++
				w.isAgain(fmt.Sprintf("undo number %d, finished", i), before)
				w.fine("redo")
			}
			w.isAgain(fmt.Sprintf("undo number %d, nothing of it or taken back", i), after)
		}
		t.Logf("%d of 12 were finished", undone)
		w.fine("undo")
		w.isAgain("undone in the end", before)
	})
}

// TestHistoryOfHeldFiles: a file that is open or mapped for writing when it
// loses its name is kept as it was, not as it is written to afterwards.
func TestHistoryOfHeldFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.furnish()
	held, err := os.OpenFile(w.project+"/src/f5.c", os.O_RDWR, 0)
	w.must(err)
	before := w.scene()
	cmd := w.startInside("rm src/f5.c; rm src/f6.c; echo ready; while [ ! -e end ]; do sleep 0.02; done; rm end")
	_, err = held.WriteString("written outside, after it was removed")
	w.must(err)
	held.Close()
	w.write(w.project+"/end", "")
	w.must(cmd.Wait())
	w.fine("undo", "--path", "src")
	after := w.scene()
	after[""] = before[""]
	if diff := after.differences(before); diff != "" {
		t.Errorf("a file that was held: %s", diff)
	}
}
